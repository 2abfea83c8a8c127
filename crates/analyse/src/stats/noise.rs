//! Series as servers give them, for tests: correlated, skewed to the slow side, and more scattered
//! at some times than at others.

use base::Random;
use std::f64::consts::TAU;

pub(crate) struct Noise {
    random: Random,
}

impl Noise {
    pub(crate) fn new(seed: u64) -> Noise {
        Noise { random: Random::new(seed, &[]) }
    }

    /// Mean 0, deviation 1 (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.random.unit().ln()).sqrt();
        radius * (TAU * self.random.unit()).cos()
    }

    /// Negative exponential with a mean of 1,000 us.
    pub(crate) fn response_time_us(&mut self) -> f64 {
        -1_000.0 * self.random.unit().ln()
    }

    /// Mean 0, deviation 1, skewness -2: a little above the mean mostly, far below it at times.
    fn skewed(&mut self) -> f64 {
        1.0 + self.random.unit().ln()
    }
}

/// Throughput around a mean.
#[derive(Clone, Copy)]
pub(crate) struct Throughput {
    pub(crate) intervals: usize,
    pub(crate) mean: f64,
    /// Of the mean.
    pub(crate) deviation_share: f64,
    /// Between neighbours; that at a distance is its power.
    pub(crate) autocorrelation: f64,
}

impl Throughput {
    /// 10,000 with 10 % of noise that does not hang together.
    pub(crate) fn steady(intervals: usize) -> Throughput {
        Throughput { intervals, mean: 10_000.0, deviation_share: 0.1, autocorrelation: 0.0 }
    }

    pub(crate) fn draw(self, noise: &mut Noise) -> Vec<f64> {
        let fresh = (1.0 - self.autocorrelation.powi(2)).sqrt();
        let mut state = noise.normal();
        let point = |index: usize| {
            state = self.autocorrelation * state + fresh * noise.skewed();
            // Twice as much scatter at one time as at another, three times over.
            let swing = 1.0 + 0.33 * (3.0 * TAU * index as f64 / self.intervals as f64).sin();
            self.mean * (1.0 + self.deviation_share * swing * state)
        };
        (0..self.intervals).map(point).collect()
    }
}
