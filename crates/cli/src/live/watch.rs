//! The terminal while a run is watched: its alternate screen, so that what was there before comes back after. It is not in raw mode:
//! Ctrl-C stays a signal, which ends the run as without the dashboard.

use super::draw::draw;
use super::state::State;
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::crossterm::cursor::{Hide, MoveTo, Show};
use ratatui::crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::crossterm::{execute, queue, terminal};
use ratatui::layout::Rect;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal};
use std::os::fd::AsFd;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Shortest time between two pictures.
const DRAW_EVERY: Duration = Duration::from_millis(200);
/// Without raw mode, keys that are pressed show on the screen: so often it is drawn anew as a whole.
const REPAINT_EVERY: Duration = Duration::from_secs(5);
/// A picture leaves in one piece.
const PICTURE_BYTES: usize = 256 << 10;

/// Is the alternate screen on? Of the process, because whoever ends it has to restore the terminal: a second Ctrl-C, a panic.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// Held while a picture leaves, so that none comes after the terminal has been restored.
static DRAWING: Mutex<()> = Mutex::new(());
/// How long the picture under way is waited for; one that hangs must not keep the program from ending.
const LEAVE_PATIENCE: Duration = Duration::from_millis(200);

/// The dashboard's screen.
pub struct Watch {
    backend: CrosstermBackend<BufWriter<File>>,
    shown: Buffer,
    drawn: Option<Instant>,
    repainted: Option<Instant>,
}

impl Watch {
    /// Prepares to watch; `None` where stdout is no terminal that can show a dashboard.
    pub fn prepare() -> Option<Watch> {
        let is_able = std::env::var_os("TERM").is_some_and(|kind| kind != "dumb");
        if !is_able || !io::stdout().is_terminal() || area().is_none() {
            return None;
        }
        let out = BufWriter::with_capacity(PICTURE_BYTES, stdout().ok()?);
        Some(Watch {
            backend: CrosstermBackend::new(out),
            shown: Buffer::default(),
            drawn: None,
            repainted: None,
        })
    }

    /// Shows the model, where the last picture is old enough. A terminal that cannot be written to is no reason to end a run.
    pub fn show(&mut self, state: &State) {
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < DRAW_EVERY) {
            return;
        }
        if self.drawn.is_none() {
            let _ = enter();
        }
        let now = Instant::now();
        self.drawn = Some(now);
        let _ = self.picture(state, now);
    }

    /// Gives the terminal back, until there is more to show.
    pub fn close(&mut self) {
        leave();
        self.drawn = None;
        self.repainted = None;
    }

    fn picture(&mut self, state: &State, now: Instant) -> io::Result<()> {
        let Some(area) = area() else {
            return Ok(());
        };
        let mut next = Buffer::empty(area);
        draw(state, area, &mut next);
        let _drawing = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_on() {
            return Ok(());
        }
        let is_old = |at: Instant| now.duration_since(at) >= REPAINT_EVERY;
        if self.shown.area != area || self.repainted.is_none_or(is_old) {
            self.repainted = Some(now);
            self.shown = Buffer::empty(area);
            queue!(self.backend, Clear(ClearType::All))?;
        }
        let changed = self.shown.diff(&next);
        self.backend.draw(changed.into_iter())?;
        // A key that is pressed shows here.
        queue!(self.backend, MoveTo(0, area.height - 1))?;
        Backend::flush(&mut self.backend)?;
        self.shown = next;
        Ok(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.close();
    }
}

/// A descriptor of its own: whoever holds the lock of stdout does not keep the terminal from being restored.
fn stdout() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

/// The size of the terminal, where it has one.
fn area() -> Option<Rect> {
    let (width, height) = terminal::size().ok()?;
    (width > 0 && height > 0).then(|| Rect::new(0, 0, width, height))
}

fn enter() -> io::Result<()> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let told = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            leave();
            told(panic);
        }));
    });
    IS_ON.store(true, Ordering::Relaxed);
    execute!(stdout()?, EnterAlternateScreen, Hide)
}

/// Is the alternate screen on, where words on stderr would be lost?
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Restores the terminal, where the alternate screen is on.
pub fn leave() {
    let begun = Instant::now();
    let mut drawing = DRAWING.try_lock();
    while drawing.is_err() && begun.elapsed() < LEAVE_PATIENCE {
        thread::sleep(Duration::from_millis(2));
        drawing = DRAWING.try_lock();
    }
    if IS_ON.swap(false, Ordering::Relaxed)
        && let Ok(mut out) = stdout()
    {
        let _ = execute!(out, LeaveAlternateScreen, Show);
    }
}
