//! Processes and threads, from /proc.

use crate::error::{ObserveError, ObserveResult};
use crate::proc_file::{ProcFile, UnitSize, as_stored, each_line, number, scaled, tick_ns};
use crate::readings::{Readings, SampleSource};
use crate::threads::{Sum, Threads};
use device::page::SESSION_THREAD;
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use store::MetricSource;
use system::ProcessStat;

/// Reading that many threads each second takes a percent of a core; of a process with more, the
/// waiting time is not read.
const THREADS_MAX: u64 = 2048;

/// One process.
pub struct ProcessSource {
    label: &'static str,
    /// `None` where there was no such process.
    start_ticks: Option<u64>,
    stat: ProcFile,
    io: ProcFile,
    threads: Threads,
    run_wait_ns: Sum,
    /// Of the threads of a server that serve clients.
    sessions: ThreadTimes,
}

/// The times of threads together, also of those that have ended.
#[derive(Default)]
struct ThreadTimes {
    cpu_ns: Sum,
    run_wait_ns: Sum,
}

/// What a thread that serves a client is called: by the shim, by MySQL 8.0 and later, by MariaDB.
fn is_name_of_session(name: &str) -> bool {
    const NAMES: [&str; 2] = ["connection", "one_connection"];
    name.as_bytes() == SESSION_THREAD.to_bytes() || NAMES.contains(&name)
}

impl ProcessSource {
    /// The process `pid`, which results call `label`: `server` or `mydyno`. When it has ended, all
    /// readings fail, whichever process is given its id later.
    pub fn new(label: &'static str, pid: u32) -> ProcessSource {
        let mut stat = ProcFile::at(format!("/proc/{pid}/stat"));
        // What fails here the first reading tells.
        let started = stat.read(ProcessStat::parse).ok().flatten();
        ProcessSource {
            label,
            start_ticks: started.map(|stat| stat.start_ticks),
            stat,
            io: ProcFile::at(format!("/proc/{pid}/io")),
            threads: Threads::of_process(&pid.to_string()),
            run_wait_ns: Sum::default(),
            sessions: ThreadTimes::default(),
        }
    }

    /// What its file `stat` says, where it is still that of this process.
    fn stat(&mut self) -> ObserveResult<ProcessStat> {
        let stat = self.stat.read(ProcessStat::parse)?;
        let own =
            |stat: &ProcessStat| !stat.has_ended && Some(stat.start_ticks) == self.start_ticks;
        stat.filter(own).ok_or_else(|| ObserveError::Ended { path: self.stat.path().to_owned() })
    }

    /// For how long its threads were ready and waited for a core, together: /proc/PID/schedstat has
    /// that of the first thread only.
    fn read_run_wait(&mut self, into: &mut Readings) -> ObserveResult<()> {
        for id in self.threads.ids()? {
            if let Some(scheduled) = self.threads.scheduled(id)? {
                self.run_wait_ns.add(id, scheduled.wait_ns);
                if self.is_session(id)? {
                    self.sessions.cpu_ns.add(id, scheduled.cpu_ns);
                    self.sessions.run_wait_ns.add(id, scheduled.wait_ns);
                }
            }
        }
        self.run_wait_ns.tell("run_wait_ns", self.label, into);
        self.sessions.cpu_ns.tell("session_cpu_ns", self.label, into);
        self.sessions.run_wait_ns.tell("session_run_wait_ns", self.label, into);
        Ok(())
    }

    /// Does a thread serve a client? Its name is looked at until it does.
    fn is_session(&self, id: u32) -> ObserveResult<bool> {
        if self.label != "server" || self.sessions.cpu_ns.has(id) {
            return Ok(self.label == "server");
        }
        let name = self.threads.name(id)?;
        Ok(name.is_some_and(|name| is_name_of_session(&name)))
    }
}

impl SampleSource for ProcessSource {
    fn title(&self) -> &'static str {
        match self.label {
            "server" => "the server's process",
            "mydyno" => "mydyno's process",
            _ => "a process",
        }
    }

    fn read(&mut self, into: &mut Readings, _stop: &AtomicBool) -> ObserveResult<()> {
        into.taken_now();
        let source = MetricSource::Process;
        let stat = self.stat()?;
        let ns = |ticks| scaled(ticks, UnitSize(tick_ns()));
        into.counter(source, "cpu_user_ns", self.label, ns(stat.user_ticks));
        into.counter(source, "cpu_system_ns", self.label, ns(stat.system_ticks));
        let page_bytes = rustix::param::page_size() as u64;
        let resident = scaled(stat.resident_pages, UnitSize(page_bytes));
        into.gauge(source, "resident_bytes", self.label, resident);
        into.gauge(source, "threads", self.label, as_stored(stat.threads));
        // Of another user's process it cannot be read.
        self.io.read(|text| read_io(text, self.label, into))?;
        if stat.threads <= THREADS_MAX {
            self.read_run_wait(into)?;
        }
        Ok(())
    }
}

/// Reads the text of /proc/PID/io.
fn read_io(text: &str, label: &str, into: &mut Readings) -> Result<(), String> {
    each_line(text, |line| {
        let mut words = line.split_ascii_whitespace();
        let name = match words.next() {
            Some("read_bytes:") => "read_bytes",
            Some("write_bytes:") => "written_bytes",
            _ => return Ok(()),
        };
        let bytes = number(&mut words, "a number of bytes")?;
        into.counter(MetricSource::Process, name, label, as_stored(bytes));
        Ok(())
    })
}

/// Threads of this process whose names begin alike. They may come and go; those of one name are
/// one.
pub struct ThreadSource {
    prefix: &'static str,
    threads: Threads,
    names: HashMap<String, ThreadTimes>,
}

impl ThreadSource {
    /// Those whose names begin with `prefix`. Linux keeps 15 bytes of a name.
    pub fn new(prefix: &'static str) -> ThreadSource {
        ThreadSource { prefix, threads: Threads::of_process("self"), names: HashMap::new() }
    }

    fn read_thread(&mut self, id: u32) -> ObserveResult<()> {
        let name = self.threads.name(id)?;
        let Some(name) = name.filter(|name| name.starts_with(self.prefix)) else {
            return Ok(());
        };
        let (cpu_ns, wait_ns) = match self.threads.scheduled(id)? {
            Some(scheduled) => (scheduled.cpu_ns, Some(scheduled.wait_ns)),
            None => match self.threads.ticks(id)? {
                Some(ticks) => (ticks.saturating_mul(tick_ns()), None),
                None => return Ok(()),
            },
        };
        let named = self.names.entry(name).or_default();
        named.cpu_ns.add(id, cpu_ns);
        if let Some(wait_ns) = wait_ns {
            named.run_wait_ns.add(id, wait_ns);
        }
        Ok(())
    }
}

impl SampleSource for ThreadSource {
    fn title(&self) -> &'static str {
        "the driver's threads"
    }

    fn read(&mut self, into: &mut Readings, _stop: &AtomicBool) -> ObserveResult<()> {
        into.taken_now();
        for id in self.threads.ids()? {
            self.read_thread(id)?;
        }
        for (name, named) in &mut self.names {
            named.cpu_ns.tell("cpu_ns", name, into);
            named.run_wait_ns.tell("run_wait_ns", name, into);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{ProcessSource, ThreadSource, read_io};
    use crate::error::ObserveResult;
    use crate::readings::{Readings, SampleSource};
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::{Child, Command};
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::channel;
    use std::thread::Builder;
    use std::time::{Duration, Instant};

    fn read(source: &mut dyn SampleSource) -> ObserveResult<Readings> {
        let mut readings = Readings::default();
        source.read(&mut readings, &AtomicBool::new(false))?;
        Ok(readings)
    }

    fn sleeper(program: &Path) -> Child {
        let mut command = Command::new(program);
        command.arg0("sleep").arg("60").spawn().unwrap()
    }

    fn end(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn threads_that_serve_clients_are_found_by_their_names() {
        let named = |name: &str| {
            let (end, ended) = channel::<()>();
            let (ran, has_run) = channel::<()>();
            let work = move || {
                let until = Instant::now() + Duration::from_millis(20);
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
                ran.send(()).unwrap();
                let _ = ended.recv();
            };
            let thread = Builder::new().name(name.to_owned()).spawn(work).unwrap();
            has_run.recv().unwrap();
            (end, thread)
        };
        let mut source = ProcessSource::new("server", std::process::id());
        let other = named("worker");
        let before = read(&mut source).unwrap();
        assert_eq!(before.value("session_cpu_ns", "server"), None);
        let session = named("mydyno-session");
        let readings = read(&mut source).unwrap();
        let cpu_ns = readings.value("session_cpu_ns", "server").unwrap();
        assert!(cpu_ns > 1_000_000, "{cpu_ns}");
        assert!(readings.value("session_run_wait_ns", "server").is_some());
        for (end, thread) in [other, session] {
            drop(end);
            thread.join().unwrap();
        }
    }

    #[test]
    fn own_process_has_all_values() {
        let mut source = ProcessSource::new("mydyno", std::process::id());
        let readings = read(&mut source).unwrap();
        for name in ["cpu_user_ns", "cpu_system_ns", "threads"] {
            assert!(readings.value(name, "mydyno").is_some(), "{name}");
        }
        let resident = readings.value("resident_bytes", "mydyno").unwrap();
        assert!(resident > 1 << 20, "{resident}");
        assert_eq!(source.title(), "mydyno's process");
    }

    #[test]
    fn io_is_read_where_it_can_be() {
        let io = |text: &str| {
            let mut readings = Readings::default();
            read_io(text, "server", &mut readings).map(|()| readings)
        };
        let text = "rchar: 7294\nwchar: 318\nsyscr: 14\nsyscw: 2\nread_bytes: 512\nwrite_bytes: \
            4096\ncancelled_write_bytes: 9\n";
        let readings = io(text).unwrap();
        assert_eq!(readings.value("read_bytes", "server"), Some(512));
        assert_eq!(readings.value("written_bytes", "server"), Some(4096));
        assert_eq!(readings.values().len(), 2);
        let error = io("rchar: 1\nread_bytes: some\n").unwrap_err();
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn an_ended_process_is_an_error() {
        let mut child = sleeper(Path::new("sleep"));
        let mut source = ProcessSource::new("server", child.id());
        assert!(read(&mut source).is_ok());
        child.kill().unwrap();
        // A zombie, until its parent has asked for its end.
        let deadline = Instant::now() + Duration::from_secs(10);
        let error = loop {
            match read(&mut source) {
                Err(error) => break error.to_string(),
                Ok(_) => assert!(Instant::now() < deadline, "it does not end"),
            }
        };
        assert!(error.contains("/stat: the process has ended"), "{error}");
        child.wait().unwrap();
        assert!(read(&mut source).is_err());
        let mut never = ProcessSource::new("server", child.id());
        assert!(read(&mut never).is_err());
    }

    #[test]
    fn a_process_that_began_at_another_time_is_another() {
        let mut source = ProcessSource::new("mydyno", std::process::id());
        source.start_ticks = source.start_ticks.map(|ticks| ticks + 1);
        let error = read(&mut source).unwrap_err().to_string();
        assert!(error.contains("the process has ended"), "{error}");
    }

    #[test]
    fn a_program_may_have_an_odd_name() {
        let sleep = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|directory| directory.join("sleep"))
            .find(|path| path.exists())
            .unwrap();
        let temp = tempfile::tempdir().unwrap();
        // The kernel calls a process by the name under which its program was started.
        let odd = temp.path().join("x) Z 1 (y");
        std::os::unix::fs::symlink(sleep, &odd).unwrap();
        let child = sleeper(&odd);
        // The parent goes on a moment before the kernel has given the new name.
        let comm = format!("/proc/{}/comm", child.id());
        let has_name = || std::fs::read_to_string(&comm).is_ok_and(|name| name == "x) Z 1 (y\n");
        let deadline = Instant::now() + Duration::from_secs(10);
        while !has_name() && Instant::now() < deadline {}
        let was_named = has_name();
        let readings = read(&mut ProcessSource::new("server", child.id()));
        end(child);
        assert!(was_named);
        let readings = readings.unwrap();
        assert_eq!(readings.value("threads", "server"), Some(1));
        // Newer kernels count the first pages of a process late, so they may be 0 yet.
        assert!(readings.value("resident_bytes", "server").is_some());
    }

    #[test]
    fn threads_come_and_go() {
        let mut source = ThreadSource::new("comes-");
        assert!(read(&mut source).unwrap().values().is_empty());
        let mut cpu_ns = 0;
        for round in 0..3 {
            let (started, has_started) = channel();
            let (ended, end) = channel::<()>();
            let body = move || {
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_millis(20) {
                    std::hint::spin_loop();
                }
                started.send(()).unwrap();
                // Until the other end goes away.
                let _ = end.recv();
            };
            let thread = Builder::new().name("comes-7".to_owned());
            let thread = thread.spawn(body).unwrap();
            has_started.recv().unwrap();
            let now = read(&mut source).unwrap();
            let now_ns = now.value("cpu_ns", "comes-7").unwrap();
            assert!(now_ns > cpu_ns, "round {round}: {now_ns} after {cpu_ns}");
            cpu_ns = now_ns;
            drop(ended);
            thread.join().unwrap();
            // Joined threads may be listed for a moment.
            let deadline = Instant::now() + Duration::from_secs(10);
            while !read(&mut source).unwrap().values().is_empty() {
                assert!(Instant::now() < deadline, "the thread is still there");
            }
        }
    }
}
