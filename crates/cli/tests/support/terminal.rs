//! The binary on a pseudo-terminal, and what one sees there.

use super::{BINARY, PATIENCE, directory, home};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ROWS: usize = 24;
const COLUMNS: usize = 80;

/// `mydyno` on a pseudo-terminal.
pub struct OnTerminal {
    pub script: Child,
    pub work: tempfile::TempDir,
}

impl OnTerminal {
    pub fn start(arguments: &str) -> OnTerminal {
        let work = directory();
        let out = File::create(work.path().join("seen")).unwrap();
        let line =
            format!("stty rows {ROWS} cols {COLUMNS}; echo $$ > pid; exec '{BINARY}' {arguments}");
        let script = Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .env("MYDYNO_HOME", home())
            .env("HOME", env!("CARGO_TARGET_TMPDIR"))
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm")
            .env_remove("MYDYNO_PASSWORD")
            .current_dir(work.path())
            // It stays open: an end would be one of the terminal.
            .stdin(Stdio::piped())
            .stdout(out)
            .spawn()
            .unwrap();
        OnTerminal { script, work }
    }

    /// What the terminal was sent.
    pub fn seen(&self) -> String {
        let bytes = std::fs::read(self.work.path().join("seen")).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until the dashboard has these rows, each found by how it begins, with numbers as their
    /// first words after it.
    #[track_caller]
    pub fn until_numbers(&mut self, rows: &[(&str, usize)]) {
        let begun = Instant::now();
        loop {
            let screen = screen(&self.seen());
            let lacks = |(start, count): &&(&str, usize)| !has_numbers(&screen, start, *count);
            let Some((lacking, _)) = rows.iter().find(lacks) else {
                return;
            };
            let text = screen.join("\n");
            let status = self.script.try_wait().unwrap();
            assert_eq!(status, None, "no numbers of {lacking:?} in\n{text}");
            assert!(begun.elapsed() < PATIENCE, "no numbers of {lacking:?} in\n{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The process id of mydyno.
    pub fn pid(&self) -> u32 {
        let pid = std::fs::read_to_string(self.work.path().join("pid")).unwrap();
        pid.trim().parse().unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        super::signal(self.pid(), signal);
    }

    /// From now on nobody reads the terminal, and not a byte more fits in.
    pub fn stall(&self) {
        let reader = Pid::from_child(&self.script);
        kill_process(reader, Signal::STOP).unwrap();
        let mut terminal = File::options()
            .write(true)
            .custom_flags(OFlags::NOCTTY.bits().cast_signed())
            .open(format!("/proc/{}/fd/1", self.pid()))
            .unwrap();
        fill(&mut terminal);
    }

    /// It is read again.
    pub fn go_on(&self) {
        kill_process(Pid::from_child(&self.script), Signal::CONT).unwrap();
    }

    pub fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    }

    pub fn wait(&mut self) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.script.try_wait().unwrap() {
                return status.code();
            }
            assert!(begun.elapsed() < PATIENCE, "it goes on: {}", self.seen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // Both fail where it has ended; mydyno ends with its terminal.
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

pub const ENTER: &str = "\x1b[?1049h";
pub const LEAVE: &str = "\x1b[?1049l";
pub const SHOW_CURSOR: &str = "\x1b[?25h";

/// The rows of the terminal after all that the dashboard sent so far. It uses few controls: moves,
/// clears and colours.
pub fn screen(seen: &str) -> Vec<String> {
    let blank = || vec![vec![' '; COLUMNS]; ROWS];
    let mut cells = blank();
    let (mut row, mut column) = (0, 0);
    let mut rest = seen.rsplit_once(ENTER).map_or("", |(_, sent)| sent);
    while let Some(c) = rest.chars().next() {
        if let Some(control) = rest.strip_prefix("\x1b[") {
            // One that has not come as a whole ends what is there.
            let Some(end) = control.find(|c: char| c.is_ascii_alphabetic()) else {
                break;
            };
            match control.as_bytes()[end] {
                b'H' => {
                    let (y, x) = control[..end].split_once(';').unwrap();
                    row = y.parse::<usize>().unwrap() - 1;
                    column = x.parse::<usize>().unwrap() - 1;
                }
                b'J' => cells = blank(),
                _ => {}
            }
            rest = &control[end + 1..];
            continue;
        }
        if let Some(cell) = cells.get_mut(row).and_then(|row| row.get_mut(column)) {
            *cell = c;
        }
        column += 1;
        rest = &rest[c.len_utf8()..];
    }
    cells.into_iter().map(String::from_iter).collect()
}

/// Is there a row where so many numbers follow `start`?
fn has_numbers(screen: &[String], start: &str, count: usize) -> bool {
    screen.iter().any(|row| {
        row.split_once(start).is_some_and(|(_, rest)| {
            let words = rest.split_whitespace().take(count);
            words.filter(|word| word.parse::<f64>().is_ok()).count() == count
        })
    })
}

/// Writes spaces as long as there is room; returns how many.
pub fn fill(out: &mut (impl Write + AsFd)) -> usize {
    let flags = fcntl_getfl(&*out).unwrap();
    fcntl_setfl(&*out, flags | OFlags::NONBLOCK).unwrap();
    let mut filled = 0;
    // Ever smaller pieces, until not one byte more fits.
    for size in [4096, 64, 1] {
        while let Ok(count) = out.write(&vec![b' '; size]) {
            filled += count;
        }
    }
    fcntl_setfl(&*out, flags).unwrap();
    filled
}
