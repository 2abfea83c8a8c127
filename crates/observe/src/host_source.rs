//! The machine, from /proc and /sys.

use crate::error::ObserveError;
use crate::sampler::{Readings, Source};
use std::sync::atomic::AtomicBool;

/// The machine that this program runs on.
pub struct HostSource {}

impl HostSource {
    #[must_use]
    pub fn new() -> HostSource {
        HostSource {}
    }
}

impl Source for HostSource {
    fn title(&self) -> &'static str {
        "the host"
    }

    fn read(&mut self, _into: &mut Readings, _stop: &AtomicBool) -> Result<(), ObserveError> {
        Ok(())
    }
}
