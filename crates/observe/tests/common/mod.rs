//! Reading sources as samplers do.

use observe::{Readings, Source};
use std::sync::atomic::AtomicBool;

/// What the source says now.
pub fn read(source: &mut dyn Source) -> Readings {
    let mut readings = Readings::default();
    let read = source.read(&mut readings, &AtomicBool::new(false));
    read.unwrap_or_else(|error| panic!("{}: {error}", source.title()));
    readings
}
