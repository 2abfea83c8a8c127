//! Requests of `mydyno run` that contradict themselves, where that is more than a pair of options.

use crate::arguments::{Format, RunArguments};
use crate::failure::Failure;
use base::{Exit, limits};
use lab::{CONNECTIONS_DEFAULT, Workload};
use plan::Length;
use std::time::Duration;
use tpcc::transactions::Style;

/// Refuses what cannot be run as it is asked for.
///
/// # Errors
/// What contradicts what, and what to do.
pub fn validate(arguments: &RunArguments) -> Result<(), Failure> {
    arguments.measuring.validate()?;
    match contradiction(arguments).or_else(|| contradiction_of_instances(arguments)) {
        Some(words) => Err(Failure::new(Exit::Usage, words)),
        None => Ok(()),
    }
}

fn contradiction(arguments: &RunArguments) -> Option<&'static str> {
    let is_tpcc_mysql = arguments.workload == Workload::TpccMysql;
    if is_tpcc_mysql && arguments.style != Style::Statements {
        return Some(
            "--workload tpcc-mysql is a sequence of statements, each a round trip of its own; leave out --style, or use \
             --workload tpcc",
        );
    }
    if is_tpcc_mysql && arguments.measuring.home {
        return Some(
            "--workload tpcc-mysql uses any warehouse for each transaction; leave out --home, or use --workload tpcc",
        );
    }
    let has_terminals = arguments.workload == Workload::TpccSpec;
    let of_pace = contradiction_of_pace(arguments, has_terminals);
    if let Some(words) = of_pace.or_else(|| contradiction_of_lengths(arguments)) {
        return Some(words);
    }
    if arguments.format != Format::TpccMysql {
        return None;
    }
    if arguments.watch {
        return Some(
            "--watch and --format tpcc-mysql both print while the run goes on; leave one out",
        );
    }
    if has_terminals {
        return Some(
            "--format tpcc-mysql has no words for terminals and deferred Deliveries; use --workload tpcc or tpcc-mysql, or \
             leave out --format",
        );
    }
    if arguments.warmup.is_auto || arguments.window.is_auto {
        return Some(
            "--format tpcc-mysql tells its times before the run; give --warmup and --window as times",
        );
    }
    let is_whole = |time: Duration| time.subsec_nanos() == 0;
    let times = [
        arguments.warmup.most,
        arguments.window.most,
        arguments.measuring.interval,
    ];
    (!times.into_iter().all(is_whole)).then_some(
        "--format tpcc-mysql knows whole seconds only; give --warmup, --window and --interval in whole seconds",
    )
}

fn contradiction_of_lengths(arguments: &RunArguments) -> Option<&'static str> {
    if arguments.precision.is_some() && !arguments.window.is_auto {
        return Some(
            "--precision ends a window of automatic length: add --window auto, or leave it out",
        );
    }
    let lengths = [arguments.warmup, arguments.window];
    too_short(lengths, arguments.measuring.interval)
}

/// Why lengths cannot be judged by intervals as long as that.
pub fn too_short(lengths: [Length; 2], interval: Duration) -> Option<&'static str> {
    let needed = interval * limits::AUTO_INTERVALS_MIN;
    let is_short = |length: &Length| length.is_auto && length.most < needed;
    lengths.iter().any(is_short).then_some(
        "an automatic --warmup or --window is judged by 30 intervals at least: allow it more, or give a shorter --interval",
    )
}

fn contradiction_of_instances(arguments: &RunArguments) -> Option<&'static str> {
    if arguments.instances == 1 {
        None
    } else if !arguments.measuring.target.is_private() {
        Some(
            "--instances is for private servers: use --engine, or leave it out and spread the connections of one server by --schemas",
        )
    } else if arguments.workload == Workload::TpccSpec {
        Some(
            "--instances divides connections, and the terminals of --workload tpcc-spec share theirs: leave one out",
        )
    } else if arguments.instances > arguments.connections.unwrap_or(CONNECTIONS_DEFAULT) {
        Some(
            "--instances needs a connection for each server at least: ask for more with -c, or for fewer instances",
        )
    } else {
        None
    }
}

fn contradiction_of_pace(arguments: &RunArguments, has_terminals: bool) -> Option<&'static str> {
    let inactive = arguments.inactive_warehouses;
    if has_terminals && arguments.rate.is_some() {
        Some(
            "--rate sets the pace of a workload without terminals, and --workload tpcc-spec has its own: leave one out",
        )
    } else if has_terminals && arguments.measuring.home {
        Some(
            "--home is for connections, and the terminals of --workload tpcc-spec have home warehouses anyway: leave it \
             out",
        )
    } else if has_terminals && arguments.measuring.schemas.is_some() {
        Some(
            "--schemas spreads connections, and the terminals of --workload tpcc-spec share theirs: leave one out",
        )
    } else if inactive > 0 && !has_terminals {
        Some("--inactive-warehouses is for terminals: add --workload tpcc-spec")
    } else if arguments.terminals.is_some() && !has_terminals {
        Some("--terminals is for workload tpcc-spec: add --workload tpcc-spec, or use -c")
    } else if arguments.warehouses.is_some_and(|all| inactive >= all) {
        Some("--inactive-warehouses leaves none of the warehouses of -w with terminals; name fewer")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{contradiction, contradiction_of_instances};
    use crate::arguments::{Arguments, Command};
    use clap::Parser;

    #[test]
    fn contradictions_are_told() {
        let refused = |arguments: &[&str]| {
            let all = ["mydyno", "run", "--dsn", "mysql://h/s"];
            let parsed = Arguments::try_parse_from(all.iter().chain(arguments)).unwrap();
            let Command::Run(run) = parsed.command else {
                panic!("it is `run`")
            };
            contradiction(&run)
        };
        let tool = ["--workload", "tpcc-mysql", "--format", "tpcc-mysql"];
        assert_eq!(refused(&tool), None);
        assert_eq!(
            refused(&["--interval", "500ms", "--style", "batched"]),
            None
        );
        let auto = ["--warmup", "auto:30s", "--window", "auto"];
        assert_eq!(refused(&auto), None);
        for (arguments, word) in [
            (
                &["--workload", "tpcc-mysql", "--style", "pipelined"][..],
                "--style",
            ),
            (&["--workload", "tpcc-mysql", "--home"], "--home"),
            (
                &["--workload", "tpcc-spec", "--format", "tpcc-mysql"],
                "terminals",
            ),
            (
                &["--format", "tpcc-mysql", "--interval", "1500ms"],
                "whole seconds",
            ),
            (&["--format", "tpcc-mysql", "--watch"], "--watch"),
            (&["--format", "tpcc-mysql", "--warmup", "auto"], "as times"),
            (&["--precision", "1%"], "--window auto"),
            (&["--warmup", "auto:29s"], "30 intervals"),
            (&["--window", "auto:1m", "--interval", "3s"], "30 intervals"),
        ] {
            let words = refused(arguments).unwrap_or_default();
            assert!(words.contains(word), "{arguments:?}: {words}");
        }
    }

    #[test]
    fn instances_are_private_servers_with_connections() {
        let refused = |arguments: &[&str]| {
            let all = ["mydyno", "run"].iter().chain(arguments);
            let Command::Run(run) = Arguments::try_parse_from(all).unwrap().command else {
                panic!("it is `run`")
            };
            contradiction_of_instances(&run)
        };
        let engine = ["--engine", "mysql-5.7", "--instances"];
        let with = |more: &[&'static str]| refused(&[&engine[..], more].concat());
        assert_eq!(with(&["8"]), None);
        assert_eq!(with(&["1", "--workload", "tpcc-spec"]), None);
        assert_eq!(refused(&["--dsn", "mysql://h/s"]), None);
        for (words, word) in [
            (with(&["9"]), "-c"),
            (with(&["2", "-c", "1"]), "-c"),
            (with(&["2", "--workload", "tpcc-spec"]), "tpcc-spec"),
            (
                refused(&["--dsn", "mysql://h/s", "--instances", "2"]),
                "private",
            ),
        ] {
            assert!(words.is_some_and(|words| words.contains(word)), "{words:?}");
        }
    }
}
