//! The reactor of a thread: an epoll instance, the sockets registered with it, the timers, and the
//! tasks to poll next.

use rustix::event::{Timespec, epoll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Index of a task in the run that is under way.
pub(crate) type TaskIndex = usize;

/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// How long a socket may hold back bytes that are fewer than it was told to wait for.
const HOLD_BACK_MAX: Duration = Duration::from_millis(10);
/// More of them than begin within that time, so that none allocates.
const HOLD_BACKS: usize = 4_096;

#[derive(Clone, Copy, Default)]
struct Slot {
    readable: bool,
    /// The peer has closed or the socket failed: reading never waits again. There is no second edge
    /// for that.
    closed: bool,
    writable: bool,
    waiting: Option<TaskIndex>,
    /// Counts the waits of [`PolledSocket::readable_or_after_a_while`], so that the end of one is
    /// not taken for another's.
    wait: u64,
}

/// The end of a wait for a socket that holds back bytes.
struct HoldBack {
    until: Instant,
    slot: usize,
    wait: u64,
}

pub(crate) struct Core {
    epoll: OwnedFd,
    slots: RefCell<Vec<Slot>>,
    free_slots: RefCell<Vec<usize>>,
    pub(crate) ready: RefCell<VecDeque<TaskIndex>>,
    timers: RefCell<BinaryHeap<Reverse<(Instant, TaskIndex)>>>,
    /// Ends a wait at the next timer, to the nanosecond: the timeout of `epoll_wait` is in
    /// milliseconds, and that of `epoll_pwait2` needs Linux 5.11.
    alarm: OwnedFd,
    /// What the alarm is set to; it may be over.
    alarm_at: Cell<Option<Instant>>,
    /// In order of time, as all are of equal length.
    hold_backs: RefCell<VecDeque<HoldBack>>,
    /// The task that is being polled.
    pub(crate) current: Cell<TaskIndex>,
}

/// Stands for the alarm among the slots of events.
const ALARM: u64 = u64::MAX;

fn timespec(duration: Duration) -> Timespec {
    duration.try_into().unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}

thread_local! {
    static CORE: RefCell<Option<Rc<Core>>> = const { RefCell::new(None) };
}

impl Core {
    /// The reactor of this thread, made at its first use.
    pub(crate) fn of_this_thread() -> io::Result<Rc<Core>> {
        CORE.with_borrow_mut(|core| {
            if let Some(core) = core {
                return Ok(Rc::clone(core));
            }
            let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
            let alarm = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            // Edge-triggered: an alarm that went off is never read, setting it anew is enough.
            let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
            epoll::add(&epoll, &alarm, epoll::EventData::new_u64(ALARM), flags)?;
            let made = Rc::new(Core {
                epoll,
                alarm,
                alarm_at: Cell::new(None),
                slots: RefCell::default(),
                free_slots: RefCell::default(),
                ready: RefCell::default(),
                timers: RefCell::default(),
                hold_backs: RefCell::new(VecDeque::with_capacity(HOLD_BACKS)),
                current: Cell::new(0),
            });
            *core = Some(Rc::clone(&made));
            Ok(made)
        })
    }

    /// Lets a task be polled again.
    pub(crate) fn wake(&self, task: TaskIndex) {
        self.ready.borrow_mut().push_back(task);
    }

    pub(crate) fn add_timer(&self, at: Instant) {
        self.timers.borrow_mut().push(Reverse((at, self.current.get())));
    }

    /// Makes ready every task whose timer is due, then returns the time of the next timer.
    fn expire_timers(&self) -> Option<Instant> {
        let mut timers = self.timers.borrow_mut();
        if timers.is_empty() {
            return None;
        }
        let now = Instant::now();
        while let Some(&Reverse((at, task))) = timers.peek() {
            if at > now {
                return Some(at);
            }
            timers.pop();
            self.ready.borrow_mut().push_back(task);
        }
        None
    }

    fn set_alarm(&self, at: Instant) -> io::Result<()> {
        if self.alarm_at.replace(Some(at)) == Some(at) {
            return Ok(());
        }
        // 0 would be no alarm at all.
        let left = at.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
        let alarm = Itimerspec { it_interval: timespec(Duration::ZERO), it_value: timespec(left) };
        timerfd_settime(&self.alarm, TimerfdTimerFlags::empty(), &alarm)?;
        Ok(())
    }

    /// Makes ready every task whose socket has held back bytes for too long, then returns when the
    /// next one has.
    fn expire_hold_backs(&self) -> Option<Instant> {
        let mut hold_backs = self.hold_backs.borrow_mut();
        let mut now = None;
        while let Some(hold_back) = hold_backs.front() {
            let slot = &mut self.slots.borrow_mut()[hold_back.slot];
            if slot.waiting.is_some() && slot.wait == hold_back.wait {
                if hold_back.until > *now.get_or_insert_with(Instant::now) {
                    return Some(hold_back.until);
                }
                slot.readable = true;
                self.ready.borrow_mut().extend(slot.waiting.take());
            }
            hold_backs.pop_front();
        }
        None
    }

    /// Waits for events or the next timer, at most until `deadline`, and makes the tasks concerned
    /// ready.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> io::Result<()> {
        let next_timer = self.expire_timers();
        let until = [self.expire_hold_backs(), deadline].into_iter().flatten().min();
        let mut timeout = until.map(|at| at.saturating_duration_since(Instant::now()));
        if !self.ready.borrow().is_empty() {
            timeout = Some(Duration::ZERO);
        } else if let Some(at) = next_timer {
            self.set_alarm(at)?;
        }
        let timeout = timeout.map(timespec);
        let mut events = [MaybeUninit::<epoll::Event>::uninit(); EVENTS];
        let (events, _) = match epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(()),
            other => other?,
        };
        let mut slots = self.slots.borrow_mut();
        let mut ready = self.ready.borrow_mut();
        for event in events {
            // Copied out: the kernel's structure is packed.
            let (data, flags) = (event.data, event.flags);
            let Some(slot) = slots.get_mut(data.u64() as usize) else {
                continue;
            };
            let broken = flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP);
            slot.closed |= broken || flags.contains(epoll::EventFlags::RDHUP);
            slot.readable |= slot.closed || flags.contains(epoll::EventFlags::IN);
            slot.writable |= broken || flags.contains(epoll::EventFlags::OUT);
            if let Some(task) = slot.waiting.take() {
                ready.push_back(task);
            }
        }
        Ok(())
    }
}

/// A socket registered with the reactor of this thread. Drop it before or together with its socket.
pub struct PolledSocket {
    core: Rc<Core>,
    slot: usize,
}

impl PolledSocket {
    /// Registers a non-blocking socket; it counts as readable until a read said otherwise.
    pub fn register(socket: BorrowedFd<'_>) -> io::Result<PolledSocket> {
        let core = Core::of_this_thread()?;
        let mut slots = core.slots.borrow_mut();
        let slot = core.free_slots.borrow_mut().pop().unwrap_or(slots.len());
        if slot == slots.len() {
            slots.push(Slot::default());
        }
        // Waits of the slot's last owner may still be noted.
        let wait = slots[slot].wait + 1;
        slots[slot] = Slot { readable: true, closed: false, writable: true, waiting: None, wait };
        drop(slots);
        let source = PolledSocket { core, slot };
        let data = epoll::EventData::new_u64(slot as u64);
        epoll::add(&source.core.epoll, socket, data, READING)?;
        Ok(source)
    }

    /// Waits until a read is worth trying.
    pub async fn readable(&self) {
        poll_fn(|_| self.poll(|slot| slot.readable)).await;
    }

    /// Waits like [`PolledSocket::readable`], but ends too when bytes may have come that are fewer
    /// than the socket's SO_RCVLOWAT, about which the kernel is silent.
    pub async fn readable_or_after_a_while(&self) {
        let mut begun = false;
        poll_fn(|_| {
            let waited = self.poll(|slot| slot.readable);
            if waited.is_pending() && !begun {
                begun = true;
                self.hold_back();
            }
            waited
        })
        .await;
    }

    fn hold_back(&self) {
        let slot = &mut self.core.slots.borrow_mut()[self.slot];
        slot.wait += 1;
        self.core.hold_backs.borrow_mut().push_back(HoldBack {
            until: Instant::now() + HOLD_BACK_MAX,
            slot: self.slot,
            wait: slot.wait,
        });
    }

    /// A read found nothing, or took all there was: wait for the next event. A peer that has closed
    /// is no event to come.
    pub fn clear_readable(&self) {
        let slot = &mut self.core.slots.borrow_mut()[self.slot];
        slot.readable = slot.closed;
    }

    /// Waits until the socket, on which a write would have blocked, takes bytes again.
    pub async fn writable(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let data = epoll::EventData::new_u64(self.slot as u64);
        self.core.slots.borrow_mut()[self.slot].writable = false;
        epoll::modify(&self.core.epoll, socket, data, READING | epoll::EventFlags::OUT)?;
        poll_fn(|_| self.poll(|slot| slot.writable)).await;
        epoll::modify(&self.core.epoll, socket, data, READING)?;
        Ok(())
    }

    fn poll(&self, condition: impl Fn(&Slot) -> bool) -> Poll<()> {
        let slot = &mut self.core.slots.borrow_mut()[self.slot];
        if condition(slot) {
            return Poll::Ready(());
        }
        slot.waiting = Some(self.core.current.get());
        Poll::Pending
    }
}

const READING: epoll::EventFlags =
    epoll::EventFlags::IN.union(epoll::EventFlags::RDHUP).union(epoll::EventFlags::ET);

impl Drop for PolledSocket {
    fn drop(&mut self) {
        // The kernel forgets the socket when it is closed. A late event of it reaches the slot's
        // next owner as a wake-up without cause, which every leaf future bears.
        self.core.free_slots.borrow_mut().push(self.slot);
    }
}
