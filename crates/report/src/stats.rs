//! The little statistics that a headline needs: a mean with the spread of its repeats.

use analyse::{Estimate, mean};

/// Repeats of one number.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    pub count: usize,
    pub mean: f64,
    /// Half the width of the 95 % confidence interval of the mean (Student's t); `None` for one
    /// repeat.
    pub half_width: Option<f64>,
}

impl Repeated {
    /// Of these values; `None` where there are none, or one is not finite.
    pub fn of(values: &[f64]) -> Option<Repeated> {
        Some(Repeated {
            count: values.len(),
            mean: mean(values)?,
            half_width: Estimate::of_repeats(values).map(|estimate| estimate.half_width()),
        })
    }

    /// In a unit that is so many of the present one.
    pub fn per(&self, unit: f64) -> Repeated {
        Repeated {
            count: self.count,
            mean: self.mean / unit,
            half_width: self.half_width.map(|width| width / unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Repeated;

    #[test]
    fn confidence_interval_of_three() {
        let one = Repeated::of(&[5.0]).map(|r| (r.mean, r.half_width));
        assert_eq!(one, Some((5.0, None)));
        assert_eq!(Repeated::of(&[]), None);
        // Deviation 1, t = 4.303 for two degrees of freedom: 4.303 / sqrt(3) = 2.484.
        let three = Repeated::of(&[9.0, 10.0, 11.0]).and_then(|r| r.half_width);
        assert!(three.is_some_and(|width| (width - 2.484).abs() < 0.001), "{three:?}");
    }
}
