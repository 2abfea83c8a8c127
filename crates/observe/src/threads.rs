//! The threads of a process, from its directory `task` in /proc.

use crate::error::{ObserveResult, read_at};
use crate::proc_file::{as_stored, number, parsed};
use crate::readings::Readings;
use rustix::fs::{Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use store::MetricSource;
use system::ProcessStat;

/// More than a file of one thread that is read here has; `stat` has about 300.
const TEXT_BYTES_MAX: usize = 1024;

/// The directory of a process's threads, kept open, so that it stays that of this process.
pub(crate) struct Threads {
    path: PathBuf,
    directory: Option<Dir>,
}

/// What a thread has had since it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scheduled {
    pub(crate) cpu_ns: u64,
    /// Ready to run, while no core was free for it.
    pub(crate) wait_ns: u64,
}

impl Threads {
    /// Those of the process `process`: its id, or `self`.
    pub(crate) fn of_process(process: &str) -> Threads {
        Threads { path: PathBuf::from(format!("/proc/{process}/task")), directory: None }
    }

    /// The ids of those that there are; none where the process has ended.
    pub(crate) fn ids(&mut self) -> ObserveResult<Vec<u32>> {
        let failed = |errno: Errno| read_at(&self.path)(errno.into());
        if self.directory.is_none() {
            let opened = File::open(&self.path).map_err(read_at(&self.path))?;
            self.directory = Some(Dir::new(opened).map_err(failed)?);
        }
        let mut ids = Vec::new();
        if let Some(directory) = &mut self.directory {
            directory.rewind();
            for entry in directory {
                let entry = entry.map_err(failed)?;
                // All but `.` and `..`.
                ids.extend(entry.file_name().to_str().ok().and_then(|id| id.parse::<u32>().ok()));
            }
        }
        Ok(ids)
    }

    /// What the scheduler gave a thread; `None` where it has ended or where this kernel does not
    /// say.
    pub(crate) fn scheduled(&self, id: u32) -> ObserveResult<Option<Scheduled>> {
        self.read(id, "schedstat", scheduled)
    }

    /// The user's and the kernel's ticks of a thread; `None` where it has ended.
    pub(crate) fn ticks(&self, id: u32) -> ObserveResult<Option<u64>> {
        self.read(id, "stat", |text| {
            let stat = ProcessStat::parse(text)?;
            Ok(Some(stat.user_ticks.saturating_add(stat.system_ticks)))
        })
    }

    /// The name of a thread; `None` where it has ended.
    pub(crate) fn name(&self, id: u32) -> ObserveResult<Option<String>> {
        self.read(id, "comm", |name| Ok(Some(name.strip_suffix('\n').unwrap_or(name).to_owned())))
    }

    /// Reads a file of a thread with `parse`; `None` also where the thread has ended.
    fn read<T>(
        &self,
        id: u32,
        file: &str,
        parse: impl Fn(&str) -> Result<Option<T>, String>,
    ) -> ObserveResult<Option<T>> {
        let Some(directory) = &self.directory else {
            return Ok(None);
        };
        let name = format!("{id}/{file}");
        let mut buffer = [0_u8; TEXT_BYTES_MAX];
        let mut read = || -> io::Result<usize> {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let opened = openat(directory.fd()?, name.as_str(), flags, Mode::empty())?;
            Ok(rustix::io::read(opened, &mut buffer)?)
        };
        let length = read();
        let text = length.map(|length| &buffer[..length]);
        parsed(&self.path.join(&name), text, parse).map(Option::flatten)
    }
}

/// `CPU time in ns, waiting time in ns, time slices`. Kernels that are not to keep them show zeros,
/// which no thread has that ran.
fn scheduled(text: &str) -> Result<Option<Scheduled>, String> {
    let mut words = text.split_ascii_whitespace();
    let cpu_ns = number(&mut words, "the CPU time")?;
    let wait_ns = number(&mut words, "the waiting time")?;
    let slices = number(&mut words, "the time slices")?;
    let is_kept = (cpu_ns, wait_ns, slices) != (0, 0, 0);
    Ok(is_kept.then_some(Scheduled { cpu_ns, wait_ns }))
}

/// The sum of counters of things that come and go: what has gone stays in it, what comes is counted
/// from 0, so it only grows.
#[derive(Default)]
pub(crate) struct Sum {
    total: u64,
    /// The last value of each that is there, and whether it was there in this round.
    last: HashMap<u32, (u64, bool)>,
}

impl Sum {
    /// The counter of thing `id`.
    pub(crate) fn add(&mut self, id: u32, value: u64) {
        let before = self.last.insert(id, (value, true));
        // A lower value is that of another thing which was given the same id.
        let before = before.map(|(before, _)| before);
        let before = before.filter(|before| *before <= value);
        let rise = value - before.unwrap_or(0);
        self.total = self.total.wrapping_add(rise);
    }

    /// Ends a round: forgets what was not added in it.
    pub(crate) fn end_round(&mut self) -> u64 {
        self.last.retain(|_, (_, is_there)| std::mem::take(is_there));
        self.total
    }

    /// Was a thing there in the last round, or is it in this?
    pub(crate) fn has(&self, id: u32) -> bool {
        self.last.contains_key(&id)
    }

    /// Ends a round, and tells the sum where something was added in it.
    pub(crate) fn tell(&mut self, name: &str, label: &str, into: &mut Readings) {
        let total = self.end_round();
        if !self.last.is_empty() {
            into.counter(MetricSource::Process, name, label, as_stored(total));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Scheduled, Sum, Threads, scheduled};

    #[test]
    fn schedules_that_are_not_kept_are_not_there() {
        let expected = Scheduled { cpu_ns: 932_923, wait_ns: 67_810 };
        assert_eq!(scheduled("932923 67810 2\n").unwrap(), Some(expected));
        assert_eq!(scheduled("0 0 0\n").unwrap(), None);
        assert_eq!(scheduled("932923\n").unwrap_err(), "it ends before the waiting time");
    }

    #[test]
    fn sums_only_grow() {
        let mut sum = Sum::default();
        sum.add(1, 10);
        sum.add(2, 5);
        assert_eq!(sum.end_round(), 15);
        sum.add(1, 12);
        assert_eq!(sum.end_round(), 17);
        // 2 has gone; its id is taken, and later that of 1 within one round.
        sum.add(1, 12);
        sum.add(2, 6);
        assert_eq!(sum.end_round(), 23);
        sum.add(1, 3);
        sum.add(2, 6);
        assert_eq!(sum.end_round(), 26);
        assert_eq!(sum.end_round(), 26);
        assert!(sum.last.is_empty());
        // A round that was broken off is not counted again.
        sum.add(1, 4);
        sum.add(1, 4);
        assert_eq!(sum.end_round(), 30);
    }

    #[test]
    fn own_threads_are_found_by_name() {
        let mut threads = Threads::of_process("self");
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let ids = threads.ids().unwrap();
        assert!(ids.contains(&own), "{ids:?}");
        // The same again, from the begin.
        assert!(threads.ids().unwrap().contains(&own));
        let name = threads.name(own).unwrap().unwrap();
        assert!(!name.is_empty() && !name.contains('\n'), "{name:?}");
        assert!(threads.ticks(own).unwrap().is_some());
        // No thread has this id: the highest that Linux gives is 2^22.
        assert_eq!(threads.name(1 << 23).unwrap(), None);
        assert_eq!(threads.scheduled(1 << 23).unwrap(), None);
        assert!(Threads::of_process("8388608").ids().is_err());
    }
}
