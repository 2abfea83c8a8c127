//! Numbers for people: thousands set apart, a fixed number of digits that carry meaning, the unit
//! beside them.

use analyse::NamedValue;
pub use analyse::capitalised;
use base::DateTime;
pub use base::{grouped as integer, trimmed, truncated};
use itertools::Itertools;
use store::ThroughputMetric;

/// Shown where a cell has no number.
pub const NOT_AVAILABLE: &str = "NA";

/// Shown where a cell has a result, but not this number.
pub const NOT_MEASURED: &str = "-";

/// Three significant digits, plain: `0.0123`, `1.23`, `12.3`, `1,230`.
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor();
    let decimals = (2.0 - magnitude).clamp(0.0, 6.0) as usize;
    if decimals == 0 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", integer(value.abs().round() as u64));
    }
    format!("{value:.decimals$}")
}

/// Nanoseconds as seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Nanoseconds as milliseconds.
pub fn ms(ns: f64) -> String {
    significant(ns / 1e6)
}

/// As it is shown, or NA.
pub fn or_na<T>(value: Option<T>, shown: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NOT_AVAILABLE.to_owned(), shown)
}

/// As it is shown, or a dash where it was not measured.
pub fn or_dash<T>(value: Option<T>, shown: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NOT_MEASURED.to_owned(), shown)
}

/// Microseconds in the unit that people would use: `900 µs`, `41.3 ms`, `2.10 s`.
pub fn us(us: f64) -> String {
    match us {
        1e6.. => format!("{} s", significant(us / 1e6)),
        1e3.. => format!("{} ms", significant(us / 1e3)),
        _ => format!("{} µs", significant(us)),
    }
}

/// A duration in the unit that people would use: `20 s`, `2 h`, `1 min 30 s`.
pub fn duration(ns: u64) -> String {
    let s = seconds(ns);
    if s < 120.0 {
        return format!("{} s", trimmed(s, 1));
    }
    let total = s.round() as u64;
    let (hours, minutes, rest) = (total / 3600, total / 60 % 60, total % 60);
    [(hours, "h"), (minutes, "min"), (rest, "s")]
        .iter()
        .filter(|(value, _)| *value > 0)
        .map(|(value, unit)| format!("{value} {unit}"))
        .join(" ")
}

/// A share as percent.
pub fn percent(share: f64) -> String {
    format!("{} %", trimmed(share * 100.0, 2))
}

/// The same in a column of percents.
pub fn percents(share: f64) -> String {
    trimmed(share * 100.0, 1)
}

/// Bytes in binary units.
pub fn bytes(value: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power = (value.max(1).ilog2() / 10).min(4);
    format!("{} {}", significant(value as f64 / 1024_f64.powi(power as i32)), units[power as usize])
}

/// `YYYY-MM-DD hh:mm:ss UTC`.
pub fn instant(utc_ns: i64) -> String {
    let seconds = u64::try_from(utc_ns).unwrap_or(0) / 1_000_000_000;
    format!("{} UTC", DateTime::from_unix_s(seconds))
}

/// `new_order` as `New order`.
pub fn transaction(name: &str) -> String {
    capitalised(&name.replace('_', " "))
}

/// `New-order` or `Transaction`: what throughput counts, as the beginning of a title.
pub fn primary(metric: ThroughputMetric) -> String {
    capitalised(&metric.transaction().replace(' ', "-"))
}

/// A title in which new orders are called what throughput counts.
pub fn in_words_of(metric: ThroughputMetric, title: &str) -> String {
    let plural = format!("{}s", capitalised(metric.transaction()));
    title
        .replace("NOPM", metric.title())
        .replace("New orders", &plural)
        .replace("New-order", &primary(metric))
}

/// Words as a sentence.
pub fn sentence(words: &str) -> String {
    capitalised(words) + "."
}

/// What the cells of a comparison have in common.
pub fn in_words(others: &[NamedValue]) -> String {
    others.iter().map(NamedValue::words).join(", ")
}

/// A difference with its sign: `+146 %`, `-3.3 %`.
pub fn signed(percent: f64) -> String {
    let decimals = usize::from(percent.abs() < 10.0);
    format!("{percent:+.decimals$} %")
}

#[cfg(test)]
mod tests {
    use super::{bytes, duration, integer, or_na, percent, significant, transaction, truncated};

    #[test]
    fn numbers_read_well() {
        assert_eq!(integer(0), "0");
        assert_eq!(integer(999), "999");
        assert_eq!(integer(1_234_567), "1,234,567");
        assert_eq!(truncated(12_345.99), "12,345");
        assert_eq!(or_na(None, truncated), "NA");
        for (value, text) in [
            (0.0, "0"),
            (0.012_34, "0.0123"),
            (1.234, "1.23"),
            (12.34, "12.3"),
            (123.4, "123"),
            (12_345.6, "12,346"),
            (-2.5, "-2.50"),
        ] {
            assert_eq!(significant(value), text);
        }
        assert_eq!(duration(20_000_000_000), "20 s");
        assert_eq!(duration(1_500_000_000), "1.5 s");
        assert_eq!(duration(7_200_000_000_000), "2 h");
        assert_eq!(duration(150_000_000_000), "2 min 30 s");
        assert_eq!(percent(0.0101), "1.01 %");
        assert_eq!(bytes(4 << 30), "4.00 GiB");
        assert_eq!(transaction("stock_level"), "Stock level");
        assert_eq!(transaction(""), "");
    }
}
