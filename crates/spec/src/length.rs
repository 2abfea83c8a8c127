//! How long a warm-up or a window is: a time, or as long as it needs.

use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// No window is long enough to know a mean better.
pub const PRECISION_LEAST: f64 = 0.000_1;
/// A mean that is known less well is not worth its window.
pub const PRECISION_MOST: f64 = 0.5;
/// What an automatic length is taken for before it is known.
pub const AUTO_EXPECTED: Duration = Duration::from_secs(5 * 60);

const AUTO: &str = "auto";

/// The length of a warm-up or a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Length {
    /// The length itself or, of an automatic one, the longest that it may be.
    pub most: Duration,
    /// It ends when the server is steady (a warm-up) or the mean is known well enough (a window).
    pub is_auto: bool,
}

impl Length {
    pub const fn fixed(time: Duration) -> Length {
        Length { most: time, is_auto: false }
    }

    pub const fn auto(most: Duration) -> Length {
        Length { most, is_auto: true }
    }

    /// Reads `auto`, `auto:10m` (10 minutes at most) or a time; `time` reads that, and `auto_most`
    /// is the most of plain `auto`. `None` where that reads nothing.
    pub fn parse(
        text: &str,
        auto_most: Duration,
        time: impl FnOnce(&str) -> Option<Duration>,
    ) -> Option<Length> {
        match text.split_once(':') {
            None if text == AUTO => Some(Length::auto(auto_most)),
            Some((AUTO, most)) => time(most).map(Length::auto),
            _ => time(text).map(Length::fixed),
        }
    }

    /// What it will be, as far as that is known: of an automatic one [`AUTO_EXPECTED`] is a guess.
    pub fn expected(self) -> Duration {
        if self.is_auto { self.most.min(AUTO_EXPECTED) } else { self.most }
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = humantime::format_duration(self.most);
        if self.is_auto { write!(f, "{AUTO}, {most} at most") } else { write!(f, "{most}") }
    }
}

/// Reads how well a mean is to be known: half the width of its 95 % interval as a share of the
/// mean, as `2%` or `0.02`. `None` for what is no number from 0.01 % to 50 %.
pub fn parse_precision(text: &str) -> Option<f64> {
    base::parse_share(text).filter(|share| (PRECISION_LEAST..=PRECISION_MOST).contains(share))
}

#[cfg(test)]
mod tests {
    use super::{Length, parse_precision};
    use std::time::Duration;

    #[test]
    fn lengths_as_people_write_them() {
        let seconds = |n| Duration::from_secs(n);
        let time = |text: &str| humantime::parse_duration(text).ok();
        let parse = |text| Length::parse(text, seconds(9), time);
        assert_eq!(parse("90s"), Some(Length::fixed(seconds(90))));
        assert_eq!(parse("auto"), Some(Length::auto(seconds(9))));
        assert_eq!(parse("auto:10m"), Some(Length::auto(seconds(600))));
        for bad in ["", "auto:", "auto:x", "automatic", "auto10m", "10m:auto"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        let told = |length: Length| length.to_string();
        assert_eq!(told(Length::fixed(seconds(90))), "1m 30s");
        assert_eq!(told(Length::auto(seconds(600))), "auto, 10m at most");
        let expected = |length: Length| length.expected().as_secs();
        assert_eq!(expected(Length::fixed(seconds(3_600))), 3_600);
        assert_eq!(expected(Length::auto(seconds(3_600))), 300);
        assert_eq!(expected(Length::auto(seconds(60))), 60);
    }

    #[test]
    fn precision_is_a_share() {
        assert_eq!(parse_precision("2%"), Some(0.02));
        assert_eq!(parse_precision("0.5 %"), Some(0.005));
        assert_eq!(parse_precision("0.02"), Some(0.02));
        assert_eq!(parse_precision("0.01%"), Some(0.000_1));
        for bad in ["", "%", "0", "0.009%", "-1%", "51%", "2", "nan", "inf%", "2 percent"] {
            assert_eq!(parse_precision(bad), None, "{bad}");
        }
    }
}
