//! What a key takes.

use super::DURATION_MAX;
use base::limits::AUTO_INTERVALS_MIN;
use std::time::Duration;

/// What a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Names and places; what they may be is not this crate's to know.
    Text,
    OneOf(&'static [&'static str]),
    Count {
        least: u32,
        most: u32,
    },
    /// Any number of 64 bits.
    Seed,
    Duration {
        least: Duration,
    },
    /// A time, or as long as it needs.
    Length {
        least: Duration,
        /// Where the plan names none.
        auto_most: Duration,
    },
    /// Transactions per second, or a share of what a closed loop does.
    Rate,
    /// Of a mean.
    Share {
        least: f64,
        most: f64,
    },
    Flag,
    Size {
        most_bytes: u64,
    },
    /// A table of server variables.
    Variables,
    /// A share, or `false`.
    ShareOrOff,
    /// A number, or `false`.
    NumberOrOff {
        bounds: &'static str,
    },
    /// A table of times by transaction type, or `false`.
    TimesOrOff,
}

impl Shape {
    /// What a key takes, for people.
    pub(crate) fn words(self) -> String {
        match self {
            Shape::Text => "a text".to_owned(),
            Shape::OneOf(names) => {
                let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
                quoted.join(" or ")
            }
            Shape::Count { least, most } => format!("a whole number from {least} to {most}"),
            Shape::Seed => "a whole number from 0".to_owned(),
            Shape::Duration { least } => format!(
                "a time like \"90s\" or \"2h\" or a number of seconds, from {} to {}",
                humantime::format_duration(least),
                humantime::format_duration(DURATION_MAX)
            ),
            Shape::Length { least, auto_most } => format!(
                "{}, or \"auto\" ({} at most) or \"auto:10m\" (10m at most; {AUTO_INTERVALS_MIN} intervals at least)",
                Shape::Duration { least }.words(),
                humantime::format_duration(auto_most)
            ),
            Shape::Rate => "transactions per second like 500 or \"500/s\", or a share of what a closed loop does like \"80%\"".to_owned(),
            Shape::Share { least, most } => format!(
                "a share like \"2%\" or 0.02, from {}% to {}%",
                least * 100.0,
                most * 100.0
            ),
            Shape::Flag => "true or false".to_owned(),
            Shape::Size { most_bytes } => {
                format!(
                    "a size like \"512M\" or \"8G\", up to {}G",
                    most_bytes >> 30
                )
            }
            Shape::Variables => "a table like { innodb_io_capacity = [2000, 15000] }".to_owned(),
            Shape::ShareOrOff => "a share like \"80%\" or 0.8, or false".to_owned(),
            Shape::NumberOrOff { bounds } => format!("a number {bounds}, or false"),
            Shape::TimesOrOff => {
                "a table like { new_order = \"5s\", stock_level = \"20s\" }, or false".to_owned()
            }
        }
    }
}
