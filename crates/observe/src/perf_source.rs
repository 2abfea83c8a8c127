//! Cycles and instructions of the whole machine, by the cores' own counters (perf_event_open).

use crate::error::{ObserveError, ObserveResult, read_at};
use crate::readings::{Readings, SampleSource};
use base::CpuList;
use perf_event::events::Software;
use perf_event::{Builder, CountAndTime};
use rustix::io::Errno;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use store::MetricSource;

/// `0-3,8`: cores that can be asked.
const ONLINE: &str = "/sys/devices/system/cpu/online";
const STAT: &str = "/proc/stat";
/// More than any Linux runs on; it bounds what a strange file can make us open.
const CORES_MAX: u32 = 1 << 13;

/// What is counted.
#[derive(Clone, Copy)]
struct PerfEvent {
    /// The metric.
    name: &'static str,
    /// `PERF_TYPE_*`.
    kind: u32,
    /// Which one of its kind.
    config: u64,
}

/// `PERF_TYPE_HARDWARE`: `PERF_COUNT_HW_CPU_CYCLES`, `PERF_COUNT_HW_INSTRUCTIONS`.
const EVENTS: [PerfEvent; 2] = [
    PerfEvent { name: "cycles", kind: 0, config: 0 },
    PerfEvent { name: "instructions", kind: 0, config: 1 },
];

/// Cycles and instructions of all cores that are online when it is first read. Where the machine
/// has no counters, as most virtual ones, or this user may not use them, it tells nothing.
pub struct PerfSource {
    events: Vec<PerfEvent>,
    /// `None` until the first reading.
    counters: Option<Vec<Counter>>,
}

impl Default for PerfSource {
    fn default() -> PerfSource {
        PerfSource::counting(&EVENTS)
    }
}

impl PerfSource {
    fn counting(events: &[PerfEvent]) -> PerfSource {
        PerfSource { events: events.to_vec(), counters: None }
    }
}

impl SampleSource for PerfSource {
    fn title(&self) -> &'static str {
        "the cores' cycles and instructions"
    }

    fn read(&mut self, into: &mut Readings, _stop: &AtomicBool) -> ObserveResult<()> {
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
fn open(events: &[PerfEvent]) -> ObserveResult<Vec<Counter>> {
    let online = online(Path::new(ONLINE), Path::new(STAT))?;
    let on_core = |event: PerfEvent, core: u32| match open_one(event, core) {
        Ok(count) => Ok(OnCore { core, count, last: NOTHING }),
        Err(cause) => Err(ObserveError::Perf { event: event.name, core, cause }),
    };
    let on_all = |event: &PerfEvent| {
        let cores = online.iter().map(|core| on_core(*event, *core)).collect::<Result<_, _>>()?;
        Ok(Counter { event: *event, cores, total: 0 })
    };
    match events.iter().map(on_all).collect() {
        Err(ObserveError::Perf { cause, .. }) if is_not_to_be_had(&cause) => Ok(Vec::new()),
        opened => opened,
    }
}

/// The cores that are online. A container or a chroot may lack /sys; /proc names them too, where
/// they are not renumbered.
fn online(list: &Path, stat: &Path) -> ObserveResult<Vec<u32>> {
    let (path, text) = match std::fs::read_to_string(list) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            (stat, std::fs::read_to_string(stat).map_err(read_at(stat))?)
        }
        text => (list, text.map_err(read_at(list))?),
    };
    let cores = match path == stat {
        true => cores_of_stat(&text),
        false => text.parse().ok().map(|list: CpuList| list.iter().collect()),
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

/// Counts an event of every process on one core.
fn open_one(event: PerfEvent, core: u32) -> io::Result<perf_event::Counter> {
    let mut builder = Builder::new(Software::DUMMY);
    let attributes = builder.attrs_mut();
    attributes.type_ = event.kind;
    attributes.config = event.config;
    let builder = builder.any_pid().one_cpu(core as usize);
    let builder = builder.exclude_kernel(false).exclude_hv(false);
    builder.enabled(true).build()
}

/// No such counter in this machine, none of this kind in this kernel, or not for this user
/// (`perf_event_paranoid`).
const NOT_TO_BE_HAD: [Errno; 6] =
    [Errno::NOENT, Errno::NODEV, Errno::OPNOTSUPP, Errno::NOSYS, Errno::ACCESS, Errno::PERM];

fn is_not_to_be_had(error: &io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| NOT_TO_BE_HAD.contains(&errno))
}

/// An event on all cores.
struct Counter {
    event: PerfEvent,
    cores: Vec<OnCore>,
    total: u64,
}

impl Counter {
    /// The total since the begin; `None` where a core has not counted since the last reading and
    /// would have had to, so that its part comes with a later one.
    fn read(&mut self) -> ObserveResult<Option<i64>> {
        let mut is_whole = true;
        for on_core in &mut self.cores {
            let OnCore { core, count, last } = on_core;
            let failed = |cause| ObserveError::Perf { event: self.event.name, core: *core, cause };
            let now = count.read_count_and_time().map_err(failed)?;
            match rise(*last, now) {
                Some(rise) => {
                    self.total = self.total.saturating_add(rise);
                    *last = now;
                }
                None => is_whole = false,
            }
        }
        Ok(is_whole.then(|| i64::try_from(self.total).unwrap_or(i64::MAX)))
    }
}

struct OnCore {
    core: u32,
    count: perf_event::Counter,
    /// A core counts for part of the time where others want its counters too.
    last: CountAndTime,
}

const NOTHING: CountAndTime = CountAndTime { count: 0, time_enabled: 0, time_running: 0 };

/// The events between two readings, those of the time in which they were not counted estimated by
/// the others. `None` where none of the time was counted.
fn rise(before: CountAndTime, now: CountAndTime) -> Option<u64> {
    let events = now.count.saturating_sub(before.count);
    let enabled_ns = now.time_enabled.saturating_sub(before.time_enabled);
    let running_ns = now.time_running.saturating_sub(before.time_running);
    if enabled_ns == running_ns {
        return Some(events);
    }
    if running_ns == 0 {
        return None;
    }
    let scaled = u128::from(events) * u128::from(enabled_ns) / u128::from(running_ns);
    Some(u64::try_from(scaled).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::{
        CountAndTime, NOTHING, ONLINE, PerfEvent, PerfSource, STAT, cores_of_stat,
        is_not_to_be_had, online, open_one, rise,
    };
    use crate::readings::{Readings, SampleSource};
    use std::path::Path;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    /// `PERF_TYPE_SOFTWARE`, `PERF_COUNT_SW_CPU_CLOCK`: nanoseconds, which every kernel counts.
    const CPU_CLOCK: PerfEvent = PerfEvent { name: "cpu_clock", kind: 1, config: 0 };

    fn read(source: &mut PerfSource) -> Readings {
        let mut readings = Readings::default();
        source.read(&mut readings, &AtomicBool::new(false)).unwrap();
        readings
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
    fn what_was_not_counted_is_estimated() {
        let count =
            |count, time_enabled, time_running| CountAndTime { count, time_enabled, time_running };
        let before = count(1_000, 100, 80);
        assert_eq!(rise(before, count(1_500, 200, 180)), Some(500));
        // Counted for a quarter of the time.
        assert_eq!(rise(before, count(1_500, 200, 105)), Some(2_000));
        assert_eq!(rise(before, count(1_000, 200, 80)), None);
        // A core that is offline.
        assert_eq!(rise(before, before), Some(0));
        let most = u64::MAX;
        assert_eq!(rise(NOTHING, count(most, most, 1)), Some(most));
    }

    #[test]
    fn a_clock_on_each_core_goes_as_fast_as_time() {
        if let Err(error) = open_one(CPU_CLOCK, 0) {
            assert!(is_not_to_be_had(&error), "{error}");
            let tells = read(&mut PerfSource::counting(&[CPU_CLOCK]));
            assert!(tells.values().is_empty());
            println!("not tried: this user may not count on all cores ({error})");
            return;
        }
        let online = online(Path::new(ONLINE), Path::new(STAT)).unwrap();
        let mut source = PerfSource::counting(&[CPU_CLOCK]);
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
        println!("{} cores: {rise_ns} ns each in {inner_ns} to {outer_ns} ns", online.len());
        assert!(rise_ns >= inner_ns * 0.98 && rise_ns <= outer_ns * 1.02);
    }

    #[test]
    fn without_counters_nothing_is_told() {
        // No kernel has that many kinds.
        let unknown = PerfEvent { name: "unknown", kind: 4_000_000, config: 0 };
        let mut source = PerfSource::counting(&[CPU_CLOCK, unknown]);
        for _ in 0..2 {
            assert!(read(&mut source).values().is_empty());
        }
    }

    #[test]
    fn cycles_and_instructions_grow_where_there_are_counters() {
        let mut source = PerfSource::default();
        let first = read(&mut source);
        if first.values().is_empty() {
            println!("not tried: this machine has no counters, or not for this user");
            assert!(read(&mut source).values().is_empty());
            return;
        }
        let instructions: u64 = 50_000_000;
        for number in 0..instructions / 2 {
            std::hint::black_box(number);
        }
        let second = read(&mut source);
        for (name, least) in [("cycles", instructions / 10), ("instructions", instructions)] {
            let of = |readings: &Readings| readings.value(name, "").unwrap();
            let rise = of(&second) - of(&first);
            assert!(rise >= least as i64, "{name}: {rise}");
        }
    }
}
