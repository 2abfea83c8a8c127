//! Where the program talks to people: results on stdout, all else on stderr. What a command tells
//! while it works, bars with an ETA on a terminal and plain lines elsewhere, is written by a thread
//! of its own, so that a reader who stalls does not stall the work.

use crate::failure::Failure;
use crate::outlet::{Outlet, OutletItem, is_writable};
use crate::text;
use crate::views::watch;
use analyse::RunProgress;
use base::Exit;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::Progress;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

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

/// How far something has come.
struct Position {
    kind: BarKind,
    what: &'static str,
    done: u64,
    total: u64,
    /// `total` is the most that it may be.
    is_most: bool,
    message: String,
}

#[derive(Clone, Copy, PartialEq)]
enum BarKind {
    None,
    Load,
    /// In a phase of a fixed length.
    Run,
    /// In one of automatic length.
    AutoRun,
    Checks,
    Work,
}

impl OutletItem for Told {
    fn replaces(&self, waiting: &Told) -> bool {
        match (self, waiting) {
            (Told::Position(new), Told::Position(old)) => new.kind == old.kind,
            _ => false,
        }
    }
}

impl Console {
    /// # Errors
    /// Where no thread can be made.
    pub fn new() -> Result<Console, Failure> {
        let mut bars = Bars::new();
        Ok(Console {
            outlet: Outlet::start("console", move |told, left_out| bars.take(told, left_out))?,
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
            Progress::Load(load) => self.position(Position {
                kind: BarKind::Load,
                what: "loading",
                done: load.bytes,
                total: load.bytes_total,
                is_most: false,
                message: format!("indexes {}/{}", load.steps, load.steps_total),
            }),
            Progress::Run(run) => self.position(run_position(&run)),
            // Formats that print live and the views show these.
            Progress::RunStarts { .. }
            | Progress::Interval(_)
            | Progress::Samples(_)
            | Progress::TurnEnds(_)
            | Progress::LabBegins(_)
            | Progress::LabGoesOn { .. }
            | Progress::Reached { .. } => {}
            Progress::Took(part, time) if self.is_verbose => {
                let time_s = time.as_secs_f64();
                self.outlet.push(Told::Step(format!("{time_s:8.2} s  {part}")));
            }
            Progress::Took(..) => {}
            Progress::Checks { done, total } => self.position(Position {
                kind: BarKind::Checks,
                what: "checking",
                done,
                total,
                is_most: false,
                message: String::new(),
            }),
        }
    }

    /// Shows a note that is kept already.
    pub fn say_note(&self, note: &str) {
        self.outlet.push(Told::Note(note.to_owned()));
    }

    /// Shows work whose time is known beforehand.
    pub fn show_work(&mut self, what: &str, done: Duration, total: Duration) {
        self.position(Position {
            kind: BarKind::Work,
            what: "",
            done: done.as_millis() as u64,
            total: total.as_millis() as u64,
            is_most: false,
            message: what.to_owned(),
        });
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
    Position {
        kind: match run.awaited {
            Some(_) => BarKind::AutoRun,
            None => BarKind::Run,
        },
        what: phase,
        done: run.elapsed.as_millis() as u64,
        total: run.total.as_millis() as u64,
        is_most: run.total_is_most,
        message: match run.awaited {
            Some(awaited) => format!("{phase}: {}; {message}", text::awaited(awaited)),
            None => message,
        },
    }
}

/// What the thread knows of stderr.
struct Bars {
    bar: ProgressBar,
    kind: BarKind,
    is_most: bool,
    is_terminal: bool,
    last_plain: Instant,
}

impl Bars {
    fn new() -> Bars {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let is_terminal = !bar.is_hidden();
        Bars { bar, kind: BarKind::None, is_most: false, is_terminal, last_plain: Instant::now() }
    }

    fn take(&mut self, told: Told, left_out: u64) {
        if left_out > 0 {
            self.bar.suspend(|| {
                tell(format_args!(
                    "{left_out} messages are left out here, as nobody read them in time"
                ));
            });
        }
        match told {
            Told::Step(step) => {
                self.done();
                tell(step);
            }
            Told::Note(note) => self.bar.suspend(|| tell(format_args!("note: {note}"))),
            Told::Position(position) => self.show(position),
            Told::Done => self.done(),
        }
    }

    fn show(&mut self, position: Position) {
        self.become_kind(position.kind, position.is_most);
        self.bar.set_prefix(format!("{:<8}", position.what));
        self.bar.set_length(position.total);
        self.bar.set_position(position.done.min(position.total));
        let message = &position.message;
        let is_due = !self.is_terminal && self.last_plain.elapsed() >= PLAIN_EVERY;
        if is_due && !message.is_empty() {
            self.last_plain = Instant::now();
            let percent = self.bar.position() * 100 / position.total.max(1);
            let eta_s = match position.kind {
                // It goes on as time does.
                BarKind::Run | BarKind::AutoRun => {
                    position.total.saturating_sub(position.done) / 1000
                }
                _ => self.bar.eta().as_secs(),
            };
            let at_most = if position.is_most { " at most" } else { "" };
            tell(format_args!("{percent:>3}% {message}, ETA {eta_s} s{at_most}"));
        }
        self.bar.set_message(position.message);
    }

    fn become_kind(&mut self, kind: BarKind, is_most: bool) {
        if (self.kind, self.is_most) == (kind, is_most) {
            return;
        }
        // From phase to phase of a run the bar stays: a new one would take the time so far for
        // speed.
        let is_run = |kind| matches!(kind, BarKind::Run | BarKind::AutoRun);
        if !(is_run(self.kind) && is_run(kind)) {
            self.done();
            self.last_plain = Instant::now();
            self.bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        }
        (self.kind, self.is_most) = (kind, is_most);
        let template = match kind {
            BarKind::Load => {
                "{prefix}[{bar:30}] {percent:>3}% {bytes}/{total_bytes} {bytes_per_sec} ETA {eta} \
                 {msg}"
            }
            BarKind::AutoRun => "{msg}",
            BarKind::Run if is_most => "{prefix} [{bar:30}] {percent:>3}% ETA {eta} at most {msg}",
            BarKind::Work => "[{bar:30}] {percent:>3}% ETA {eta} {msg}",
            BarKind::None | BarKind::Run | BarKind::Checks => {
                "{prefix} [{bar:30}] {percent:>3}% ETA {eta} {msg}"
            }
        };
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bar.set_style(style.progress_chars("=> "));
    }

    fn done(&mut self) {
        self.bar.finish_and_clear();
        self.kind = BarKind::None;
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
            tell_soon("\nending in good order; once more ends at once\n");
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
