//! The kinds of values that options take.

use crate::order::Order;
use crate::values::Kind;
use base::limits::{AUTO_INTERVALS_MIN, PAGE_CACHE_BYTES_MAX, WAREHOUSES_MAX};
use base::{Dilation, Warehouses, parse_share, parse_size, variable_name};
use humantime::{format_duration, parse_duration};
use serde_json::{Value, json};
use spec::defaults::{WARMUP_AUTO_MOST, WINDOW_AUTO_MOST};
use spec::{
    AccountFrom, Dilate, Fault, Isolation, Length, PRECISION_LEAST, PRECISION_MOST, RandType, Rate,
    Scale, Spacing, Style, Topology, Used, UsedShare, WorkloadKind, parse_precision,
};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::marker::PhantomData;
use std::net::Ipv6Addr;
use std::ops::RangeInclusive;
use std::time::Duration;
use tpcc::Transaction;

/// Longest time that an option may name.
pub const DURATION_MAX_MS: u64 = 30 * 24 * 3600 * 1000;

/// Adds the nearest known name, and all of them.
pub(crate) fn with_known<S: AsRef<str>>(why: &str, name: &str, known: &[S]) -> String {
    let nearest = base::nearest(name, known).map(|nearest| format!("; the nearest is `{nearest}`"));
    let known: Vec<&str> = known.iter().map(S::as_ref).collect();
    format!("{why}{}; known are {}", nearest.unwrap_or_default(), known.join(", "))
}

/// A time as people write it, or a number of seconds.
fn time(text: &str) -> Option<Duration> {
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => parse_duration(text).ok(),
    }
}

fn time_schema() -> Value {
    json!({ "type": ["string", "integer"], "minLength": 1, "minimum": 0 })
}

/// How a value is read: what is wrong with it may be told.
trait Read<T> {
    fn or_why(self) -> Result<T, Option<String>>;
}

impl<T> Read<T> for Option<T> {
    fn or_why(self) -> Result<T, Option<String>> {
        self.ok_or(None)
    }
}

impl<T> Read<T> for Result<T, String> {
    fn or_why(self) -> Result<T, Option<String>> {
        self.map_err(Some)
    }
}

/// Kinds of which all is said in a line each: what is made of one, what it takes, its JSON schema
/// and how it is read.
macro_rules! kinds {
    ($($(@[$($generics:tt)+])? $kind:ty: $value:ty, $takes:expr, $schema:expr, $read:expr;)+) => {$(
        impl $(<$($generics)+>)? Kind for $kind {
            type Value = $value;

            fn takes() -> String {
                $takes.to_string()
            }

            fn schema() -> Value {
                $schema
            }

            fn read(text: &str) -> Result<$value, Option<String>> {
                let read: fn(&str) -> _ = $read;
                read(text).or_why()
            }
        }
    )+};
}

/// One of a few, by its name.
macro_rules! named {
    ($($kind:ty: $all:expr;)+) => {
        kinds! {$(
            $kind: $kind, quoted(&$all),
                json!({ "type": "string", "enum": $all.map(<$kind>::name) }),
                |text| {
                    let found = $all.into_iter().find(|one| one.name() == text);
                    found.ok_or_else(|| unknown(text, &$all.map(<$kind>::name)))
                };
        )+}
    };
}

fn quoted(names: &[impl Display]) -> String {
    let quoted = names.iter().map(|name| format!("\"{name}\""));
    quoted.collect::<Vec<_>>().join(" or ")
}

fn unknown(name: &str, known: &[&str]) -> String {
    with_known("it is unknown", name, known)
}

/// A name or a place; what it may be is not this crate's to know.
pub enum Text {}
/// A server and a schema; what is wrong with it is told elsewhere, since it may hold a password.
pub enum DsnText {}
pub enum ShellCommand {}
/// The address of a Prometheus exporter.
pub enum ExporterUrl {}
pub enum Flag {}
pub enum Seed {}
/// A whole number in bounds.
pub enum Count<const LEAST: u32, const MOST: u32> {}
/// A time in bounds, which are milliseconds.
pub enum Time<const LEAST_MS: u64, const MOST_MS: u64> {}
/// A time, or as long as it needs, for so many seconds at most where nobody names more.
pub enum AutoTime<const LEAST_MS: u64, const AUTO_MOST_S: u64> {}
pub type WarmupTime = AutoTime<0, { WARMUP_AUTO_MOST.as_secs() }>;
pub type WindowTime = AutoTime<1, { WINDOW_AUTO_MOST.as_secs() }>;
/// How well a mean is to be known, as a share of it.
pub enum MeanPrecision {}
pub enum Share {}
/// Powers of the connections; `RampLimits` judges them.
pub enum KinkPower {}
pub enum PlateauPower {}
/// Limits of response times by transaction type, in microseconds.
pub enum ResponseLimits {}
/// Bytes, as servers write them.
pub enum PageCacheSize {}
/// A server variable and its value, as its my.cnf has them.
pub enum SetVariable {}
/// A condition, or `off`.
pub struct Condition<K>(PhantomData<K>);

named! {
    Isolation: Isolation::ALL;
    Order: Order::ALL;
    Spacing: Spacing::ALL;
    AccountFrom: AccountFrom::ALL;
    Style: Style::ALL;
    Topology: Topology::NAMED;
}

kinds! {
    Text: String, "a text", json!({ "type": "string", "minLength": 1 }), |text| {
        match text.trim().is_empty() || text.chars().any(char::is_control) {
            true => Err("it is empty or has a control character in it".to_owned()),
            false => Ok(text.to_owned()),
        }
    };
    DsnText: String, "a text", Text::schema(), |text| Some(text.to_owned());
    ShellCommand: String, "a command that prints watts", Text::schema(),
        |text| (!text.trim().is_empty()).then(|| text.to_owned());
    ExporterUrl: String, "an address like http://db:9100/metrics", Text::schema(), exporter;
    Flag: bool, "true or false", json!({ "type": "boolean" }), |text| text.parse().ok();
    Seed: u64, "a whole number from 0", json!({ "type": "integer", "minimum": 0 }),
        |text| text.parse().ok();
    WorkloadKind: WorkloadKind,
        quoted(&names_of_workloads()) + " or the path of a file that ends in .toml",
        json!({ "anyOf": [
            { "type": "string", "enum": names_of_workloads() },
            { "type": "string", "pattern": "\\.toml$|^(oltp|select)_" },
        ] }),
        |text| {
            let unknown = |_| with_known("it is unknown", text, &names_of_workloads());
            let files = |error| unknown(error) + ", and files that end in .toml";
            text.parse().map_err(files)
        };
    RandType: RandType, "a distribution, as `zipfian` or `zipfian:1.1`",
        json!({ "type": "string" }), |text| text.parse::<RandType>();
    Rate: Rate,
        "transactions per second like 500 or \"500/s\", a share of what a closed loop does like \
         \"80%\", or rates that change like \"0s:500,60s:2000\" or \"sine:500..1500/60s\"",
        json!({ "type": ["string", "number"], "minLength": 1, "exclusiveMinimum": 0 }),
        |text| text.parse::<Rate>();
    Fault: Fault, quoted(&Fault::names()), json!({ "type": "string" }),
        |text| text.parse::<Fault>();
    Scale: Scale,
        format!(
            "\"auto\", \"papers\", \"of 500\" or a number of warehouses from 1 to {WAREHOUSES_MAX}"
        ),
        json!({
            "type": ["string", "integer"], "pattern": "^(auto|papers|of [0-9]+)$", "minimum": 1,
            "maximum": WAREHOUSES_MAX
        }),
        |text| match text {
            "auto" => Some(Scale::Auto),
            "papers" => Some(Scale::Papers),
            _ => {
                let of = text.strip_prefix("of ");
                let count = Count::<1, WAREHOUSES_MAX>::read(of.unwrap_or(text)).ok()?;
                Some(if of.is_some() { Scale::Of } else { Scale::For }(Warehouses(count)))
            }
        };
    Dilate: Dilate, "\"auto\" or a number from 1/32 to 100 like 8, 0.125 or \"1/8\"",
        json!({
            "type": ["string", "number"], "pattern": "^(auto|[0-9.]+/[0-9.]+)$",
            "minimum": 1.0 / 32.0, "maximum": 100
        }),
        |text| Dilate::parse(text).ok();
    Dilation: Dilation, "a number from 1/32 to 100 like 8, 0.125 or \"1/8\"",
        json!({
            "type": ["string", "number"], "pattern": "^[0-9.]+/[0-9.]+$",
            "minimum": 1.0 / 32.0, "maximum": 100
        }),
        Dilation::parse;
    MeanPrecision: f64, {
            let (least, most) = (PRECISION_LEAST * 100.0, PRECISION_MOST * 100.0);
            format!("a share like \"2%\" or 0.02, from {least}% to {most}%")
        },
        json!({
            "type": ["string", "number"], "minLength": 1, "minimum": PRECISION_LEAST,
            "maximum": PRECISION_MOST
        }),
        parse_precision;
    Used: Used,
        "a share from 0.1% to 100% like \"5%\" or 0.05, or \"auto\"; with \" fresh\" behind it or \
         not",
        json!({ "type": ["string", "number"], "minLength": 1 }),
        |text| {
            let fresh = text.strip_suffix(" fresh");
            let share = match fresh.unwrap_or(text) {
                "auto" => UsedShare::Auto,
                share => UsedShare::Of(parse_share(share)?),
            };
            Some(Used { share, is_fresh: fresh.is_some() })
        };
    Share: f64, "a share like \"80%\" or 0.8", json!({ "type": ["string", "number"] }), parse_share;
    KinkPower: f64, "a number above 1", json!({ "type": "number" }), |text| text.parse().ok();
    PlateauPower: f64, "a number from 0 to 1", json!({ "type": "number" }),
        |text| text.parse().ok();
    ResponseLimits: BTreeMap<String, f64>,
        "a table like { new_order = \"5s\", stock_level = \"20s\" } or a text like \
         \"new_order=5s,stock_level=20s\", of times longer than 0",
        json!({ "type": ["object", "string"], "additionalProperties": time_schema() }),
        response_limits;
    PageCacheSize: u64,
        format!("a size like \"512M\" or \"8G\", up to {}G", PAGE_CACHE_BYTES_MAX >> 30),
        time_schema(),
        |text| parse_size(text).filter(|bytes| *bytes <= PAGE_CACHE_BYTES_MAX);
    @[const LEAST: u32, const MOST: u32] Count<LEAST, MOST>: u32,
        format!("a whole number from {LEAST} to {MOST}"),
        json!({ "type": "integer", "minimum": LEAST, "maximum": MOST }),
        |text| text.parse::<u32>().ok().filter(|number| (LEAST..=MOST).contains(number));
    @[const LEAST_MS: u64, const MOST_MS: u64] Time<LEAST_MS, MOST_MS>: Duration,
        time_from(LEAST_MS..=MOST_MS), time_schema(),
        |text| time(text).filter(|time| is_in(LEAST_MS..=MOST_MS, *time));
    @[const LEAST_MS: u64, const AUTO_MOST_S: u64] AutoTime<LEAST_MS, AUTO_MOST_S>: Length,
        format!(
            "{}, or \"auto\" ({} at most) or \"auto:10m\" (10m at most; {AUTO_INTERVALS_MIN} \
             intervals at least)",
            time_from(LEAST_MS..=DURATION_MAX_MS),
            format_duration(Duration::from_secs(AUTO_MOST_S))
        ),
        time_schema(),
        |text| {
            let auto_most = Duration::from_secs(AUTO_MOST_S);
            let length = Length::parse(text, auto_most, time);
            length.filter(|length| is_in(LEAST_MS..=DURATION_MAX_MS, length.most))
        };
    SetVariable: (String, String), "a table like { innodb_io_capacity = [2000, 15000] }",
        json!({ "type": "object", "additionalProperties": {
            "type": ["string", "number", "boolean"]
        } }),
        variable;
}

fn time_from(bounds_ms: RangeInclusive<u64>) -> String {
    let told = |ms: &u64| format_duration(Duration::from_millis(*ms)).to_string();
    format!(
        "a time like \"90s\" or \"2h\" or a number of seconds, from {} to {}",
        told(bounds_ms.start()),
        told(bounds_ms.end())
    )
}

fn is_in(bounds_ms: RangeInclusive<u64>, time: Duration) -> bool {
    let (least, most) = bounds_ms.into_inner();
    (Duration::from_millis(least)..=Duration::from_millis(most)).contains(&time)
}

impl<K: Kind> Kind for Condition<K> {
    type Value = Option<K::Value>;

    fn takes() -> String {
        format!("{}, or \"off\"", K::takes())
    }

    fn schema() -> Value {
        json!({ "anyOf": [K::schema(), { "enum": [false, "off"] }] })
    }

    fn read(text: &str) -> Result<Self::Value, Option<String>> {
        match text {
            "off" | "false" => Ok(None),
            text => K::read(text).map(Some),
        }
    }
}

fn names_of_workloads() -> Vec<String> {
    WorkloadKind::named().iter().map(WorkloadKind::to_string).collect()
}

/// Names of transaction types with a time each.
fn response_limits(text: &str) -> Result<BTreeMap<String, f64>, String> {
    let takes = || format!("it takes {}", ResponseLimits::takes());
    let mut limits = BTreeMap::new();
    for limit in text.split(',') {
        let (name, text) = limit.split_once('=').ok_or_else(takes)?;
        let known = Transaction::ALL.map(Transaction::name);
        if !known.contains(&name) {
            let why = format!("unknown transaction type `{name}`");
            return Err(with_known(&why, name, &known));
        }
        let limit = time(text).filter(|limit| !limit.is_zero()).ok_or_else(takes)?;
        if limits.insert(name.to_owned(), limit.as_secs_f64() * 1e6).is_some() {
            return Err(format!("{name} has two limits; leave one out"));
        }
    }
    Ok(limits)
}

/// `NAME=VALUE`, with the name as the server itself reads it.
fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("the form is NAME=VALUE")?;
    if name.trim().is_empty() {
        return Err("the name is empty; the form is NAME=VALUE".to_owned());
    }
    let value = match value.trim() {
        "true" => "ON",
        "false" => "OFF",
        value => value,
    };
    let set = (variable_name(name.trim()), value.to_owned());
    server::validate_settings(std::slice::from_ref(&set)).map_err(|error| error.to_string())?;
    Ok(set)
}

/// Prometheus reads plain HTTP too.
fn exporter(text: &str) -> Result<String, String> {
    const FORM: &str = "an address like http://db:9100/metrics";
    if text.starts_with("https://") {
        return Err(format!(
            "exporters are asked over plain HTTP only; write {FORM}, of a tunnel where it has to \
             be encrypted"
        ));
    }
    let rest = text.strip_prefix("http://").ok_or(FORM)?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (_, host_port) = authority.rsplit_once('@').unwrap_or(("", authority));
    let is_bracketed = host_port.ends_with(']');
    let (host, port) = match host_port.rsplit_once(':') {
        Some((host, port)) if !is_bracketed => (host, Some(port)),
        _ => (host_port, None),
    };
    let is_number = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    let is_host = match host.strip_prefix('[') {
        Some(ip) => ip.strip_suffix(']').is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok()),
        None => !host.is_empty() && !host.contains(':'),
    };
    let is_written_plainly = !text.contains(char::is_whitespace);
    if !is_host || !is_written_plainly || !port.is_none_or(is_number) {
        return Err(format!("no host and port in it; write {FORM}"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::defaults;

    #[test]
    fn times_as_people_write_them() {
        assert!(WindowTime::read("0").is_err() && WindowTime::read("auto:0").is_err());
        assert_eq!(WarmupTime::read("0"), Ok(Length::fixed(Duration::ZERO)));
        let ten_minutes = Length::auto(Duration::from_secs(600));
        assert_eq!(WarmupTime::read("auto:10m"), Ok(ten_minutes));
        assert_eq!(WindowTime::read("auto:600"), Ok(ten_minutes));
        assert_eq!(WindowTime::read("auto"), Ok(Length::auto(defaults::WINDOW_AUTO_MOST)));
        assert_eq!(MeanPrecision::read("2%"), Ok(0.02));
        type Interval = Time<100, DURATION_MAX_MS>;
        assert!(Interval::read("1ms").is_err() && Interval::read("100ms").is_ok());
    }

    #[test]
    fn addresses_of_exporters() {
        for good in [
            "http://db:9100/metrics",
            "http://db",
            "http://127.0.0.1:9100/metrics?collect=cpu",
            "http://[::1]:9100/metrics",
            "http://[::1]/metrics",
            "http://user:pass@word@db:9100/metrics",
        ] {
            assert_eq!(exporter(good), Ok(good.to_owned()));
        }
        for bad in [
            "",
            "db:9100",
            "http://",
            "http:///metrics",
            "http://:9100/metrics",
            "http://?x",
            "http://user@/metrics",
            "http://db:0/metrics",
            "http://db:99999/metrics",
            "http://db:/metrics",
            "http://::1/metrics",
            "http://[::1/metrics",
            "http://[db]:9100",
            "http://d b/metrics",
        ] {
            assert!(exporter(bad).is_err(), "{bad:?}");
        }
        let message = exporter("https://db:9100/metrics").unwrap_err();
        assert!(message.contains("plain HTTP only"), "{message}");
        assert!(ShellCommand::read(" \t").is_err() && ShellCommand::read("echo 1").is_ok());
    }
}
