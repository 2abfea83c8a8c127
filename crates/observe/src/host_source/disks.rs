//! What disks did, from /proc/diskstats: whole ones that lie on no other, so that no request is in
//! the sum of all of them twice.

use crate::proc_file::{UnitSize, as_stored, each_line, number, scaled};
use crate::readings::Readings;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use store::MetricSource::Host;

/// The unit of /proc/diskstats, whatever the disk's own sectors are.
const SECTOR_BYTES: u64 = 512;
const MS_NS: u64 = 1_000_000;
/// Drivers that offer devices which most machines never use; one without I/O is not worth a name in
/// the results.
const OFTEN_UNUSED: [&str; 2] = ["ram", "zram"];
/// Drivers whose devices lie on others, or on a file of one: device mapper (LVM, dm-crypt,
/// multipath), RAID, bcache, loop.
const STACKED: [&str; 4] = ["dm-", "md", "bcache", "loop"];
/// A line may end before any of these columns: those of discards, since Linux 4.18, and those of
/// flushes, since 5.5.
const MAY_END: RangeInclusive<usize> = 11..=15;

/// What comes behind a device's name, for people, and its metric, which ends with its unit; none
/// where it is not used.
const COLUMNS: [(&str, &str); 17] = [
    ("the reads", "disk_reads"),
    ("the reads merged with others", ""),
    ("the sectors read", "disk_read_bytes"),
    ("the time of reads", "disk_read_ns"),
    ("the writes", "disk_writes"),
    ("the writes merged with others", ""),
    ("the sectors written", "disk_write_bytes"),
    ("the time of writes", "disk_write_ns"),
    ("the requests in flight", IN_FLIGHT),
    ("the busy time", "disk_busy_ns"),
    ("the time of all requests", "disk_queue_ns"),
    ("the discards", ""),
    ("the discards merged with others", ""),
    ("the sectors discarded", ""),
    ("the time of discards", ""),
    ("the flushes", "disk_flushes"),
    ("the time of flushes", "disk_flush_ns"),
];
/// The one that goes up and down.
const IN_FLIGHT: &str = "disk_in_flight";
const READS: usize = 0;
const WRITES: usize = 4;

/// The disks as they were seen before.
pub(super) struct Disks {
    sys_block: PathBuf,
    known: HashMap<String, KnownDisk>,
}

/// A block device.
struct KnownDisk {
    /// Neither a partition, which its disk counts too, nor one that lies on another, which counts
    /// its requests again.
    is_counted: bool,
    /// Of the columns that are times.
    times: [Milliseconds; COLUMNS.len()],
    /// Was it in the text that is being read?
    is_there: bool,
}

/// The kernel gives the low 32 bits of its milliseconds: a disk that is 32 deep all the time begins
/// at 0 again each 37 hours.
#[derive(Clone, Copy, Default)]
struct Milliseconds {
    low: u32,
    overflows: u64,
}

impl Milliseconds {
    fn ns(&mut self, ms: u64) -> i64 {
        if let Ok(low) = u32::try_from(ms) {
            // A large step forward across the end is a fall: the counters of a new disk of the same
            // name.
            if low < self.low && low.wrapping_sub(self.low) < 1 << 31 {
                self.overflows += 1;
            }
            self.low = low;
        }
        scaled((self.overflows << 32).wrapping_add(ms), UnitSize(MS_NS))
    }
}

impl Disks {
    /// Whole disks are those that have a directory in `sys_block`; what they lie on is in its
    /// directory `slaves`.
    pub(super) fn below(sys_block: &Path) -> Disks {
        Disks { sys_block: sys_block.to_owned(), known: HashMap::new() }
    }

    /// Reads the text of /proc/diskstats.
    pub(super) fn read(&mut self, text: &str, into: &mut Readings) -> Result<(), String> {
        each_line(text, |line| self.device(line, into))?;
        self.known.retain(|_, known| std::mem::take(&mut known.is_there));
        Ok(())
    }

    fn device(&mut self, line: &str, into: &mut Readings) -> Result<(), String> {
        // The numbers of the device come first.
        let mut words = line.split_ascii_whitespace().skip(2).peekable();
        let name = words.next().ok_or("it ends before the device's name")?;
        let known = self.known.entry(name.to_owned()).or_insert_with(|| KnownDisk {
            is_counted: is_counted(&self.sys_block, name),
            times: Default::default(),
            is_there: true,
        });
        known.is_there = true;
        if !known.is_counted {
            return Ok(());
        }
        let mut numbers = [0; COLUMNS.len()];
        let mut count = 0;
        while count < COLUMNS.len() && (words.peek().is_some() || !MAY_END.contains(&count)) {
            numbers[count] = number(&mut words, COLUMNS[count].0)?;
            count += 1;
        }
        let often_unused = OFTEN_UNUSED.iter().any(|kind| name.starts_with(kind));
        if often_unused && numbers[READS] == 0 && numbers[WRITES] == 0 {
            return Ok(());
        }
        let columns = COLUMNS.iter().zip(&mut known.times).take(count);
        for ((&(_, metric), time), value) in columns.zip(numbers) {
            let value = match metric.rsplit('_').next() {
                Some("bytes") => scaled(value, UnitSize(SECTOR_BYTES)),
                Some("ns") => time.ns(value),
                _ => as_stored(value),
            };
            match metric {
                "" => {}
                IN_FLIGHT => into.gauge(Host, metric, name, value),
                _ => into.counter(Host, metric, name, value),
            }
        }
        Ok(())
    }
}

fn is_counted(sys_block: &Path, name: &str) -> bool {
    // In sysfs no name holds a slash.
    let directory = sys_block.join(name.replace('/', "!"));
    let slaves = std::fs::read_dir(directory.join("slaves"));
    let lies_on_others = slaves.is_ok_and(|mut slaves| slaves.next().is_some());
    directory.exists() && !lies_on_others && !is_stacked(name)
}

/// It is judged by its name alone, which is all that there is of another machine's disks.
pub(crate) fn is_stacked(name: &str) -> bool {
    STACKED.iter().any(|driver| name.starts_with(driver))
}

#[cfg(test)]
mod tests {
    use super::{Disks, Milliseconds, is_stacked};
    use crate::readings::Readings;
    use tempfile::TempDir;

    const LINUX_6_18: &str = "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
   7       1 loop1 52 0 2088 11 0 0 0 0 0 16 11 0 0 0 0 0 0
   1       1 ram1 52 0 2088 11 0 0 0 0 0 16 11 0 0 0 0 0 0
 254       0 vda 11803787 748864 583141826 15949797 22770130 3304120 2925780937 18172392 5 2640208 \
 35039568 913350 2016 1868586112 264750 4205880 652628
 254       1 vda1 11803787 748864 583141826 15949797 22770130 3304120 2925780937 18172392 0 \
 2640208 35039568 913350 2016 1868586112 264750 4205880 652628
 253       0 zram0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
";
    const LINUX_4_15: &str = "   8       0 sda 1000 10 80000 500 2000 20 160000 900 0 1200 1400
   8       1 sda1 900 10 70000 400 1900 20 150000 800 0 1100 1200
 104       0 cciss/c0d0 5 0 40 1 0 0 0 0 0 1 1
";
    const LINUX_4_19: &str =
        "   8       0 sda 1000 10 80000 500 2000 20 160000 900 0 1200 1400 7 0 56 1\n";

    fn sys_block(names: &[&str]) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        directory
    }

    fn read(disks: &mut Disks, text: &str) -> Result<Readings, String> {
        let mut readings = Readings::default();
        disks.read(text, &mut readings)?;
        Ok(readings)
    }

    #[test]
    fn whole_disks_of_a_new_kernel() {
        let sys = sys_block(&["loop0", "loop1", "ram1", "vda", "zram0"]);
        let mut disks = Disks::below(sys.path());
        let readings = read(&mut disks, LINUX_6_18).unwrap();
        for (name, value) in [
            ("disk_reads", 11_803_787),
            ("disk_read_bytes", 583_141_826 * 512),
            ("disk_read_ns", 15_949_797_000_000),
            ("disk_writes", 22_770_130),
            ("disk_write_bytes", 2_925_780_937 * 512),
            ("disk_write_ns", 18_172_392_000_000),
            ("disk_in_flight", 5),
            ("disk_busy_ns", 2_640_208_000_000),
            ("disk_queue_ns", 35_039_568_000_000),
            ("disk_flushes", 4_205_880),
            ("disk_flush_ns", 652_628_000_000),
        ] {
            assert_eq!(readings.value(name, "vda"), Some(value), "{name}");
        }
        // Partitions are in their disks, loop devices in that of their file; of disks in memory
        // only those that are used are shown.
        assert_eq!(readings.value("disk_reads", "vda1"), None);
        assert_eq!(readings.value("disk_reads", "loop1"), None);
        assert_eq!(readings.value("disk_reads", "ram1"), Some(52));
        assert_eq!(readings.values().len(), 2 * 11);
    }

    #[test]
    fn what_lies_on_other_disks_is_not_counted_again() {
        let names = ["sda", "sdb", "md0", "dm-0", "bcache0", "new0"];
        let sys = sys_block(&names);
        std::fs::create_dir(sys.path().join("sda/slaves")).unwrap();
        // A driver that is not known by its name.
        std::fs::create_dir_all(sys.path().join("new0/slaves/sdb")).unwrap();
        let lines = names.map(|name| format!("8 0 {name} 7 0 8 1 0 0 0 0 0 1 1\n"));
        let readings = read(&mut Disks::below(sys.path()), &lines.concat()).unwrap();
        for name in names {
            let expected = name.starts_with("sd").then_some(7);
            assert_eq!(readings.value("disk_reads", name), expected, "{name}");
        }
        assert!(is_stacked("md127") && is_stacked("dm-12") && is_stacked("loop3"));
        assert!(!is_stacked("mmcblk0") && !is_stacked("nvme0n1"));
    }

    #[test]
    fn older_kernels_count_no_flushes() {
        let sys = sys_block(&["sda", "cciss!c0d0"]);
        for text in [LINUX_4_15, LINUX_4_19] {
            let readings = read(&mut Disks::below(sys.path()), text).unwrap();
            assert_eq!(readings.value("disk_queue_ns", "sda"), Some(1_400_000_000));
            assert_eq!(readings.value("disk_flushes", "sda"), None);
            assert_eq!(readings.value("disk_reads", "sda1"), None);
        }
        let readings = read(&mut Disks::below(sys.path()), LINUX_4_15).unwrap();
        assert_eq!(readings.value("disk_reads", "cciss/c0d0"), Some(5));
    }

    #[test]
    fn milliseconds_go_on_after_32_bits() {
        let mut time = Milliseconds::default();
        assert_eq!(time.ns(4_294_967_290), 4_294_967_290_000_000);
        assert_eq!(time.ns(4), 4_294_967_300_000_000);
        assert_eq!(time.ns(5), 4_294_967_301_000_000);
        assert_eq!(time.ns(4_000_000_000), 8_294_967_296_000_000);
        assert_eq!(time.ns(1), 8_589_934_593_000_000);
        // Another disk of that name.
        let mut time = Milliseconds::default();
        assert_eq!(time.ns(90_000), 90_000_000_000);
        assert_eq!(time.ns(7), 7_000_000);
        // A kernel that keeps more bits.
        assert_eq!(time.ns(1 << 33), (1 << 33) * 1_000_000);
    }

    #[test]
    fn disks_come_and_go() {
        let sys = sys_block(&["sda", "sdb"]);
        let mut disks = Disks::below(sys.path());
        let sda = "8 0 sda 1 0 8 1 0 0 0 0 0 1 1\n";
        let sdb = "8 16 sdb 0 0 0 0 0 0 0 4294967290 0 0 0\n";
        let both = read(&mut disks, &format!("{sda}{sdb}")).unwrap();
        // A real disk is shown before its first I/O.
        assert_eq!(both.value("disk_reads", "sdb"), Some(0));
        let one = read(&mut disks, sda).unwrap();
        assert_eq!(one.value("disk_reads", "sdb"), None);
        let again = read(&mut disks, "8 16 sdb 0 0 0 0 0 0 0 1 0 0 0\n").unwrap();
        assert_eq!(again.value("disk_write_ns", "sdb"), Some(1_000_000));
    }

    #[test]
    fn other_forms_are_errors() {
        let sys = sys_block(&["sda"]);
        for (text, says) in [
            ("8 0 sdb 1\n8 0\n", "line 2: it ends before the device's name"),
            ("8 0 sda 1 2 x 4\n", "line 1: the sectors read is \"x\""),
            ("8 0 sda 1 2 3 4\n", "line 1: it ends before the writes"),
            (
                "8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
                "line 1: it ends before the time of flushes",
            ),
        ] {
            let error = read(&mut Disks::below(sys.path()), text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
