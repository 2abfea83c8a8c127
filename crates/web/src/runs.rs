//! Labs that were started from here: processes of the program, with a log beside their results.
//! They go on where the server ends.

use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Bytes of the end of a log that a page shows.
const LOG_SHOWN_BYTES: usize = 4 << 10;

/// All of them, since the server started.
#[derive(Debug, Default)]
pub struct StartedLabs(Mutex<Vec<StartedLab>>);

#[derive(Debug)]
struct StartedLab {
    plan: PathBuf,
    results: PathBuf,
    log: PathBuf,
    child: Child,
}

/// How one stands.
#[derive(Debug)]
pub struct StartedLabState {
    pub plan: PathBuf,
    pub results: PathBuf,
    pub pid: u32,
    /// `None` while it runs.
    pub ended: Option<String>,
    /// The end of its log.
    pub log: String,
}

impl StartedLabs {
    /// Starts `lab run`.
    ///
    /// # Errors
    /// Its log cannot be written, or the program not started; or it is being measured already.
    pub fn start(&self, program: &Path, plan: &Path, results: &Path) -> std::io::Result<()> {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_busy = |run: &mut StartedLab| {
            run.results == results && matches!(run.child.try_wait(), Ok(None))
        };
        if runs.iter_mut().any(is_busy) {
            let words = format!("{} is being measured into", results.display());
            return Err(std::io::Error::other(words));
        }
        let log = results.with_extension("log");
        let out = File::create(&log)?;
        let child = Command::new(program)
            .args(["lab", "run"])
            .arg(plan)
            .arg("--results")
            .arg(results)
            .arg("--output")
            .arg(results.with_extension("html"))
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            // Ctrl-C at the server's terminal does not end it.
            .process_group(0)
            .spawn()?;
        runs.push(StartedLab { plan: plan.to_owned(), results: results.to_owned(), log, child });
        Ok(())
    }

    /// Ends one in good order, as Ctrl-C does; nothing where it has ended.
    pub fn stop(&self, pid: u32) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(run) = runs.iter_mut().find(|run| run.child.id() == pid) else { return };
        // Until it has been waited for, the number is of no other process.
        if let (Ok(None), Some(pid)) = (run.child.try_wait(), Pid::from_raw(pid.cast_signed())) {
            let _ = kill_process(pid, Signal::INT);
        }
    }

    /// How all of them stand, the last first.
    pub fn all(&self) -> Vec<StartedLabState> {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = |run: &mut StartedLab| StartedLabState {
            plan: run.plan.clone(),
            results: run.results.clone(),
            pid: run.child.id(),
            ended: match run.child.try_wait() {
                Ok(None) => None,
                Ok(Some(status)) => Some(status.to_string()),
                Err(error) => Some(error.to_string()),
            },
            log: end_of(&run.log),
        };
        runs.iter_mut().rev().map(state).collect()
    }
}

fn end_of(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let from = bytes.len().saturating_sub(LOG_SHOWN_BYTES);
    String::from_utf8_lossy(&bytes[from..]).into_owned()
}
