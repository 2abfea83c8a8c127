//! What no device can do. A figure that passes here may be wrong, but the model can live with it.

use super::keys::{self, Figures};
use super::{
    Array, Disk, MIXED_WRITE_SHARE, Member, Profile, ProfileError, Sheet, SolidState, is_occupancy,
};

type Checked = Result<(), ProfileError>;

/// Members of an array; more is a mistake, and every request would visit them.
pub const MEMBERS_MAX: u32 = 32;
const UNITS_MAX: u32 = 4096;
const DISK_QUEUE_DEPTH_MAX: u32 = 256;
/// An address space that adds up in 64 bits, whatever an array makes of it (1 EiB).
const CAPACITY_BYTES_MAX: u64 = 1 << 60;

/// Less is written before anyone looks.
const TRIMMED_BYTES_MIN: u64 = 1 << 20;

/// What no figure of a device is below or above, in whatever unit: what is computed from two of
/// them is a time that can be counted in nanoseconds.
const FIGURE_MIN: f64 = 1e-3;
const FIGURE_MAX: f64 = 1e9;

const MAY_BE_ZERO: [&str; 4] = [
    "solid_state.flush_us",
    "solid_state.latency_variation",
    "disk.command_overhead_us",
    "disk.flush_us",
];

const LINK: &str = "solid_state.interface_mb_per_s";
const WRITES: &str = "solid_state.random_write_iops";
const PEAK: &str = "solid_state.random_write_peak_iops";
const SEQUENTIAL_READ: &str = "solid_state.sequential_read_mb_per_s";
const SEQUENTIAL_WRITE: &str = "solid_state.sequential_write_mb_per_s";
const READ_US: &str = "solid_state.read_latency_us";
const SLOW_READ_US: &str = "solid_state.read_latency_while_writing_us";
const DISK_LINK: &str = "disk.interface_mb_per_s";
/// What is concluded from others.
const SMALL_READS: &str = "solid_state.random_read_iops x 4 KiB in MB/s";
const SMALL_WRITES: &str = "solid_state.random_write_iops x 4 KiB in MB/s";
const SMALL_PEAK: &str = "solid_state.random_write_peak_iops x 4 KiB in MB/s";
const MIXED_WRITES: &str = "three tenths of sheet.random_mixed_iops";
const TRANSFER: &str = "time of 4 KiB at solid_state.interface_mb_per_s in us";

/// The first exceeds the second nowhere, and why.
const BOUNDS: [(&str, &str, &str); 11] = [
    (SEQUENTIAL_READ, LINK, "nothing is faster than the link to the host"),
    (SEQUENTIAL_WRITE, LINK, "nothing is faster than the link to the host"),
    (SMALL_READS, LINK, "random 4 KiB requests cannot move more bytes"),
    (SMALL_WRITES, SEQUENTIAL_WRITE, "random 4 KiB requests cannot move more bytes"),
    (SMALL_PEAK, SEQUENTIAL_WRITE, "random 4 KiB requests cannot move more bytes"),
    (WRITES, PEAK, "the sustained rate is the lower one"),
    (MIXED_WRITES, WRITES, "they are random writes"),
    (TRANSFER, READ_US, "the transfer is a part of it"),
    (TRANSFER, "solid_state.write_latency_us", "the transfer is a part of it"),
    (READ_US, SLOW_READ_US, "writing makes no read faster"),
    ("disk.sequential_mb_per_s", DISK_LINK, "nothing is faster than the link to the host"),
];

/// Rates that a sheet promises, and what may bound them beside the model's figure of that name.
const PROMISES: [(&str, &[&str]); 6] = [
    ("random_read_iops", &["limits.iops"]),
    ("random_write_iops", &["limits.iops"]),
    ("random_write_peak_iops", &["limits.iops"]),
    ("random_mixed_iops", &["limits.iops", "sheet.random_read_iops"]),
    ("sequential_read_mb_per_s", &["limits.mb_per_s", "disk.sequential_mb_per_s"]),
    ("sequential_write_mb_per_s", &["limits.mb_per_s", "disk.sequential_mb_per_s"]),
];

fn refuse(text: impl Into<String>) -> Checked {
    Err(ProfileError(text.into()))
}

pub fn profile(profile: &Profile) -> Checked {
    let named = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    if profile.name.is_empty() || !profile.name.chars().all(named) {
        return refuse(format!(
            "`name` is \"{}\": use lower-case letters, digits and dashes, as in nvme-pm1725",
            profile.name
        ));
    }
    if profile.capacity_bytes < 1 << 20 || profile.capacity_bytes > CAPACITY_BYTES_MAX {
        return refuse(format!(
            "`capacity_bytes` is {}: give the size of the device in bytes, 1 MiB to 1 EiB",
            profile.capacity_bytes
        ));
    }
    if !is_occupancy(profile.occupancy()) {
        return refuse(format!(
            "`occupancy` is {}: give the share of the device that holds data, from 0.001 to 1",
            profile.occupancy()
        ));
    }
    if profile.trimmed_bytes.is_some() && profile.is_disk() {
        return refuse("`trimmed_bytes` is of flash, and a disk has none: leave the key out");
    }
    let trimmed_bytes = profile.trimmed_bytes.unwrap_or(TRIMMED_BYTES_MIN);
    // No drive has more flash than twice its capacity.
    let most = profile.capacity_bytes * 2;
    if !(TRIMMED_BYTES_MIN..=most).contains(&trimmed_bytes) {
        return refuse(format!(
            "`trimmed_bytes` is {trimmed_bytes}: give the bytes of flash that are erased, 1 MiB to \
             twice `capacity_bytes`, or leave the key out"
        ));
    }
    let mut figures = keys::figures(profile)?;
    ranges(&figures)?;
    sheet(&profile.sheet)?;
    match (&profile.solid_state, &profile.disk, &profile.array) {
        (Some(solid), None, None) => {
            solid_state(solid)?;
            conclude(solid, &mut figures);
            bounds(&figures)?;
            units(solid, &profile.sheet)
        }
        (None, Some(it), None) => {
            disk(it)?;
            figures.insert(DISK_LINK.to_owned(), it.interface_mb_per_s());
            bounds(&figures)?;
            positioning(it, &profile.sheet)
        }
        (None, None, Some(it)) => {
            bounds(&figures)?;
            array(it, profile.capacity_bytes)
        }
        (None, None, None) => refuse(
            "the profile does not say how the device works: add one of the tables [solid_state], \
             [disk] and [array]",
        ),
        _ => refuse(
            "the profile has more than one of the tables [solid_state], [disk] and [array]: keep \
             the one that says how the device works",
        ),
    }
}

/// Every figure is a number that a device may have. Lengths and what makes an array are checked
/// where they are used.
fn ranges(figures: &Figures) -> Checked {
    let is_length = |key: &str| key.ends_with("_bytes") && key != "limits.request_bytes";
    let is_here = |key: &str| !is_length(key) && !key.starts_with("array.");
    for (key, value) in figures.iter().filter(|(key, _)| is_here(key)) {
        let (least, or) = match MAY_BE_ZERO.contains(&key.as_str()) {
            true => (0.0, ""),
            false => (FIGURE_MIN, ", or leave the key out if it is optional"),
        };
        if !(least..=FIGURE_MAX).contains(value) {
            return refuse(format!(
                "`{key}` is {value}: give a number from {least} to {FIGURE_MAX}{or}"
            ));
        }
    }
    Ok(())
}

/// Nothing is faster than what it passes through, and a sheet may promise less than its model can
/// do, never more than the 5 % that a measurement is forgiven.
fn bounds(figures: &Figures) -> Checked {
    for (less, more, why) in BOUNDS {
        // A rounding error is none.
        at_most(figures, less, more, 1.001, why)?;
    }
    for (name, others) in PROMISES {
        let own = format!("solid_state.{name}");
        for given in others.iter().copied().chain([own.as_str()]) {
            let why = "the sheet promises more than the model gives";
            at_most(figures, &format!("sheet.{name}"), given, 1.05, why)?;
        }
    }
    Ok(())
}

fn at_most(figures: &Figures, less: &str, more: &str, factor: f64, why: &str) -> Checked {
    match (figures.get(less), figures.get(more)) {
        (Some(value), Some(bound)) if *value > bound * factor => refuse(format!(
            "`{less}` ({value}) exceeds `{more}` ({bound}): {why}; correct one of them"
        )),
        _ => Ok(()),
    }
}

/// What a device without moving parts has where its profile does not say so, and what follows.
fn conclude(solid: &SolidState, figures: &mut Figures) {
    let link = solid.interface_mb_per_s();
    let mixed = figures.get("sheet.random_mixed_iops").map(|iops| iops * MIXED_WRITE_SHARE);
    figures.extend(mixed.map(|writes| (MIXED_WRITES.to_owned(), writes)));
    for (key, value) in [
        (LINK, link),
        (PEAK, solid.peak_iops()),
        (SMALL_READS, solid.random_read_iops * 4096e-6),
        (SMALL_WRITES, solid.random_write_iops * 4096e-6),
        (SMALL_PEAK, solid.peak_iops() * 4096e-6),
        (TRANSFER, 4096.0 / link),
    ] {
        figures.insert(key.to_owned(), value);
    }
}

fn sheet(sheet: &Sheet) -> Checked {
    let written = sheet.random_write_iops.or(sheet.random_write_peak_iops);
    for (name, iops, depth) in [
        ("read", sheet.random_read_iops, sheet.random_read_queue_depth),
        ("write", written, sheet.random_write_queue_depth),
    ] {
        if iops.is_some() != depth.is_some() {
            return refuse(format!(
                "`sheet.random_{name}_iops` and `sheet.random_{name}_queue_depth` belong together: \
                 IOPS mean nothing without the number of requests outstanding; give both or none"
            ));
        }
    }
    if let (Some(iops), Some(depth), Some(latency_us)) =
        (sheet.random_read_iops, sheet.random_read_queue_depth, sheet.read_latency_us)
    {
        let under_way = iops * latency_us * 1e-6;
        // A disk that reorders shortens its service: a figure of depth 1 is the one that latency
        // bounds.
        if depth == 1 && under_way > 1.05 {
            return refuse(format!(
                "`sheet.random_read_iops` ({iops}) at `sheet.random_read_queue_depth` 1 needs \
                 reads of {:.0} us, and `sheet.read_latency_us` is {latency_us}; correct one of \
                 them",
                1e6 / iops
            ));
        }
    }
    Ok(())
}

fn solid_state(solid: &SolidState) -> Checked {
    if solid.latency_variation.is_some_and(|share| share > 1.0) {
        return refuse(
            "`solid_state.latency_variation` is greater than 1: it is the standard deviation of \
             latencies as a share of their mean, typically 0.1 to 0.5",
        );
    }
    if solid.random_write_peak_iops.is_some() != solid.burst_bytes.is_some() {
        return refuse(
            "`solid_state.random_write_peak_iops` and `solid_state.burst_bytes` belong together: a \
             peak has an end; give both or none",
        );
    }
    if solid.cache_bytes() < 1 << 20 {
        return refuse(format!(
            "`solid_state.cache_bytes` is {}: the smallest that is modelled is 1 MiB (1048576)",
            solid.cache_bytes()
        ));
    }
    atomic("solid_state.atomic_write_bytes", solid.atomic_write_bytes)
}

fn atomic(key: &str, bytes: Option<u64>) -> Checked {
    match bytes {
        Some(bytes) if !(512..=65536).contains(&bytes) || !bytes.is_power_of_two() => {
            refuse(format!(
                "`{key}` is {bytes}: a device keeps sectors of 512 bytes whole, blocks of 4096, or \
                 with atomic writes pages such as 16384; give a power of two from 512 to 65536"
            ))
        }
        _ => Ok(()),
    }
}

/// Little's law: what is under way is rate x time, and each read under way needs a unit.
fn units(solid: &SolidState, sheet: &Sheet) -> Checked {
    let units = solid.units();
    if units > UNITS_MAX {
        return refuse(format!(
            "`solid_state.random_read_iops` x `solid_state.read_latency_us` needs {units} \
             `solid_state.units`, and {UNITS_MAX} are the most: lower one of them"
        ));
    }
    let under_way = solid.random_read_iops * solid.unit_us() * 1e-6;
    if under_way > f64::from(units) {
        return refuse(format!(
            "`solid_state.random_read_iops` ({}) x `solid_state.read_latency_us` ({}) is \
             {under_way:.1} reads under way, and there are {units} `solid_state.units`: give at \
             least {:.0} units, or leave `solid_state.units` out",
            solid.random_read_iops,
            solid.read_latency_us,
            under_way.ceil()
        ));
    }
    if let (Some(iops), Some(depth)) = (sheet.random_read_iops, sheet.random_read_queue_depth) {
        let reached = f64::from(depth) / solid.read_latency_us * 1e6;
        if iops > reached * 1.05 {
            return refuse(format!(
                "`sheet.random_read_iops` ({iops}) needs more than `sheet.random_read_queue_depth` \
                 {depth}: with reads of {} us that many give {reached:.0} IOPS; raise the depth",
                solid.read_latency_us
            ));
        }
    }
    Ok(())
}

fn disk(disk: &Disk) -> Checked {
    if disk.queue_depth.is_some_and(|d| d > DISK_QUEUE_DEPTH_MAX) {
        return refuse(format!(
            "`disk.queue_depth` is more than {DISK_QUEUE_DEPTH_MAX}: disks choose among 32 (SATA) \
             to 256 (SAS) requests"
        ));
    }
    atomic("disk.atomic_write_bytes", disk.atomic_write_bytes)?;
    if !(300.0..=100_000.0).contains(&disk.rpm) {
        return refuse(format!(
            "`disk.rpm` is {}: disks turn 5,400 to 15,000 times a minute",
            disk.rpm
        ));
    }
    // The curve through the three figures (model/disk.rs) has to rise from the first to the last
    // cylinder.
    let (least, most) = disk.seek_bounds_ms();
    let (average, most) = (disk.average_seek_ms - least, most - least);
    if average <= 0.0 || average * 3.0 < most || average * 5.0 > most * 3.0 {
        return refuse(format!(
            "`disk.average_seek_ms` ({}) does not lie between its `track_to_track_seek_ms` \
             ({least}) and `full_stroke_seek_ms` ({}) as on a disk: beyond the shortest seek, the \
             longest is 1.67 to 3 times the average",
            disk.average_seek_ms,
            most + least
        ));
    }
    Ok(())
}

/// What arm and platter give.
fn positioning(disk: &Disk, sheet: &Sheet) -> Checked {
    // One at a time, a read waits for half a revolution besides its seek.
    let least_us = disk.average_seek_ms * 500.0 + disk.revolution_us() / 2.0;
    if let (Some(iops), Some(1)) = (sheet.random_read_iops, sheet.random_read_queue_depth)
        && iops > 1e6 / least_us
    {
        return refuse(format!(
            "`sheet.random_read_iops` ({iops}) at depth 1 is more than arm and `disk.rpm` allow \
             ({:.0}); correct one of them",
            1e6 / least_us
        ));
    }
    Ok(())
}

fn array(array: &Array, capacity_bytes: u64) -> Checked {
    let members = array.members;
    let sensible = match array.level {
        0 | 1 => members >= 2,
        10 => members >= 4 && members.is_multiple_of(2),
        level => {
            return refuse(format!(
                "`array.level` is {level}: 0 (striped), 1 (mirrored) and 10 (striped over mirrored \
                 pairs) are modelled"
            ));
        }
    };
    if !sensible || members > MEMBERS_MAX {
        return refuse(format!(
            "`array.members` is {members}: levels 0 and 1 have 2 to {MEMBERS_MAX}, level 10 an \
             even number from 4 to {MEMBERS_MAX}"
        ));
    }
    match (array.level, array.stripe_bytes) {
        (1, Some(_)) => {
            return refuse("`array.stripe_bytes` has no meaning at level 1: remove it");
        }
        (0 | 10, Some(bytes)) if (4096..=1 << 30).contains(&bytes) && bytes.is_power_of_two() => {}
        (0 | 10, _) => {
            return refuse(
                "`array.stripe_bytes` is needed at levels 0 and 10: a power of two from 4096 to \
                 2^30, such as 65536",
            );
        }
        _ => {}
    }
    let Some(member) = array.profile() else {
        return refuse(format!(
            "`array.member` is \"{}\", which is no builtin profile: `mydyno device list` lists \
             them; or give the member as a table",
            array.builtin_name().unwrap_or_default()
        ));
    };
    if member.array.is_some() {
        return refuse("`array.member` is an array itself: name the device that both are made of");
    }
    if member.limits.is_some() {
        return refuse(
            "`array.member.limits` is not modelled: give the limits of the whole in [limits]",
        );
    }
    if let Member::Inline(inline) = &array.member {
        profile(inline).map_err(|error| ProfileError(format!("in `array.member`: {error}")))?;
    }
    let most = member.capacity_bytes.saturating_mul(u64::from(array.columns()));
    if capacity_bytes > most {
        return refuse(format!(
            "`capacity_bytes` is {capacity_bytes}, and the members hold {most}: level {} of \
             {members} members has at most that",
            array.level
        ));
    }
    Ok(())
}
