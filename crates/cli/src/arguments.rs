//! The command line. Each subcommand has a file here; what is measured is
//! said by the options of [`plan::CellOptions`], and how other values are written is in `values`.

pub mod advise;
pub mod compare;
pub mod crash;
pub mod database;
pub mod device;
pub mod fleet;
pub mod lab;
pub mod measuring;
pub mod merge;
pub mod output;
pub mod ramp;
pub mod results;
pub mod run;
pub mod serve;
pub mod server;
pub mod tune;
mod values;

use self::tune::TuneArguments;
use advise::AdviseArguments;
use clap::{Parser, Subcommand};
use compare::CompareArguments;
use crash::CrashArguments;
use database::{CheckArguments, LoadArguments};
use device::DeviceArguments;
use lab::LabArguments;
use merge::MergeArguments;
use output::{CompletionsArguments, DemoArguments, ExportArguments, ManArguments, ReportArguments};
use ramp::RampArguments;
use run::RunArguments;
use serve::ServeArguments;
use server::ServerArguments;

/// A dynamometer for MySQL on storage: TPC-C throughput, response times and consistency, proven.
#[derive(Parser)]
#[command(name = "mydyno", version, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Measure private servers on four emulated devices, check them and write a report
    Demo(DemoArguments),
    /// Create and populate a TPC-C database
    Load(LoadArguments),
    /// Warm up, drive, measure, print a summary
    Run(Box<RunArguments>),
    /// Raise the number of connections until the target saturates; say where and why
    Ramp(Box<RampArguments>),
    /// Check the consistency of a database: the twelve conditions of TPC-C and six invariants
    Check(CheckArguments),
    /// End a private server under load, again and again, and say what survived
    ///
    /// Each drill starts a server on a clone of the image, drives it, and ends it at a random
    /// moment; --fault power-cut takes the power of its emulated devices, too. The server recovers,
    /// and everything that it had acknowledged is looked for. Exit code 6 where something is lost
    /// or damaged.
    Crash(Box<CrashArguments>),
    /// Say what to set on a server: best known methods that apply to it, each with its reason,
    /// its source and its risk; with --prove, what each of them gains here
    Advise(Box<AdviseArguments>),
    /// Search the matrix of a plan for its best cell, without measuring all of them
    Tune(TuneArguments),
    /// List, install, start and stop server engines
    Server(ServerArguments),
    /// List storage devices that can be emulated, verify them, measure real ones
    Device(DeviceArguments),
    /// Measure a matrix of configurations, which a plan file describes
    Lab(LabArguments),
    /// Put results files together: the shards of a lab that several machines measured
    ///
    /// Adds files to the output, which is made where there is none. Labs of one plan become one
    /// lab, in which comparisons stay inside the machine that measured a block; labs of `run`,
    /// `ramp` and other commands without a plan come along as they are. What is there already is
    /// left alone, so that a file may be merged again. Files of several plans are refused, and so
    /// are files that a lab is still being measured into.
    Merge(MergeArguments),
    /// Write a lab of the results file as one HTML page
    Report(ReportArguments),
    /// Compare two measurements: difference and ratio with confidence intervals and significance
    Compare(CompareArguments),
    /// Write a lab of the results file as CSV, HdrHistogram logs or Markdown
    Export(ExportArguments),
    /// Show labs in a browser, as they run too; edit plans, start and stop their labs
    ///
    /// Requests from this machine may read without a token. Requests that change something or
    /// start a process, and all requests from other machines (--listen) or through a proxy, need
    /// the token as the HTTP password, with any user name.
    Serve(ServeArguments),
    /// Print the completions of a shell: `source <(mydyno completions bash)`
    Completions(CompletionsArguments),
    /// Write the manual pages
    Man(ManArguments),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn absurd_numbers_are_usage_errors() {
        for arguments in [
            &["mydyno", "load", "--warehouses", "0"][..],
            &["mydyno", "load", "--warehouses", "-3"],
            &["mydyno", "load", "--warehouses", "99999999999"],
            &["mydyno", "run", "--connections", "0"],
            &["mydyno", "run", "--window", "0"],
            &["mydyno", "run", "--window", "auto:60d"],
            &["mydyno", "run", "--window", "auto", "--precision", "0"],
            &["mydyno", "run", "--rate", "fast"],
            &["mydyno", "run", "--rate", "0"],
            &["mydyno", "ramp", "--step", "-1"],
            &["mydyno", "run", "--terminals", "0"],
            &["mydyno", "load", "--partitions", "1025"],
            &["mydyno", "run", "--watch", "--json"],
            &["mydyno", "run", "--metrics-listen", "9187"],
            &["mydyno", "run", "--metrics-listen", "127.0.0.1:0"],
            &["mydyno", "lab", "run", "plan.toml", "--shard", "4/3"],
            &["mydyno", "merge", "a.db"],
            &["mydyno", "run", "--set", "novalue", "--engine", "mysql-5.7"],
        ] {
            let error = Arguments::try_parse_from(arguments).err().unwrap();
            assert_eq!(error.exit_code(), 2, "{arguments:?}");
        }
    }
}
