//! A profile of a real directory: what its storage gives, measured by fio.

use crate::error::{StorageError, StorageResult};
use crate::fio::{Content, Fio, FioJob, FioResult, JobWatch, Pattern, RANDOM_BYTES, TestFile};
use device::{Profile, SEQUENTIAL_QUEUE_DEPTH, Sheet, SolidState};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Depths at which random reads are tried, until more outstanding requests give no more of them.
const DEPTHS: [u32; 5] = [4, 16, 32, 64, 128];
/// The reference depth, which is always measured.
const REFERENCE_DEPTH: u32 = 32;
/// So much more has a deeper queue to give.
const KNEE_GAIN: f64 = 1.05;
const SETTLE: Duration = Duration::from_millis(500);
/// A flush that takes less waits for no cache to be written.
pub(crate) const PROTECTED_FLUSH_US_MAX: f64 = 100.0;
/// What a profile may say; a device whose reads vary more is described by its mean.
const VARIATION_MAX: f64 = 1.0;

/// What is asked.
#[derive(Clone, Debug)]
pub struct ProbeOptions {
    pub directory: PathBuf,
    /// The measured time of each job.
    pub runtime: Duration,
}

/// What a directory's storage gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Probed {
    /// One at a time.
    pub read: FioResult,
    pub write: FioResult,
    /// Results by queue depth, in rising order.
    pub deep_reads: Vec<(u32, FioResult)>,
    pub deep_write: FioResult,
    pub sequential_read: FioResult,
    pub sequential_write: FioResult,
    pub flushed_write: FioResult,
    /// Past the page cache; without it, the cache was measured too.
    pub direct: bool,
    /// The length of the measured file: random requests went no further.
    pub file_bytes: u64,
    pub facts: StorageFacts,
}

/// What is known of the storage without measuring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageFacts {
    /// The name that the device has for itself.
    pub model: Option<String>,
    pub rotational: Option<bool>,
    /// The schedulers of its requests, the one in use in brackets: `[none] mq-deadline`.
    pub scheduler: Option<String>,
    pub capacity_bytes: u64,
}

/// The names of a new profile.
#[derive(Clone, Debug)]
pub struct Naming {
    pub name: String,
    /// The source of every measured figure: `measured by fio-3.33 on 2026-11-21 on /mnt/x (a
    /// model)`
    pub source: String,
}

/// Longest time of a probe.
pub fn expected_duration(runtime: Duration) -> Duration {
    // Reads and writes one at a time and at a depth, two sequential jobs, flushes.
    let jobs = DEPTHS.len() as u32 + 6;
    (runtime + SETTLE) * jobs
}

/// Measures; `on_progress` is told what, and the time that the jobs have taken.
pub fn probe(
    fio: &Fio,
    options: &ProbeOptions,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(&str, Duration),
) -> StorageResult<Probed> {
    on_progress("laying out the file", Duration::ZERO);
    let file = TestFile::lay_out(&options.directory, Content::Random, stop)?;
    let direct = file.takes_direct_io();
    let mut done = Duration::ZERO;
    let mut run = |what: &str, pattern, queue_depth| -> StorageResult<FioResult> {
        let new = FioJob::new(pattern, queue_depth, options.runtime);
        let job = FioJob { ramp: SETTLE, direct, ..new };
        let mut watch =
            JobWatch { stop, on_tick: &mut |elapsed| on_progress(what, done + elapsed) };
        let measured = fio.run_bare(&job, &file, &mut watch)?;
        done += job.ramp + job.runtime;
        Ok(measured)
    };
    let read = run("random reads", Pattern::RandomRead, 1)?;
    let mut deep_reads: Vec<(u32, FioResult)> = Vec::new();
    for depth in DEPTHS {
        let measured = run("random reads, deeper", Pattern::RandomRead, depth)?;
        let before = deep_reads.last().map_or(read.iops, |(_, last)| last.iops);
        let gains = measured.iops > before * KNEE_GAIN;
        deep_reads.push((depth, measured));
        if !gains && depth >= REFERENCE_DEPTH {
            break;
        }
    }
    let sequential = SEQUENTIAL_QUEUE_DEPTH;
    Ok(Probed {
        read,
        deep_reads,
        write: run("random writes", Pattern::RandomWrite, 1)?,
        sequential_read: run("sequential reads", Pattern::SequentialRead, sequential)?,
        sequential_write: run("sequential writes", Pattern::SequentialWrite, sequential)?,
        flushed_write: run("flushes", Pattern::FlushedWrite, 1)?,
        // Last, because it leaves the device with the most to do.
        deep_write: run("random writes, deeper", Pattern::RandomWrite, Probed::WRITE_DEPTH)?,
        direct,
        file_bytes: file.bytes,
        facts: facts(&options.directory),
    })
}

impl Probed {
    /// Queue depths of what is measured at one depth only.
    pub const WRITE_DEPTH: u32 = 32;

    /// The most random reads, and the least depth that gives them but for a few.
    pub fn best_reads(&self) -> (u32, f64) {
        let most = self.deep_reads.iter().map(|(_, m)| m.iops);
        let most = most.fold(self.read.iops, f64::max);
        let enough = |(_, m): &&(u32, FioResult)| m.iops * KNEE_GAIN >= most;
        match self.deep_reads.iter().find(enough) {
            Some((depth, measured)) => (*depth, measured.iops),
            None => (1, self.read.iops),
        }
    }

    /// What a user must know of a disk's profile; `None` where nothing calls itself one (virtual
    /// machines' storage often does).
    pub fn caveat(&self) -> Option<String> {
        (self.facts.rotational == Some(true)).then(|| {
            format!(
                "storage that calls itself a disk, described as it behaves over the measured file \
                 of {} MiB: seeks over a whole disk are longer",
                self.file_bytes >> 20
            )
        })
    }

    /// A profile that plays this storage.
    ///
    /// # Errors
    /// Where the figures contradict each other so that no device could have them; says which.
    pub fn profile(&self, naming: &Naming) -> StorageResult<Profile> {
        let (depth, read_iops) = self.best_reads();
        let read_latency_us = tenth(self.read.latency.mean_us);
        // A single reader waits for wake-ups that several share: what is outstanding has to explain
        // the rate (Little's law).
        let needed = (read_iops * read_latency_us / 1e6).ceil() as u32;
        let flush_us = tenth(self.flushed_write.flush.map_or(1.0, |f| f.mean_us));
        let variation = self.read.latency.deviation_us / self.read.latency.mean_us.max(0.1);
        // Requests of 4 KiB move no more than longer ones do; where they seem to, the longer ones
        // were measured too low.
        let small_mb_per_s = |iops: f64| iops * f64::from(RANDOM_BYTES) / 1e6;
        let reading = self.sequential_read.mb_per_s.max(small_mb_per_s(read_iops));
        let writing = self.sequential_write.mb_per_s.max(small_mb_per_s(self.deep_write.iops));
        // And a request's transfer is a part of its time: bytes per us are MB/s.
        let shortest_us = self.read.latency.mean_us.min(self.write.latency.mean_us);
        let single = f64::from(RANDOM_BYTES) / tenth(shortest_us);
        let link = reading.max(writing).max(single).ceil();
        let sheet = Sheet {
            random_read_iops: Some(whole(read_iops)),
            random_read_queue_depth: Some(depth.max(needed)),
            random_write_iops: Some(whole(self.deep_write.iops)),
            random_write_queue_depth: Some(Probed::WRITE_DEPTH),
            sequential_read_mb_per_s: Some(tenth(reading)),
            sequential_write_mb_per_s: Some(tenth(writing)),
            read_latency_us: Some(read_latency_us),
            flush_latency_us: Some(flush_us),
            ..Sheet::default()
        };
        let solid_state = SolidState {
            read_latency_us,
            random_read_iops: whole(read_iops),
            sequential_read_mb_per_s: tenth(reading),
            write_latency_us: tenth(self.write.latency.mean_us),
            random_write_iops: whole(self.deep_write.iops),
            sequential_write_mb_per_s: tenth(writing),
            flush_us,
            power_loss_protected: flush_us <= PROTECTED_FLUSH_US_MAX,
            interface_mb_per_s: Some(link),
            latency_variation: Some((variation * 100.0).round().min(VARIATION_MAX * 100.0) / 100.0),
            ..SolidState::default()
        };
        let mut profile = Profile {
            name: naming.name.clone(),
            title: self.facts.model.clone().unwrap_or_else(|| naming.name.clone()),
            capacity_bytes: self.facts.capacity_bytes,
            sheet,
            solid_state: Some(solid_state),
            ..Profile::default()
        };
        cite(&mut profile, &CONCLUDED, &naming.source);
        profile.validate().map_err(|error| {
            let why = format!(
                "what was measured does not fit together: {error}; measure longer with --seconds, \
                 on a quiet machine"
            );
            StorageError::BadProfile { path: PathBuf::from(&naming.name), why }
        })?;
        Ok(profile)
    }
}

pub(crate) fn whole(value: f64) -> f64 {
    value.round().max(1.0)
}

pub(crate) fn tenth(value: f64) -> f64 {
    ((value * 10.0).round() / 10.0).max(0.1)
}

/// Every figure says where it is from.
pub(crate) fn cite(profile: &mut Profile, concluded: &[(&str, &str)], measured: &str) {
    for key in profile.figures() {
        let source = concluded.iter().find(|(concluded, _)| *concluded == key);
        let source = source.map_or(measured, |(_, source)| source);
        profile.sources.insert(key, source.to_owned());
    }
}

const CONCLUDED: [(&str, &str); 3] = [
    ("capacity_bytes", "the size of the file system"),
    ("sheet.random_write_queue_depth", "a choice: the depth at which random writes were measured"),
    ("solid_state.interface_mb_per_s", "derived: the fastest of what was measured"),
];

/// What the system says of the storage below a directory.
pub fn facts(directory: &Path) -> StorageFacts {
    let capacity_bytes = rustix::fs::statvfs(directory)
        .map_or(0, |stat| stat.f_blocks.saturating_mul(stat.f_frsize));
    let disk = std::fs::metadata(directory).ok().and_then(|metadata| block_device(metadata.dev()));
    let read = |name: &str| {
        let text = std::fs::read_to_string(disk.as_ref()?.join(name)).ok()?;
        let text = text.trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    StorageFacts {
        model: read("device/model"),
        rotational: read("queue/rotational").map(|text| text == "1"),
        scheduler: read("queue/scheduler"),
        capacity_bytes,
    }
}

/// The whole device of a file system, in /sys; none for file systems without one.
fn block_device(number: u64) -> Option<PathBuf> {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let device = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    if device.join("partition").exists() {
        return device.parent().map(Path::to_owned);
    }
    Some(device)
}

#[cfg(test)]
mod tests {
    use super::{Naming, Probed, StorageFacts};
    use crate::fio::{FioResult, Latency};
    use device::Profile;

    fn measured(iops: f64, mean_us: f64, bytes: f64) -> FioResult {
        let latency = Latency {
            mean_us,
            deviation_us: mean_us * 3.0,
            p50_us: mean_us,
            p99_us: mean_us,
            max_us: mean_us,
        };
        FioResult {
            iops,
            mb_per_s: iops * bytes / 1e6,
            requests: 1000,
            latency,
            flush: Some(Latency { mean_us: 900.0, ..latency }),
        }
    }

    fn probed() -> Probed {
        let reads = [(4, 30_000.0), (16, 80_000.0), (32, 99_000.0), (64, 100_000.0)];
        Probed {
            read: measured(9_000.0, 110.04, 4096.0),
            write: measured(20_000.0, 45.0, 4096.0),
            deep_reads: reads.map(|(depth, iops)| (depth, measured(iops, 400.0, 4096.0))).to_vec(),
            deep_write: measured(60_000.0, 500.0, 4096.0),
            sequential_read: measured(4_000.0, 400.0, 131_072.0),
            sequential_write: measured(3_000.0, 400.0, 131_072.0),
            flushed_write: measured(1_000.0, 45.0, 4096.0),
            direct: true,
            file_bytes: 1 << 30,
            facts: StorageFacts { capacity_bytes: 1 << 38, ..StorageFacts::default() },
        }
    }

    /// How many numbers are written: sources of others are refused, so that as many sources mean
    /// one for each.
    fn figures(profile: &Profile) -> usize {
        let table = toml::Table::try_from(profile).unwrap();
        let tables = table.values().filter_map(toml::Value::as_table);
        let values = table.values().chain(tables.flat_map(toml::Table::values));
        values.filter(|value| value.is_integer() || value.is_float()).count()
    }

    #[test]
    fn disks_are_described_with_a_caveat() {
        let mut probed = probed();
        assert_eq!(probed.caveat(), None);
        probed.facts.rotational = Some(true);
        let caveat = probed.caveat().unwrap();
        assert!(caveat.contains("1024 MiB"), "{caveat}");
    }

    #[test]
    fn a_profile_of_what_was_measured_is_valid() {
        let naming = Naming { name: "mine".to_owned(), source: "measured".to_owned() };
        let mut probed = probed();
        assert_eq!(probed.best_reads(), (32, 99_000.0));
        let profile = probed.profile(&naming).unwrap();
        let text = toml::to_string(&profile).unwrap();
        assert_eq!(Profile::parse(&text).unwrap(), profile);
        assert_eq!(profile.sheet.read_latency_us, Some(110.0));
        assert_eq!(figures(&profile), profile.sources.len());
        assert!(!profile.solid_state.unwrap().power_loss_protected);
        assert_eq!(profile.sources["sheet.flush_latency_us"], "measured");

        // Memory: no reads outstanding explain nothing.
        probed.read = measured(400_000.0, 2.0, 4096.0);
        probed.deep_reads = vec![(4, measured(300_000.0, 10.0, 4096.0))];
        assert_eq!(probed.best_reads(), (1, 400_000.0));
        probed.profile(&naming).unwrap();
        probed.facts.capacity_bytes = 0;
        let error = probed.profile(&naming).unwrap_err().to_string();
        assert!(error.contains("capacity_bytes"), "{error}");
    }
}
