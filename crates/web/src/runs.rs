//! Labs that were started from here: processes of the program, with a log beside their results.
//! They go on where the server ends.

use crate::access::TokenGiven;
use base::lock;
use maud::{Markup, html};
use rustix::process::Signal;
use std::fs::File;
use std::io::{self, Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use system::{ChildOptions, ChildProcess, DiesWith, end_of_file};

/// Bytes of the end of a log that a page shows.
const LOG_SHOWN_BYTES: usize = 4 << 10;
/// Logs and reports beside one results file.
const STARTS_MAX: u32 = 1_000;

/// All of them, since the server started.
#[derive(Debug, Default)]
pub struct StartedLabs(Mutex<Vec<StartedLab>>);

#[derive(Debug)]
struct StartedLab {
    plan: PathBuf,
    results: PathBuf,
    log: PathBuf,
    child: ChildProcess,
}

impl StartedLabs {
    /// Starts `lab run`, with a log and a report of its own beside the results.
    ///
    /// # Errors
    /// Its log cannot be written, or the program not started; or it is being measured already.
    pub fn start(
        &self,
        _: &TokenGiven,
        program: &Path,
        plan: &Path,
        results: &Path,
    ) -> io::Result<()> {
        let mut runs = lock(&self.0);
        let is_busy = |run: &mut StartedLab| run.results == results && run.child.ended().is_none();
        let refused = |why: &str| Err(Error::other(format!("{} {why}", results.display())));
        if runs.iter_mut().any(is_busy) {
            return refused("is being measured into");
        }
        if std::fs::symlink_metadata(results).is_ok_and(|there| !there.is_file()) {
            return refused("is there, and no regular file");
        }
        let ((log, out), (report, _)) = new_files(results)?;
        let plans = plan.parent().unwrap_or(Path::new("."));
        let mut command = Command::new(program);
        if let Some(home) = std::env::var_os("MYDYNO_HOME") {
            command.env("MYDYNO_HOME", std::path::absolute(home)?);
        }
        command
            .args(["lab", "run"])
            .arg(std::path::absolute(plan)?)
            .arg("--results")
            .arg(std::path::absolute(results)?)
            .arg("--output")
            .arg(std::path::absolute(report)?)
            // A plan names profiles and workloads that lie beside it.
            .current_dir(plans)
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out);
        // Neither Ctrl-C at the server's terminal nor the end of that ends it.
        let child = ChildProcess::start(command, &ChildOptions::dying_with(DiesWith::Nobody))?;
        runs.push(StartedLab { plan: plan.to_owned(), results: results.to_owned(), log, child });
        Ok(())
    }

    /// Ends one in good order, as Ctrl-C does; nothing where it has ended.
    pub fn stop(&self, pid: u32) {
        let mut runs = lock(&self.0);
        if let Some(run) = runs.iter_mut().find(|run| run.child.pid() == pid) {
            run.child.signal(Signal::INT);
        }
    }

    /// How all of them stand, the last first, with the end of their logs.
    pub fn section(&self) -> Markup {
        let mut runs = lock(&self.0);
        html! {
            @if !runs.is_empty() { section {
                h2 { "Started here" }
                @for run in runs.iter_mut().rev() {
                    h3 { (run.plan.display()) " into " (run.results.display()) }
                    @match run.child.ended() {
                        Some(how) => { p { "It has ended: " (how) "." } }
                        None => {
                            form method="post" action="/plan/stop" {
                                input type="hidden" name="pid" value=(run.child.pid());
                                button { "Stop in good order" }
                            }
                        }
                    }
                    pre tabindex="0" { (end_of_file(&run.log, 0, LOG_SHOWN_BYTES)) }
                }
            } }
        }
    }
}

/// A log and a report beside the results, which were not there before: `x.log` and `x.html` or, of
/// a later start, `x-2.log` and `x-2.html`.
fn new_files(results: &Path) -> io::Result<((PathBuf, File), (PathBuf, File))> {
    let stem = results.file_stem().unwrap_or_default().to_string_lossy();
    for start in 1..=STARTS_MAX {
        let stem = if start == 1 { stem.to_string() } else { format!("{stem}-{start}") };
        let new = |ending: &str| {
            let path = results.with_file_name(format!("{stem}.{ending}"));
            File::create_new(&path).map(|file| (path, file))
        };
        let made = new("log").and_then(|log| match new("html") {
            Ok(report) => Ok((log, report)),
            Err(error) => std::fs::remove_file(&log.0).and(Err(error)),
        });
        match made {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made,
        }
    }
    let words = format!("{STARTS_MAX} logs lie beside {}; move them away", results.display());
    Err(Error::other(words))
}

#[cfg(test)]
mod tests {
    use super::new_files;
    use std::fs::{read_to_string, write};
    use std::os::unix::fs::symlink;

    #[test]
    fn what_lies_beside_the_results_stays() {
        let temp = tempfile::tempdir().unwrap();
        let path = |name: &str| temp.path().join(name);
        for name in ["x.log", "x-2.html"] {
            write(path(name), "of somebody else").unwrap();
        }
        symlink(path("elsewhere"), path("x-3.log")).unwrap();
        let ((log, _), (report, _)) = new_files(&path("x.db")).unwrap();
        assert_eq!((log, report), (path("x-4.log"), path("x-4.html")));
        let ((log, _), _) = new_files(&path("x.db")).unwrap();
        assert_eq!(log, path("x-5.log"));
        for name in ["x.log", "x-2.html"] {
            assert_eq!(read_to_string(path(name)).unwrap(), "of somebody else");
        }
        assert!(!path("x-2.log").exists() && !path("elsewhere").exists());
    }
}
