//! The little statistics that a headline needs: a mean with the spread of its repeats.

/// Repeats of one number.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    pub count: usize,
    pub mean: f64,
    /// Half the width of the 95 % confidence interval of the mean (Student's t); `None` for one repeat.
    pub half_width: Option<f64>,
}

/// Two-sided 95 % quantiles of Student's t for 1..=30 degrees of freedom.
const T_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

impl Repeated {
    /// Of these values; `None` where there are none.
    pub fn of(values: &[f64]) -> Option<Repeated> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let n = count as f64;
        let mean = values.iter().sum::<f64>() / n;
        let half_width = (count > 1).then(|| {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let deviation = (squares / (n - 1.0)).sqrt();
            let t = T_95
                .get(count - 2)
                .copied()
                .unwrap_or(1.960 + 2.4 / (n - 1.0));
            t * deviation / n.sqrt()
        });
        Some(Repeated {
            count,
            mean,
            half_width,
        })
    }
}

impl Repeated {
    /// In a unit that is so many of the present one.
    #[must_use]
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
        assert!(
            three.is_some_and(|width| (width - 2.484).abs() < 0.001),
            "{three:?}"
        );
    }
}
