//! The clocks. What is measured or paced reads [`Instant`], which may be dilated. What tells when
//! something happened is UTC ([`now_utc_ns`]). Time-outs against hangs and progress for people are
//! real: `std::time::Instant`.

use crate::dilation::{DilatedClock, Dilation};
use std::ops::{Add, Sub};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{self, Duration, SystemTime, UNIX_EPOCH};

/// Where the clocks of this process begin.
static ORIGIN: LazyLock<time::Instant> = LazyLock::new(time::Instant::now);
/// The bits of the factor of this process' [`Instant`]; 0 for none.
static FACTOR: AtomicU64 = AtomicU64::new(0);

/// `None` in real time, which is to cost nothing.
#[inline]
fn clock() -> Option<DilatedClock> {
    let dilation = dilation();
    (!dilation.is_none()).then_some(DilatedClock { dilation, origin_ns: 0 })
}

#[inline]
fn dilated_ns(real_ns: u64) -> u64 {
    clock().map_or(real_ns, |clock| clock.dilated_ns(real_ns))
}

#[inline]
fn real_ns(dilated_ns: u64) -> u64 {
    clock().map_or(dilated_ns, |clock| clock.real_ns(dilated_ns))
}

fn to_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The dilation of this process' [`Instant`].
#[inline]
pub fn dilation() -> Dilation {
    let factor = f64::from_bits(FACTOR.load(Ordering::Relaxed));
    Dilation::new(factor).unwrap_or(Dilation::NONE)
}

/// Slows this process' [`Instant`] down, or lets it run faster, until the guard is dropped.
/// Instants from before and after a change have nothing to do with each other: it is made while
/// nothing is measured.
#[must_use]
pub fn dilate(dilation: Dilation) -> DilationGuard {
    FACTOR.store(dilation.factor().to_bits(), Ordering::Relaxed);
    DilationGuard(())
}

/// While it lives, [`Instant`] is dilated ([`dilate`]).
#[derive(Debug)]
pub struct DilationGuard(());

impl Drop for DilationGuard {
    fn drop(&mut self) {
        FACTOR.store(0, Ordering::Relaxed);
    }
}

/// A moment of the clock that measures and paces, which runs [`dilation`] times slower than the
/// real one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant {
    since_origin_ns: u64,
}

impl Instant {
    pub fn now() -> Instant {
        Instant { since_origin_ns: dilated_ns(to_ns(ORIGIN.elapsed())) }
    }

    /// Time from the beginning of this process' clock to then, in ns.
    pub fn since_origin_ns(self) -> u64 {
        self.since_origin_ns
    }

    /// The moment at which so much time has passed since the beginning of this process' clock.
    pub fn at_ns(since_origin_ns: u64) -> Instant {
        Instant { since_origin_ns }
    }

    /// Time since then, which is none where it is to come.
    pub fn elapsed(self) -> Duration {
        Instant::now() - self
    }

    /// When it is, for who sleeps until then.
    pub fn real(self) -> time::Instant {
        let since_origin = Duration::from_nanos(real_ns(self.since_origin_ns));
        // A moment beyond what the system can tell never comes: 30 years are never.
        let never = Duration::from_secs(30 * 366 * 86_400);
        *ORIGIN + since_origin.min(never)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        Instant { since_origin_ns: self.since_origin_ns.saturating_add(to_ns(duration)) }
    }
}

/// None where the other is later.
impl Sub for Instant {
    type Output = Duration;

    fn sub(self, other: Instant) -> Duration {
        Duration::from_nanos(self.since_origin_ns.saturating_sub(other.since_origin_ns))
    }
}

/// What a real duration is in dilated time: CPU time, for one, and what a meter of real time has
/// counted.
pub fn dilated(real: Duration) -> Duration {
    Duration::from_nanos(dilated_ns(to_ns(real)))
}

/// How long a dilated duration takes.
pub fn real(dilated: Duration) -> Duration {
    Duration::from_nanos(real_ns(to_ns(dilated)))
}

/// Now, in nanoseconds since 1970-01-01 UTC. Times in the results file are of this form.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
pub fn now_utc_ns() -> i64 {
    // A clock before 1970 or after 2262 is a broken machine; 0 marks it without a panic.
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_1970.as_nanos()).unwrap_or(0)
}

/// A UTC date and time to the second, as a DATETIME column holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DateTime {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
}

impl DateTime {
    /// The date of `seconds` since 1970-01-01 UTC (proleptic Gregorian, for 1970..=9999).
    pub fn from_unix_s(seconds: u64) -> DateTime {
        let days = seconds / 86_400;
        let in_day = (seconds % 86_400) as u32;
        // Howard Hinnant's days-to-civil: eras of 400 years that start on 1 March, so the leap day
        // comes last.
        let z = days + 719_468;
        let era = z / 146_097;
        let day_of_era = z % 146_097;
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        DateTime {
            year: year as u16,
            month: month as u8,
            day: (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u8,
            hour: (in_day / 3_600) as u8,
            minute: (in_day / 60 % 60) as u8,
            second: (in_day % 60) as u8,
        }
    }

    /// Now, UTC.
    pub fn now() -> DateTime {
        DateTime::from_unix_s(u64::try_from(now_utc_ns()).unwrap_or(0) / 1_000_000_000)
    }
}

/// `YYYY-MM-DD hh:mm:ss`.
impl std::fmt::Display for DateTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let DateTime { year, month, day, hour, minute, second } = self;
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::{DateTime, Dilation, Instant, dilate, dilated, dilation, real};
    use std::time::{self, Duration};

    #[test]
    fn instants_are_dilated_while_a_guard_lives() {
        let ms = Duration::from_millis;
        let guard = dilate(Dilation::new(4.0).unwrap());
        let (begun, really_begun) = (Instant::now(), time::Instant::now());
        assert!(really_begun.saturating_duration_since(begun.real()) < ms(1000));
        std::thread::sleep(ms(40));
        let dilated_time = begun.elapsed();
        let real_time = really_begun.elapsed();
        assert!(dilated_time >= ms(10), "{dilated_time:?}");
        assert!(dilated_time * 4 <= real_time + ms(1), "{dilated_time:?} of {real_time:?}");
        assert_eq!((begun + ms(10)) - begun, ms(10));
        assert_eq!(begun - (begun + ms(10)), Duration::ZERO);
        assert_eq!((begun + ms(10)).real() - begun.real(), ms(40));
        assert!((begun + Duration::MAX).real() > time::Instant::now() + ms(1_000_000));
        assert_eq!((dilated(ms(40)), real(ms(10))), (ms(10), ms(40)));
        drop(guard);
        let guard = dilate(Dilation::new(0.25).unwrap());
        let begun = Instant::now();
        std::thread::sleep(ms(10));
        assert!(begun.elapsed() >= ms(40));
        assert_eq!((begun + ms(40)).real() - begun.real(), ms(10));
        assert_eq!((dilated(ms(10)), real(ms(40))), (ms(40), ms(10)));
        drop(guard);
        assert!(dilation().is_none());
        assert_eq!(dilated(ms(40)), ms(40));
    }

    #[test]
    fn known_dates() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_709_251_199, "2024-02-29 23:59:59"),
            (1_767_225_600, "2026-01-01 00:00:00"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(DateTime::from_unix_s(seconds).to_string(), text);
        }
    }
}
