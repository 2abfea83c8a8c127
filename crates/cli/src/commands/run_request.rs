//! Requests of `mydyno run` that contradict themselves, where that is more than a pair of options.

use crate::arguments::{Format, RunArguments};
use crate::failure::Failure;
use base::Exit;
use lab::Workload;
use std::time::Duration;
use tpcc::transactions::Style;

/// Refuses what cannot be run as it is asked for.
///
/// # Errors
/// What contradicts what, and what to do.
pub fn validate(arguments: &RunArguments) -> Result<(), Failure> {
    arguments.target.refuse_private_schemas(arguments.schemas)?;
    match contradiction(arguments) {
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
    if is_tpcc_mysql && arguments.home {
        return Some(
            "--workload tpcc-mysql uses any warehouse for each transaction; leave out --home, or use --workload tpcc",
        );
    }
    if arguments.format != Format::TpccMysql {
        return None;
    }
    if arguments.workload == Workload::TpccSpec {
        return Some(
            "--format tpcc-mysql has no words for terminals and deferred Deliveries; use --workload tpcc or tpcc-mysql, or \
             leave out --format",
        );
    }
    let is_whole = |time: Duration| time.subsec_nanos() == 0;
    let times = [arguments.warmup, arguments.window, arguments.interval];
    (!times.into_iter().all(is_whole)).then_some(
        "--format tpcc-mysql knows whole seconds only; give --warmup, --window and --interval in whole seconds",
    )
}

#[cfg(test)]
mod tests {
    use super::contradiction;
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
        ] {
            let words = refused(arguments).unwrap_or_default();
            assert!(words.contains(word), "{arguments:?}: {words}");
        }
    }
}
