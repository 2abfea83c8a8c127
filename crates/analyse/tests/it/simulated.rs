//! Labs of which the truth is known, and how often their comparisons find it.

use analyse::{Base, Blocks, Contrast, Observation, holm};
use base::Random;
use std::f64::consts::TAU;

const SIGNIFICANT: f64 = 0.05;
/// Of the natural logarithm of throughput, as the noise below.
const DRIFT_DEVIATION: f64 = 0.10;

/// A lab whose first cell is the baseline of a table. One cell gives 5 % more than it, one 20 %,
/// all others the same.
pub struct Scenario {
    pub name: &'static str,
    /// Noise of each cell. Which cell has which is another in each trial.
    pub deviations: Vec<f64>,
    pub repeats: usize,
    /// The share of repeats that failed.
    pub missing: f64,
}

/// Shares of trials, 0 to 1.
#[derive(Debug, Default)]
pub struct Found {
    /// Of comparisons of two equal cells, without correction.
    pub false_alarms: f64,
    /// The same of pairs of which both cells have the larger noise; not a number where all are
    /// alike.
    pub false_alarms_noisy: f64,
    pub five_percent: f64,
    /// In a test that asks for a gain alone.
    pub five_percent_one_sided: f64,
    pub twenty_percent: f64,
    /// Of tables with any false alarm, after Holm's correction.
    pub tables_with_false_alarms: f64,
    pub five_percent_corrected: f64,
    pub twenty_percent_corrected: f64,
}

impl Scenario {
    pub fn alike(name: &'static str, cells: usize, repeats: usize) -> Scenario {
        Scenario { name, deviations: vec![0.03; cells], repeats, missing: 0.0 }
    }

    /// Measures and compares so many labs.
    pub fn tried(&self, trials: usize) -> Found {
        let mut random = Random::new(11, &[]);
        let mut found = Found::default();
        let (mut equal, mut noisy) = (0, 0);
        for trial in 0..trials {
            let blocks = Blocks::of(&self.drawn(trial, &mut random));
            let rows = (1..self.deviations.len())
                .filter_map(|cell| Some((cell, blocks.contrast(cell, Base(0))?)))
                .filter(|(_, contrast)| contrast.p_value().is_some());
            let rows: Vec<_> = rows.collect();
            equal += found.count(&rows);
            for (cell, contrast) in rows.iter().filter(|(cell, _)| *cell > 2) {
                if [0, *cell].iter().all(|cell| self.is_noisy(*cell, trial)) {
                    noisy += 1;
                    let is_alarm = contrast.p_value().is_some_and(|p| p < SIGNIFICANT);
                    found.false_alarms_noisy += f64::from(u8::from(is_alarm));
                }
            }
        }
        found.false_alarms_noisy /= f64::from(noisy);
        found.by(trials, equal);
        found
    }

    fn deviation(&self, cell: usize, trial: usize) -> f64 {
        self.deviations[(cell + trial) % self.deviations.len()]
    }

    fn is_noisy(&self, cell: usize, trial: usize) -> bool {
        let quiet = self.deviations.iter().copied().fold(f64::MAX, f64::min);
        self.deviation(cell, trial) > quiet
    }

    fn drawn(&self, trial: usize, random: &mut Random) -> Vec<Observation> {
        let cells = self.deviations.len();
        let mut all = Vec::new();
        for block in 0..self.repeats {
            let drift = DRIFT_DEVIATION * normal(random);
            for cell in 0..cells {
                let gain = match cell {
                    1 => 1.05,
                    2 => 1.20,
                    _ => 1.0,
                };
                let noise = self.deviation(cell, trial) * normal(random);
                let value = 1_000.0 * gain * f64::exp(drift + noise);
                if random.unit() >= self.missing {
                    all.push(Observation { cell, block, value });
                }
            }
        }
        all
    }
}

impl Found {
    /// Takes up the table of one lab; says how many comparisons of equal cells it has.
    fn count(&mut self, rows: &[(usize, Contrast)]) -> usize {
        let p_value = |(_, contrast): &(usize, Contrast)| contrast.p_value().unwrap_or(1.0);
        let plain: Vec<f64> = rows.iter().map(p_value).collect();
        let corrected = holm(&plain);
        let mut equal = 0;
        let mut any = false;
        for ((cell, contrast), (plain, corrected)) in
            rows.iter().zip(plain.into_iter().zip(corrected))
        {
            let one = |yes: bool| f64::from(u8::from(yes));
            let is_gain = contrast.ratio() > 1.0;
            match cell {
                1 => {
                    self.five_percent += one(plain < SIGNIFICANT && is_gain);
                    self.five_percent_one_sided += one(plain < 2.0 * SIGNIFICANT && is_gain);
                    self.five_percent_corrected += one(corrected < SIGNIFICANT && is_gain);
                }
                2 => {
                    self.twenty_percent += one(plain < SIGNIFICANT && is_gain);
                    self.twenty_percent_corrected += one(corrected < SIGNIFICANT && is_gain);
                }
                _ => {
                    equal += 1;
                    self.false_alarms += one(plain < SIGNIFICANT);
                    any |= corrected < SIGNIFICANT;
                }
            }
        }
        self.tables_with_false_alarms += f64::from(u8::from(any));
        equal
    }

    fn by(&mut self, trials: usize, equal: usize) {
        self.false_alarms /= equal as f64;
        for count in [
            &mut self.five_percent,
            &mut self.five_percent_one_sided,
            &mut self.twenty_percent,
            &mut self.tables_with_false_alarms,
            &mut self.five_percent_corrected,
            &mut self.twenty_percent_corrected,
        ] {
            *count /= trials as f64;
        }
    }
}

/// Mean 0, deviation 1 (Box and Muller).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * random.unit().ln()).sqrt();
    radius * (TAU * random.unit()).cos()
}

/// Those of docs/statistics.md.
pub fn scenarios() -> Vec<Scenario> {
    let unlike = |name, quiet: f64, noisy: f64, repeats| Scenario {
        name,
        deviations: [[quiet; 5].as_slice(), &[noisy; 4]].concat(),
        repeats,
        missing: 0.0,
    };
    let missing =
        |name, missing, repeats| Scenario { missing, ..Scenario::alike(name, 9, repeats) };
    vec![
        Scenario::alike("9 cells, 2 repeats", 9, 2),
        Scenario::alike("9 cells, 3 repeats", 9, 3),
        Scenario::alike("9 cells, 4 repeats", 9, 4),
        Scenario::alike("9 cells, 5 repeats", 9, 5),
        Scenario::alike("4 cells, 3 repeats", 4, 3),
        Scenario::alike("24 cells, 3 repeats", 24, 3),
        missing("9 cells, 3 repeats, a tenth of them failed", 0.1, 3),
        missing("9 cells, 5 repeats, a fifth of them failed", 0.2, 5),
        unlike("9 cells, 3 repeats, noise 2 % and 4 %", 0.02, 0.04, 3),
        unlike("9 cells, 5 repeats, noise 2 % and 4 %", 0.02, 0.04, 5),
        unlike("9 cells, 3 repeats, noise 1 % and 6 %", 0.01, 0.06, 3),
        unlike("9 cells, 5 repeats, noise 1 % and 6 %", 0.01, 0.06, 5),
    ]
}
