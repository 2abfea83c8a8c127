//! Cores that private servers have for themselves: which CPUs these are, and threads and processes
//! that are kept to some.
//!
//! What is started by a thread is kept to the CPUs of that thread.

use crate::error::io_at;
use crate::{ServerError, ServerResult};
use base::CpuList;
use itertools::Itertools;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;
use std::path::Path;
use system::cpu_set;

const CPUS: &str = "/sys/devices/system/cpu";

/// The CPUs that this process may use, divided between servers and their driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DividedCpus {
    pub servers: CpuList,
    /// Those that servers do not have or, where they have all, all.
    pub driver: CpuList,
}

impl DividedCpus {
    /// Gives servers so many CPUs of those that the calling thread may use now, and with each of
    /// them those that share its core, as far as the number goes.
    ///
    /// # Errors
    /// [`ServerError::Cores`] where there are not so many, [`ServerError::Io`].
    pub fn of(cores: u32) -> ServerResult<DividedCpus> {
        let of_this_process = "tell the CPUs of this process from";
        let allowed = allowed_cpus(None).map_err(io_at(of_this_process, Path::new(CPUS)))?;
        if cores == 0 || cores as usize > allowed.len() {
            return Err(ServerError::Cores { asked: cores, allowed });
        }
        let siblings = |cpu| siblings(Path::new(CPUS), cpu);
        Ok(divide(&allowed, cores as usize, &siblings))
    }
}

/// `siblings` are the CPUs of the same core, itself among them.
fn divide(allowed: &CpuList, cores: usize, siblings: &dyn Fn(u32) -> CpuList) -> DividedCpus {
    let of_core = |cpu| std::iter::once(cpu).chain(siblings(cpu).iter().collect::<Vec<_>>());
    let by_core = allowed.iter().flat_map(of_core).filter(|cpu| allowed.contains(*cpu));
    let servers: CpuList = by_core.unique().take(cores).collect();
    let others = allowed.without(&servers);
    let driver = if others.is_empty() { allowed.clone() } else { others };
    DividedCpus { servers, driver }
}

/// The CPUs of the core that `cpu` belongs to; none where the machine does not tell, as many
/// containers do not.
fn siblings(cpus: &Path, cpu: u32) -> CpuList {
    let path = cpus.join(format!("cpu{cpu}/topology/thread_siblings_list"));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.parse().unwrap_or_default()
}

/// The CPUs that a process may use, or the calling thread.
///
/// # Errors
/// There is no such process.
pub fn allowed_cpus(process: Option<u32>) -> io::Result<CpuList> {
    let process = process.and_then(|id| Pid::from_raw(id.cast_signed()));
    let set = sched_getaffinity(process)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect())
}

/// As long as it lives, the thread that made it is kept to some CPUs, and so are threads that it
/// starts meanwhile, for as long as these live.
#[derive(Debug)]
pub struct KeptToCpus {
    before: CpuSet,
    /// Another thread would be given back what it did not have.
    _of_this_thread: std::marker::PhantomData<*const ()>,
}

impl KeptToCpus {
    /// # Errors
    /// This thread may use none of them.
    pub fn new(cpus: &CpuList) -> io::Result<KeptToCpus> {
        let before = sched_getaffinity(None)?;
        sched_setaffinity(None, &cpu_set(cpus))?;
        Ok(KeptToCpus { before, _of_this_thread: std::marker::PhantomData })
    }
}

impl Drop for KeptToCpus {
    fn drop(&mut self) {
        // The thread had them before; that they are gone is no reason to end a measurement.
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::{DividedCpus, KeptToCpus, allowed_cpus, divide, siblings};
    use crate::ServerError;
    use base::{CpuList, Exit};

    fn list(text: &str) -> CpuList {
        text.parse().unwrap()
    }

    /// Servers and driver, of CPUs of which those that are four apart share a core.
    fn divided(allowed: &str, cores: usize) -> (String, String) {
        let siblings = |cpu: u32| list(&format!("{},{}", cpu % 4, cpu % 4 + 4));
        let DividedCpus { servers, driver } = divide(&list(allowed), cores, &siblings);
        (servers.to_string(), driver.to_string())
    }

    #[test]
    fn whole_cores_are_taken_first() {
        let told = |servers: &str, driver: &str| (servers.to_owned(), driver.to_owned());
        assert_eq!(divided("0-7", 2), told("0,4", "1-3,5-7"));
        assert_eq!(divided("0-7", 3), told("0-1,4", "2-3,5-7"));
        assert_eq!(divided("0-7", 7), told("0-6", "7"));
        // The other half of a core may be somebody else's.
        assert_eq!(divided("1-5", 3), told("1-2,5", "3-4"));
        // Where servers have all, the driver has all too.
        assert_eq!(divided("2-3", 2), told("2-3", "2-3"));
        let unknown = divide(&list("3,5,9"), 2, &|_| CpuList::default());
        assert_eq!(unknown, DividedCpus { servers: list("3,5"), driver: list("9") });
    }

    #[test]
    fn siblings_are_read_where_the_machine_tells() {
        let temp = tempfile::tempdir().unwrap();
        let topology = temp.path().join("cpu3/topology");
        std::fs::create_dir_all(&topology).unwrap();
        std::fs::write(topology.join("thread_siblings_list"), "3,7\n").unwrap();
        assert_eq!(siblings(temp.path(), 3), list("3,7"));
        assert_eq!(siblings(temp.path(), 4), CpuList::default());
    }

    #[test]
    fn more_than_there_are_is_refused() {
        let there = allowed_cpus(None).unwrap();
        let all = DividedCpus::of(there.len() as u32).unwrap();
        assert_eq!((&all.servers, &all.driver), (&there, &there));
        let error = DividedCpus::of(there.len() as u32 + 1).unwrap_err();
        assert!(matches!(error, ServerError::Cores { .. }));
        assert_eq!(error.exit(), Exit::Environment);
        assert!(DividedCpus::of(0).is_err());
    }

    #[test]
    fn a_thread_and_what_it_starts_are_kept_to_cpus() {
        let before = allowed_cpus(None).unwrap();
        let last: CpuList = before.iter().last().into_iter().collect();
        let of_child = || std::thread::spawn(|| allowed_cpus(None).unwrap()).join().unwrap();
        let kept = KeptToCpus::new(&last).unwrap();
        assert_eq!((allowed_cpus(None).unwrap(), of_child()), (last.clone(), last));
        drop(kept);
        assert_eq!((allowed_cpus(None).unwrap(), of_child()), (before.clone(), before.clone()));
        assert!(KeptToCpus::new(&CpuList::default()).is_err());
        assert_eq!(allowed_cpus(None).unwrap(), before);
        assert!(!allowed_cpus(Some(std::process::id())).unwrap().is_empty());
    }
}
