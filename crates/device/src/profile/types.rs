//! What a profile holds, table by table.

use super::builtins::builtin;
use crate::model::cleaning::Fill;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// A device. Exactly one of `solid_state`, `disk` and `array` says how it works. Each figure's
/// origin is in `sources`, by its dotted key. Tables come last, as TOML wants them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The name on the command line: `nvme-pm1725`.
    pub name: String,
    /// For people.
    pub title: String,
    pub capacity_bytes: u64,
    /// Share of the capacity that holds live data, 0 to 1. Flash with spare area copies less for
    /// its erased blocks, and an arm moves over the first part of the addresses only. Without it:
    /// 1, as sheets are measured.
    pub occupancy: Option<f64>,
    /// Bytes of flash that are erased when the device begins; the others hold live data. Until they
    /// are written, nothing is copied. Without it: the device has been written for long.
    pub trimmed_bytes: Option<u64>,
    pub price_usd: Option<f64>,
    #[serde(default)]
    pub sheet: Sheet,
    pub solid_state: Option<SolidState>,
    pub disk: Option<Disk>,
    pub array: Option<Array>,
    pub limits: Option<Limits>,
    #[serde(default)]
    pub sources: BTreeMap<String, String>,
}

/// Requests outstanding where a sheet speaks of sequential ones: enough for 2 GB/s at a millisecond
/// each.
pub const SEQUENTIAL_QUEUE_DEPTH: u32 = 16;
/// Of the requests of [`Sheet::random_mixed_iops`]; the others are reads.
pub const MIXED_WRITE_SHARE: f64 = 0.3;

/// What the device promises. What is absent is not promised, and not verified.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sheet {
    /// 4 KiB, random over the device, at this queue depth.
    pub random_read_iops: Option<f64>,
    pub random_read_queue_depth: Option<u32>,
    /// Sustained: for as long as one likes ([`crate::Device::precondition`]).
    pub random_write_iops: Option<f64>,
    pub random_write_queue_depth: Option<u32>,
    /// What the device takes after a rest, at the same queue depth, for [`Profile::peak_seconds`].
    pub random_write_peak_iops: Option<f64>,
    /// Seven such reads for three such writes, sustained, at the depth of reads.
    pub random_mixed_iops: Option<f64>,
    /// Megabytes (10^6) per second with requests of 128 KiB, [`SEQUENTIAL_QUEUE_DEPTH`] of them
    /// outstanding.
    pub sequential_read_mb_per_s: Option<f64>,
    pub sequential_write_mb_per_s: Option<f64>,
    /// Mean of a random 4 KiB read, one at a time.
    pub read_latency_us: Option<f64>,
    /// Mean of a flush behind one 4 KiB write that bypassed the page cache.
    pub flush_latency_us: Option<f64>,
}

/// A device without moving parts: SSDs, and volumes behind a network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SolidState {
    /// Mean time of a random 4 KiB read, one at a time, with its transfer.
    pub read_latency_us: f64,
    /// Random 4 KiB reads per second that the controller serves, however many are outstanding.
    pub random_read_iops: f64,
    /// Megabytes (10^6) per second. Reads that go on where one ended are read ahead, and take as
    /// long as a write into the cache.
    pub sequential_read_mb_per_s: f64,
    /// Mean time of a 4 KiB write into a cache that has room, with its transfer.
    pub write_latency_us: f64,
    /// Random 4 KiB writes per second that the cache drains for ever.
    pub random_write_iops: f64,
    /// Megabytes (10^6) per second that the cache drains of sequential or large writes.
    pub sequential_write_mb_per_s: f64,
    /// Time of a flush with little to write.
    pub flush_us: f64,
    /// Whether the cache survives a loss of power: then a flush waits for no drain.
    pub power_loss_protected: bool,
    /// Reads under way at a time, each on a unit (die, plane) of its own. Without it: as many as
    /// `random_read_iops` needs, and a quarter more.
    pub units: Option<u32>,
    /// Megabytes (10^6) per second of the link to the host. Without it: the greater of the
    /// sequential figures.
    pub interface_mb_per_s: Option<f64>,
    /// Whether reads and writes share the link (SATA). Without it: no.
    pub interface_half_duplex: Option<bool>,
    /// Writes that are taken before the flash has them. Without it: 16 MiB.
    pub cache_bytes: Option<u64>,
    /// Random 4 KiB writes per second that the cache drains until `burst_bytes` are used up; both
    /// or none.
    pub random_write_peak_iops: Option<f64>,
    /// Random writes at the peak rate that fit into space erased in advance. Idle time brings it
    /// back.
    pub burst_bytes: Option<u64>,
    /// Mean time of a random 4 KiB read while the cache drains. Without it: twice
    /// `read_latency_us`.
    pub read_latency_while_writing_us: Option<f64>,
    /// Standard deviation of service times as a share of their mean, 0 to 1. Without it: 0.2.
    pub latency_variation: Option<f64>,
    /// Writes that the device holds, all of which a flush waits for, on a link whose flush is no
    /// command of its queue (SATA: 32); what comes meanwhile waits for the flush. Without it: a
    /// flush waits for acknowledged writes only, and nothing waits for it.
    pub flush_queue_depth: Option<u32>,
    /// When the power goes, a write is not torn inside of an aligned run of this length: a power of
    /// two from 512 to 65536. Without it: 512.
    pub atomic_write_bytes: Option<u64>,
    /// Whether flushes are acknowledged and do nothing. Without it: no.
    pub flush_lies: Option<bool>,
}

/// A device with platters and one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Revolutions per minute.
    pub rpm: f64,
    /// Mean time of a seek between two random places.
    pub average_seek_ms: f64,
    /// Megabytes (10^6) per second from the platter, mean over the zones.
    pub sequential_mb_per_s: f64,
    /// Time of a seek to the next track. Without it: a fifteenth of the average.
    pub track_to_track_seek_ms: Option<f64>,
    /// Time of the longest seek. Without it: twice the average.
    pub full_stroke_seek_ms: Option<f64>,
    /// Time from a command to the arm's start. Without it: 100.
    pub command_overhead_us: Option<f64>,
    /// Requests among which the disk chooses the next, 1 to 256; 1: in their order. Without it: 32.
    pub queue_depth: Option<u32>,
    /// What is read ahead of a reader while nothing else is to do. Without it: 1 MiB.
    pub read_ahead_bytes: Option<u64>,
    /// Writes that are taken before the platter has them, and are lost with the power. 0: writes go
    /// through. Without it: 0.
    pub write_cache_bytes: Option<u64>,
    /// Megabytes (10^6) per second of the link to the host. Without it: 600.
    pub interface_mb_per_s: Option<f64>,
    /// Time of a flush with nothing to write. Without it: 100.
    pub flush_us: Option<f64>,
    /// As of [`SolidState`].
    pub atomic_write_bytes: Option<u64>,
    /// As of [`SolidState`].
    pub flush_lies: Option<bool>,
}

/// Several alike devices behind one address space. `member` comes last: it may be a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Array {
    /// 0: striped; 1: every member has everything; 10: striped over mirrored pairs.
    pub level: u32,
    pub members: u32,
    /// How much lies on one member before the next one's turn; needed by levels 0 and 10.
    pub stripe_bytes: Option<u64>,
    pub member: Member,
}

/// What an array is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Member {
    /// One that comes with mydyno.
    Builtin(String),
    Inline(Box<Profile>),
}

/// What a provider allows, reads and writes together, whatever the device could do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub iops: Option<f64>,
    /// Megabytes (10^6) per second.
    pub mb_per_s: Option<f64>,
    /// A request counts once for each begun run of this length. Without it: 256 KiB.
    pub request_bytes: Option<u64>,
}

/// A profile that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProfileError(pub String);

impl Profile {
    /// Does an arm move for a request? An array is what its members are.
    pub fn is_disk(&self) -> bool {
        let member = self.array.as_ref().and_then(Array::profile);
        member.as_ref().unwrap_or(self).disk.is_some()
    }

    /// How many times faster it takes sustained random writes, used by so much, than a full one.
    pub fn random_write_gain(&self, occupancy: f64) -> f64 {
        let member = self.array.as_ref().and_then(Array::profile);
        let solid = member.as_ref().unwrap_or(self).solid_state.as_ref();
        let gain =
            solid.map_or(1.0, |it| it.random_write_iops_at(occupancy) / it.random_write_iops);
        let allowed = self.limits.zip(self.sheet.random_write_iops);
        gain.min(allowed.map_or(f64::INFINITY, |(limits, full)| limits.pages_per_s() / full))
            .max(1.0)
    }

    /// How long random writes at full speed take to bring a disk's write cache to the rate of
    /// `sheet.random_write_iops`: the ramp time of a test of it. [`crate::Device::precondition`]
    /// does that for solid-state devices.
    pub fn write_cache_settles_in(&self) -> Duration {
        let member = self.array.as_ref().and_then(Array::profile);
        let disk = member.as_ref().unwrap_or(self).disk.as_ref();
        // A full cache is an ordered one, which drains at another rate than single writes.
        let is_cached = |disk: &Disk| disk.write_cache_bytes.is_some_and(|bytes| bytes > 0);
        Duration::from_secs(if disk.is_some_and(is_cached) { 10 } else { 0 })
    }

    /// How long the peak of `sheet.random_write_peak_iops` lasts after a rest; `None` where there
    /// is none.
    pub fn peak_seconds(&self) -> Option<f64> {
        let solid = self.solid_state.as_ref()?;
        let (peak, burst) = (solid.random_write_peak_iops?, solid.burst_bytes?);
        Some(burst as f64 / 4096.0 / peak)
    }

    /// Share of the capacity that holds live data.
    pub fn occupancy(&self) -> f64 {
        self.occupancy.unwrap_or(1.0)
    }

    /// Bytes from the first address on over which data lie.
    pub fn used_bytes(&self) -> u64 {
        (self.capacity_bytes as f64 * self.occupancy()) as u64
    }

    /// The same device with another share of live data, which all members of an array have, and
    /// written for long.
    pub fn occupied(&self, share: f64) -> Profile {
        Profile { occupancy: Some(share), trimmed_bytes: None, ..self.clone() }
    }

    /// The same with nothing but its live data since it was trimmed, on a device of so many times
    /// this one's size. A disk has nothing to trim.
    #[must_use]
    pub fn trimmed(self, size: f64) -> Profile {
        let member = self.array.as_ref().and_then(Array::profile);
        let solid = member.as_ref().unwrap_or(&self).solid_state.as_ref();
        let trimmed_bytes = solid.map(|solid| {
            // No drive has more flash than twice its capacity, whatever its figures say.
            let flash_bytes = self.capacity_bytes as f64 / solid.fill_at(1.0).0.max(0.5);
            let erased_share = 1.0 - solid.fill_at(self.occupancy()).0;
            (flash_bytes * erased_share * size) as u64
        });
        Profile { trimmed_bytes, ..self }
    }

    /// How many pages at random places the device reads, or writes, in a second, one after the
    /// other; whichever is slower. For estimates.
    pub fn random_pages_per_s(&self) -> f64 {
        let occupancy = self.occupancy();
        let single = |profile: &Profile| match (&profile.solid_state, &profile.disk) {
            (Some(solid), _) => solid.random_read_iops.min(solid.random_write_iops_at(occupancy)),
            (_, Some(disk)) => {
                1e6 / (disk.average_seek_ms * 1e3
                    + disk.revolution_us() / 2.0
                    + disk.command_overhead_us())
            }
            (None, None) => 1.0,
        };
        let own = match &self.array {
            Some(array) => {
                let member = array.profile().filter(|member| member.array.is_none());
                member.map_or(1.0, |member| single(&member)) * f64::from(array.columns())
            }
            None => single(self),
        };
        self.limits.map_or(own, |limits| own.min(limits.pages_per_s())).max(1.0)
    }
}

/// Can this share of a device hold its data? Less than a thousandth is nobody's drive.
pub fn is_occupancy(share: f64) -> bool {
    (0.001..=1.0).contains(&share)
}

impl SolidState {
    pub(crate) fn interface_mb_per_s(&self) -> f64 {
        let sequential = self.sequential_read_mb_per_s.max(self.sequential_write_mb_per_s);
        self.interface_mb_per_s.unwrap_or(sequential)
    }

    pub(crate) fn cache_bytes(&self) -> u64 {
        self.cache_bytes.unwrap_or(16 << 20)
    }

    /// Drain rate after a rest.
    pub(crate) fn peak_iops(&self) -> f64 {
        self.random_write_peak_iops.unwrap_or(self.random_write_iops)
    }

    /// Random 4 KiB writes per second that the cache drains for ever, where so much of the device
    /// is live data. How much of its flash is spare follows from the rate of a full one, as
    /// `random_write_iops` has it, and from that of its flash.
    pub fn random_write_iops_at(&self, occupancy: f64) -> f64 {
        let flash_pages_per_s = self.sequential_write_mb_per_s * 1e6 / 4096.0;
        let pages_per_s = flash_pages_per_s / self.fill_at(occupancy).amplification();
        let most = self.random_write_peak_iops.unwrap_or(f64::INFINITY);
        pages_per_s.clamp(self.random_write_iops, most.max(self.random_write_iops))
    }

    /// The share of all flash that is live data then.
    pub(crate) fn fill_at(&self, occupancy: f64) -> Fill {
        let flash_pages_per_s = self.sequential_write_mb_per_s * 1e6 / 4096.0;
        let full = Fill::by_amplification(flash_pages_per_s / self.random_write_iops);
        Fill(full.0 * occupancy)
    }

    /// Time on a unit of a 4 KiB read: what is not transfer.
    pub(crate) fn unit_us(&self) -> f64 {
        self.read_latency_us - 4096.0 / self.interface_mb_per_s()
    }

    pub(crate) fn units(&self) -> u32 {
        let least = self.random_read_iops * self.unit_us() * 1e-6;
        self.units.unwrap_or_else(|| (least * 1.25).ceil().max(1.0) as u32)
    }
}

impl Disk {
    pub(crate) fn revolution_us(&self) -> f64 {
        60e6 / self.rpm
    }

    pub(crate) fn interface_mb_per_s(&self) -> f64 {
        self.interface_mb_per_s.unwrap_or(600.0)
    }

    pub(crate) fn command_overhead_us(&self) -> f64 {
        self.command_overhead_us.unwrap_or(100.0)
    }

    /// Times in ms of the shortest and the longest seek.
    pub(crate) fn seek_bounds_ms(&self) -> (f64, f64) {
        let average = self.average_seek_ms;
        (
            self.track_to_track_seek_ms.unwrap_or(average / 15.0),
            self.full_stroke_seek_ms.unwrap_or(average * 2.0),
        )
    }
}

impl Array {
    /// Members that hold different data.
    pub(crate) fn columns(&self) -> u32 {
        match self.level {
            0 => self.members,
            10 => self.members / 2,
            _ => 1,
        }
    }

    /// The name where the member is a builtin.
    pub fn builtin_name(&self) -> Option<&str> {
        match &self.member {
            Member::Builtin(name) => Some(name),
            Member::Inline(_) => None,
        }
    }

    /// What it is made of; `None` where no builtin has that name.
    pub fn profile(&self) -> Option<Profile> {
        match &self.member {
            Member::Builtin(name) => builtin(name),
            Member::Inline(profile) => Some(Profile::clone(profile)),
        }
    }
}

impl Limits {
    /// Requests of 4 KiB.
    fn pages_per_s(&self) -> f64 {
        let by_bytes = self.mb_per_s.map(|mb_per_s| mb_per_s * 1e6 / 4096.0);
        self.iops.unwrap_or(f64::INFINITY).min(by_bytes.unwrap_or(f64::INFINITY))
    }

    pub(crate) fn request_bytes(&self) -> u64 {
        self.request_bytes.unwrap_or(256 << 10)
    }
}
