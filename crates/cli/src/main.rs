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

use arguments::{Arguments, Command};
use base::Exit;
use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return unparsed(&error),
    };
    let result = match arguments.command {
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
    end(Exit::Usage, Some(&Failure::new(Exit::Usage, first)))
}
