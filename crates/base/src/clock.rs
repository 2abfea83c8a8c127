//! Wall-clock time for what is stored and shown. Measured paths use `std::time::Instant`.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, in nanoseconds since 1970-01-01 UTC. Times in the results file are of this form.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
pub fn now_utc_ns() -> i64 {
    // A clock before 1970 or after 2262 is a broken machine; 0 marks it without a panic.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|d| i64::try_from(d.as_nanos()).ok())
        .unwrap_or(0)
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
        write!(
            f,
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
            self.year, self.month, self.day, self.hour, self.minute, self.second
        )
    }
}

#[cfg(test)]
mod tests {
    use super::DateTime;

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
