//! The binary: parses arguments, dispatches to one file per subcommand, and turns errors into
//! messages and exit codes.
mod arguments;
mod commands;
mod console;
mod failure;
mod json;
mod junit;
mod outlet;
mod text;
mod tpcc_mysql_format;
mod tpcc_mysql_live;
mod views;

use base::Exit;
use clap::{Parser, Subcommand};
use failure::Failure;
use std::process::ExitCode;

/// A dynamometer for MySQL on storage: TPC-C throughput, response times and consistency, proven.
#[derive(Parser)]
#[command(name = "mydyno", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure private servers on four emulated devices, check them and write a report
    Demo(commands::demo::DemoArguments),
    /// Create and populate a TPC-C database
    Load(commands::load::LoadArguments),
    /// Drop the tables that `mydyno load` made, and nothing else of the schema
    Drop(commands::drop::DropArguments),
    /// Warm up, drive, measure, print a summary
    Run(Box<commands::run::RunArguments>),
    /// Raise the number of connections until the target saturates; say where and why
    Ramp(Box<commands::ramp::RampArguments>),
    /// Check the consistency of a database: the twelve conditions of TPC-C and six invariants
    Check(commands::check::CheckArguments),
    /// End a private server under load, again and again, and say what survived
    ///
    /// Each drill starts a server on a clone of the image, drives it, and ends it at a random
    /// moment; --fault power-cut takes the power of its emulated devices, too. The server recovers,
    /// and everything that it had acknowledged is looked for. Exit code 6 where something is lost
    /// or damaged.
    Crash(Box<commands::crash::CrashArguments>),
    /// Say what to set on a server: best known methods that apply to it, each with its reason,
    /// its source and its risk; with --prove, what each of them gains here
    Advise(Box<commands::advise::AdviseArguments>),
    /// Search the matrix of a plan for its best cell, without measuring all of them
    Tune(commands::tune::TuneArguments),
    /// Make a workload file of what an application's server has counted
    Workload(commands::workload::WorkloadArguments),
    /// List, install, start and stop server engines
    Server(commands::server::ServerArguments),
    /// List storage devices that can be emulated, verify them, measure real ones
    Device(commands::device::DeviceArguments),
    /// Measure a matrix of configurations, which a plan file describes
    Lab(commands::lab::LabArguments),
    /// Put results files together: the shards of a lab that several machines measured
    ///
    /// Adds files to the output, which is made where there is none. Labs of one plan become one
    /// lab, in which comparisons stay inside the machine that measured a block; labs of `run`,
    /// `ramp` and other commands without a plan come along as they are. What is there already is
    /// left alone, so that a file may be merged again. Files of several plans are refused, and so
    /// are files that a lab is still being measured into.
    Merge(commands::merge::MergeArguments),
    /// Write a lab of the results file as one HTML page
    Report(commands::report::ReportArguments),
    /// Compare two measurements: difference and ratio with confidence intervals and significance
    Compare(commands::compare::CompareArguments),
    /// Write a lab of the results file as CSV, HdrHistogram logs or Markdown
    Export(commands::export::ExportArguments),
    /// Show labs in a browser, as they run too; edit plans, start and stop their labs
    ///
    /// Requests from this machine may read without a token. Requests that change something or
    /// start a process, and all requests from other machines (--listen) or through a proxy, need
    /// the token as the HTTP password, with any user name.
    Serve(commands::serve::ServeArguments),
    /// Print the completions of a shell: `source <(mydyno completions bash)`
    Completions(commands::installation::CompletionsArguments),
    /// Write the manual pages
    Man(commands::installation::ManArguments),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return unparsed(&error),
    };
    let result = match arguments.command {
        Command::Demo(arguments) => commands::demo::run(&arguments),
        Command::Load(arguments) => commands::load::run(&arguments),
        Command::Drop(arguments) => commands::drop::run(&arguments),
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Ramp(arguments) => commands::ramp::run(&arguments),
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Crash(arguments) => commands::crash::run(&arguments),
        Command::Advise(arguments) => commands::advise::run(&arguments),
        Command::Tune(arguments) => commands::tune::run(&arguments),
        Command::Workload(arguments) => commands::workload::run(&arguments),
        Command::Server(arguments) => commands::server::run(&arguments),
        Command::Device(arguments) => commands::device::run(&arguments),
        Command::Lab(arguments) => commands::lab::run(&arguments),
        Command::Merge(arguments) => commands::merge::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::Export(arguments) => commands::export::run(&arguments),
        Command::Serve(arguments) => commands::serve::run(&arguments),
        Command::Completions(arguments) => commands::installation::completions(&arguments),
        Command::Man(arguments) => commands::installation::man(&arguments),
    };
    let (exit, failure) = match result {
        Ok(exit) => (exit, None),
        Err(failure) if console::is_stopped(failure.exit) => {
            let exit = Exit::Interrupted;
            (exit, Some(Failure { exit, reason: None, ..failure }))
        }
        Err(failure) => (failure.exit, Some(failure)),
    };
    if let Some(failure) = &failure {
        console::tell(format_args!("mydyno: {}", failure.message()));
    }
    end(exit, failure.as_ref())
}

/// Prints the document of the command, where it is asked for.
fn end(exit: Exit, failure: Option<&Failure>) -> ExitCode {
    let printed = if json::is_asked_for() { json::finish(exit, failure) } else { Ok(Exit::Ok) };
    ExitCode::from(match printed {
        Err(unprinted) if exit == Exit::Ok => {
            console::tell(format_args!("mydyno: {}", unprinted.message()));
            unprinted.exit.code()
        }
        _ => exit.code(),
    })
}

/// Help and the version, or why the command line makes no sense.
fn unparsed(error: &clap::Error) -> ExitCode {
    // Where nobody reads it, there is nobody to tell.
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    let words = error.to_string();
    // Usage and a hint to --help follow.
    let first = words.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    end(Exit::Usage, Some(&Failure::usage(first)))
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use clap::{CommandFactory, Parser};

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
