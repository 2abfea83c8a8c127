//! Memory, from /proc/meminfo.

use crate::proc_file::as_stored;
use crate::readings::Readings;
use store::MetricSource::Host;
use system::size_bytes;

/// Sizes, by their names there. The available memory is told since Linux 3.14.
const METRICS: [(&str, &str); 4] = [
    ("MemTotal", "memory_total_bytes"),
    ("MemAvailable", "memory_available_bytes"),
    ("Cached", "memory_cached_bytes"),
    ("Dirty", "memory_dirty_bytes"),
];

/// Reads the text of /proc/meminfo.
pub(super) fn read(text: &str, into: &mut Readings) -> Result<(), String> {
    for (key, metric) in METRICS {
        if let Some(bytes) = size_bytes(text, key)? {
            into.gauge(Host, metric, "", as_stored(bytes));
        }
    }
    if let (Some(total), Some(free)) =
        (size_bytes(text, "SwapTotal")?, size_bytes(text, "SwapFree")?)
    {
        into.gauge(Host, "swap_used_bytes", "", as_stored(total.saturating_sub(free)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::readings::Readings;

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

    fn read_text(text: &str) -> Result<Readings, String> {
        let mut readings = Readings::default();
        read(text, &mut readings)?;
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
            ("MemTotal: 1 kB\nDirty: few kB\n", "line 2: Dirty is \"few kB\""),
            ("MemTotal: 1 MB\n", "line 1: MemTotal is \"1 MB\""),
            ("SwapFree: 1\n", "line 1: SwapFree is \"1\""),
        ] {
            let error = read_text(text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
