//! Numbers as people read them.

pub use analyse::sentences::number as optional;
use analyse::{MeanValue, marked};
use std::fmt::Display;
use std::time::Duration;

/// Of a bar between its brackets.
const BAR_WIDTH: usize = 30;

/// As it is shown, or a dash where it was not measured.
pub fn or_dash<T>(value: Option<T>, shown: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), shown)
}

/// Each on a line of its own.
pub fn lines<T: Display>(all: impl IntoIterator<Item = T>) -> String {
    all.into_iter().map(|line| format!("{line}\n")).collect()
}

pub fn count(value: Option<impl Display>) -> String {
    value.map_or_else(|| "NA".to_owned(), |value| value.to_string())
}

/// Transactions per minute, cut off to whole ones, as in [`base::truncated`].
pub fn throughput(per_minute: Option<f64>) -> String {
    optional(per_minute.map(f64::trunc), 0)
}

/// The same with half of its interval: `12345 ± 67`.
pub fn throughput_with_interval(of: &MeanValue) -> String {
    throughput(of.mean) + &plus_minus(of, 1.0, 0)
}

/// `12.30 ± 0.12`, microseconds as milliseconds; with ≥ where it is at least so long.
pub fn ms_with_interval(us: &MeanValue, decimals: usize) -> String {
    let mean = optional(us.mean.map(|us| us / 1e3), decimals);
    marked(mean, us.at_least) + &plus_minus(us, 1e3, decimals)
}

fn plus_minus(of: &MeanValue, unit: f64, decimals: usize) -> String {
    of.half_width().map_or_else(String::new, |half| format!(" ± {:.decimals$}", half / unit))
}

/// A share with its sign: `99.12 %`.
pub fn percent(share: f64, decimals: usize) -> String {
    format!("{:.decimals$} %", share * 100.0)
}

pub fn ms(us: Option<f64>) -> String {
    optional(us.map(|us| us / 1e3), 2)
}

/// `27 s`, `12:05` or `1:12:05`.
pub fn time(time: Duration) -> String {
    let s = time.as_secs();
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, minutes, s) => format!("{minutes}:{s:02}"),
        (hours, minutes, s) => format!("{hours}:{minutes:02}:{s:02}"),
    }
}

/// `[===>   ]  45 %`.
pub fn bar(share: f64) -> String {
    let full = (share * BAR_WIDTH as f64).round() as usize;
    let mut bar = "=".repeat(full);
    if full < BAR_WIDTH {
        bar.push('>');
    }
    format!("[{bar:<BAR_WIDTH$}] {:>3.0} %", share * 100.0)
}
