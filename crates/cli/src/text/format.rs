//! Numbers as people read them.

use analyse::MeanValue;
use std::fmt::Display;
use std::time::Duration;

/// Of a bar between its brackets.
const BAR_WIDTH: usize = 30;

pub fn optional(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "NA".to_owned(), |value| format!("{value:.decimals$}"))
}

pub fn count(value: Option<impl Display>) -> String {
    value.map_or_else(|| "NA".to_owned(), |value| value.to_string())
}

/// `12345 ± 67`, the parts of a mean by `unit`; NA where it is not known.
pub fn with_interval(value: &MeanValue, unit: f64, decimals: usize) -> String {
    let width = value.half_width().map(|half| format!(" ± {:.decimals$}", half / unit));
    optional(value.mean.map(|mean| mean / unit), decimals) + &width.unwrap_or_default()
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
