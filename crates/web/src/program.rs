//! The program itself, asked by its command line: pages say what its commands say.

use crate::access::TokenGiven;
use std::fmt::Display;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;
use tokio::sync::Semaphore;

/// Commands that run at one time; others wait.
const AT_ONCE: usize = 2;
/// How long a command may take that looks something up, waiting included.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// One that measures.
pub const PATIENCE_TO_MEASURE: Duration = Duration::from_secs(600);

/// The binary.
#[derive(Debug)]
pub struct Program {
    pub path: PathBuf,
    permits: Semaphore,
}

/// What a command said.
#[derive(Debug)]
pub struct CommandOutput {
    pub text: String,
    pub is_ok: bool,
}

impl CommandOutput {
    /// It failed for this reason.
    pub fn failed(why: impl Display) -> CommandOutput {
        CommandOutput { text: format!("{why}\n"), is_ok: false }
    }
}

impl Program {
    pub fn at(path: PathBuf) -> Program {
        Program { path, permits: Semaphore::new(AT_ONCE) }
    }

    /// Runs a command; one that takes longer than `patience`, waiting included, is ended.
    pub async fn ask(
        &self,
        _: &TokenGiven,
        patience: Duration,
        arguments: &[&str],
    ) -> CommandOutput {
        let mut command = Command::new(&self.path);
        command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        let ended = tokio::time::timeout(patience, async {
            let _permit = self.permits.acquire().await;
            command.output().await
        });
        match ended.await {
            Ok(Ok(output)) => {
                let [out, err] = [output.stdout, output.stderr]
                    .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                CommandOutput { text: out + &err, is_ok: output.status.success() }
            }
            Ok(Err(error)) => {
                CommandOutput::failed(format_args!("cannot start {}: {error}", self.path.display()))
            }
            Err(_) => CommandOutput::failed(format_args!(
                "it took longer than {} s; ask on a terminal",
                patience.as_secs()
            )),
        }
    }
}
