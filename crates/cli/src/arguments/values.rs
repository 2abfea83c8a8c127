//! Values of options as people write them.

use base::limits;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lab::AcidLevels;
use plan::{DURATION_MAX_MS, Given, Time};
use spec::Isolation;
use std::net::SocketAddr;
use std::time::Duration;

/// One of a few names.
pub fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
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
    one_of([first, second, third, fourth, AcidLevels::All], name)
}

pub fn warehouses() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(limits::WAREHOUSES_MAX))
}

pub fn size(text: &str) -> Result<u64, String> {
    base::parse_size(text).ok_or_else(|| "write a size as 512M, 8G or a number of bytes".to_owned())
}

/// `90s`, `2m`, `500ms`, or a bare number of seconds as sysbench and tpcc-mysql take it.
pub fn duration(text: &str) -> Result<Duration, String> {
    text.parse::<Given<Time<0, DURATION_MAX_MS>>>().map(|Given(time)| time)
}

/// With a port that Prometheus can be told.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() > 0 => Ok(address),
        _ => Err("an address and a port like 127.0.0.1:9187 or [::1]:9187".to_owned()),
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
    }
}
