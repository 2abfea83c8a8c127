//! Processes and threads, from /proc.

use crate::error::ObserveError;
use crate::sampler::{Readings, Source};
use std::sync::atomic::AtomicBool;

/// One process.
pub struct ProcessSource {}

impl ProcessSource {
    /// The process `pid`, which results call `label`: `server` or `mydyno`.
    #[must_use]
    pub fn new(_label: &'static str, _pid: u32) -> ProcessSource {
        ProcessSource {}
    }
}

impl Source for ProcessSource {
    fn title(&self) -> &'static str {
        "a process"
    }

    fn read(&mut self, _into: &mut Readings, _stop: &AtomicBool) -> Result<(), ObserveError> {
        Ok(())
    }
}

/// Threads of this process whose names begin alike.
pub struct ThreadSource {}

impl ThreadSource {
    /// Those whose names begin with `prefix`.
    #[must_use]
    pub fn new(_prefix: &'static str) -> ThreadSource {
        ThreadSource {}
    }
}

impl Source for ThreadSource {
    fn title(&self) -> &'static str {
        "the driver's threads"
    }

    fn read(&mut self, _into: &mut Readings, _stop: &AtomicBool) -> Result<(), ObserveError> {
        Ok(())
    }
}
