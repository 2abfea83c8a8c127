//! Memory, from /proc/meminfo.

use crate::error::ObserveError;
use crate::proc_file::{ProcLine, ProcText, UnitSize, scaled};
use crate::sampler::Readings;
use store::MetricSource::Host;

/// Reads the text of /proc/meminfo.
pub(super) fn read(text: &ProcText<'_>, into: &mut Readings) -> Result<(), ObserveError> {
    let (mut swap_total, mut swap_free) = (None, None);
    for line in text.lines() {
        let Some((key, value)) = line.text.split_once(':') else {
            continue;
        };
        let value = line.part(value);
        let metric = match key {
            "MemTotal" => "memory_total_bytes",
            // Since Linux 3.14.
            "MemAvailable" => "memory_available_bytes",
            "Cached" => "memory_cached_bytes",
            "Dirty" => "memory_dirty_bytes",
            "SwapTotal" => {
                swap_total = Some(kib(value)?);
                continue;
            }
            "SwapFree" => {
                swap_free = Some(kib(value)?);
                continue;
            }
            _ => continue,
        };
        into.gauge(Host, metric, "", scaled(kib(value)?, UnitSize(1024)));
    }
    if let (Some(total), Some(free)) = (swap_total, swap_free) {
        let used = total.saturating_sub(free);
        into.gauge(Host, "swap_used_bytes", "", scaled(used, UnitSize(1024)));
    }
    Ok(())
}

/// `  24684084 kB`, meaning KiB.
fn kib(value: ProcLine<'_>) -> Result<u64, ObserveError> {
    let mut fields = value.fields();
    let size = fields.number("a size")?;
    match fields.word("its unit")? {
        "kB" => Ok(size),
        unit => Err(value.malformed(format_args!("the unit of a size is {unit:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::error::ObserveError;
    use crate::proc_file::ProcText;
    use crate::sampler::Readings;
    use std::path::Path;

    const LINUX_6_18: &str = "\
MemTotal:       24684084 kB
MemFree:         8943368 kB
MemAvailable:   22983088 kB
Buffers:           72916 kB
Cached:         14964588 kB
SwapCached:          120 kB
SwapTotal:       2097148 kB
SwapFree:        2096124 kB
Dirty:                84 kB
HugePages_Total:       0
DirectMap1G:     9437184 kB
";
    const LINUX_2_6_32: &str = "\
MemTotal:        3915776 kB
MemFree:          123456 kB
Cached:           222222 kB
SwapTotal:             0 kB
SwapFree:              0 kB
Dirty:                 4 kB
";

    fn read_text(text: &str) -> Result<Readings, ObserveError> {
        let mut readings = Readings::default();
        read(&ProcText::new(Path::new("/proc/meminfo"), text), &mut readings)?;
        Ok(readings)
    }

    #[test]
    fn sizes_are_in_bytes() {
        let readings = read_text(LINUX_6_18).unwrap();
        for (name, kib) in [
            ("memory_total_bytes", 24_684_084),
            ("memory_available_bytes", 22_983_088),
            ("memory_cached_bytes", 14_964_588),
            ("memory_dirty_bytes", 84),
            ("swap_used_bytes", 1024),
        ] {
            assert_eq!(readings.value(name, ""), Some(kib * 1024), "{name}");
        }
        assert_eq!(readings.values().len(), 5);
        let old = read_text(LINUX_2_6_32).unwrap();
        assert_eq!(old.value("memory_available_bytes", ""), None);
        assert_eq!(old.value("swap_used_bytes", ""), Some(0));
        assert_eq!(old.values().len(), 4);
    }

    #[test]
    fn other_forms_are_errors() {
        for (text, says) in [
            ("MemTotal: 1 kB\nDirty: few kB\n", "line 2: a size is \"few\""),
            ("MemTotal: 1 MB\n", "line 1: the unit of a size is \"MB\""),
            ("SwapFree: 1\n", "line 1: it ends before its unit"),
        ] {
            let error = read_text(text).unwrap_err().to_string();
            assert!(error.starts_with("/proc/meminfo ") && error.contains(says), "{error}");
        }
    }
}
