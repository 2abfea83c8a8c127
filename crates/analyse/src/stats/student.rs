//! Student's t distribution, for intervals and p-values of means whose spread is estimated from the
//! same few numbers.

use statrs::function::beta::beta_reg;

/// Halvings of a bracket until neither end can move any more in double precision.
const HALVINGS: u32 = 200;

/// The distribution with so many degrees of freedom, above 0 and not necessarily whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Student {
    pub(crate) degrees_of_freedom: f64,
}

impl Student {
    /// The probability, 0 to 1, of a value at least as far from 0 as `t` on either side.
    pub(crate) fn two_sided_p(self, t: f64) -> f64 {
        if t == 0.0 {
            return 1.0;
        }
        let freedom = self.degrees_of_freedom;
        // Abramowitz and Stegun 26.7.1: the tails are an incomplete beta function.
        beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t))
    }

    /// How far from 0 on either side a share `inside` of the distribution reaches; `inside` is in
    /// 0..1.
    pub(crate) fn reach(self, inside: f64) -> f64 {
        let outside = 1.0 - inside;
        let (mut low, mut high) = (0.0, 1.0);
        while self.two_sided_p(high) > outside && high < f64::MAX / 2.0 {
            (low, high) = (high, high * 2.0);
        }
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                break;
            }
            if self.two_sided_p(middle) > outside {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::Student;

    fn student(degrees_of_freedom: f64) -> Student {
        Student { degrees_of_freedom }
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, inside, expected) in [
            (1.0, 0.95, 12.706),
            (2.0, 0.95, 4.303),
            (4.0, 0.95, 2.776),
            (10.0, 0.90, 1.812),
            (10.0, 0.99, 3.169),
            (30.0, 0.95, 2.042),
            (100.0, 0.95, 1.984),
            (100_000.0, 0.95, 1.960),
        ] {
            let reach = student(freedom).reach(inside);
            assert!((reach - expected).abs() < 6e-4, "{freedom}, {inside}: {reach}");
        }
    }

    #[test]
    fn p_values_are_those_of_the_tables() {
        for (freedom, t, expected) in [
            (1.0, 1.0, 0.5),
            (5.0, 2.571, 0.05),
            (5.0, -2.571, 0.05),
            (20.0, 2.845, 0.01),
            (7.5, 0.0, 1.0),
        ] {
            let p = student(freedom).two_sided_p(t);
            assert!((p - expected).abs() < 1e-4, "{freedom}, {t}: {p}");
        }
        assert!(student(3.0).two_sided_p(1e9) < 1e-20);
    }
}
