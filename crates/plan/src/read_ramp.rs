//! The table [ramp]: what raises connections, and what ends that.

use crate::error::{Span, Wrong};
use crate::keys::{self, Key};
use crate::read::{self, Reader, integer, mismatch, with_known};
use base::parse_share;
use spec::RampLimits;
use std::collections::BTreeMap;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use tpcc::Transaction;

/// The limits of a ramp; those that are not named are the papers'. `header` is where the table begins.
pub(crate) fn ramp(reader: &Reader<'_>, header: Span) -> Result<RampLimits, Wrong> {
    let mut limits = RampLimits::default();
    let mut at = header;
    let mut take = |key: &Key, into: &mut u32| -> Result<(), Wrong> {
        if let Some(count) = reader.one(key, read::count)? {
            at = count.span();
            *into = count.into_inner();
        }
        Ok(())
    };
    let mut points = limits.points_max as u32;
    take(&keys::RAMP_POINTS, &mut points)?;
    take(&keys::RAMP_STEP, &mut limits.step)?;
    take(&keys::RAMP_CONNECTIONS_MAX, &mut limits.connections_max)?;
    take(&keys::RAMP_START, &mut limits.start)?;
    limits.points_max = points as usize;
    limits
        .check()
        .map_err(|error| Wrong::new(at.clone(), error.to_string()))?;
    if let Some(share) = reader.one(&keys::STOP_CPU, share)? {
        limits.cpu_busy_share = share.into_inner();
    }
    if let Some(times) = reader.one(&keys::STOP_P90, times_us)? {
        limits.p90_us = times.into_inner();
    }
    if let Some(power) = reader.one(&keys::STOP_KINK, number)? {
        at = power.span();
        limits.kink_elasticity = power.into_inner();
    }
    limits
        .check()
        .map_err(|error| Wrong::new(at.clone(), error.to_string()))?;
    if let Some(power) = reader.one(&keys::STOP_PLATEAU, number)? {
        at = power.span();
        limits.plateau_elasticity = power.into_inner();
    }
    limits
        .check()
        .map_err(|error| Wrong::new(at, error.to_string()))?;
    Ok(limits)
}

fn share(key: &Key, value: &Spanned<DeValue<'_>>) -> Result<Option<f64>, Wrong> {
    let share = match value.get_ref() {
        DeValue::Boolean(false) => return Ok(None),
        DeValue::String(text) => parse_share(text),
        DeValue::Float(number) => parse_share(number.as_str()),
        other => integer(other).and_then(|number| parse_share(&number.to_string())),
    };
    share.map(Some).ok_or_else(|| mismatch(key, value))
}

fn number(key: &Key, value: &Spanned<DeValue<'_>>) -> Result<Option<f64>, Wrong> {
    let number = match value.get_ref() {
        DeValue::Boolean(false) => return Ok(None),
        DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
        other => integer(other).map(|number| number as f64),
    };
    number.map(Some).ok_or_else(|| mismatch(key, value))
}

/// Times by transaction type in us; none where the condition is off.
fn times_us(key: &Key, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, f64>, Wrong> {
    match value.get_ref() {
        DeValue::Boolean(false) => Ok(BTreeMap::new()),
        DeValue::Table(times) => all_times_us(key, times),
        _ => Err(mismatch(key, value)),
    }
}

fn all_times_us(key: &Key, times: &DeTable<'_>) -> Result<BTreeMap<String, f64>, Wrong> {
    let known = Transaction::ALL.map(Transaction::name);
    let mut limits = BTreeMap::new();
    for (name, value) in times {
        let name_text: &str = name.get_ref().as_ref();
        if !known.contains(&name_text) {
            let why = format!("unknown transaction type `{name_text}` in `{}`", key.name);
            return Err(Wrong::new(name.span(), with_known(why, name_text, &known)));
        }
        let time = match value.get_ref() {
            DeValue::String(text) => humantime::parse_duration(text).ok(),
            other => integer(other).map(Duration::from_secs),
        };
        let Some(time) = time.filter(|time| !time.is_zero()) else {
            let why = format!(
                "`{}` has no time for {name_text}; it takes one like \"5s\", longer than 0",
                key.name
            );
            return Err(Wrong::new(value.span(), why));
        };
        limits.insert(name_text.to_owned(), time.as_secs_f64() * 1e6);
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use crate::Plan;
    use crate::tests::{CELLS, PLAN, cells, known, wrong};
    use spec::{Connections, RampLimits};

    /// Of the plan, in place of which a ramp stands.
    const RAMPED: &str = "connections = [8, 16, 32]";

    #[test]
    fn a_ramp_takes_the_place_of_connections() {
        let with = |ramp: &str| PLAN.replace(RAMPED, ramp);
        let all = cells(&with("[ramp]")).unwrap();
        assert_eq!(all.len(), CELLS / 3);
        assert_eq!(
            all[0].what.load.connections,
            Connections::Ramp(RampLimits::default())
        );
        assert_eq!(
            all[0].label(),
            "engine=mysql-5.7 set.innodb_io_capacity=200 data=hdd-15k"
        );
        // 24 points of 70 s and a minute each, 10 minutes, and 10 s for each of 10 warehouses.
        assert_eq!(
            all[0].repeat_time_limit.as_secs(),
            24 * (70 + 60) + 600 + 100
        );
        let text = with(
            "[ramp]\nstart = 2\nstep = 3\nconnections_max = 50\npoints = 9\nstop_cpu = 0.5\nstop_kink = 3\nstop_plateau = false\n\
             stop_p90 = { payment = '250ms' }",
        );
        let limits = RampLimits {
            start: 2,
            step: 3,
            connections_max: 50,
            points_max: 9,
            cpu_busy_share: Some(0.5),
            p90_us: [("payment".to_owned(), 250_000.0)].into(),
            kink_elasticity: Some(3.0),
            plateau_elasticity: None,
        };
        let other = cells(&text).unwrap();
        assert_eq!(other[0].what.load.connections, Connections::Ramp(limits));
        assert_ne!(other[0].what.key(), all[0].what.key());
        assert_eq!(
            cells(&with("[ramp]\nstart = 8")).unwrap()[0].what.key(),
            all[0].what.key()
        );
        let short = Plan::parse(&text, "p.toml").unwrap().shortened();
        let short = short.cells(&known()).unwrap();
        assert_eq!(short[0].what.load.connections, Connections::Fixed(2));
        assert_eq!(short[0].connections_most, 50);
    }

    /// What stands there, the text that the error's place is at, and words of the error.
    const WRONG: &[(&str, &str, &[&str])] = &[
        (
            "connections = 8\n[ramp]",
            "ramp]",
            &["`connections`", "leave one of them out"],
        ),
        ("[ramp]\nstrat = 8", "strat", &["nearest is `start`"]),
        ("[ramp]\nstart = 0", "0", &["`start` is 0"]),
        (
            "[ramp]\nstart = 2000",
            "2000",
            &["above its maximum of 1024"],
        ),
        ("[ramp]\nstop_cpu = true", "true", &["a share like"]),
        ("[ramp]\nstop_cpu = '101%'", "'101%'", &["a share like"]),
        ("[ramp]\nstop_kink = 0.5", "0.5", &["above 1"]),
        ("[ramp]\nstop_plateau = 2", "2", &["from 0 to 1"]),
        (
            "[ramp]\nstop_p90 = { payments = '5s' }",
            "payments",
            &["nearest is `payment`"],
        ),
        (
            "[ramp]\nstop_p90 = { payment = 0 }",
            "0",
            &["longer than 0"],
        ),
        ("[ramp]\nstop_p90 = '5s'", "'5s'", &["a table like"]),
        (
            "workload = ['tpcc', 'tpcc-spec']\n[ramp]",
            "'tpcc-spec'",
            &["leave the ramp out"],
        ),
    ];

    #[test]
    fn wrong_ramps_are_refused_with_their_place() {
        for (ramp, at, words) in WRONG {
            let (error, rest) = wrong(&PLAN.replace(RAMPED, ramp));
            assert!(rest.starts_with(at), "{ramp:?}: {error} at {rest:?}");
            for word in *words {
                assert!(error.to_string().contains(word), "{ramp:?}: {error}");
            }
        }
    }
}
