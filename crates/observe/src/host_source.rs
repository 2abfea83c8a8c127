//! The machine, from /proc and /sys. What this kernel or container does not have is left out.

mod cpu;
mod disks;
mod memory;
mod network;
mod pressure;

use crate::error::ObserveError;
use crate::proc_file::ProcFile;
use crate::sampler::{Readings, Source};
use cpu::Cores;
use disks::Disks;
use pressure::Resource;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The kernel asks each core for its frequency, and writes 2 KiB on each.
const ROUNDS_PER_FREQUENCY: u32 = 10;

/// The machine that this program runs on.
pub struct HostSource {
    stat: ProcFile,
    cores: Cores,
    pressure: Vec<(ProcFile, Resource)>,
    memory: ProcFile,
    network: ProcFile,
    disk_stats: ProcFile,
    disks: Disks,
    cpu_info: ProcFile,
    rounds_to_frequency: u32,
}

impl HostSource {
    #[must_use]
    pub fn new() -> HostSource {
        let pressure = Resource::ALL.into_iter();
        HostSource {
            stat: ProcFile::at("/proc/stat"),
            cores: Cores::default(),
            pressure: pressure
                .map(|resource| (ProcFile::at(resource.path()), resource))
                .collect(),
            memory: ProcFile::at("/proc/meminfo"),
            network: ProcFile::at("/proc/net/dev"),
            disk_stats: ProcFile::at("/proc/diskstats"),
            disks: Disks::of(Path::new("/sys/block")),
            cpu_info: ProcFile::at("/proc/cpuinfo"),
            rounds_to_frequency: 0,
        }
    }
}

impl Default for HostSource {
    fn default() -> HostSource {
        HostSource::new()
    }
}

impl Source for HostSource {
    fn title(&self) -> &'static str {
        "the host"
    }

    fn read(&mut self, into: &mut Readings, _stop: &AtomicBool) -> Result<(), ObserveError> {
        into.taken_now();
        if let Some(text) = self.stat.read()? {
            self.cores.read(&text, into)?;
        }
        for (file, resource) in &mut self.pressure {
            if let Some(text) = file.read()? {
                resource.read(&text, into)?;
            }
        }
        if let Some(text) = self.memory.read()? {
            memory::read(&text, into)?;
        }
        if let Some(text) = self.network.read()? {
            network::read(&text, into)?;
        }
        if let Some(text) = self.disk_stats.read()? {
            self.disks.read(&text, into)?;
        }
        if self.rounds_to_frequency == 0 {
            self.rounds_to_frequency = ROUNDS_PER_FREQUENCY;
            if let Some(text) = self.cpu_info.read()? {
                cpu::read_frequency(&text, into)?;
            }
        }
        self.rounds_to_frequency -= 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::HostSource;
    use crate::sampler::{Readings, Source};
    use std::sync::atomic::AtomicBool;

    fn read(source: &mut HostSource) -> Readings {
        let mut readings = Readings::default();
        source.read(&mut readings, &AtomicBool::new(false)).unwrap();
        readings
    }

    #[test]
    fn this_machine_can_be_read() {
        let mut host = HostSource::new();
        let first = read(&mut host);
        let cores = first.value("cpu_cores", "").unwrap();
        assert!(cores >= 1);
        let total = first.value("memory_total_bytes", "").unwrap();
        let available = first.value("memory_available_bytes", "").unwrap();
        assert!(0 < available && available < total, "{available} {total}");
        assert!(first.value("network_received_bytes", "lo").is_some());
        let second = read(&mut host);
        for name in ["cpu_user_ns", "cpu_idle_ns", "context_switches"] {
            assert!(second.value(name, "") >= first.value(name, ""), "{name}");
        }
    }

    #[test]
    fn the_frequency_comes_every_tenth_time() {
        let mut host = HostSource::new();
        let mut comes = || read(&mut host).value("cpu_frequency_hz", "").is_some();
        let rounds: Vec<bool> = (0..21).map(|_| comes()).collect();
        // Some architectures do not tell it at all.
        let tells = rounds[0];
        for (round, came) in rounds.into_iter().enumerate() {
            assert_eq!(came, tells && round % 10 == 0, "round {round}");
        }
    }
}
