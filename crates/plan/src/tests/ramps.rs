//! Ramps in plans.

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
    assert_eq!(all[0].what.load.connections, Connections::Ramp(RampLimits::default()));
    assert_eq!(all[0].label(), "engine=mysql-5.7 set.innodb_io_capacity=200 data=hdd-15k");
    // 24 points of 70 s and a minute each, 10 minutes, and 10 s for each of 10 warehouses.
    assert_eq!(all[0].repeat_time_limit.as_secs(), 24 * (70 + 60) + 600 + 100);
    let text = with(
        "[ramp]\nstart = 2\nstep = 3\nconnections_max = 50\npoints = 9\nstop_cpu = 0.5\nstop_kink \
         = 3\nstop_plateau = false\n\
         stop_retries = '5%'\nstop_p90 = { payment = '250ms' }",
    );
    let limits = RampLimits {
        start: 2,
        step: 3,
        connections_max: 50,
        points_max: 9,
        cpu_busy_share: Some(0.5),
        p90_us: [("payment".to_owned(), 250_000.0)].into(),
        retries_share: Some(0.05),
        kink_elasticity: Some(3.0),
        plateau_elasticity: None,
    };
    let other = cells(&text).unwrap();
    assert_eq!(other[0].what.load.connections, Connections::Ramp(limits));
    assert_ne!(other[0].what.key(), all[0].what.key());
    for same in ["start = 8", "stop_retries = false"] {
        let same = cells(&with(&format!("[ramp]\n{same}"))).unwrap();
        assert_eq!(same[0].what.key(), all[0].what.key());
    }
    let short = Plan::parse(&text, "p.toml").unwrap().shortened();
    let short = short.cells(&known()).unwrap();
    assert_eq!(short[0].what.load.connections, Connections::Fixed(2));
    assert_eq!(short[0].connections_most, 50);
}

/// What stands there, the text that the error's place is at, and words of the error.
const WRONG: &[(&str, &str, &[&str])] = &[
    ("connections = 8\n[ramp]", "ramp]", &["`connections`", "leave one of them out"]),
    ("[ramp]\nstrat = 8", "strat", &["nearest is `start`"]),
    ("[ramp]\nstart = 0", "0", &["`start` is 0"]),
    ("[ramp]\nstart = 2000", "2000", &["above its maximum of 1024"]),
    ("[ramp]\nstop_cpu = true", "true", &["a share like"]),
    ("[ramp]\nstop_cpu = '101%'", "'101%'", &["a share like"]),
    ("[ramp]\nstop_retries = true", "true", &["a share like"]),
    ("[ramp]\nstop_retries = 0", "0", &["a share like"]),
    ("[ramp]\nstop_retries = '101%'", "'101%'", &["a share like"]),
    ("[ramp]\nstop_kink = 0.5", "0.5", &["above 1"]),
    ("[ramp]\nstop_plateau = 2", "2", &["from 0 to 1"]),
    ("[ramp]\nstop_p90 = { payments = '5s' }", "payments", &["nearest is `payment`"]),
    ("[ramp]\nstop_p90 = { payment = 0 }", "0", &["longer than 0"]),
    ("[ramp]\nstop_p90 = '5s'", "'5s'", &["a table like"]),
    ("workload = ['tpcc', 'tpcc-spec']\n[ramp]", "'tpcc-spec'", &["leave the ramp out"]),
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
