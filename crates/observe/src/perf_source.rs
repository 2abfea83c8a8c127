//! Cycles and instructions of the whole machine, by the cores' own counters (perf_event_open).

use crate::error::{ObserveError, read_at};
use crate::sampler::{Readings, Source};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use store::MetricSource;

/// `0-3,8`: cores that can be asked.
const ONLINE: &str = "/sys/devices/system/cpu/online";
const STAT: &str = "/proc/stat";
/// More than any Linux runs on; it bounds what a strange file can make us open.
const CORES_MAX: u32 = 1 << 13;

/// `PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING`: the answer is the count and these two.
const READ_FORMAT: u64 = 1 | 2;
const FLAG_CLOEXEC: libc::c_ulong = 8;

/// What is counted.
#[derive(Clone, Copy)]
struct Event {
    /// The metric.
    name: &'static str,
    /// `PERF_TYPE_*`.
    kind: u32,
    /// Which one of its kind.
    config: u64,
}

/// `PERF_TYPE_HARDWARE`: `PERF_COUNT_HW_CPU_CYCLES`, `PERF_COUNT_HW_INSTRUCTIONS`.
const EVENTS: [Event; 2] = [
    Event {
        name: "cycles",
        kind: 0,
        config: 0,
    },
    Event {
        name: "instructions",
        kind: 0,
        config: 1,
    },
];

/// `struct perf_event_attr` as it was at first; kernels take this length to mean zeros behind it.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

/// Cycles and instructions of all cores that are online when it is first read. Where the machine has no counters, as most virtual ones,
/// or this user may not use them, it tells nothing.
pub struct PerfSource {
    events: Vec<Event>,
    /// `None` until the first reading.
    counters: Option<Vec<Counter>>,
}

impl PerfSource {
    #[must_use]
    pub fn new() -> PerfSource {
        PerfSource::of(&EVENTS)
    }

    fn of(events: &[Event]) -> PerfSource {
        PerfSource {
            events: events.to_vec(),
            counters: None,
        }
    }
}

impl Default for PerfSource {
    fn default() -> PerfSource {
        PerfSource::new()
    }
}

impl Source for PerfSource {
    fn title(&self) -> &'static str {
        "the cores' cycles and instructions"
    }

    fn read(&mut self, into: &mut Readings, _stop: &AtomicBool) -> Result<(), ObserveError> {
        let counters = match &mut self.counters {
            Some(counters) => counters,
            none => none.insert(open(&self.events)?),
        };
        into.taken_now();
        for counter in counters {
            if let Some(total) = counter.read()? {
                into.counter(MetricSource::Host, counter.event.name, "", total);
            }
        }
        Ok(())
    }
}

/// One counter for each event, on all cores; none where they are not to be had.
fn open(events: &[Event]) -> Result<Vec<Counter>, ObserveError> {
    let cores = online(Path::new(ONLINE), Path::new(STAT))?;
    let mut counters = Vec::new();
    for event in events {
        let mut counter = Counter {
            event: *event,
            cores: Vec::new(),
            total: 0,
        };
        for core in &cores {
            match open_one(*event, *core) {
                Ok(file) => counter.cores.push(OnCore::new(*core, file)),
                Err(error) if is_not_to_be_had(&error) => return Ok(Vec::new()),
                Err(cause) => {
                    return Err(ObserveError::Perf {
                        event: event.name,
                        core: *core,
                        cause,
                    });
                }
            }
        }
        counters.push(counter);
    }
    Ok(counters)
}

/// The cores that are online. A container or a chroot may lack /sys; /proc names them too, where
/// they are not renumbered.
fn online(list: &Path, stat: &Path) -> Result<Vec<u32>, ObserveError> {
    let (path, text) = match std::fs::read_to_string(list) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            (stat, std::fs::read_to_string(stat).map_err(read_at(stat))?)
        }
        text => (list, text.map_err(read_at(list))?),
    };
    let cores = match path == stat {
        true => cores_of_stat(&text),
        false => cores(&text),
    };
    cores.ok_or_else(|| ObserveError::Form {
        path: path.to_owned(),
        what: format!("{:?} names no cores", text.lines().next().unwrap_or("")),
    })
}

/// The cores of the lines `cpu0 1 2 3`, `cpu1 1 2 3`.
fn cores_of_stat(text: &str) -> Option<Vec<u32>> {
    let names = text.lines().filter_map(|line| line.split(' ').next());
    let numbers = names.filter_map(|name| name.strip_prefix("cpu")?.parse().ok());
    let cores: Vec<u32> = numbers.filter(|&core| core < CORES_MAX).collect();
    (!cores.is_empty()).then_some(cores)
}

/// The cores of `0-3,8`.
fn cores(text: &str) -> Option<Vec<u32>> {
    let mut cores = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= CORES_MAX {
            return None;
        }
        cores.extend(first..=last);
    }
    Some(cores)
}

#[expect(
    unsafe_code,
    reason = "neither std nor rustix has perf_event_open, which counts events of the processor"
)]
fn open_one(event: Event, core: u32) -> io::Result<File> {
    let attributes = Attributes {
        kind: event.kind,
        size: size_of::<Attributes>() as u32,
        config: event.config,
        read_format: READ_FORMAT,
        ..Attributes::default()
    };
    let (every_process, no_group): (libc::pid_t, libc::c_int) = (-1, -1);
    // SAFETY: the kernel reads `size` bytes of the attributes, which is all of them, and keeps no pointer to them. The result is an
    // error or a new file descriptor that nobody else has.
    unsafe {
        let opened = libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            every_process,
            core as libc::c_int,
            no_group,
            FLAG_CLOEXEC,
        );
        if opened < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(File::from(OwnedFd::from_raw_fd(opened as libc::c_int)))
    }
}

/// No such counter in this machine, none of this kind in this kernel, or not for this user (`perf_event_paranoid`).
fn is_not_to_be_had(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(
            Errno::NOENT
                | Errno::NODEV
                | Errno::OPNOTSUPP
                | Errno::NOSYS
                | Errno::ACCESS
                | Errno::PERM
        )
    )
}

/// An event on all cores.
struct Counter {
    event: Event,
    cores: Vec<OnCore>,
    total: u64,
}

impl Counter {
    /// The total since the begin; `None` where a core has not counted since the last reading and would have had to, so that its part
    /// comes with a later one.
    fn read(&mut self) -> Result<Option<i64>, ObserveError> {
        let mut is_whole = true;
        for on_core in &mut self.cores {
            let now = on_core.now(self.event)?;
            match now.rise_since(on_core.last) {
                Some(rise) => {
                    self.total = self.total.saturating_add(rise);
                    on_core.last = now;
                }
                None => is_whole = false,
            }
        }
        Ok(is_whole.then(|| i64::try_from(self.total).unwrap_or(i64::MAX)))
    }
}

struct OnCore {
    core: u32,
    file: File,
    last: Count,
}

impl OnCore {
    fn new(core: u32, file: File) -> OnCore {
        OnCore {
            core,
            file,
            last: Count::default(),
        }
    }

    fn now(&mut self, event: Event) -> Result<Count, ObserveError> {
        let mut bytes = [0_u8; 24];
        let read = self.file.read_exact(&mut bytes);
        read.map_err(|cause| ObserveError::Perf {
            event: event.name,
            core: self.core,
            cause,
        })?;
        let word = |at: usize| {
            let mut word = [0_u8; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_ne_bytes(word)
        };
        Ok(Count {
            events: word(0),
            enabled_ns: word(8),
            running_ns: word(16),
        })
    }
}

/// What a core has counted while it did, for part of the time where others want its counters too.
#[derive(Clone, Copy, Default)]
struct Count {
    events: u64,
    enabled_ns: u64,
    running_ns: u64,
}

impl Count {
    /// The events since `before`, those of the time in which they were not counted estimated by the others. `None` where none of the
    /// time was counted.
    fn rise_since(self, before: Count) -> Option<u64> {
        let events = self.events.saturating_sub(before.events);
        let enabled_ns = self.enabled_ns.saturating_sub(before.enabled_ns);
        let running_ns = self.running_ns.saturating_sub(before.running_ns);
        if enabled_ns == running_ns {
            return Some(events);
        }
        if running_ns == 0 {
            return None;
        }
        let scaled = u128::from(events) * u128::from(enabled_ns) / u128::from(running_ns);
        Some(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Attributes, Count, Event, ONLINE, PerfSource, STAT, cores, cores_of_stat, is_not_to_be_had,
        online, open_one,
    };
    use crate::sampler::{Readings, Source};
    use std::path::Path;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    /// `PERF_TYPE_SOFTWARE`, `PERF_COUNT_SW_CPU_CLOCK`: nanoseconds, which every kernel counts.
    const CPU_CLOCK: Event = Event {
        name: "cpu_clock",
        kind: 1,
        config: 0,
    };

    fn read(source: &mut PerfSource) -> Readings {
        let mut readings = Readings::default();
        source.read(&mut readings, &AtomicBool::new(false)).unwrap();
        readings
    }

    #[test]
    fn lists_of_cores_are_understood() {
        assert_eq!(cores("0\n"), Some(vec![0]));
        assert_eq!(cores("0-2,8,10-11\n"), Some(vec![0, 1, 2, 8, 10, 11]));
        for bad in ["", "a", "3-1", "0-99999999", "1,,2"] {
            assert_eq!(cores(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn without_sys_the_cores_are_those_of_proc() {
        let nowhere = Path::new("/nonexistent/online");
        let stat = Path::new(STAT);
        let there = online(Path::new(ONLINE), stat).unwrap();
        assert_eq!(online(nowhere, stat).unwrap(), there);
        assert_eq!(
            cores_of_stat("cpu  9 9\ncpu0 1 2\ncpu3 1 2\nintr 5 6\ncpus 1\n"),
            Some(vec![0, 3])
        );
        assert_eq!(cores_of_stat("intr 1\n"), None);
        assert!(online(nowhere, nowhere).is_err());
    }

    #[test]
    fn attributes_have_the_first_length() {
        assert_eq!(size_of::<Attributes>(), 64);
    }

    #[test]
    fn what_was_not_counted_is_estimated() {
        let count = |events, enabled_ns, running_ns| Count {
            events,
            enabled_ns,
            running_ns,
        };
        let before = count(1_000, 100, 80);
        assert_eq!(count(1_500, 200, 180).rise_since(before), Some(500));
        // Counted for a quarter of the time.
        assert_eq!(count(1_500, 200, 105).rise_since(before), Some(2_000));
        assert_eq!(count(1_000, 200, 80).rise_since(before), None);
        // A core that is offline.
        assert_eq!(before.rise_since(before), Some(0));
        let most = u64::MAX;
        assert_eq!(
            count(most, most, 1).rise_since(Count::default()),
            Some(most)
        );
    }

    #[test]
    fn a_clock_on_each_core_goes_as_fast_as_time() {
        if let Err(error) = open_one(CPU_CLOCK, 0) {
            assert!(is_not_to_be_had(&error), "{error}");
            let tells = read(&mut PerfSource::of(&[CPU_CLOCK]));
            assert!(tells.values().is_empty());
            println!("this user may not count on all cores ({error}): the clock is not compared");
            return;
        }
        let online = cores(&std::fs::read_to_string(ONLINE).unwrap()).unwrap();
        let mut source = PerfSource::of(&[CPU_CLOCK]);
        read(&mut source);
        // Each reading takes some time, so what they differ by lies between these.
        let outer = Instant::now();
        let before = read(&mut source).value("cpu_clock", "").unwrap();
        let inner = Instant::now();
        std::thread::sleep(Duration::from_millis(300));
        let inner_ns = inner.elapsed().as_nanos() as f64;
        let after = read(&mut source).value("cpu_clock", "").unwrap();
        let outer_ns = outer.elapsed().as_nanos() as f64;
        let rise_ns = (after - before) as f64 / online.len() as f64;
        println!(
            "{} cores: {rise_ns} ns each in {inner_ns} to {outer_ns} ns",
            online.len()
        );
        assert!(rise_ns >= inner_ns * 0.98 && rise_ns <= outer_ns * 1.02);
    }

    #[test]
    fn without_counters_nothing_is_told() {
        // No kernel has that many kinds.
        let unknown = Event {
            name: "unknown",
            kind: 4_000_000,
            config: 0,
        };
        let mut source = PerfSource::of(&[CPU_CLOCK, unknown]);
        for _ in 0..2 {
            assert!(read(&mut source).values().is_empty());
        }
    }

    #[test]
    fn cycles_and_instructions_grow_where_there_are_counters() {
        let mut source = PerfSource::new();
        let first = read(&mut source);
        if first.values().is_empty() {
            println!("this machine has no counters, or not for this user: it tells nothing");
            assert!(read(&mut source).values().is_empty());
            return;
        }
        let instructions: u64 = 50_000_000;
        for number in 0..instructions / 2 {
            std::hint::black_box(number);
        }
        let second = read(&mut source);
        for (name, least) in [
            ("cycles", instructions / 10),
            ("instructions", instructions),
        ] {
            let of = |readings: &Readings| readings.value(name, "").unwrap();
            let rise = of(&second) - of(&first);
            assert!(rise >= least as i64, "{name}: {rise}");
        }
    }
}
