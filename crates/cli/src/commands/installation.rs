//! `mydyno completions` and `mydyno man`: what an installation has beside the program.

use crate::Arguments;
use crate::console::print;
use crate::failure::{Failure, Outcome};
use base::Exit;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Args)]
pub struct CompletionsArguments {
    /// Shell that completes the command line
    pub shell: Shell,
}

#[derive(Args)]
pub struct ManArguments {
    /// Directory for the pages, one for each command; made where it is missing
    pub directory: PathBuf,
}

/// Prints the completions of a shell.
pub fn completions(arguments: &CompletionsArguments) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "mydyno", &mut script);
    print(String::from_utf8_lossy(&script))
}

/// Writes the manual pages, section 1.
pub fn man(arguments: &ManArguments) -> Outcome {
    let directory = &arguments.directory;
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), directory));
    written.map(|()| Exit::Ok).map_err(|error| {
        let words = format!(
            "cannot write manual pages to {}: {error}; name a directory that you may write",
            directory.display()
        );
        Failure::new(Exit::Environment, words)
    })
}
