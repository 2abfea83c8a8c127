//! Where the program talks to people: results on stdout, all else on stderr. What a command tells
//! while it works, bars with an ETA on a terminal and plain lines elsewhere, is written by a thread
//! of its own, so that a reader who stalls does not stall the work.

use crate::failure::{Failure, Outcome};
use crate::outlet::{Outlet, OutletItem, is_writable};
use crate::text;
use crate::text::format::{bar, optional, throughput, time};
use crate::views::watch;
use base::{Exit, counted};
use lab::Progress;
use live::{RecentLoad, Stage, State};
use ratatui::crossterm::terminal::size;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Shortest time between two pictures of a bar.
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// Time between two plain lines where stderr is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);
/// How long a reader of stderr who stalls is waited for, before the results go to stdout.
const STDERR_PATIENCE: Duration = Duration::from_secs(1);
/// The same for what a signal makes it say, as the next signal waits meanwhile.
const SIGNAL_PATIENCE: Duration = Duration::from_millis(200);

/// Prints on stdout, as it is: how a command ends well. A reader who has gone (`| head`) has seen
/// enough: that is no failure.
///
/// # Errors
/// Where stdout takes nothing, as on a full disk.
pub fn print(text: impl Display) -> Outcome {
    match write_stdout(&text.to_string()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::new(
            Exit::Failed,
            format!("cannot write to stdout: {error}; send it to where there is room"),
        )),
        _ => Ok(Exit::Ok),
    }
}

/// Says something on stderr. Where nobody reads that, there is nobody to tell.
pub fn tell(text: impl Display) {
    let _ = io::stderr().write_all(format!("{}\n", printable(&text.to_string())).as_bytes());
}

/// A server's words may hold what a terminal obeys.
fn printable(text: &str) -> String {
    let is_harmless = |c: char| !c.is_control() || c == '\n' || c == '\t';
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmless(c) { shown.push(c) } else { shown.extend(c.escape_default()) }
    }
    shown
}

fn write_stdout(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A piece of what is printed on stdout while a run goes on.
impl OutletItem for String {}

/// Prints on stdout while a run goes on. Where nobody reads any more, the run goes on: the results
/// file has it all.
///
/// # Errors
/// Where no thread can be made.
pub fn live_stdout() -> Result<Outlet<String>, Failure> {
    Outlet::start("stdout", |text: String, left_out| {
        let note = match left_out {
            0 => String::new(),
            _ => format!("# {left_out} pieces are left out here, as nobody read them in time\n"),
        };
        let _ = write_stdout(&(note + &text));
    })
}

/// Shows progress.
pub struct Console {
    outlet: Outlet<Told>,
    /// Notes, to be stored with what they belong to.
    pub notes: Vec<String>,
    /// Says how long each part of a measurement took.
    pub is_verbose: bool,
    /// What is under way, and since when.
    working: Option<(&'static str, Instant)>,
    is_terminal: bool,
    /// The stage of a run that lines tell of, and when the last of them came, or it began.
    told: (Stage, Instant),
}

/// What goes to stderr.
enum Told {
    /// A new step begins, or how long a part took that is over.
    Step(String),
    Note(String),
    /// How far something has come, which has this name.
    Position(&'static str, String),
    /// What was under way is over.
    Done,
}

impl OutletItem for Told {
    fn replaces(&self, waiting: &Told) -> bool {
        match (self, waiting) {
            (Told::Position(new, _), Told::Position(old, _)) => new == old,
            _ => false,
        }
    }
}

impl Console {
    /// # Errors
    /// Where no thread can be made.
    pub fn new() -> Result<Console, Failure> {
        let is_terminal = io::stderr().is_terminal();
        let mut bar = ProgressLine { shown: None, is_terminal, last_line: Instant::now() };
        Ok(Console {
            outlet: Outlet::start("console", move |told, left_out| bar.take(told, left_out))?,
            notes: Vec::new(),
            is_verbose: false,
            working: None,
            is_terminal,
            told: (Stage::Starting, Instant::now()),
        })
    }

    /// Shows what a command tells.
    pub fn show(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Step(step) | Progress::TurnStarts { title: step, .. } => self.step(step),
            Progress::LabGoesOn { lab, there, all } => {
                self.step(&format!("lab {lab} goes on: {there} of {all} repeats are there"));
            }
            Progress::Note(note) => {
                self.notes.push(note.to_owned());
                self.say_note(note);
            }
            Progress::Load(load) => {
                let [mb, total_mb] = [load.bytes, load.bytes_total].map(|bytes| bytes / 1_000_000);
                let (steps, all) = (load.steps, load.steps_total);
                let message = format!("{mb} of {total_mb} MB, indexes {steps}/{all}");
                self.work("loading", (load.bytes, load.bytes_total), &message);
            }
            Progress::Took(part, time) if self.is_verbose => {
                self.step(&format!("{:8.2} s  {part}", time.as_secs_f64()));
            }
            Progress::Checks { done, total } => {
                self.work("checking", (done, total), &format!("{done} of {total}"));
            }
            // Formats that print live and the views show the rest.
            Progress::RunStarts { .. }
            | Progress::Run(_)
            | Progress::Interval(_)
            | Progress::Samples(_)
            | Progress::TurnEnds(_)
            | Progress::Reached { .. }
            | Progress::Took(..) => {}
        }
    }

    /// Shows a note that is kept already.
    pub fn say_note(&self, note: &str) {
        self.outlet.push(Told::Note(note.to_owned()));
    }

    fn step(&mut self, step: &str) {
        self.working = None;
        self.outlet.push(Told::Step(step.to_owned()));
    }

    /// Shows how much of some work is done; what is left is told by how it went so far.
    fn work(&mut self, what: &'static str, (done, total): (u64, u64), message: &str) {
        let (_, begun) = *match &mut self.working {
            Some(working) if working.0 == what => working,
            other => other.insert((what, Instant::now())),
        };
        let share = (done as f64 / total.max(1) as f64).min(1.0);
        let left = begun.elapsed().mul_f64(1.0 / share.max(1e-6) - 1.0);
        self.position(what, share, left, message);
    }

    /// Shows work whose time is known beforehand.
    pub fn show_work(&mut self, what: &str, done: Duration, total: Duration) {
        let share = done.as_secs_f64() / total.as_secs_f64().max(1e-3);
        self.position("", share.min(1.0), total.saturating_sub(done), what);
    }

    fn position(&self, what: &'static str, share: f64, left: Duration, message: &str) {
        let line = format!("{what:<8} {}  {} left, {message}", bar(share), time(left));
        self.outlet.push(Told::Position(what, line));
    }

    /// Shows how far a run is, and what it does: on a terminal now, elsewhere since the line
    /// before.
    pub fn show_run(&mut self, state: &mut State) {
        let mut since_told = None;
        if !self.is_terminal {
            if self.told.0 != state.stage {
                self.told = (state.stage, Instant::now());
            }
            if self.told.1.elapsed() < PLAIN_EVERY {
                return;
            }
            self.told.1 = Instant::now();
            since_told = state.take_load();
        }
        // An interval of a slow clock may take longer.
        let load = since_told.as_ref().or(state.now.as_ref());
        let [nopm, p95_us] = [RecentLoad::nopm, RecentLoad::p95_us].map(|of| load.and_then(of));
        let silence = state.silence().map(|of| format!("{}; ", text::silent(&of)));
        let line = format!(
            "{}, {}{} NOPM, new order p95 {} ms, {}, {}",
            text::how_far(state, true),
            silence.unwrap_or_default(),
            throughput(nopm),
            optional(p95_us.map(|us| us / 1e3), 1),
            counted(state.retries() as usize, "retry", "retries"),
            counted(state.errors() as usize, "error", "errors")
        );
        match self.is_terminal {
            true => self.outlet.push(Told::Position(state.stage.title(), line)),
            false => self.step(&line),
        }
    }

    /// Takes the bar away, and waits until all is said, where it is read.
    pub fn done(&mut self) {
        self.working = None;
        self.outlet.push(Told::Done);
        self.outlet.settle(STDERR_PATIENCE);
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.done();
    }
}

/// The last line of stderr, which says how far something has come; on no terminal, a line now and
/// then.
struct ProgressLine {
    /// What is under way, and how far it is.
    shown: Option<(&'static str, String)>,
    is_terminal: bool,
    last_line: Instant,
}

impl ProgressLine {
    fn take(&mut self, told: Told, left_out: u64) {
        if left_out > 0 {
            self.say(format_args!(
                "{left_out} messages are left out here, as nobody read them in time"
            ));
        }
        match told {
            Told::Step(step) => {
                self.done();
                tell(step);
            }
            Told::Note(note) => self.say(format_args!("note: {note}")),
            Told::Position(what, line) => self.show(what, line),
            Told::Done => self.done(),
        }
    }

    /// Says something above the line.
    fn say(&mut self, text: impl Display) {
        self.clear();
        tell(text);
        self.draw();
    }

    fn show(&mut self, what: &'static str, line: String) {
        let is_new = self.shown.as_ref().is_none_or(|(before, _)| *before != what);
        let every = if self.is_terminal { DRAW_EVERY } else { PLAIN_EVERY };
        let is_due = !is_new && self.last_line.elapsed() >= every;
        if is_due && !self.is_terminal {
            tell(&line);
        }
        self.shown = Some((what, line));
        // The first line of something comes after a while.
        if is_new || is_due {
            self.last_line = Instant::now();
        }
        if is_due {
            self.draw();
        }
    }

    fn draw(&self) {
        if let (true, Some((_, line))) = (self.is_terminal, &self.shown) {
            let columns = size().map_or(80, |(columns, _)| usize::from(columns));
            let line: String = printable(line).chars().take(columns.saturating_sub(1)).collect();
            let _ = io::stderr().write_all(format!("\r{line}\x1b[K").as_bytes());
        }
    }

    fn clear(&self) {
        if self.is_terminal && self.shown.is_some() {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }

    fn done(&mut self) {
        self.clear();
        self.shown = None;
    }
}

/// Signals of one stop, which may reach a server before this process, come within this time.
const STOP_PATIENCE: Duration = Duration::from_secs(1);

/// The flag of this process.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Was a command that failed so only stopped? Where a server failed, a stop is waited for.
pub fn is_stopped(exit: Exit) -> bool {
    let Some(flag) = STOP.get() else { return false };
    let patience = match exit {
        Exit::ServerFailed => STOP_PATIENCE,
        Exit::Failed | Exit::Environment => Duration::ZERO,
        _ => return false,
    };
    lab::stop_comes_within(patience, || flag.load(Ordering::Relaxed))
}

/// A flag that the first Ctrl-C (or SIGTERM, SIGHUP) sets; the second ends the process. Private
/// servers die with it.
pub fn stop_flag() -> Arc<AtomicBool> {
    let flag = Arc::clone(STOP.get_or_init(|| Arc::new(AtomicBool::new(false))));
    let set = Arc::clone(&flag);
    let handled = ctrlc::set_handler(move || {
        if set.swap(true, Ordering::Relaxed) {
            watch::leave();
            std::process::exit(i32::from(base::Exit::Interrupted.code()));
        }
        // A dashboard says it itself; here it would be lost.
        if !watch::is_on() {
            tell_soon("\nstopping; press Ctrl-C again to stop immediately\n");
        }
    });
    if let Err(error) = handled {
        tell(format_args!("note: Ctrl-C will end the program at once ({error})"));
    }
    flag
}

/// Without the lock of stderr, which a thread may hold whose reader stalls.
fn tell_soon(text: &str) {
    let stderr = io::stderr();
    if is_writable(&stderr, SIGNAL_PATIENCE) {
        let _ = rustix::io::write(&stderr, text.as_bytes());
    }
}
