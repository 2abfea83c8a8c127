//! The shim's counters of a managed server, by role.

use crate::error::ObserveError;
use crate::sampler::{Readings, Source};
use std::sync::atomic::AtomicBool;
use storage::ShimPage;

/// The page of a server that runs under the shim.
pub struct ShimSource {
    page: ShimPage,
}

impl ShimSource {
    #[must_use]
    pub fn new(page: ShimPage) -> ShimSource {
        ShimSource { page }
    }
}

impl Source for ShimSource {
    fn title(&self) -> &'static str {
        "the shim's counters"
    }

    fn read(&mut self, _into: &mut Readings, _stop: &AtomicBool) -> Result<(), ObserveError> {
        self.page.snapshot()?;
        Ok(())
    }
}
