//! How much slower the clock of a measurement runs.

use crate::defaults;
use crate::identity::as_text;
use base::Dilation;
use serde::Serialize;
use std::fmt;

/// How many times slower than real ones the clocks of a measurement run; below 1 they run faster.
/// Results are in the time of these clocks, so that this host acts as one whose cores are as many
/// times as fast.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Dilate {
    By(#[serde(serialize_with = "as_text")] Dilation),
    /// As little as it takes for the host to be no limit, and no more than that: less than 1 where
    /// real time leaves it idle.
    Auto {
        #[serde(serialize_with = "as_text")]
        most: Dilation,
    },
}

/// Why the clock of a server cannot be dilated that has files on a real device.
pub const OF_REAL_DEVICES: &str = "the time of real devices cannot be dilated; place data on a \
                                   profile (data: nvme-pm1725) and no role in a directory, or \
                                   leave it out";

impl Dilate {
    /// Real time.
    pub const NONE: Dilate = Dilate::By(Dilation::NONE);

    /// The factor, where it does not have to be found first.
    pub fn fixed(self) -> Option<Dilation> {
        match self {
            Dilate::By(dilation) => Some(dilation),
            Dilate::Auto { .. } => None,
        }
    }

    /// The most that it can be.
    pub fn most(self) -> Dilation {
        match self {
            Dilate::By(dilation) | Dilate::Auto { most: dilation } => dilation,
        }
    }

    /// `8`, `1.5`, `1/8` or `auto`, which goes as far as [`defaults::DILATE_MAX`].
    ///
    /// # Errors
    /// What is allowed.
    pub fn parse(text: &str) -> Result<Dilate, String> {
        match text {
            "auto" => Ok(Dilate::Auto { most: defaults::DILATE_MAX }),
            text => parse_dilation(text).map(Dilate::By),
        }
    }

    /// The same with another limit of what is automatic.
    #[must_use]
    pub fn at_most(self, limit: Option<Dilation>) -> Dilate {
        match (self, limit) {
            (Dilate::Auto { .. }, Some(most)) => Dilate::Auto { most },
            _ => self,
        }
    }
}

/// A factor of a dilated clock.
///
/// # Errors
/// What is allowed.
pub fn parse_dilation(text: &str) -> Result<Dilation, String> {
    Dilation::parse(text).ok_or_else(|| "a number from 1/32 to 100, fractions allowed".to_owned())
}

/// As a plan has it.
impl fmt::Display for Dilate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dilate::By(dilation) => dilation.fmt(f),
            Dilate::Auto { .. } => f.write_str("auto"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Dilate;
    use crate::defaults;
    use base::Dilation;

    #[test]
    fn a_factor_or_auto() {
        assert_eq!(Dilate::parse("1"), Ok(Dilate::NONE));
        let auto = Dilate::parse("auto").unwrap();
        assert_eq!((auto.fixed(), auto.most()), (None, defaults::DILATE_MAX));
        let most = Dilation::whole(4);
        assert_eq!(auto.at_most(Some(most)).most(), most);
        assert_eq!(Dilate::By(most).at_most(Some(Dilation::NONE)), Dilate::By(most));
        assert_eq!(Dilate::parse("2.5").unwrap().to_string(), "2.5");
        assert_eq!(Dilate::parse("1/8"), Dilate::parse("0.125"));
        assert!(Dilate::parse("0.03").unwrap_err().contains("from 1/32 to 100"));
    }
}
