//! Requests of `mydyno run` that contradict themselves beside what they measure, which [`spec`]
//! judges.

use crate::arguments::run::{Format, RunArguments};
use crate::failure::Failure;
use base::Exit;
use spec::{Cell, WorkloadKind};
use std::time::Duration;

/// Refuses what cannot be run as it is asked for.
///
/// # Errors
/// What contradicts what, and what to do.
pub fn validate(arguments: &RunArguments, cell: &Cell) -> Result<(), Failure> {
    if let Some(words) = contradiction_of_format(arguments, cell) {
        return Err(Failure::new(Exit::Usage, words));
    }
    // Conditions about figures that the workload has.
    let is_tpcc = cell.load.workload.is_tpcc();
    match arguments.fail_if.iter().find_map(|condition| condition.misfit(is_tpcc)) {
        Some(words) => Err(Failure::new(Exit::Usage, format!("--fail-if: {words}"))),
        None => Ok(()),
    }
}

fn contradiction_of_format(arguments: &RunArguments, cell: &Cell) -> Option<&'static str> {
    if arguments.format != Format::TpccMysql {
        return None;
    }
    if arguments.watch {
        return Some(
            "--watch and --format tpcc-mysql both print while the run goes on; leave one out",
        );
    }
    let Cell { load, lengths, .. } = cell;
    if load.workload == WorkloadKind::TpccSpec || !load.workload.is_tpcc() {
        return Some(
            "--format tpcc-mysql has no words for terminals and deferred Deliveries, nor for other \
             transactions than TPC-C's; use --workload tpcc or tpcc-mysql, or \
             leave out --format",
        );
    }
    if lengths.warmup.is_auto || lengths.window.is_auto {
        return Some(
            "--format tpcc-mysql tells its times before the run; give --warmup and --window as \
             times",
        );
    }
    let is_whole = |time: Duration| time.subsec_nanos() == 0;
    let times = [lengths.warmup.most, lengths.window.most, lengths.interval];
    (!times.into_iter().all(is_whole)).then_some(
        "--format tpcc-mysql knows whole seconds only; give --warmup, --window and --interval in \
         whole seconds",
    )
}

#[cfg(test)]
mod tests {
    use crate::arguments::{Arguments, Command};
    use crate::commands::run::request;
    use clap::Parser;
    use spec::Lengths;

    /// Why it is refused; empty where it is not.
    fn refused(all: &[&[&str]]) -> String {
        let command =
            Arguments::try_parse_from([&["mydyno", "run"], all.concat().as_slice()].concat());
        let Command::Run(run) = command.unwrap().command else { panic!("it is `run`") };
        let cell = request(&run);
        cell.err().map_or_else(String::new, |failure| format!("{:#}", failure.error))
    }

    #[test]
    fn times_that_nobody_names_are_those_of_the_table() {
        let command = Arguments::try_parse_from(["mydyno", "run", "--dsn", "mysql://h/s"]);
        let Command::Run(run) = command.unwrap().command else { panic!("it is `run`") };
        let asked = request(&run).ok().unwrap();
        assert_eq!(asked.lengths, Lengths::default());
    }

    #[test]
    fn contradictions_are_told() {
        let refused = |arguments: &[&str]| refused(&[&["--dsn", "mysql://h/s"], arguments]);
        for right in [
            &["--workload", "tpcc-mysql", "--format", "tpcc-mysql"][..],
            &["--interval", "500ms", "--style", "batched"],
            &["--warmup", "auto:30s", "--window", "auto"],
        ] {
            assert_eq!(refused(right), "");
        }
        for (arguments, word) in [
            (&["--workload", "tpcc-mysql", "--style", "pipelined"][..], "--style"),
            (&["--workload", "tpcc-mysql", "--home"], "--home"),
            (&["--workload", "tpcc-spec", "--rate", "5"], "--rate"),
            (&["--workload", "tpcc-spec", "--home"], "--home"),
            (&["--workload", "tpcc-spec", "--schemas", "2"], "--schemas"),
            (&["--terminals", "5"], "--terminals"),
            (&["--inactive-warehouses", "1"], "tpcc-spec"),
            (
                &["--workload", "tpcc-spec", "-w", "5", "--inactive-warehouses", "5"],
                "leaves none of the warehouses",
            ),
            (&["--workload", "tpcc-spec", "--format", "tpcc-mysql"], "terminals"),
            (&["--format", "tpcc-mysql", "--interval", "1500ms"], "whole seconds"),
            (&["--format", "tpcc-mysql", "--watch"], "--watch"),
            (&["--format", "tpcc-mysql", "--warmup", "auto"], "as times"),
            (&["--precision", "1%"], "\"auto\""),
            (&["--warmup", "auto:29s"], "30 intervals"),
            (&["--window", "auto:1m", "--interval", "3s"], "30 intervals"),
            (&["--instances", "2"], "mydyno starts"),
            (&["--fail-if", "tpm<1"], "tpm is of other workloads"),
            (&["--workload", "sysbench-oltp", "--fail-if", "nopm<1"], "nopm is of TPC-C"),
        ] {
            let words = refused(arguments);
            assert!(words.contains(word), "{arguments:?}: {words}");
        }
    }

    #[test]
    fn cores_are_of_private_servers() {
        assert_eq!(refused(&[&["--engine", "mysql-5.7", "--cores", "1"]]), "");
        // The server of the option file.
        let words = refused(&[&["--cores", "1"]]);
        assert!(words.contains("--cores: it is for servers that mydyno starts"), "{words}");
        let words = refused(&[&["--cores", "1", "--dsn", "mysql://h/s"]]);
        assert!(words.contains("--cores") && words.contains("there already"), "{words}");
        let all = ["mydyno", "run", "--cores", "0"];
        let error = Arguments::try_parse_from(all).err().unwrap().to_string();
        assert!(error.contains("--cores"), "{error}");
    }

    #[test]
    fn instances_are_private_servers_with_connections() {
        let with = |more: &[&str]| refused(&[&["--engine", "mysql-5.7", "--instances"], more]);
        assert_eq!(with(&["8"]), "");
        assert_eq!(with(&["1", "--workload", "tpcc-spec"]), "");
        for (words, word) in [
            (with(&["9"]), "9 instances cannot share 8 connections"),
            (with(&["2", "-c", "1"]), "cannot share 1"),
            (with(&["2", "--workload", "tpcc-spec"]), "tpcc-spec"),
        ] {
            assert!(words.contains(word), "{words:?}");
        }
    }
}
