//! Where the program talks to people: results on stdout, all else on stderr. What a command tells
//! while it works, bars with an ETA on a terminal and plain lines elsewhere, is written by a thread
//! of its own, so that a reader who stalls does not stall the work.

use crate::failure::Failure;
use crate::outlet::{Outlet, OutletItem, is_writable};
use crate::text;
use crate::text::format::{bar, time};
use crate::views::watch;
use analyse::RunProgress;
use base::Exit;
use lab::Progress;
use ratatui::crossterm::terminal::size;
use std::collections::BTreeSet;
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

/// Prints on stdout, as it is. A reader who has gone (`| head`) has seen enough: that is no
/// failure.
///
/// # Errors
/// Where stdout takes nothing, as on a full disk.
pub fn print(text: impl Display) -> Result<(), Failure> {
    match write_stdout(&text.to_string()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::new(
            Exit::Failed,
            format!("cannot write to stdout: {error}; send it to where there is room"),
        )),
        _ => Ok(()),
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
        match is_harmless(c) {
            true => shown.push(c),
            false => shown.extend(c.escape_default()),
        }
    }
    shown
}

fn write_stdout(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A piece of what is printed on stdout while a run goes on.
pub struct Piece(pub String);

impl OutletItem for Piece {
    fn replaces(&self, _waiting: &Piece) -> bool {
        false
    }
}

/// Prints on stdout while a run goes on. Where nobody reads any more, the run goes on: the results
/// file has it all.
///
/// # Errors
/// Where no thread can be made.
pub fn live_stdout() -> Result<Outlet<Piece>, Failure> {
    Outlet::start("stdout", |Piece(text), left_out| {
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
    told: NotesTold,
}

/// Notes of many measurements, most of which have the same to tell, but for its figures.
#[derive(Default)]
pub struct NotesTold(BTreeSet<String>);

impl NotesTold {
    /// Whether no note before had these words.
    pub fn is_news(&mut self, note: &str) -> bool {
        self.0.insert(note.replace(|letter: char| letter.is_ascii_digit(), ""))
    }
}

/// What goes to stderr.
enum Told {
    /// A new step begins, or how long a part took that is over.
    Step(String),
    Note(String),
    Position(Position),
    /// What was under way is over.
    Done,
}

/// How much of something is done.
struct WorkDone {
    done: u64,
    total: u64,
}

impl WorkDone {
    /// In milliseconds.
    fn of_times(done: Duration, total: Duration) -> WorkDone {
        WorkDone { done: done.as_millis() as u64, total: total.as_millis() as u64 }
    }
}

/// How far something has come.
struct Position {
    /// Another bar begins where it is another word.
    what: &'static str,
    extent: WorkDone,
    /// It is milliseconds, which pass whatever happens.
    is_time: bool,
    /// The total is the most that it may be.
    is_most: bool,
    /// Its end is not known, and the message says what it waits for.
    is_awaited: bool,
    message: String,
}

impl Position {
    fn of(what: &'static str, extent: WorkDone, message: String) -> Position {
        let (is_time, is_most, is_awaited) = (false, false, false);
        Position { what, extent, is_time, is_most, is_awaited, message }
    }

    fn share(&self) -> f64 {
        (self.extent.done as f64 / self.extent.total.max(1) as f64).min(1.0)
    }

    /// What is left, by how it went so far.
    fn left(&self, begun: Instant) -> Duration {
        match self.is_time {
            true => Duration::from_millis(self.extent.total.saturating_sub(self.extent.done)),
            false => begun.elapsed().mul_f64(1.0 / self.share().max(1e-6) - 1.0),
        }
    }

    /// `window   [===>   ]  45 %  33 s left, 12345 NOPM`.
    fn line(&self, begun: Instant) -> String {
        if self.is_awaited {
            return self.message.clone();
        }
        let at_most = if self.is_most { " at most" } else { "" };
        let left = time(self.left(begun));
        format!("{:<8} {}  {left} left{at_most}, {}", self.what, bar(self.share()), self.message)
    }
}

impl OutletItem for Told {
    fn replaces(&self, waiting: &Told) -> bool {
        match (self, waiting) {
            (Told::Position(new), Told::Position(old)) => new.what == old.what,
            _ => false,
        }
    }
}

impl Console {
    /// # Errors
    /// Where no thread can be made.
    pub fn new() -> Result<Console, Failure> {
        let mut bar = ProgressLine::new();
        Ok(Console {
            outlet: Outlet::start("console", move |told, left_out| bar.take(told, left_out))?,
            notes: Vec::new(),
            is_verbose: false,
            told: NotesTold::default(),
        })
    }

    /// Shows what a command tells that measures many times: each note once.
    pub fn show_once(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Note(note) if !self.told.is_news(note) => {}
            other => self.show(other),
        }
    }

    /// Shows what a command tells.
    pub fn show(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Step(step) | Progress::TurnStarts { title: step, .. } => {
                self.outlet.push(Told::Step(step.to_owned()));
            }
            Progress::Note(note) => {
                self.notes.push(note.to_owned());
                self.say_note(note);
            }
            Progress::Load(load) => {
                let [mb, total_mb] = [load.bytes, load.bytes_total].map(|bytes| bytes / 1_000_000);
                let (steps, all) = (load.steps, load.steps_total);
                let message = format!("{mb} of {total_mb} MB, indexes {steps}/{all}");
                let extent = WorkDone { done: load.bytes, total: load.bytes_total };
                self.position(Position::of("loading", extent, message));
            }
            Progress::Run(run) => self.position(run_position(&run)),
            // Formats that print live and the views show these.
            Progress::RunStarts { .. }
            | Progress::Interval(_)
            | Progress::Samples(_)
            | Progress::TurnEnds(_)
            | Progress::LabGoesOn { .. }
            | Progress::Reached { .. } => {}
            Progress::Took(part, time) if self.is_verbose => {
                let time_s = time.as_secs_f64();
                self.outlet.push(Told::Step(format!("{time_s:8.2} s  {part}")));
            }
            Progress::Took(..) => {}
            Progress::Checks { done, total } => {
                let message = format!("{done} of {total}");
                self.position(Position::of("checking", WorkDone { done, total }, message));
            }
        }
    }

    /// Shows a note that is kept already.
    pub fn say_note(&self, note: &str) {
        self.outlet.push(Told::Note(note.to_owned()));
    }

    /// Shows work whose time is known beforehand.
    pub fn show_work(&mut self, what: &str, done: Duration, total: Duration) {
        let extent = WorkDone::of_times(done, total);
        self.position(Position { is_time: true, ..Position::of("", extent, what.to_owned()) });
    }

    fn position(&self, position: Position) {
        self.outlet.push(Told::Position(position));
    }

    /// Takes the bar away, and waits until all is said, where it is read.
    pub fn done(&self) {
        self.outlet.push(Told::Done);
        self.outlet.settle(STDERR_PATIENCE);
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.done();
    }
}

fn run_position(run: &RunProgress) -> Position {
    let phase = if run.in_warmup { "warm-up" } else { "window" };
    let message = format!(
        "{:.0} NOPM, new order p95 {:.1} ms, {}, {}",
        run.nopm,
        run.new_order_p95_us / 1e3,
        base::counted(run.retries as usize, "retry", "retries"),
        base::counted(run.errors as usize, "error", "errors")
    );
    let message = match run.silent {
        Some(silence) => format!("{}; {message}", text::silent(silence)),
        None => message,
    };
    let message = match run.awaited {
        Some(awaited) => format!("{phase}: {}; {message}", text::awaited(awaited)),
        None => message,
    };
    Position {
        is_time: true,
        is_most: run.total_is_most,
        is_awaited: run.awaited.is_some(),
        ..Position::of(phase, WorkDone::of_times(run.elapsed, run.total), message)
    }
}

/// The last line of stderr, which says how far something has come; on no terminal, a line now and
/// then.
struct ProgressLine {
    shown: Option<(Position, Instant)>,
    is_terminal: bool,
    last_line: Instant,
}

impl ProgressLine {
    fn new() -> ProgressLine {
        let is_terminal = io::stderr().is_terminal();
        ProgressLine { shown: None, is_terminal, last_line: Instant::now() }
    }

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
            Told::Position(position) => self.show(position),
            Told::Done => self.done(),
        }
    }

    /// Says something above the line.
    fn say(&mut self, text: impl Display) {
        self.clear();
        tell(text);
        self.draw();
    }

    fn show(&mut self, position: Position) {
        let begun = match self.shown.take() {
            Some((before, begun)) if before.what == position.what => begun,
            _ => {
                // The first line that is no terminal's comes after a while.
                self.last_line = Instant::now();
                Instant::now()
            }
        };
        self.shown = Some((position, begun));
        let every = if self.is_terminal { DRAW_EVERY } else { PLAIN_EVERY };
        if self.last_line.elapsed() >= every {
            self.last_line = Instant::now();
            self.draw();
            if let (false, Some((position, begun))) = (self.is_terminal, &self.shown) {
                tell(position.line(*begun));
            }
        }
    }

    fn draw(&self) {
        if let (true, Some((position, begun))) = (self.is_terminal, &self.shown) {
            let columns = size().map_or(80, |(columns, _)| usize::from(columns));
            let line: String = printable(&position.line(*begun));
            let line: String = line.chars().take(columns.saturating_sub(1)).collect();
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
