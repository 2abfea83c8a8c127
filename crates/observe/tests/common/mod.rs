//! Reading sources as samplers do.

use observe::{Readings, SampleSource};
use std::sync::atomic::AtomicBool;

/// What the source says now, all of which it can say.
pub fn read(source: &mut dyn SampleSource) -> Readings {
    let mut readings = Readings::default();
    let read = source.read(&mut readings, &AtomicBool::new(false));
    read.unwrap_or_else(|error| panic!("{}: {error}", source.title()));
    assert!(readings.lost().is_empty(), "{:?}", readings.lost());
    readings
}
