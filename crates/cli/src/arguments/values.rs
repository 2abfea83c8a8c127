//! Values of options as people write them.

use base::limits;
use clap::builder::{PossibleValuesParser, StringValueParser, TypedValueParser};
use lab::AcidLevels;
use spec::{Isolation, Length, WorkloadKind, defaults, parse_precision};
use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

/// One of a few names.
pub fn named<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(name)).map(move |given| {
        let found = all.into_iter().find(|one| name(*one) == given);
        found.expect("clap lets only the names of `all` pass")
    })
}

/// An isolation level, or all of them.
pub fn acid_levels() -> impl TypedValueParser<Value = AcidLevels> {
    let name = |levels| match levels {
        AcidLevels::One(level) => level.name(),
        AcidLevels::All => "all",
    };
    let [first, second, third, fourth] = Isolation::ALL.map(AcidLevels::One);
    named([first, second, third, fourth, AcidLevels::All], name)
}

/// A workload by its name or its file; `without` some, which the command cannot drive.
pub fn workload(without: &'static [WorkloadKind]) -> impl TypedValueParser<Value = WorkloadKind> {
    StringValueParser::new().try_map(|text| match text.parse::<WorkloadKind>() {
        Ok(workload) if without.contains(&workload) => {
            Err(format!("this command does not drive workload {workload}"))
        }
        parsed => parsed,
    })
}

pub fn warehouses() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(limits::WAREHOUSES_MAX))
}

pub fn schemas() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(limits::SCHEMAS_MAX))
}

pub fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("the form is NAME=VALUE")?;
    if name.trim().is_empty() {
        return Err("the name is empty; the form is NAME=VALUE".to_owned());
    }
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

pub fn size(text: &str) -> Result<u64, String> {
    base::parse_size(text).ok_or_else(|| "write a size as 512M, 8G or a number of bytes".to_owned())
}

/// `90s`, `2m`, `500ms`, or a bare number of seconds as sysbench and tpcc-mysql take it.
pub fn duration(text: &str) -> Result<Duration, String> {
    const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
    let parsed = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => humantime::parse_duration(text)
            .map_err(|error| format!("{error}; write 30s, 5m or a number of seconds"))?,
    };
    if parsed > LONGEST {
        return Err("at most 30 days".to_owned());
    }
    Ok(parsed)
}

pub fn warmup(text: &str) -> Result<Length, String> {
    Length::parse(text, defaults::WARMUP_AUTO_MOST, duration)
}

pub fn window(text: &str) -> Result<Length, String> {
    Length::parse(text, defaults::WINDOW_AUTO_MOST, positive_duration)
}

pub fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("must be longer than 0".to_owned()),
        positive => Ok(positive),
    }
}

pub fn precision(text: &str) -> Result<f64, String> {
    parse_precision(text).ok_or_else(|| "write 2% or 0.02, from 0.01% to 50%".to_owned())
}

pub fn shell_command(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it is empty; write a command that prints watts".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// Of an exporter: Prometheus reads plain HTTP too.
pub fn exporter(text: &str) -> Result<String, String> {
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

/// With a port that Prometheus can be told.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() > 0 => Ok(address),
        _ => Err("an address and a port like 127.0.0.1:9187 or [::1]:9187".to_owned()),
    }
}

pub fn interval(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        short if short < limits::INTERVAL_MIN => {
            Err(format!("at least {} ms", limits::INTERVAL_MIN.as_millis()))
        }
        long => Ok(long),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_people_write_them() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert!(duration("-1").is_err());
        assert!(duration("60d").is_err());
        assert!(window("0").is_err() && window("auto:0").is_err());
        assert_eq!(warmup("0"), Ok(Length::fixed(Duration::ZERO)));
        let ten_minutes = Length::auto(Duration::from_secs(600));
        assert_eq!(warmup("auto:10m"), Ok(ten_minutes));
        assert_eq!(window("auto:600"), Ok(ten_minutes));
        assert_eq!(window("auto"), Ok(Length::auto(defaults::WINDOW_AUTO_MOST)));
        assert_eq!(precision("2%"), Ok(0.02));
        assert!(interval("1ms").is_err() && interval("100ms").is_ok());
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
        assert!(shell_command(" \t").is_err() && shell_command("echo 1").is_ok());
    }
}
