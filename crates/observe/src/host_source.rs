//! The machine, from /proc and /sys. What this kernel or container does not have is left out.

pub(crate) mod cpu;
mod disks;
mod memory;
mod network;
mod pressure;

use crate::error::ObserveResult;
use crate::proc_file::ProcFile;
use crate::readings::{Readings, SampleSource};
use cpu::HostCores;
use disks::Disks;
pub(crate) use disks::is_stacked;
use pressure::Resource;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The kernel asks each core for its frequency, and writes 2 KiB on each.
const ROUNDS_PER_FREQUENCY: u32 = 10;

/// The machine that this program runs on.
pub struct HostSource {
    stat: ProcFile,
    cores: HostCores,
    pressure: Vec<(ProcFile, Resource)>,
    memory: ProcFile,
    network: ProcFile,
    disk_stats: ProcFile,
    disks: Disks,
    cpu_info: ProcFile,
    rounds_to_frequency: u32,
}

impl Default for HostSource {
    fn default() -> HostSource {
        let pressure = Resource::ALL.into_iter();
        HostSource {
            stat: ProcFile::at("/proc/stat"),
            cores: HostCores::default(),
            pressure: pressure.map(|resource| (ProcFile::at(resource.path), resource)).collect(),
            memory: ProcFile::at("/proc/meminfo"),
            network: ProcFile::at("/proc/net/dev"),
            disk_stats: ProcFile::at("/proc/diskstats"),
            disks: Disks::below(Path::new("/sys/block")),
            cpu_info: ProcFile::at("/proc/cpuinfo"),
            rounds_to_frequency: 0,
        }
    }
}

impl SampleSource for HostSource {
    fn title(&self) -> &'static str {
        "the host"
    }

    /// A file that cannot be read, or is odd, costs its own part only.
    fn read(&mut self, into: &mut Readings, _stop: &AtomicBool) -> ObserveResult<()> {
        into.taken_now();
        part("the host's cores", &mut self.stat, into, |text, into| self.cores.read(text, into));
        for (file, resource) in &mut self.pressure {
            part(resource.title, file, into, |text, into| resource.read(text, into));
        }
        part("the host's memory", &mut self.memory, into, memory::read);
        part("the host's network", &mut self.network, into, network::read);
        part("the host's disks", &mut self.disk_stats, into, |text, into| {
            self.disks.read(text, into)
        });
        if self.rounds_to_frequency > 0 {
            self.rounds_to_frequency -= 1;
            return Ok(());
        }
        let lost_before = into.lost().len();
        part("the host's frequency", &mut self.cpu_info, into, cpu::read_frequency);
        // While it is lost it is asked each time, else it would seem to be back in the rounds
        // between.
        if into.lost().len() == lost_before {
            self.rounds_to_frequency = ROUNDS_PER_FREQUENCY - 1;
        }
        Ok(())
    }
}

/// Reads one file, where there is one; a failure is a loss of what it would have told.
fn part(
    title: &'static str,
    file: &mut ProcFile,
    into: &mut Readings,
    read: impl FnOnce(&str, &mut Readings) -> Result<(), String>,
) {
    if let Err(error) = file.read(|text| read(text, into)) {
        into.lose(title, error);
    }
}

#[cfg(test)]
mod tests {
    use super::HostSource;
    use crate::proc_file::ProcFile;
    use crate::readings::{Readings, SampleSource};
    use std::sync::atomic::AtomicBool;

    fn read(source: &mut HostSource) -> Readings {
        let mut readings = Readings::default();
        source.read(&mut readings, &AtomicBool::new(false)).unwrap();
        readings
    }

    #[test]
    fn this_machine_can_be_read() {
        let mut host = HostSource::default();
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
        let mut host = HostSource::default();
        let mut comes = || read(&mut host).value("cpu_frequency_hz", "").is_some();
        let rounds: Vec<bool> = (0..21).map(|_| comes()).collect();
        // Some architectures do not tell it at all.
        let tells = std::fs::read_to_string("/proc/cpuinfo").unwrap().contains("cpu MHz");
        for (round, came) in rounds.into_iter().enumerate() {
            assert_eq!(came, tells && round % 10 == 0, "round {round}");
        }
    }

    #[test]
    fn an_odd_file_costs_its_own_part_only() {
        let temp = tempfile::tempdir().unwrap();
        let odd = temp.path().join("odd");
        std::fs::write(&odd, "some words\nMemTotal: few\n").unwrap();
        let mut host = HostSource {
            memory: ProcFile::at(&odd),
            // A directory can be opened and not be read.
            network: ProcFile::at(temp.path()),
            ..HostSource::default()
        };
        let readings = read(&mut host);
        let lost: Vec<&str> = readings.lost().iter().map(|(part, _)| *part).collect();
        assert_eq!(lost, ["the host's memory", "the host's network"]);
        let reasons = readings.lost().iter().map(|(_, error)| error.to_string());
        for (reason, says) in reasons.zip(["line 2: MemTotal is \"few\"", "cannot read "]) {
            assert!(reason.contains(says), "{reason}");
        }
        assert!(readings.value("cpu_user_ns", "").is_some());
        assert!(readings.value("memory_total_bytes", "").is_none());
        host.memory = ProcFile::at("/proc/meminfo");
        host.network = ProcFile::at("/proc/net/dev");
        let readings = read(&mut host);
        assert!(readings.lost().is_empty(), "{:?}", readings.lost());
        assert!(readings.value("memory_total_bytes", "").is_some());
    }
}
