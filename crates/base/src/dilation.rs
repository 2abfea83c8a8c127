//! A clock that runs slower than the real one, by the same factor everywhere; faster by one below
//! 1.
//!
//! Where devices and every timer take K times as long and results are told in the seconds of such
//! a clock, this host acts as one with cores K times as fast (Gupta et al., "To infinity and
//! beyond: time-warped network emulation", NSDI 2006).

use std::ffi::OsString;
use std::fmt;

/// How many times slower a clock runs than the real one, K: at least 1/32, at most 100.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Dilation(f64);

impl Default for Dilation {
    fn default() -> Dilation {
        Dilation::NONE
    }
}

impl Dilation {
    /// Real time.
    pub const NONE: Dilation = Dilation(1.0);
    /// The fastest clock. What a host adds to a request, microseconds, is 32 times as much by it.
    pub const LEAST: Dilation = Dilation(1.0 / 32.0);
    const MAX: Dilation = Dilation(100.0);

    /// `None` below 1/32 and above 100.
    pub fn new(factor: f64) -> Option<Dilation> {
        (Dilation::LEAST.0..=Dilation::MAX.0).contains(&factor).then_some(Dilation(factor))
    }

    /// The constant factor `factor`, which has to be one.
    pub const fn whole(factor: u8) -> Dilation {
        assert!(factor >= 1 && factor <= 100, "a factor is from 1 to 100");
        Dilation(factor as f64)
    }

    /// A number, fractions allowed: `8`, `1.5`, `0.125`, `1/8`.
    pub fn parse(text: &str) -> Option<Dilation> {
        let (over, under) = text.split_once('/').unwrap_or((text, "1"));
        Dilation::new(over.parse::<f64>().ok()? / under.parse::<f64>().ok()?)
    }

    pub fn factor(self) -> f64 {
        self.0
    }

    pub fn is_none(self) -> bool {
        self == Dilation::NONE
    }

    /// For people, beside what was measured: `in dilated time, K = 8`; nothing for real time.
    pub fn in_words(self) -> Option<String> {
        (!self.is_none()).then(|| format!("in dilated time, K = {self}"))
    }

    /// The same, with what it means on a host with so many cores.
    pub fn as_on(self, cores: usize) -> Option<String> {
        let words = self.in_words()?;
        let cores = crate::counted(cores, "core", "cores");
        let fast = match 1.0 / self.0 {
            whole if whole > 1.0 && whole.fract() == 0.0 => format!("1/{whole}"),
            _ => format!("{self} times"),
        };
        Some(format!("{words}: as on {cores} {fast} as fast"))
    }
}

/// As [`Dilation::parse`] reads it.
impl fmt::Display for Dilation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A dilated clock as a function of the real one. Both agree at its origin, and before it they
/// differ as they do after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DilatedClock {
    pub dilation: Dilation,
    /// The moment from which on it runs otherwise, in nanoseconds of the real clock.
    pub origin_ns: u64,
}

/// Names a process' clock to the libraries that are preloaded into it: [`DilatedClock`] as text,
/// whose origin is of CLOCK_MONOTONIC. Processes that share emulated devices have the same.
pub const CLOCK_VARIABLE: &str = "MYDYNO_CLOCK";

/// `8@123456789`: the factor and the origin.
impl fmt::Display for DilatedClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.dilation, self.origin_ns)
    }
}

impl DilatedClock {
    /// As it is written.
    pub fn parse(text: &str) -> Option<DilatedClock> {
        let (factor, origin) = text.split_once('@')?;
        let dilation = Dilation::parse(factor)?;
        Some(DilatedClock { dilation, origin_ns: origin.parse().ok()? })
    }

    /// The clock of that value of [`CLOCK_VARIABLE`], where it is another than the real one.
    ///
    /// # Errors
    /// Where it is no clock.
    pub fn of_variable(value: Option<OsString>) -> Result<Option<DilatedClock>, String> {
        let Some(text) = value.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let clock = text.to_str().and_then(DilatedClock::parse);
        let clock = clock.ok_or_else(|| {
            format!("{CLOCK_VARIABLE} is {text:?}, which is no clock (8@123456789)")
        })?;
        Ok(Some(clock).filter(|clock| !clock.dilation.is_none()))
    }

    /// The dilated time at a moment of the real clock. It never decreases where the real one does
    /// not.
    #[inline]
    pub fn dilated_ns(&self, real_ns: u64) -> u64 {
        // Every reading of a dilated clock comes here: a conversion rounds down at less cost than
        // `floor`, which is a call.
        match real_ns.checked_sub(self.origin_ns) {
            Some(distance_ns) => self.origin_ns + (distance_ns as f64 / self.dilation.0) as u64,
            None => self.before((self.origin_ns - real_ns) as f64 / self.dilation.0, f64::ceil),
        }
    }

    /// The first moment of the real clock at which it is so late: who sleeps until then has not
    /// slept too short.
    pub fn real_ns(&self, dilated_ns: u64) -> u64 {
        match dilated_ns.checked_sub(self.origin_ns) {
            Some(distance_ns) => {
                let distance_ns = (distance_ns as f64 * self.dilation.0).ceil();
                self.origin_ns.saturating_add(distance_ns as u64)
            }
            None => self.before((self.origin_ns - dilated_ns) as f64 * self.dilation.0, f64::floor),
        }
    }

    /// A distance from the origin is exact to a nanosecond for 104 days (53 bits).
    fn before(&self, distance_ns: f64, rounded: fn(f64) -> f64) -> u64 {
        self.origin_ns.saturating_sub(rounded(distance_ns) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::{DilatedClock, Dilation};

    #[test]
    fn factors_are_from_1_32nd_to_100() {
        for (text, factor) in [
            ("1", 1.0),
            ("1.5", 1.5),
            ("100", 100.0),
            ("8.0", 8.0),
            ("0.9", 0.9),
            ("1/8", 0.125),
            ("0.125", 0.125),
            ("1/32", 0.03125),
            ("3/2", 1.5),
        ] {
            assert_eq!(Dilation::parse(text).map(Dilation::factor), Some(factor), "{text}");
        }
        for text in [
            "0", "0.03", "1/33", "100.1", "-2", "", "x", "NaN", "inf", "8x", "1/0", "0/0", "/8",
            "1/", "1/2/4",
        ] {
            assert_eq!(Dilation::parse(text), None, "{text}");
        }
        assert_eq!(Dilation::new(8.0).unwrap().to_string(), "8");
        assert_eq!(Dilation::new(1.5).unwrap().to_string(), "1.5");
        assert_eq!(Dilation::parse("1/8").unwrap().to_string(), "0.125");
        assert_eq!(Dilation::NONE.as_on(2), None);
        let words = "in dilated time, K = 8: as on 2 cores 8 times as fast";
        assert_eq!(Dilation::whole(8).as_on(2).unwrap(), words);
        let words = "in dilated time, K = 0.125: as on 2 cores 1/8 as fast";
        assert_eq!(Dilation::new(0.125).unwrap().as_on(2).unwrap(), words);
        let words = "in dilated time, K = 0.3: as on 1 core 0.3 times as fast";
        assert_eq!(Dilation::new(0.3).unwrap().as_on(1).unwrap(), words);
    }

    #[test]
    fn a_dilated_clock_goes_on_from_its_origin() {
        let clock = DilatedClock { dilation: Dilation::new(8.0).unwrap(), origin_ns: 1_000 };
        assert_eq!(clock.dilated_ns(1_000), 1_000);
        assert_eq!(clock.dilated_ns(9_000), 2_000);
        assert_eq!(clock.dilated_ns(200), 900);
        assert_eq!(clock.real_ns(2_000), 9_000);
        assert_eq!(clock.real_ns(u64::MAX), u64::MAX);
        assert_eq!(DilatedClock::parse(&clock.to_string()), Some(clock));
        assert_eq!(DilatedClock::parse("0.01@1"), None);
    }

    #[test]
    fn a_clock_may_run_faster() {
        let clock = DilatedClock::parse("0.125@1000").unwrap();
        assert_eq!((clock.dilated_ns(1_000), clock.dilated_ns(1_001)), (1_000, 1_008));
        assert_eq!((clock.dilated_ns(999), clock.dilated_ns(0)), (992, 0));
        assert_eq!((clock.real_ns(1_008), clock.real_ns(1_009)), (1_001, 1_002));
        // A deadline before the origin: none is late.
        assert_eq!((clock.real_ns(992), clock.real_ns(999), clock.real_ns(0)), (999, 1_000, 875));
        assert_eq!(DilatedClock::parse(&clock.to_string()), Some(clock));
    }

    #[test]
    fn no_clock_ever_goes_back() {
        for factor in [1.0 / 32.0, 0.125, 1.0 / 3.0, 0.9, 1.5, 8.0, 100.0] {
            let dilation = Dilation::new(factor).unwrap();
            let clock = DilatedClock { dilation, origin_ns: 123_456_789_012_345 };
            let mut last = (0, 0);
            for real_ns in (clock.origin_ns - 500..clock.origin_ns + 500)
                .chain((1..2_000).map(|step| clock.origin_ns + step * 7_919_000_017))
            {
                let now = (clock.dilated_ns(real_ns), clock.real_ns(real_ns));
                assert!(now.0 >= last.0 && now.1 >= last.1, "{factor} {real_ns}");
                last = now;
            }
        }
    }

    #[test]
    fn no_sleep_is_too_short() {
        for factor in [1.0 / 32.0, 0.125, 0.3, 1.0 / 3.0, 0.5, 1.0, 1.5, 3.0, 7.3, 100.0] {
            let dilation = Dilation::new(factor).unwrap();
            let clock = DilatedClock { dilation, origin_ns: 123_456_789_012_345 };
            for step in 0..2_000_u64 {
                let due_ns = clock.origin_ns - 5_000 + step * 7_919;
                let real_ns = clock.real_ns(due_ns);
                assert!(clock.dilated_ns(real_ns) >= due_ns, "{factor} {step}");
                // A nanosecond of the real clock is as many of a faster one.
                let later = clock.dilated_ns(real_ns) - due_ns;
                assert!(later as f64 <= (1.0 / factor).max(1.0), "{factor} {step}");
                let sooner = (1.1 * factor) as u64 + 1;
                assert!(clock.dilated_ns(real_ns - sooner) < due_ns, "{factor} {step}");
            }
        }
    }
}
