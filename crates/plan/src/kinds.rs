//! The kinds of values that keys take.

use crate::order::Order;
use crate::values::{Entry, KEY, Kind, Many, Raw, Why, entries_of};
use base::limits::{AUTO_INTERVALS_MIN, PAGE_CACHE_BYTES_MAX, WAREHOUSES_MAX};
use base::{Dilation, Warehouses, parse_share, parse_size};
use humantime::{format_duration, parse_duration};
use serde::de::MapAccess;
use serde_json::{Value, json};
use spec::defaults::{WARMUP_AUTO_MOST, WINDOW_AUTO_MOST};
use spec::{
    Dilate, Fault, Isolation, Length, PRECISION_LEAST, PRECISION_MOST, Rate, Scale, Spacing, Style,
    Topology, WorkloadKind, parse_precision,
};
use std::time::Duration;

/// Longest time that a plan may name.
const DURATION_MAX: Duration = Duration::from_millis(DURATION_MAX_MS);
pub(crate) const DURATION_MAX_MS: u64 = 30 * 24 * 3600 * 1000;

/// Adds the nearest known name, and all of them.
pub(crate) fn with_known<S: AsRef<str>>(why: &str, name: &str, known: &[S]) -> String {
    let nearest = base::nearest(name, known).map(|nearest| format!("; the nearest is `{nearest}`"));
    let known: Vec<&str> = known.iter().map(S::as_ref).collect();
    format!("{why}{}; known are {}", nearest.unwrap_or_default(), known.join(", "))
}

/// A whole number.
fn whole(raw: &Raw<'_>) -> Option<u64> {
    match raw {
        Raw::Integer(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// A number that may have a fraction, or the text of one, as `read` takes it.
fn number<T>(raw: &Raw<'_>, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    match raw {
        Raw::Text(text) => read(text),
        Raw::Integer(number) => read(&number.to_string()),
        Raw::Float(number) => read(&number.to_string()),
        _ => None,
    }
}

/// A time as people write it, or a number of seconds.
fn time(raw: &Raw<'_>) -> Option<Duration> {
    match raw {
        Raw::Text(text) => parse_duration(text).ok(),
        other => whole(other).map(Duration::from_secs),
    }
}

fn time_schema() -> Value {
    json!({ "anyOf": [
        { "type": "string", "minLength": 1 },
        { "type": "integer", "minimum": 0 },
    ] })
}

/// What is wrong with the value of a key, behind the key's name.
fn with_key(why: &str) -> String {
    format!("`{KEY}` {why}")
}

/// Kinds of which all is said in a line each: what is made of one, what it takes, its JSON schema
/// and how it is read.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ty: $value:ty, $takes:expr, $schema:expr, $read:expr;)+) => {$(
        impl Kind for $kind {
            type Value = $value;

            fn takes() -> String {
                $takes.to_string()
            }

            fn schema() -> Value {
                $schema
            }

            fn read(raw: &Raw<'_>) -> Result<$value, Why> {
                let read: fn(&Raw<'_>) -> Option<$value> = $read;
                read(raw).ok_or(None)
            }
        }
    )+};
}

/// One of a few, by its name.
macro_rules! named {
    ($($kind:ty: $all:expr;)+) => {$(
        impl Kind for $kind {
            type Value = $kind;

            fn takes() -> String {
                let quoted = $all.iter().map(|one| format!("\"{}\"", one.name()));
                quoted.collect::<Vec<_>>().join(" or ")
            }

            fn schema() -> Value {
                let names: Vec<_> = $all.iter().map(|one| one.name().to_owned()).collect();
                json!({ "type": "string", "enum": names })
            }

            fn read(raw: &Raw<'_>) -> Result<$kind, Why> {
                let Raw::Text(text) = raw else {
                    return Err(None);
                };
                let names: Vec<_> = $all.iter().map(|one| one.name().to_owned()).collect();
                let found = $all.iter().find(|one| one.name() == *text).cloned();
                found.ok_or_else(|| Some(with_known(&with_key(&format!("is {raw}")), text, &names)))
            }
        }
    )+};
}

named! {
    Isolation: Isolation::ALL;
    Order: Order::ALL;
    Spacing: Spacing::ALL;
    Style: Style::ALL;
    Topology: Topology::NAMED;
}

/// A name or a place; what it may be is not this crate's to know.
pub(crate) struct Text;
/// A whole number in bounds.
pub(crate) struct Count<const LEAST: u32, const MOST: u32>;
pub(crate) struct Seed;
pub(crate) struct Flag;
/// A time in bounds, which are milliseconds.
pub(crate) struct Time<const LEAST_MS: u64, const MOST_MS: u64>;
pub(crate) struct WarmupLength;
pub(crate) struct WindowLength;
/// The limit of a response time, in microseconds.
pub(crate) struct ResponseLimit;
/// How well a mean is to be known, as a share of it.
pub(crate) struct MeanPrecision;
pub(crate) struct Share;
/// Powers of the connections; `RampLimits` judges them.
pub(crate) struct KinkPower;
pub(crate) struct DilationFactor;
pub(crate) struct PlateauPower;
/// Bytes, as servers write them.
pub(crate) struct PageCacheSize;
/// The value of a server variable, as its my.cnf has it.
pub(crate) struct Scalar;
/// A table whose names the file chooses: server variables.
pub(crate) struct Variables;
/// Such a table of times by transaction type.
pub(crate) struct ResponseLimits;

impl Kind for Text {
    type Value = String;

    fn takes() -> String {
        "a text".to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1 })
    }

    fn read(raw: &Raw<'_>) -> Result<String, Why> {
        match raw {
            Raw::Text(text) if text.trim().is_empty() || text.chars().any(char::is_control) => {
                Err(Some(with_key("is empty or has a control character in it")))
            }
            Raw::Text(text) => Ok((*text).to_owned()),
            _ => Err(None),
        }
    }
}

impl Kind for WorkloadKind {
    type Value = WorkloadKind;

    fn takes() -> String {
        let quoted = WorkloadKind::NAMED.iter().map(|one| format!("\"{one}\" or "));
        quoted.collect::<String>() + "the path of a file that ends in .toml"
    }

    fn schema() -> Value {
        let names: Vec<&str> = WorkloadKind::NAMED.iter().map(WorkloadKind::name).collect();
        json!({ "anyOf": [
            { "type": "string", "enum": names },
            { "type": "string", "pattern": "\\.toml$" },
        ] })
    }

    fn read(raw: &Raw<'_>) -> Result<WorkloadKind, Why> {
        let text = Text::read(raw)?;
        let names: Vec<&str> = WorkloadKind::NAMED.iter().map(WorkloadKind::name).collect();
        let unknown = |_| {
            let why = with_known(&with_key(&format!("is {raw}")), &text, &names);
            Some(format!("{why}, and files that end in .toml"))
        };
        text.parse().map_err(unknown)
    }
}

impl<const LEAST: u32, const MOST: u32> Kind for Count<LEAST, MOST> {
    type Value = u32;

    fn takes() -> String {
        format!("a whole number from {LEAST} to {MOST}")
    }

    fn schema() -> Value {
        json!({ "type": "integer", "minimum": LEAST, "maximum": MOST })
    }

    fn read(raw: &Raw<'_>) -> Result<u32, Why> {
        let number = whole(raw).and_then(|number| u32::try_from(number).ok());
        let fits = number.filter(|number| (LEAST..=MOST).contains(number));
        fits.ok_or(None)
    }
}

impl Kind for Rate {
    type Value = Rate;

    fn takes() -> String {
        "transactions per second like 500 or \"500/s\", or a share of what a closed loop does like \
         \"80%\""
            .to_owned()
    }

    fn schema() -> Value {
        json!({ "anyOf": [
            { "type": "string", "minLength": 1 },
            { "type": "number", "exclusiveMinimum": 0 },
        ] })
    }

    fn read(raw: &Raw<'_>) -> Result<Rate, Why> {
        let parsed = number(raw, |text| Some(text.parse::<Rate>()));
        let why = |why| Some(with_key(&format!("is {raw}; {why}")));
        parsed.ok_or(None)?.map_err(why)
    }
}

impl Kind for Fault {
    type Value = Fault;

    fn takes() -> String {
        Fault::NAMES.map(|name| format!("\"{name}\"")).join(" or ")
    }

    fn schema() -> Value {
        json!({ "type": "string" })
    }

    fn read(raw: &Raw<'_>) -> Result<Fault, Why> {
        let Raw::Text(text) = raw else {
            return Err(None);
        };
        text.parse().map_err(|why| Some(with_key(&format!("is {raw}; {why}"))))
    }
}

kinds! {
    Flag: bool, "true or false", json!({ "type": "boolean" }), |raw| match raw {
        Raw::Flag(flag) => Some(*flag),
        _ => None,
    };
    Seed: u64, "a whole number from 0", json!({ "type": "integer", "minimum": 0 }), whole;
    Scale: Scale,
        format!("\"auto\", \"papers\" or a number of warehouses from 1 to {WAREHOUSES_MAX}"),
        json!({ "anyOf": [
            { "type": "string", "enum": ["auto", "papers"] },
            { "type": "integer", "minimum": 1, "maximum": WAREHOUSES_MAX },
        ] }),
        |raw| match raw {
            Raw::Text("auto") => Some(Scale::Auto),
            Raw::Text("papers") => Some(Scale::Papers),
            _ => {
                let count = Count::<1, WAREHOUSES_MAX>::read(raw).ok()?;
                Some(Scale::For(Warehouses(count)))
            }
        };
    Dilate: Dilate, "\"auto\" or a number from 1 to 100",
        json!({ "anyOf": [
            { "type": "string", "enum": ["auto"] },
            { "type": "number", "minimum": 1, "maximum": 100 },
        ] }),
        |raw| match raw {
            Raw::Text("auto") => Dilate::parse("auto").ok(),
            _ => number(raw, Dilation::parse).map(Dilate::By),
        };
    DilationFactor: Dilation, "a number from 1 to 100",
        json!({ "type": "number", "minimum": 1, "maximum": 100 }),
        |raw| number(raw, Dilation::parse);
    WarmupLength: Length, length_from(Duration::ZERO, WARMUP_AUTO_MOST), time_schema(),
        |raw| length_of(raw, Duration::ZERO, WARMUP_AUTO_MOST);
    WindowLength: Length, length_from(SECOND, WINDOW_AUTO_MOST), time_schema(),
        |raw| length_of(raw, SECOND, WINDOW_AUTO_MOST);
    ResponseLimit: f64, "a time like \"5s\", longer than 0", time_schema(), |raw| {
        let time = time(raw).filter(|time| !time.is_zero())?;
        Some(time.as_secs_f64() * 1e6)
    };
    MeanPrecision: f64, {
            let (least, most) = (PRECISION_LEAST * 100.0, PRECISION_MOST * 100.0);
            format!("a share like \"2%\" or 0.02, from {least}% to {most}%")
        },
        json!({ "anyOf": [
            { "type": "string", "minLength": 1 },
            { "type": "number", "minimum": PRECISION_LEAST, "maximum": PRECISION_MOST },
        ] }),
        |raw| number(raw, parse_precision);
    Share: f64, "a share like \"80%\" or 0.8", json!({ "type": ["string", "number"] }),
        |raw| number(raw, parse_share);
    KinkPower: f64, "a number above 1", json!({ "type": "number" }), power;
    PlateauPower: f64, "a number from 0 to 1", json!({ "type": "number" }), power;
    PageCacheSize: u64,
        format!("a size like \"512M\" or \"8G\", up to {}G", PAGE_CACHE_BYTES_MAX >> 30),
        time_schema(),
        |raw| number(raw, parse_size).filter(|bytes| *bytes <= PAGE_CACHE_BYTES_MAX);
    Scalar: String, "a number, a text, true or false",
        json!({ "type": ["string", "number", "boolean"] }),
        |raw| match raw {
            Raw::Flag(true) => Some("ON".to_owned()),
            Raw::Flag(false) => Some("OFF".to_owned()),
            other => number(other, |text| Some(text.to_owned())),
        };
}

const SECOND: Duration = Duration::from_secs(1);

fn time_from(least: Duration, most: Duration) -> String {
    format!(
        "a time like \"90s\" or \"2h\" or a number of seconds, from {} to {}",
        format_duration(least),
        format_duration(most)
    )
}

impl<const LEAST_MS: u64, const MOST_MS: u64> Kind for Time<LEAST_MS, MOST_MS> {
    type Value = Duration;

    fn takes() -> String {
        time_from(Duration::from_millis(LEAST_MS), Duration::from_millis(MOST_MS))
    }

    fn schema() -> Value {
        time_schema()
    }

    fn read(raw: &Raw<'_>) -> Result<Duration, Why> {
        let (least, most) = (Duration::from_millis(LEAST_MS), Duration::from_millis(MOST_MS));
        time(raw).filter(|time| (least..=most).contains(time)).ok_or(None)
    }
}

/// A time, or as long as it needs, which is `auto_most` where the plan names no more.
fn length_from(least: Duration, auto_most: Duration) -> String {
    format!(
        "{}, or \"auto\" ({} at most) or \"auto:10m\" (10m at most; {AUTO_INTERVALS_MIN} intervals \
         at least)",
        time_from(least, DURATION_MAX),
        format_duration(auto_most)
    )
}

fn length_of(raw: &Raw<'_>, least: Duration, auto_most: Duration) -> Option<Length> {
    let length = match raw {
        Raw::Text(text) => Length::parse(text, auto_most, parse_duration).ok(),
        other => whole(other).map(|seconds| Length::fixed(Duration::from_secs(seconds))),
    };
    length.filter(|length| (least..=DURATION_MAX).contains(&length.most))
}

fn power(raw: &Raw<'_>) -> Option<f64> {
    match raw {
        Raw::Text(_) => None,
        other => number(other, |text| text.parse().ok()),
    }
}

/// A condition, or `false` where it is off.
impl<K: Kind> Kind for Option<K> {
    type Value = Option<K::Value>;

    fn takes() -> String {
        format!("{}, or false", K::takes())
    }

    fn schema() -> Value {
        json!({ "anyOf": [K::schema(), { "enum": [false] }] })
    }

    fn read(raw: &Raw<'_>) -> Result<Self::Value, Why> {
        match raw {
            Raw::Flag(false) => Ok(None),
            other => K::read(other).map(Some),
        }
    }

    fn read_table<'de, A: MapAccess<'de>>(table: A) -> Result<Self::Value, A::Error> {
        K::read_table(table).map(Some)
    }
}

/// Tables whose names the file chooses.
macro_rules! tables {
    ($($kind:ty: $inner:ty, $example:literal;)+) => {$(
        impl Kind for $kind {
            type Value = Vec<Entry<<$inner as Kind>::Value>>;

            fn takes() -> String {
                concat!("a table like ", $example).to_owned()
            }

            fn schema() -> Value {
                json!({ "type": "object", "additionalProperties": <$inner>::schema() })
            }

            fn read(_: &Raw<'_>) -> Result<Self::Value, Why> {
                Err(None)
            }

            fn read_table<'de, A: MapAccess<'de>>(table: A) -> Result<Self::Value, A::Error> {
                entries_of::<$inner, A>(table)
            }
        }
    )+};
}

tables! {
    Variables: Many<Scalar>, "{ innodb_io_capacity = [2000, 15000] }";
    ResponseLimits: ResponseLimit, "{ new_order = \"5s\", stock_level = \"20s\" }";
}
