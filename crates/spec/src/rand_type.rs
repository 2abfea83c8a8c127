//! How ids are drawn.

use std::fmt;
use std::str::FromStr;

/// The distributions of sysbench's --rand-type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RandType {
    Uniform,
    /// The mean of twelve uniform values.
    Gaussian,
    /// Three of four values are in the middle hundredth.
    Special,
    /// A share `h` of the ids, the first, has a share 1 - `h` of the draws.
    Pareto {
        h: f64,
    },
    /// The n-th id comes in proportion to 1 / n^exponent.
    Zipfian {
        exponent: f64,
    },
}

impl RandType {
    /// With sysbench's --rand-pareto-h and --rand-zipfian-exp, by default.
    const ALL: [RandType; 5] = [
        RandType::Uniform,
        RandType::Gaussian,
        RandType::Special,
        RandType::PARETO,
        RandType::ZIPFIAN,
    ];
    pub const PARETO: RandType = RandType::Pareto { h: 0.2 };
    pub const ZIPFIAN: RandType = RandType::Zipfian { exponent: 0.8 };

    pub const fn name(self) -> &'static str {
        match self {
            RandType::Uniform => "uniform",
            RandType::Gaussian => "gaussian",
            RandType::Special => "special",
            RandType::Pareto { .. } => "pareto",
            RandType::Zipfian { .. } => "zipfian",
        }
    }

    /// The same with this parameter.
    ///
    /// # Errors
    /// Where it has none, or none such.
    pub fn with(self, parameter: f64) -> Result<RandType, String> {
        match self {
            RandType::Pareto { .. } if parameter > 0.0 && parameter < 1.0 => {
                Ok(RandType::Pareto { h: parameter })
            }
            RandType::Pareto { .. } => {
                Err(format!("the h of pareto is above 0 and below 1, and not {parameter}"))
            }
            RandType::Zipfian { .. } if (0.0..=10.0).contains(&parameter) => {
                Ok(RandType::Zipfian { exponent: parameter })
            }
            RandType::Zipfian { .. } => {
                Err(format!("the exponent of zipfian is from 0 to 10, and not {parameter}"))
            }
            RandType::Uniform | RandType::Gaussian | RandType::Special => {
                Err(format!("{} has no parameter", self.name()))
            }
        }
    }
}

impl FromStr for RandType {
    type Err = String;

    /// `zipfian`, or `zipfian:1.1` with its parameter.
    fn from_str(text: &str) -> Result<RandType, String> {
        let (name, parameter) =
            text.split_once(':').map_or((text, None), |(name, of)| (name, Some(of)));
        let known = RandType::ALL.into_iter().find(|of| of.name() == name).ok_or_else(|| {
            let names = RandType::ALL.map(RandType::name).join(", ");
            format!("unknown distribution {name:?}; known are {names}")
        })?;
        let Some(parameter) = parameter else { return Ok(known) };
        let number = parameter.trim().parse();
        let number = number.map_err(|_| format!("{parameter:?} is no number; write zipfian:1.1"));
        known.with(number?)
    }
}

impl fmt::Display for RandType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RandType::Uniform | RandType::Gaussian | RandType::Special => f.write_str(self.name()),
            RandType::Pareto { h: of } | RandType::Zipfian { exponent: of } => {
                write!(f, "{}:{of}", self.name())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RandType;

    #[test]
    fn distributions_are_written_with_their_parameters() {
        assert_eq!("zipfian".parse(), Ok(RandType::Zipfian { exponent: 0.8 }));
        for text in ["uniform", "gaussian", "special", "pareto:0.3", "zipfian:1.1"] {
            assert_eq!(text.parse::<RandType>().unwrap().to_string(), text);
        }
        for (bad, word) in [
            ("normal", "known are"),
            ("uniform:1", "no parameter"),
            ("pareto:1", "below 1"),
            ("pareto:nan", "below 1"),
            ("zipfian:-1", "0 to 10"),
            ("zipfian:x", "no number"),
        ] {
            assert!(bad.parse::<RandType>().unwrap_err().contains(word), "{bad}");
        }
    }
}
