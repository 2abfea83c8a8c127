//! How long what is left will take.

use std::time::Duration;

/// By what was taken so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Eta {
    /// In any unit: windows, or the time that was expected.
    done: f64,
    taken: Duration,
}

impl Eta {
    /// So much was done in this time.
    pub fn learn(&mut self, done: f64, taken: Duration) {
        self.done += done;
        self.taken += taken;
    }

    /// The time for so much; `None` before anything was done.
    pub fn of(&self, left: f64) -> Option<Duration> {
        (self.done > 0.0).then(|| self.taken.mul_f64(left / self.done))
    }
}
