//! Watts of an external meter, read by a command of the user's.

use crate::error::{ObserveError, ObserveResult};
use crate::readings::{Readings, SampleSource};
use std::ops::ControlFlow;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::MetricSource;
use system::{ChildOptions, ChildProcess, DiesWith};

/// How long a meter's command may take.
const PATIENCE: Duration = Duration::from_secs(10);
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

    fn read(&mut self, into: &mut Readings, stop: &AtomicBool) -> ObserveResult<()> {
        let mut heard = Heard::default();
        let watts = self.run(&mut heard, stop).and_then(|()| {
            let output = String::from_utf8_lossy(&heard.stdout);
            watts(&output).map_err(|why| {
                let shown: String = output.trim().chars().take(OUTPUT_CHARS_SHOWN).collect();
                format!("{why}, in its output {shown:?}")
            })
        });
        let watts = watts.map_err(|why| {
            let complaint = String::from_utf8_lossy(&heard.stderr);
            let complaint = complaint.trim();
            ObserveError::Meter(if complaint.is_empty() {
                why
            } else {
                format!("{why}, and said {complaint:?}")
            })
        })?;
        into.gauge(MetricSource::Power, "power_mw", "meter", (watts * 1e3) as i64);
        Ok(())
    }
}

impl MeterSource {
    /// Runs the command until it ends by itself, or says why that was not waited for. What it left
    /// running may hold the pipes open and ends with it, so no end of file is waited for.
    fn run(&self, heard: &mut Heard, stop: &AtomicBool) -> Result<(), String> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &self.command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut shell = ChildProcess::start(shell, &ChildOptions::dying_with(DiesWith::Thread))
            .map_err(|error| format!("it cannot be started: {error}"))?;
        let status = shell.watch(|shell, elapsed| {
            let why = if stop.load(Ordering::Relaxed) {
                Err("the run is over".to_owned())
            } else if elapsed > self.patience {
                Err(format!("it took more than {} s", self.patience.as_secs_f64()))
            } else {
                heard.take_from(shell)
            };
            why.map_or_else(ControlFlow::Break, ControlFlow::Continue)
        })?;
        heard.take_from(&mut shell)?;
        status.success().then_some(()).ok_or_else(|| format!("it ended with {status}"))
    }
}

/// What the command has said.
#[derive(Default)]
struct Heard {
    stdout: Vec<u8>,
    /// Its end.
    stderr: Vec<u8>,
}

impl Heard {
    fn take_from(&mut self, shell: &mut ChildProcess) -> Result<(), String> {
        let heard = shell.hear(&mut self.stdout, &mut self.stderr);
        heard.map_err(|error| error.to_string())?;
        let excess = self.stderr.len().saturating_sub(STDERR_BYTES_KEPT);
        self.stderr.drain(..excess);
        if self.stdout.len() > STDOUT_BYTES_MAX {
            return Err(format!("it printed more than {STDOUT_BYTES_MAX} bytes"));
        }
        Ok(())
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
    let watts = value(number.text).ok_or_else(|| format!("{:?} is no number", number.text))?;
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

/// A word of a text that looks like a number.
struct Number<'a> {
    text: &'a str,
    /// The letters behind it, or the word of them; empty where there is none.
    unit: &'a str,
}

fn numbers(text: &str) -> Vec<Number<'_>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.,_".contains(c);
    let mut numbers = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find(is_part) {
        let word = &rest[begin..];
        let (word, after) = word.split_at(word.find(|c| !is_part(c)).unwrap_or(word.len()));
        rest = after;
        let text = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        // Neither `PS1` nor `2026-11-21` does.
        if !looks_like_number(text) {
            continue;
        }
        // Tables put a line between, and brackets stand around units.
        let behind = after.trim_start_matches([' ', '\t', '|', '[', '(']);
        let next = behind.split(|c: char| !c.is_ascii_alphabetic()).next();
        let unit = if text == word { next.unwrap_or("") } else { &word[text.len()..] };
        numbers.push(Number { text: text.trim_end_matches([',', '.']), unit });
    }
    numbers
}

/// Sign, digits, points and commas, exponent; `1.2.3` does, too.
fn looks_like_number(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (mantissa, exponent) = (unsigned(mantissa), unsigned(exponent));
    mantissa.bytes().any(is_digit)
        && mantissa.bytes().all(|byte| is_digit(byte) || b".,".contains(&byte))
        && !exponent.is_empty()
        && exponent.bytes().all(is_digit)
}

fn unsigned(number: &str) -> &str {
    number.strip_prefix(['+', '-']).unwrap_or(number)
}

/// Commas are between thousands; anywhere else one may be a decimal point, and nobody knows.
fn value(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_at(text.find(['.', 'e', 'E']).unwrap_or(text.len()));
    if let Some((first, others)) = unsigned(whole).split_once(',') {
        let is_full = |group: &str| group.len() == 3;
        if !(1..=3).contains(&first.len()) || !others.split(',').all(is_full) {
            return None;
        }
    }
    format!("{}{fraction}", whole.replace(',', "")).parse().ok()
}

#[cfg(test)]
mod tests;
