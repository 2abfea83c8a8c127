//! The binary under test, with a time limit.

use super::{BINARY, PATIENCE, holds, home, signal, until};
use rustix::process::Signal;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A command to run.
pub struct Mydyno {
    command: Command,
    arguments: Vec<OsString>,
}

/// How a command ended.
pub struct Ran {
    /// `None` where a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    line: String,
}

/// A command that runs; killed where it is dropped.
pub struct Running {
    child: Child,
    output: TempDir,
    line: String,
}

/// `mydyno` with these arguments, in the tests' home, with nothing of the user's.
pub fn mydyno<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Mydyno {
    let arguments: Vec<OsString> =
        arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
    let mut command = Command::new(BINARY);
    command
        .args(&arguments)
        .env("MYDYNO_HOME", home())
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .env_remove("MYDYNO_PASSWORD")
        .env("COLUMNS", "100")
        .stdin(Stdio::null());
    Mydyno { command, arguments }
}

impl Mydyno {
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Mydyno {
        self.command.env(name, value);
        self
    }

    /// More arguments.
    pub fn and_args<A: AsRef<OsStr>>(mut self, more: impl IntoIterator<Item = A>) -> Mydyno {
        for argument in more {
            self.command.arg(argument.as_ref());
            self.arguments.push(argument.as_ref().to_owned());
        }
        self
    }

    /// The working directory, where the results file goes too.
    pub fn in_directory(mut self, path: &Path) -> Mydyno {
        self.command.current_dir(path);
        self
    }

    /// Largest file that the process may write (RLIMIT_FSIZE), in KiB.
    pub fn files_of_at_most_kib(self, kib: u64) -> Mydyno {
        // Ignored, so that writing fails instead of killing the process, as on a full disk.
        let script = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"");
        self.started_by("bash", &["-c", &script])
    }

    /// So many open files at most (RLIMIT_NOFILE).
    pub fn with_open_files(self, most: u32) -> Mydyno {
        let script = format!("ulimit -n {most}; exec \"$0\" \"$@\"");
        self.started_by("bash", &["-c", &script])
    }

    /// In a session of its own, whose id is the process's.
    pub fn in_its_own_session(self) -> Mydyno {
        self.started_by("setsid", &[])
    }

    /// Another program becomes the command.
    fn started_by(self, program: &str, arguments: &[&str]) -> Mydyno {
        let mut command = Command::new(program);
        command.args(arguments).arg(BINARY).args(&self.arguments);
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = self.command.get_current_dir() {
            command.current_dir(directory);
        }
        command.stdin(Stdio::null());
        Mydyno { command, arguments: self.arguments }
    }

    /// Starts it.
    pub fn spawn(self) -> Running {
        self.spawn_with(None)
    }

    /// Starts it with this stdout.
    pub fn spawn_to(self, stdout: impl Into<Stdio>) -> Running {
        self.spawn_with(Some(stdout.into()))
    }

    fn spawn_with(mut self, stdout: Option<Stdio>) -> Running {
        let output = super::directory();
        let file = |name: &str| File::create(output.path().join(name)).unwrap();
        let kept = file("stdout");
        self.command.stdout(stdout.unwrap_or_else(|| kept.into()));
        self.command.stderr(file("stderr"));
        let words: Vec<_> = self.arguments.iter().map(|a| a.to_string_lossy()).collect();
        Running { line: words.join(" "), child: self.command.spawn().unwrap(), output }
    }

    /// Runs it to its end.
    pub fn run(self) -> Ran {
        self.spawn().wait()
    }
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to stderr.
    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.output.path().join("stderr")).unwrap()
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub fn signal(&self, which: Signal) {
        signal(self.pid(), which);
    }

    /// Waits until the condition holds; fails where it ends before.
    #[track_caller]
    pub fn until(&mut self, what: &str, mut condition: impl FnMut() -> bool) {
        until(what, || {
            assert!(!self.has_ended(), "it ended before {what}: {}", self.stderr());
            condition()
        });
    }

    /// Waits until a query of its results file gives true; fails where it ends before.
    #[track_caller]
    pub fn until_stored(&mut self, file: &Path, sql: &str) {
        self.until(sql, || holds(file, sql));
    }

    /// Waits until intervals of its window are stored in the results file of that directory.
    #[track_caller]
    pub fn until_measuring(&mut self, work: &Path) {
        let sql = "SELECT COUNT(*) >= 10 FROM interval WHERE phase = 'window' \
                   AND repeat_id = (SELECT MAX(id) FROM repeat)";
        self.until_stored(&work.join("mydyno.db"), sql);
    }

    /// Waits until it says this on stderr.
    #[track_caller]
    pub fn until_says(&mut self, words: &str) {
        until(words, || self.stderr().contains(words) || self.has_ended());
        assert!(self.stderr().contains(words), "{}", self.stderr());
    }

    /// Waits for its end.
    #[track_caller]
    pub fn wait(mut self) -> Ran {
        let start = Instant::now();
        let status: ExitStatus = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "`mydyno {}` took longer than {PATIENCE:?}: {}",
                self.line,
                self.stderr()
            );
            std::thread::sleep(Duration::from_millis(10));
        };
        let read = |name: &str| {
            let bytes = std::fs::read(self.output.path().join(name)).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        Ran {
            code: status.code(),
            stdout: read("stdout"),
            stderr: read("stderr"),
            line: self.line.clone(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail where it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ran {
    /// Fails unless it ended with this exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Ran {
        assert_eq!(
            self.code,
            Some(code),
            "`mydyno {}`\nstdout: {}\nstderr: {}",
            self.line,
            self.stdout,
            self.stderr
        );
        // Whatever happens, it is told in words.
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// Fails unless stderr holds all of these.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Ran {
        for word in words {
            assert!(
                self.stderr.contains(word),
                "`mydyno {}` does not say {word:?}: {}",
                self.line,
                self.stderr
            );
        }
        self
    }

    /// Fails where it has found something: stdout is empty, or says why it failed and no more.
    #[track_caller]
    pub fn finds_nothing(self) -> Ran {
        if !self.stdout.is_empty() {
            let document = self.json();
            let keys: Vec<&String> = document.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["error"], "{document:#}");
        }
        self
    }

    /// The JSON document, which is all of stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("`mydyno {}`: {error}: {}", self.line, self.stdout))
    }
}
