//! Watts: the processor's own counters, or a meter that a command reads.

use crate::error::{ObserveError, read_at};
use crate::sampler::{Readings, Source};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::MetricSource;

/// Where Linux shows the energy counters of processors (RAPL), of Intel and AMD alike.
const POWERCAP: &str = "/sys/class/powercap";
/// How long a meter's command may take.
const METER_PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The energy that each processor package has used.
pub struct RaplSource {
    packages: Vec<Package>,
}

struct Package {
    name: String,
    energy: PathBuf,
    /// The counter begins anew beyond this.
    range_uj: i64,
    last_uj: Option<i64>,
    total_uj: i64,
}

impl RaplSource {
    /// The packages of this machine; `None` where it shows none, or not to this user.
    #[must_use]
    pub fn find() -> Option<RaplSource> {
        RaplSource::find_in(Path::new(POWERCAP))
    }

    fn find_in(directory: &Path) -> Option<RaplSource> {
        let mut packages = Vec::new();
        for zone in std::fs::read_dir(directory).ok()?.flatten() {
            // Parts of a package have zones of their own, with a further colon; they are in the package's count.
            let is_top = zone.file_name().to_string_lossy().matches(':').count() == 1;
            let text = |file: &str| std::fs::read_to_string(zone.path().join(file));
            let (Ok(name), Ok(range)) = (text("name"), text("max_energy_range_uj")) else {
                continue;
            };
            let name = name.trim();
            let readable = number(&zone.path().join("energy_uj")).is_ok();
            if is_top && name.starts_with("package") && readable {
                packages.push(Package {
                    name: name.to_owned(),
                    energy: zone.path().join("energy_uj"),
                    range_uj: range.trim().parse().ok()?,
                    last_uj: None,
                    total_uj: 0,
                });
            }
        }
        packages.sort_by(|a, b| a.name.cmp(&b.name));
        (!packages.is_empty()).then_some(RaplSource { packages })
    }
}

fn number(path: &Path) -> Result<i64, ObserveError> {
    let text = std::fs::read_to_string(path).map_err(read_at(path))?;
    text.trim().parse().map_err(|_| ObserveError::Form {
        path: path.to_owned(),
        what: format!("{:?} is no number", text.trim()),
    })
}

impl Source for RaplSource {
    fn title(&self) -> &'static str {
        "the processors' energy"
    }

    fn read(&mut self, into: &mut Readings, _stop: &AtomicBool) -> Result<(), ObserveError> {
        for package in &mut self.packages {
            let now_uj = number(&package.energy)?;
            if let Some(last_uj) = package.last_uj {
                let rise_uj = now_uj - last_uj;
                package.total_uj += if rise_uj < 0 {
                    rise_uj + package.range_uj
                } else {
                    rise_uj
                };
            }
            package.last_uj = Some(now_uj);
            into.counter(
                MetricSource::Power,
                "energy_uj",
                &package.name,
                package.total_uj,
            );
        }
        Ok(())
    }
}

/// An external meter, read by a command of the user's that prints watts.
pub struct MeterSource {
    command: String,
}

impl MeterSource {
    /// A command for the shell whose first number on stdout is watts.
    #[must_use]
    pub fn new(command: &str) -> MeterSource {
        MeterSource {
            command: command.to_owned(),
        }
    }

    fn failed(&self, why: &str) -> ObserveError {
        ObserveError::Meter {
            command: self.command.clone(),
            why: why.to_owned(),
        }
    }
}

impl Source for MeterSource {
    fn title(&self) -> &'static str {
        "the power meter"
    }

    fn read(&mut self, into: &mut Readings, stop: &AtomicBool) -> Result<(), ObserveError> {
        let mut child = Command::new("sh")
            .args(["-c", &self.command])
            // A group of its own, so that what the shell starts ends with it.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| self.failed(&error.to_string()))?;
        let begun = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if stop.load(Ordering::Relaxed) => break Err("the run is over".to_owned()),
                Ok(None) if begun.elapsed() > METER_PATIENCE => {
                    break Err(format!("it took more than {} s", METER_PATIENCE.as_secs()));
                }
                Ok(None) => std::thread::sleep(LOOK_EVERY),
                Err(error) => break Err(error.to_string()),
            }
        };
        let status = match status {
            Ok(status) => status,
            Err(why) => {
                // It may have ended by itself meanwhile.
                let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
                let _ = child.wait();
                return Err(self.failed(&why));
            }
        };
        if !status.success() {
            return Err(self.failed(&format!("it ended with {status}")));
        }
        let mut text = String::new();
        if let Some(mut stdout) = child.stdout.take() {
            let read = stdout.by_ref().take(4096).read_to_string(&mut text);
            read.map_err(|error| self.failed(&error.to_string()))?;
        }
        let watts = watts(&text)
            .ok_or_else(|| self.failed(&format!("no watts in its output {:?}", text.trim())))?;
        into.gauge(
            MetricSource::Power,
            "power_mw",
            "meter",
            (watts * 1e3) as i64,
        );
        Ok(())
    }
}

/// The first number of a text: `Instantaneous power reading:   220 Watts`.
fn watts(text: &str) -> Option<f64> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    text.split(|c: char| !is_part(c))
        .find_map(|word| word.parse::<f64>().ok())
        .filter(|watts| watts.is_finite())
}

#[cfg(test)]
mod tests {
    use super::{MeterSource, RaplSource, watts};
    use crate::sampler::{Readings, Source};
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    #[test]
    fn watts_are_found_in_words() {
        assert_eq!(watts("220"), Some(220.0));
        assert_eq!(watts("power reading:   187.5 Watts\n"), Some(187.5));
        assert_eq!(watts("no reading."), None);
    }

    fn read(source: &mut dyn Source) -> Result<Vec<(String, String, i64)>, String> {
        let mut readings = Readings::default();
        source
            .read(&mut readings, &AtomicBool::new(false))
            .map_err(|error| error.to_string())?;
        let values = readings.values().iter();
        Ok(values
            .map(|(metric, value)| (metric.name.clone(), metric.label.clone(), *value))
            .collect())
    }

    #[test]
    fn a_meter_is_a_command() {
        let values = read(&mut MeterSource::new("echo '  218.4 W'")).unwrap();
        assert_eq!(
            values,
            [("power_mw".to_owned(), "meter".to_owned(), 218_400)]
        );
        for (command, word) in [
            ("exit 3", "3"),
            ("echo off", "off"),
            ("no-such-meter", "127"),
        ] {
            let error = read(&mut MeterSource::new(command)).unwrap_err();
            assert!(error.contains(word) && error.contains(command), "{error}");
        }
        let begun = Instant::now();
        let stop = AtomicBool::new(true);
        let mut readings = Readings::default();
        let stopped = MeterSource::new("sleep 60").read(&mut readings, &stop);
        assert!(stopped.is_err() && begun.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn energy_is_counted_over_the_end_of_its_range() {
        let temp = tempfile::tempdir().unwrap();
        assert!(RaplSource::find_in(temp.path()).is_none());
        let zone = |name: &str, title: &str| {
            let zone = temp.path().join(name);
            std::fs::create_dir(&zone).unwrap();
            std::fs::write(zone.join("name"), format!("{title}\n")).unwrap();
            std::fs::write(zone.join("max_energy_range_uj"), "1000\n").unwrap();
            std::fs::write(zone.join("energy_uj"), "900\n").unwrap();
            zone
        };
        let package = zone("intel-rapl:0", "package-0");
        zone("intel-rapl:0:0", "core");
        let mut source = RaplSource::find_in(temp.path()).unwrap();
        let energy = |uj| ("energy_uj".to_owned(), "package-0".to_owned(), uj);
        assert_eq!(read(&mut source).unwrap(), [energy(0)]);
        std::fs::write(package.join("energy_uj"), "950\n").unwrap();
        assert_eq!(read(&mut source).unwrap(), [energy(50)]);
        std::fs::write(package.join("energy_uj"), "30\n").unwrap();
        assert_eq!(read(&mut source).unwrap(), [energy(130)]);
        std::fs::remove_file(package.join("energy_uj")).unwrap();
        assert!(read(&mut source).unwrap_err().contains("energy_uj"));
    }
}
