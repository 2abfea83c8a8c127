//! Chance, the same for the same seed.

/// SplitMix64: one multiplication chain for each number, and any seed is a good one.
#[derive(Debug)]
pub struct ModelRandom {
    state: u64,
}

impl ModelRandom {
    pub fn new(seed: u64) -> ModelRandom {
        ModelRandom { state: seed }
    }

    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = self.state;
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }
}

const QUANTILES: usize = 256;

/// Service times round their mean, with the long tail upwards that devices have.
///
/// Quantiles are computed once: a sample is then a look into a table, its mean is exact, and it has
/// a least and a greatest value.
#[derive(Debug)]
pub struct Spread {
    factors: [f64; QUANTILES],
}

impl Spread {
    /// `variation`: standard deviation as a share of the mean.
    pub fn new(variation: f64) -> Spread {
        let (mut low, mut high) = (0.0, 2.0);
        let mut spread = Spread { factors: quantiles(0.0) };
        // The deviation rises with the shape, so that halving finds it; 30 halvings leave nothing.
        for _ in 0..30 {
            let shape = f64::midpoint(low, high);
            spread.factors = quantiles(shape);
            if spread.variation() < variation {
                low = shape;
            } else {
                high = shape;
            }
        }
        spread
    }

    fn variation(&self) -> f64 {
        let squares = self.factors.iter().map(|factor| (factor - 1.0).powi(2));
        (squares.sum::<f64>() / QUANTILES as f64).sqrt()
    }

    /// A factor to multiply a mean with.
    pub fn sample(&self, random: &mut ModelRandom) -> f64 {
        // The upper bits choose: 0..256 by a shift, which no index can exceed.
        self.factors[(random.bits() >> 56) as usize]
    }
}

/// Quantiles of the log-logistic distribution: the shape of a log-normal one, without a series.
fn quantiles(shape: f64) -> [f64; QUANTILES] {
    let mut factors = std::array::from_fn(|n| {
        let share = (n as f64 + 0.5) / QUANTILES as f64;
        (share / (1.0 - share)).powf(shape)
    });
    let mean = factors.iter().sum::<f64>() / QUANTILES as f64;
    for factor in &mut factors {
        *factor /= mean;
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::{ModelRandom, Spread};

    #[test]
    fn spread_has_its_mean_and_deviation() {
        for variation in [0.0, 0.1, 0.25, 1.0] {
            let spread = Spread::new(variation);
            let mean = spread.factors.iter().sum::<f64>() / 256.0;
            assert!((mean - 1.0).abs() < 1e-9, "{mean}");
            assert!((spread.variation() - variation).abs() < 0.01);
            let mut random = ModelRandom::new(3);
            let drawn = (0..100_000).map(|_| spread.sample(&mut random));
            let mean = drawn.sum::<f64>() / 100_000.0;
            assert!((mean - 1.0).abs() < 0.02, "{mean}");
        }
    }
}
