//! What a person sees while a command works: bars with an ETA on a terminal, plain lines elsewhere. All on stderr.

use crate::live::watch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::Progress;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two plain lines where stderr is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Shows progress.
pub struct Console {
    bar: ProgressBar,
    kind: Kind,
    is_terminal: bool,
    last_plain: Instant,
    /// Notes, to be stored with what they belong to.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    None,
    Load,
    Run,
    Checks,
    Work,
}

impl Console {
    pub fn new() -> Console {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let is_terminal = !bar.is_hidden();
        Console {
            bar,
            kind: Kind::None,
            is_terminal,
            last_plain: Instant::now(),
            notes: Vec::new(),
        }
    }

    /// Shows what a command tells.
    pub fn show(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Step(step) => {
                self.done();
                eprintln!("{step}");
            }
            Progress::Note(note) => {
                self.bar.suspend(|| eprintln!("note: {note}"));
                self.notes.push(note.to_owned());
            }
            Progress::Load(load) => {
                self.become_kind(Kind::Load, "loading [{bar:30}] {percent:>3}% {bytes}/{total_bytes} {bytes_per_sec} ETA {eta} {msg}");
                self.bar.set_length(load.bytes_total);
                self.bar.set_position(load.bytes.min(load.bytes_total));
                self.message(format!("indexes {}/{}", load.steps, load.steps_total));
            }
            Progress::Run(run) => {
                self.become_kind(
                    Kind::Run,
                    "{prefix} [{bar:30}] {percent:>3}% ETA {eta} {msg}",
                );
                self.bar.set_prefix(if run.in_warmup {
                    "warm-up "
                } else {
                    "window  "
                });
                self.bar.set_length(run.total.as_millis() as u64);
                self.bar
                    .set_position(run.elapsed.min(run.total).as_millis() as u64);
                self.message(format!(
                    "{:.0} NOPM, new order p95 {:.1} ms, {} retries, {} errors",
                    run.nopm,
                    run.new_order_p95_us / 1e3,
                    run.retries,
                    run.errors
                ));
            }
            // Formats that print live and the views of `live` show these.
            Progress::RunStarts(_) | Progress::Interval(_) | Progress::Samples(_) => {}
            Progress::Checks { done, total } => {
                self.become_kind(Kind::Checks, "checking [{bar:30}] {percent:>3}% ETA {eta}");
                self.bar.set_length(total);
                self.bar.set_position(done);
            }
        }
    }

    /// Shows work whose time is known beforehand.
    pub fn show_work(&mut self, what: &str, done: Duration, total: Duration) {
        self.become_kind(Kind::Work, "[{bar:30}] {percent:>3}% ETA {eta} {msg}");
        self.bar.set_length(total.as_millis() as u64);
        self.bar.set_position(done.min(total).as_millis() as u64);
        self.message(what.to_owned());
    }

    fn become_kind(&mut self, kind: Kind, template: &str) {
        if self.kind == kind {
            return;
        }
        self.done();
        self.kind = kind;
        self.last_plain = Instant::now();
        self.bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bar.set_style(style.progress_chars("=> "));
    }

    fn message(&mut self, message: String) {
        if !self.is_terminal && self.last_plain.elapsed() >= PLAIN_EVERY {
            self.last_plain = Instant::now();
            let percent = self.bar.position() * 100 / self.bar.length().unwrap_or(1).max(1);
            eprintln!(
                "{percent:>3}% {message}, ETA {} s",
                self.bar.eta().as_secs()
            );
        }
        self.bar.set_message(message);
    }

    /// Takes the bar away.
    pub fn done(&mut self) {
        self.bar.finish_and_clear();
        self.kind = Kind::None;
    }
}

/// A flag that the first Ctrl-C (or SIGTERM) sets; the second ends the process. Private servers die with it.
pub fn stop_flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    let handled = ctrlc::set_handler(move || {
        if set.swap(true, Ordering::Relaxed) {
            watch::leave();
            std::process::exit(i32::from(base::Exit::Interrupted.code()));
        }
        // A dashboard says it itself; here it would be lost.
        if !watch::is_on() {
            eprintln!("\nending in good order; once more ends at once");
        }
    });
    if let Err(error) = handled {
        eprintln!("note: Ctrl-C will end the program at once ({error})");
    }
    flag
}
