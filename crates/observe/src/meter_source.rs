//! Watts of an external meter, read by a command of the user's.

use crate::error::ObserveError;
use crate::sampler::{Readings, SampleSource};
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use storage::kill_with_parent;
use store::MetricSource;

/// How long a meter's command may take.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long what was killed may take to be gone. A process that hangs in the kernel is not, and is
/// left behind.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
const STDOUT_BYTES_MAX: usize = 4 << 20;
/// The end of what it complained of, for the error.
const STDERR_BYTES_KEPT: usize = 200;
/// The begin of its output, for the error.
const OUTPUT_CHARS_SHOWN: usize = 200;
/// No machine that this program measures takes a megawatt.
const WATTS_MAX: f64 = 1e6;

/// An external meter, read by a command of the user's that prints watts.
pub struct MeterSource {
    command: String,
    patience: Duration,
}

impl MeterSource {
    /// A command for the shell that prints watts: the number before `W` or `Watts`, or one number
    /// and no other.
    pub fn new(command: &str) -> MeterSource {
        MeterSource { command: command.to_owned(), patience: PATIENCE }
    }
}

impl SampleSource for MeterSource {
    fn title(&self) -> &'static str {
        "the power meter"
    }

    fn read(&mut self, into: &mut Readings, stop: &AtomicBool) -> Result<(), ObserveError> {
        let mut running = RunningMeter::start(&self.command)
            .map_err(|error| ObserveError::Meter(format!("it cannot be started: {error}")))?;
        let status = running.run(self.patience, stop).map_err(|why| running.failed(&why))?;
        if !status.success() {
            return Err(running.failed(&format!("it ended with {status}")));
        }
        let output = String::from_utf8_lossy(&running.stdout.heard);
        let watts = watts(&output).map_err(|why| {
            let shown: String = output.trim().chars().take(OUTPUT_CHARS_SHOWN).collect();
            running.failed(&format!("{why}, in its output {shown:?}"))
        })?;
        let milliwatts = (watts * 1e3) as i64;
        into.gauge(MetricSource::Power, "power_mw", "meter", milliwatts);
        Ok(())
    }
}

/// The command while it runs. It ends when this is dropped, with all that it started in its process
/// group.
struct RunningMeter {
    child: Child,
    status: Option<ExitStatus>,
    stdout: Pipe,
    stderr: Pipe,
}

impl RunningMeter {
    fn start(command: &str) -> io::Result<RunningMeter> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        kill_with_parent(&mut shell);
        let mut child = shell.spawn()?;
        let stdout = Pipe::from_end(child.stdout.take().map(OwnedFd::from));
        let stderr = Pipe::from_end(child.stderr.take().map(OwnedFd::from));
        Ok(RunningMeter { child, status: None, stdout, stderr })
    }

    /// Hears it out until it ends by itself, or says why that was not waited for.
    fn run(&mut self, patience: Duration, stop: &AtomicBool) -> Result<ExitStatus, String> {
        let begun = Instant::now();
        while !self.has_ended()? {
            if stop.load(Ordering::Relaxed) {
                return Err("the run is over".to_owned());
            }
            if begun.elapsed() > patience {
                return Err(format!("it took more than {} s", patience.as_secs_f64()));
            }
            if !self.hear()? {
                std::thread::sleep(LOOK_EVERY);
            }
        }
        // What it left running may hold the pipes open, so this comes before the rest is read, and
        // no end of file is waited for.
        let status = self.end().ok_or("it has ended and cannot be reaped")?;
        while self.hear()? && begun.elapsed() <= patience {}
        Ok(status)
    }

    /// Has the shell ended? It is not reaped by this, so its id, which is its group's, stays its
    /// own.
    fn has_ended(&self) -> Result<bool, String> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let ended = waitid(WaitId::Pid(Pid::from_child(&self.child)), options);
        ended.map(|status| status.is_some()).map_err(|error| error.to_string())
    }

    /// Takes what it has said since; returns whether that was anything.
    fn hear(&mut self) -> Result<bool, String> {
        let heard = self.stdout.hear().map_err(|error| error.to_string())?;
        let complained = self.stderr.hear().map_err(|error| error.to_string())?;
        if self.stdout.heard.len() > STDOUT_BYTES_MAX {
            return Err(format!("it printed more than {STDOUT_BYTES_MAX} bytes"));
        }
        let excess = self.stderr.heard.len().saturating_sub(STDERR_BYTES_KEPT);
        self.stderr.heard.drain(..excess);
        Ok(heard || complained)
    }

    /// Ends the group and reaps the shell; `None` where that takes too long.
    fn end(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            // The shell is not reaped yet, so the group is its own. There may be nobody left in it.
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let killed = Instant::now();
            while self.status.is_none() && killed.elapsed() < KILL_PATIENCE {
                self.status = self.child.try_wait().ok().flatten();
                if self.status.is_none() {
                    std::thread::sleep(LOOK_EVERY);
                }
            }
        }
        self.status
    }

    fn failed(&self, why: &str) -> ObserveError {
        let complaint = String::from_utf8_lossy(&self.stderr.heard);
        let complaint = complaint.trim();
        ObserveError::Meter(if complaint.is_empty() {
            why.to_owned()
        } else {
            format!("{why}, and said {complaint:?}")
        })
    }
}

impl Drop for RunningMeter {
    fn drop(&mut self) {
        self.end();
    }
}

/// The reading end of a pipe.
struct Pipe {
    /// Until the other end is closed.
    end: Option<File>,
    heard: Vec<u8>,
}

impl Pipe {
    fn from_end(end: Option<OwnedFd>) -> Pipe {
        Pipe { end: end.map(File::from), heard: Vec::new() }
    }

    /// Takes a slice of what is there, without waiting; returns whether that was anything.
    fn hear(&mut self) -> io::Result<bool> {
        let Some(end) = &mut self.end else {
            return Ok(false);
        };
        ioctl_fionbio(&*end, true)?;
        let mut slice = [0_u8; 16 << 10];
        match end.read(&mut slice) {
            Ok(0) => {
                self.end = None;
                Ok(false)
            }
            Ok(length) => {
                self.heard.extend_from_slice(&slice[..length]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The watts that a text tells: `Instantaneous power reading:   220 Watts`. Where several numbers
/// are watts, the first.
///
/// # Errors
/// Why it tells none.
fn watts(text: &str) -> Result<f64, String> {
    let numbers = numbers(text);
    let in_watts = numbers.iter().find(|number| is_watts(number.unit));
    let number = match (in_watts, &numbers[..]) {
        (Some(number), _) => number,
        (None, [only]) if !is_part_of_watts(only.unit) => only,
        (None, _) => {
            return Err(
                "no number stands before W or Watts, and it is not one number alone".to_owned()
            );
        }
    };
    let watts = number.value.ok_or_else(|| format!("{:?} is no number", number.text))?;
    if watts > 0.0 && watts <= WATTS_MAX {
        Ok(watts)
    } else {
        Err(format!("{} W is not more than 0 and at most {WATTS_MAX}", number.text))
    }
}

fn is_watts(unit: &str) -> bool {
    ["w", "watt", "watts"].iter().any(|watts| unit.eq_ignore_ascii_case(watts))
}

/// Thousandths or thousands, which are not what is asked for.
fn is_part_of_watts(unit: &str) -> bool {
    let prefixes = ["m", "k", "milli", "kilo", "mega"];
    let unit = unit.to_ascii_lowercase();
    let mut rests = prefixes.iter().filter_map(|prefix| unit.strip_prefix(prefix));
    rests.any(is_watts)
}

/// A word of a text that begins as a number does.
struct Number<'a> {
    text: &'a str,
    /// `None` where it only looks like one: `1.2.3`, `1,5`.
    value: Option<f64>,
    /// The word behind it; empty where there is none.
    unit: &'a str,
}

fn numbers(text: &str) -> Vec<Number<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.,_".contains(c);
    let mut numbers = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find(is_part) {
        let word = &rest[begin..];
        let end = word.find(|c| !is_part(c)).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        rest = after;
        let digits = number_length(word);
        let (text, unit) = word.split_at(digits);
        // Neither `PS1` nor `2026-11-21` is a number.
        if digits == 0 || !unit.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            continue;
        }
        let text = text.trim_end_matches([',', '.']);
        let unit = if unit.is_empty() {
            // Tables put a line between, and brackets stand around units.
            let behind = after.trim_start_matches([' ', '\t', '|', '[', '(']);
            let end = behind.find(|c: char| !c.is_ascii_alphabetic());
            &behind[..end.unwrap_or(behind.len())]
        } else {
            unit
        };
        numbers.push(Number { text, value: value(text), unit });
    }
    numbers
}

/// How many bytes of the word are sign, digits, points, commas and exponent; 0 where no digit is
/// among the first ones.
fn number_length(word: &str) -> usize {
    let bytes = word.as_bytes();
    let while_in = |from: usize, of: &dyn Fn(u8) -> bool| {
        let count = bytes[from..].iter().take_while(|byte| of(**byte)).count();
        from + count
    };
    let is_sign = |byte: &u8| matches!(byte, b'+' | b'-');
    let signed = usize::from(bytes.first().is_some_and(is_sign));
    let end = while_in(signed, &|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','));
    if !bytes[signed..end].iter().any(u8::is_ascii_digit) {
        return 0;
    }
    if !matches!(bytes.get(end), Some(b'e' | b'E')) {
        return end;
    }
    let sign = usize::from(bytes.get(end + 1).is_some_and(is_sign));
    let exponent = end + 1 + sign;
    let exponent_end = while_in(exponent.min(bytes.len()), &|byte| byte.is_ascii_digit());
    if exponent_end > exponent { exponent_end } else { end }
}

/// Commas are between thousands; anywhere else one may be a decimal point, and nobody knows.
fn value(text: &str) -> Option<f64> {
    let whole = text.split(['.', 'e', 'E']).next()?;
    let fraction = &text[whole.len()..];
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let mut digits = first.to_owned();
    for group in groups {
        let is_first_full = (1..=3).contains(&first.trim_start_matches(['+', '-']).len());
        if group.len() != 3 || !is_first_full {
            return None;
        }
        digits.push_str(group);
    }
    format!("{digits}{fraction}").parse().ok()
}

#[cfg(test)]
mod tests;
