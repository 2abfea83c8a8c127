//! What the processors have used, by their own counters.

use crate::error::{ObserveError, ObserveResult, read_at};
use crate::readings::{Readings, SampleSource};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use store::MetricSource;

/// Where Linux shows the energy counters of processors (RAPL), of Intel and AMD alike.
const POWERCAP: &str = "/sys/class/powercap";

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
    pub fn find() -> Option<RaplSource> {
        RaplSource::find_in(Path::new(POWERCAP))
    }

    fn find_in(directory: &Path) -> Option<RaplSource> {
        let mut packages = Vec::new();
        for zone in std::fs::read_dir(directory).ok()?.flatten() {
            // Parts of a package have zones of their own, with a further colon; they are in the
            // package's count.
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

fn number(path: &Path) -> ObserveResult<i64> {
    let text = std::fs::read_to_string(path).map_err(read_at(path))?;
    text.trim().parse().map_err(|_| ObserveError::Form {
        path: path.to_owned(),
        what: format!("{:?} is no number", text.trim()),
    })
}

impl SampleSource for RaplSource {
    fn title(&self) -> &'static str {
        "the processors' energy"
    }

    fn read(&mut self, into: &mut Readings, _stop: &AtomicBool) -> ObserveResult<()> {
        for package in &mut self.packages {
            let now_uj = number(&package.energy)?;
            if let Some(last_uj) = package.last_uj {
                let rise_uj = now_uj - last_uj;
                package.total_uj += if rise_uj < 0 { rise_uj + package.range_uj } else { rise_uj };
            }
            package.last_uj = Some(now_uj);
            into.counter(MetricSource::Power, "energy_uj", &package.name, package.total_uj);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::RaplSource;
    use crate::readings::{Readings, SampleSource};
    use std::sync::atomic::AtomicBool;

    fn read(source: &mut dyn SampleSource) -> Result<Vec<(String, String, i64)>, String> {
        let mut readings = Readings::default();
        source.read(&mut readings, &AtomicBool::new(false)).map_err(|error| error.to_string())?;
        let values = readings.values().iter();
        Ok(values
            .map(|(metric, value)| (metric.name.clone(), metric.label.clone(), *value))
            .collect())
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
