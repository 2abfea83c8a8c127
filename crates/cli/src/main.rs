//! The binary: parses arguments, dispatches to one file per subcommand, and turns errors into
//! messages and exit codes.
mod arguments;
mod commands;
mod console;
mod failure;
mod outlet;
mod text;
mod tpcc_mysql_format;
mod tpcc_mysql_live;
mod views;

use arguments::{Arguments, Command};
use base::Exit;
use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Demo(arguments) => commands::demo::run(&arguments),
        Command::Load(arguments) => commands::load::run(&arguments),
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Ramp(arguments) => commands::ramp::run(&arguments),
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Crash(arguments) => commands::crash::run(&arguments),
        Command::Advise(arguments) => commands::advise::run(&arguments),
        Command::Tune(arguments) => commands::tune::run(&arguments),
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
    let exit = match result {
        Ok(exit) => exit,
        Err(Failure { exit, error }) => {
            console::tell(format_args!("mydyno: {error:#}"));
            if console::is_stopped(exit) { Exit::Interrupted } else { exit }
        }
    };
    ExitCode::from(exit.code())
}
