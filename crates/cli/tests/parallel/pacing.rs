//! Terminals and open loops against real servers. Those that stand still are in
//! `serial/standstill.rs`.

use crate::support::{Server, counts_agree, directory, float, mydyno, number, text};
use serde_json::Value;

const ENGINE: &str = "mysql-5.7";

#[test]
#[ignore = "make soak"]
fn a_share_of_the_capacity() {
    let (server, work) = (Server::loaded(ENGINE, &[]), directory());
    let document = mydyno(["run", "--dsn", &server.dsn, "--json", "-c", "4"])
        .and_args(["--rate", "40%", "--warmup", "1s", "--window", "5s"])
        .and_args(["--interval", "100ms"])
        .in_directory(work.path())
        .run()
        .exits(0)
        .says(&["note: capacity:"])
        .json();
    let open_loop = &document["open_loop"];
    let (capacity, rate) = (float(open_loop, "/capacity_per_s"), float(open_loop, "/rate_per_s"));
    assert!((rate - 0.4 * capacity).abs() < 1e-6 * capacity);
    // A host that wandered through the whole of the closed loop leaves it unknown.
    let precision = &open_loop["capacity_precision_share"];
    let is_share = |share: f64| (0.0..1.0).contains(&share);
    assert!(precision.is_null() || precision.as_f64().is_some_and(is_share), "{precision}");
    assert_eq!(text(open_loop, "/arrivals"), "poisson");
    // A Poisson count; the closed loop's own transactions are in the totals of the whole run only.
    let expected = rate * 5.0;
    let offered = float(open_loop, "/offered");
    assert!((offered - expected).abs() < 5.0 * expected.sqrt(), "{offered} of {expected}");
    counts_agree(&document);
}

#[test]
#[ignore = "make soak"]
fn a_short_run_of_terminals_reaches_its_ceiling() {
    let (server, work) = (Server::quick(ENGINE, &[]), directory());
    mydyno(["load", "--dsn", &server.dsn, "-w", "2"]).in_directory(work.path()).run().exits(0);
    let document = mydyno(["run", "--dsn", &server.dsn, "--json", "--check"])
        .and_args(["--workload", "tpcc-spec", "--warmup", "10s", "--window", "50s"])
        .in_directory(work.path())
        .run()
        .exits(0)
        .says(&["shorter than 60 s", "120 min"])
        .json();
    let terminals = &document["terminals"];
    assert_eq!(number(&document, "/connections"), 20);
    let ceiling = float(terminals, "/ceiling_nopm");
    let deviation = float(terminals, "/ceiling_deviation_nopm");
    assert!((ceiling - 25.21).abs() < 0.01);
    let nopm = float(&document, "/nopm");
    assert!((nopm - ceiling).abs() < 4.0 * deviation, "{nopm}");
    // What began in the warm-up is in the one and not in the other.
    let within = float(terminals, "/nopm_within_window");
    assert!((0.8 * nopm..=nopm).contains(&within), "{within} {nopm}");
    let efficiency = float(terminals, "/efficiency");
    assert!((efficiency - within / (12.86 * 2.0)).abs() < 1e-9);
    // Keying is constant; think times are judged by as many as there were.
    for (kind, seconds) in [("new_order", 18.0), ("payment", 3.0)] {
        let keying = float(terminals, &format!("/keying_mean_s/{kind}"));
        assert!((seconds..seconds + 1.0).contains(&keying), "{kind}: {keying}");
        let think = float(terminals, &format!("/think_mean_s/{kind}"));
        assert!((4.0..26.0).contains(&think), "{kind}: {think}");
    }
    let verdicts = document["verdicts"].as_array().unwrap();
    assert_eq!(verdicts.len(), 33);
    let failed: Vec<&Value> = verdicts.iter().filter(|v| v["passed"] == false).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    counts_agree(&document);
    server.stop();
}

#[test]
fn contradictions_are_usage_errors() {
    let dsn = "mysql://me@127.0.0.1:1/tpcc";
    // Unit tests hold the others.
    for (arguments, word) in [
        (["--workload", "tpcc-spec", "--rate", "50"], "--rate"),
        (["-w", "5", "--rate", "0%"], "80%"),
    ] {
        mydyno(["run", "--dsn", dsn])
            .and_args(arguments)
            .in_directory(directory().path())
            .run()
            .exits(2)
            .says(&[word]);
    }
}
