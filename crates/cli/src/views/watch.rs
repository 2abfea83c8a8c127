//! The terminal while a run is watched: its alternate screen, so that what was there before comes
//! back after. It is not in raw mode: Ctrl-C and Ctrl-Z stay signals, which end or stop the run as
//! without the dashboard. Pictures are sent from a thread of their own, as a terminal takes them
//! only as fast as its reader does.

use super::draw::draw;
use crate::failure::Failure;
use crate::outlet::{Outlet, OutletItem, is_writable};
use base::Exit;
use live::State;
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::crossterm::cursor::{Hide, MoveTo, Show};
use ratatui::crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::crossterm::{execute, queue, terminal};
use ratatui::layout::Rect;
use signal_hook::consts::SIGTSTP;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal};
use std::os::fd::AsFd;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// Shortest time between two pictures.
const DRAW_EVERY: Duration = Duration::from_millis(200);
/// Without raw mode, keys that are pressed show on the screen: so often it is drawn anew as a
/// whole.
const REPAINT_EVERY: Duration = Duration::from_secs(5);
/// A picture leaves in one piece.
const PICTURE_BYTES: usize = 256 << 10;

/// Is the alternate screen on? Of the process, because whoever ends it has to restore the terminal:
/// a second Ctrl-C, a panic.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// Set by who took the terminal back for good; no picture comes any more.
static IS_GONE: AtomicBool = AtomicBool::new(false);
/// Held while a picture leaves, so that none comes after the terminal has been restored.
static DRAWING: Mutex<()> = Mutex::new(());
/// How long a picture under way and a terminal that takes nothing are waited for; what hangs must
/// not keep the program from ending.
const LEAVE_PATIENCE: Duration = Duration::from_millis(200);

/// The dashboard's screen.
pub struct Watch {
    outlet: Outlet<Sent>,
    /// When the last picture was handed over, while there are any.
    drawn: Option<Instant>,
}

/// What goes to the terminal.
enum Sent {
    Picture(Buffer),
    Leave,
}

impl OutletItem for Sent {
    fn replaces(&self, waiting: &Sent) -> bool {
        matches!(waiting, Sent::Picture(_))
    }
}

impl Watch {
    /// Prepares to watch; `None` where stdout is no terminal that can show a dashboard.
    ///
    /// # Errors
    /// Where no thread can be made.
    pub fn prepare() -> Result<Option<Watch>, Failure> {
        let is_able = std::env::var_os("TERM").is_some_and(|kind| kind != "dumb");
        if !is_able || !io::stdout().is_terminal() || area().is_none() {
            return Ok(None);
        }
        let Ok(out) = stdout() else { return Ok(None) };
        take_back_before_words_of_a_panic();
        take_back_before_a_stop().map_err(|error| {
            let message = format!("cannot watch for Ctrl-Z: {error}; leave out --watch");
            Failure::new(Exit::Environment, message)
        })?;
        let mut screen = Screen {
            backend: CrosstermBackend::new(BufWriter::with_capacity(PICTURE_BYTES, out)),
            shown: Buffer::default(),
            repainted: None,
        };
        Ok(Some(Watch {
            outlet: Outlet::start("dashboard", move |sent, _| screen.take(sent))?,
            drawn: None,
        }))
    }

    /// Shows the model, where the last picture is old enough.
    pub fn show(&mut self, state: &State) {
        if self.drawn.is_none_or(|drawn| drawn.elapsed() >= DRAW_EVERY) {
            self.show_now(state);
        }
    }

    /// Shows the model: it may stay so for a while.
    pub fn show_now(&mut self, state: &State) {
        self.drawn = Some(Instant::now());
        if let Some(area) = area() {
            let mut picture = Buffer::empty(area);
            draw(state, area, &mut picture);
            self.outlet.push(Sent::Picture(picture));
        }
    }

    /// Is the dashboard on the screen, or about to be?
    pub fn is_shown(&self) -> bool {
        self.drawn.is_some()
    }

    /// Gives the terminal back, until there is more to show, and waits for that, but no longer than
    /// `patience`.
    pub fn close(&mut self, patience: Duration) {
        if self.drawn.take().is_some() {
            self.outlet.push(Sent::Leave);
        }
        self.outlet.settle(patience);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.close(LEAVE_PATIENCE);
    }
}

/// What the thread knows of the terminal.
struct Screen {
    backend: CrosstermBackend<BufWriter<File>>,
    shown: Buffer,
    /// When the whole picture was sent last, since the alternate screen is on.
    repainted: Option<Instant>,
}

impl Screen {
    /// A terminal that cannot be written to is no reason to end a run.
    fn take(&mut self, sent: Sent) {
        match sent {
            Sent::Picture(picture) => {
                let _ = self.show(picture);
            }
            Sent::Leave => give_back(&lock()),
        }
    }

    fn show(&mut self, next: Buffer) -> io::Result<()> {
        let _drawing = lock();
        if is_gone() {
            return Ok(());
        }
        let now = Instant::now();
        if !IS_ON.swap(true, Ordering::Relaxed) {
            queue!(self.backend, EnterAlternateScreen, Hide)?;
            self.repainted = None;
        }
        let is_old = |at: Instant| now.duration_since(at) >= REPAINT_EVERY;
        if self.shown.area != next.area || self.repainted.is_none_or(is_old) {
            self.repainted = Some(now);
            self.shown = Buffer::empty(next.area);
            queue!(self.backend, Clear(ClearType::All))?;
        }
        let changed = self.shown.diff(&next);
        self.backend.draw(changed.into_iter())?;
        // A key that is pressed shows here.
        queue!(self.backend, MoveTo(0, next.area.height - 1))?;
        Backend::flush(&mut self.backend)?;
        self.shown = next;
        Ok(())
    }
}

/// A descriptor of its own: whoever holds the lock of stdout does not keep the terminal from being
/// restored.
fn stdout() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

/// The size of the terminal, where it has one.
fn area() -> Option<Rect> {
    let (width, height) = terminal::size().ok()?;
    (width > 0 && height > 0).then(|| Rect::new(0, 0, width, height))
}

fn lock() -> MutexGuard<'static, ()> {
    base::lock(&DRAWING)
}

/// Is the alternate screen on, where words on stderr would be lost?
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Has the terminal been taken back for good, by a panic or because the program ends?
pub fn is_gone() -> bool {
    IS_GONE.load(Ordering::Relaxed)
}

/// Restores the terminal, where the alternate screen is on, however long the terminal takes.
fn give_back(_drawing: &MutexGuard<'_, ()>) {
    if is_on()
        && let Ok(out) = stdout()
    {
        restore(out);
    }
}

fn restore(mut out: File) {
    let _ = execute!(out, LeaveAlternateScreen, Show);
    IS_ON.store(false, Ordering::Relaxed);
}

/// As [`give_back`], where the terminal takes it soon; no picture comes while the guard is held,
/// where there is one.
fn give_back_soon() -> Option<MutexGuard<'static, ()>> {
    let begun = Instant::now();
    let left = || LEAVE_PATIENCE.saturating_sub(begun.elapsed());
    let drawing = loop {
        match DRAWING.try_lock() {
            Ok(drawing) => break Some(drawing),
            Err(TryLockError::Poisoned(poisoned)) => break Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if left().is_zero() => break None,
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(2)),
        }
    };
    if is_on()
        && let Ok(out) = stdout()
        && is_writable(&out, left())
    {
        restore(out);
    }
    drawing
}

/// Restores the terminal for good, where the alternate screen is on and the terminal takes it.
pub fn leave() {
    IS_GONE.store(true, Ordering::Relaxed);
    drop(give_back_soon());
}

/// So that they are seen.
fn take_back_before_words_of_a_panic() {
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        leave();
        told(panic);
    }));
}

/// Ctrl-Z leaves a shell with its own screen; the first picture after `fg` enters the other one
/// again.
fn take_back_before_a_stop() -> io::Result<()> {
    let mut signals = Signals::new([SIGTSTP])?;
    let builder = thread::Builder::new().name("stops".to_owned());
    builder.spawn(move || {
        for signal in signals.forever() {
            let _drawing = give_back_soon();
            // Where the process cannot be stopped, it goes on.
            let _ = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}
