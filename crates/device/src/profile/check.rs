//! What no device can do. A figure that passes here may be wrong, but the model can live with it.

use super::{Array, Disk, Limits, Member, Profile, ProfileError, Sheet, SolidState};

type Checked = Result<(), ProfileError>;

/// Members of an array; more is a mistake, and every request would visit them.
pub const MEMBERS_MAX: u32 = 32;
const UNITS_MAX: u32 = 4096;
const DISK_QUEUE_DEPTH_MAX: u32 = 256;
/// An address space that adds up in 64 bits, whatever an array makes of it (1 EiB).
const CAPACITY_BYTES_MAX: u64 = 1 << 60;

/// What no figure of a device is below or above, in whatever unit: what is computed from two of
/// them is a time that can be counted in nanoseconds.
const FIGURE_MIN: f64 = 1e-3;
const FIGURE_MAX: f64 = 1e9;

/// A figure and where it stands.
struct SheetFigure<'a> {
    key: &'a str,
    value: f64,
}

fn refuse(text: String) -> Checked {
    Err(ProfileError(text))
}

/// Greater than nothing, and a number that a device may have.
fn positive(figures: &[(&str, Option<f64>)]) -> Checked {
    for (key, value) in figures {
        if let Some(value) = value
            && !(FIGURE_MIN..=FIGURE_MAX).contains(value)
        {
            return refuse(format!(
                "`{key}` is {value}: give a number from {FIGURE_MIN} to {FIGURE_MAX}, or leave the \
                 key out if it is optional"
            ));
        }
    }
    Ok(())
}

fn not_negative(figures: &[(&str, Option<f64>)]) -> Checked {
    for (key, value) in figures {
        if let Some(value) = value
            && !(0.0..=FIGURE_MAX).contains(value)
        {
            return refuse(format!("`{key}` is {value}: give a number from 0 to {FIGURE_MAX}"));
        }
    }
    Ok(())
}

/// `less` may not exceed `more`; a rounding error is none.
fn at_most(less: &SheetFigure, more: &SheetFigure, why: &str) -> Checked {
    if less.value <= more.value * 1.001 {
        return Ok(());
    }
    refuse(format!(
        "`{}` ({}) exceeds `{}` ({}): {why}; correct one of them",
        less.key, less.value, more.key, more.value
    ))
}

fn count(value: Option<u32>) -> Option<f64> {
    value.map(f64::from)
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
    positive(&[("price_usd", profile.price_usd)])?;
    sheet(&profile.sheet)?;
    if let Some(all) = &profile.limits {
        limits(all)?;
        sheet_of_limits(&profile.sheet, all)?;
    }
    match (&profile.solid_state, &profile.disk, &profile.array) {
        (Some(solid), None, None) => {
            solid_state(solid)?;
            sheet_of_solid_state(&profile.sheet, solid)
        }
        (None, Some(it), None) => {
            disk(it)?;
            sheet_of_disk(&profile.sheet, it)
        }
        (None, None, Some(it)) => array(it, profile.capacity_bytes),
        (None, None, None) => refuse(
            "the profile does not say how the device works: add one of the tables [solid_state], \
             [disk] and [array]"
                .to_owned(),
        ),
        _ => refuse(
            "the profile has more than one of the tables [solid_state], [disk] and [array]: keep \
             the one that says how the device works"
                .to_owned(),
        ),
    }
}

fn sheet(sheet: &Sheet) -> Checked {
    positive(&[
        ("sheet.random_read_iops", sheet.random_read_iops),
        ("sheet.random_read_queue_depth", count(sheet.random_read_queue_depth)),
        ("sheet.random_write_iops", sheet.random_write_iops),
        ("sheet.random_write_queue_depth", count(sheet.random_write_queue_depth)),
        ("sheet.random_write_peak_iops", sheet.random_write_peak_iops),
        ("sheet.sequential_read_mb_per_s", sheet.sequential_read_mb_per_s),
        ("sheet.sequential_write_mb_per_s", sheet.sequential_write_mb_per_s),
        ("sheet.read_latency_us", sheet.read_latency_us),
        ("sheet.flush_latency_us", sheet.flush_latency_us),
    ])?;
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

fn limits(limits: &Limits) -> Checked {
    positive(&[
        ("limits.iops", limits.iops),
        ("limits.mb_per_s", limits.mb_per_s),
        ("limits.request_bytes", limits.request_bytes.map(|bytes| bytes as f64)),
    ])
}

fn sheet_of_limits(sheet: &Sheet, limits: &Limits) -> Checked {
    let iops = ("limits.iops", limits.iops);
    let mb_per_s = ("limits.mb_per_s", limits.mb_per_s);
    promises(&[
        ("sheet.random_read_iops", sheet.random_read_iops, iops),
        ("sheet.random_write_iops", sheet.random_write_iops, iops),
        ("sheet.random_write_peak_iops", sheet.random_write_peak_iops, iops),
        ("sheet.sequential_read_mb_per_s", sheet.sequential_read_mb_per_s, mb_per_s),
        ("sheet.sequential_write_mb_per_s", sheet.sequential_write_mb_per_s, mb_per_s),
    ])
}

/// A figure that may be absent, and its key.
type Optional<'a> = (&'a str, Option<f64>);

/// A sheet may promise less than its model can do, never more than the 5 % that a measurement is
/// forgiven.
fn promises(pairs: &[(&str, Option<f64>, Optional)]) -> Checked {
    for (key, promised, (name, given)) in pairs {
        if let (Some(promised), Some(given)) = (promised, given)
            && *promised > given * 1.05
        {
            return refuse(format!(
                "`{key}` ({promised}) exceeds `{name}` ({given}): the sheet promises more than the \
                 model gives; correct one of them"
            ));
        }
    }
    Ok(())
}

fn solid_state(solid: &SolidState) -> Checked {
    positive(&[
        ("solid_state.read_latency_us", Some(solid.read_latency_us)),
        ("solid_state.random_read_iops", Some(solid.random_read_iops)),
        ("solid_state.sequential_read_mb_per_s", Some(solid.sequential_read_mb_per_s)),
        ("solid_state.write_latency_us", Some(solid.write_latency_us)),
        ("solid_state.random_write_iops", Some(solid.random_write_iops)),
        ("solid_state.sequential_write_mb_per_s", Some(solid.sequential_write_mb_per_s)),
        ("solid_state.units", count(solid.units)),
        ("solid_state.interface_mb_per_s", solid.interface_mb_per_s),
        ("solid_state.random_write_peak_iops", solid.random_write_peak_iops),
        ("solid_state.read_latency_while_writing_us", solid.read_latency_while_writing_us),
    ])?;
    not_negative(&[
        ("solid_state.flush_us", Some(solid.flush_us)),
        ("solid_state.latency_variation", solid.latency_variation),
    ])?;
    if solid.latency_variation.is_some_and(|share| share > 1.0) {
        return refuse(
            "`solid_state.latency_variation` is greater than 1: it is the standard deviation of \
             latencies as a share of their mean, typically 0.1 to 0.5"
                .to_owned(),
        );
    }
    if solid.random_write_peak_iops.is_some() != solid.burst_bytes.is_some() {
        return refuse(
            "`solid_state.random_write_peak_iops` and `solid_state.burst_bytes` belong together: a \
             peak has an end; give both or none"
                .to_owned(),
        );
    }
    if solid.cache_bytes() < 1 << 20 {
        return refuse(format!(
            "`solid_state.cache_bytes` is {}: the smallest that is modelled is 1 MiB (1048576)",
            solid.cache_bytes()
        ));
    }
    atomic("solid_state.atomic_write_bytes", solid.atomic_write_bytes)?;
    speeds(solid)?;
    units(solid)
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

/// Nothing in a solid-state device is faster than what it passes through.
fn speeds(solid: &SolidState) -> Checked {
    let figure = |key, value| SheetFigure { key, value };
    let interface = figure("solid_state.interface_mb_per_s", solid.interface_mb_per_s());
    let read = figure("solid_state.sequential_read_mb_per_s", solid.sequential_read_mb_per_s);
    let write = figure("solid_state.sequential_write_mb_per_s", solid.sequential_write_mb_per_s);
    for sequential in [&read, &write] {
        let why = "nothing is faster than the link to the host";
        at_most(sequential, &interface, why)?;
    }
    for (key, iops, most) in [
        ("solid_state.random_read_iops x 4 KiB in MB/s", solid.random_read_iops, &interface),
        ("solid_state.random_write_iops x 4 KiB in MB/s", solid.random_write_iops, &write),
        ("solid_state.random_write_peak_iops x 4 KiB in MB/s", solid.peak_iops(), &write),
    ] {
        let why = "random 4 KiB requests cannot move more bytes";
        at_most(&figure(key, iops * 4096e-6), most, why)?;
    }
    at_most(
        &figure("solid_state.random_write_iops", solid.random_write_iops),
        &figure("solid_state.random_write_peak_iops", solid.peak_iops()),
        "the sustained rate is the lower one",
    )?;
    latencies(solid)
}

fn latencies(solid: &SolidState) -> Checked {
    let figure = |key, value| SheetFigure { key, value };
    let read = figure("solid_state.read_latency_us", solid.read_latency_us);
    let write = figure("solid_state.write_latency_us", solid.write_latency_us);
    let transfer = figure(
        "time of 4 KiB at solid_state.interface_mb_per_s in us",
        4096.0 / solid.interface_mb_per_s(),
    );
    for latency in [&read, &write] {
        at_most(&transfer, latency, "the transfer is a part of it")?;
    }
    let key = "solid_state.read_latency_while_writing_us";
    match solid.read_latency_while_writing_us {
        Some(value) => at_most(&read, &figure(key, value), "writing makes no read faster"),
        None => Ok(()),
    }
}

/// Little's law: what is under way is rate x time, and each read under way needs a unit.
fn units(solid: &SolidState) -> Checked {
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
    Ok(())
}

fn sheet_of_solid_state(sheet: &Sheet, solid: &SolidState) -> Checked {
    promises(&[
        (
            "sheet.random_read_iops",
            sheet.random_read_iops,
            ("solid_state.random_read_iops", Some(solid.random_read_iops)),
        ),
        (
            "sheet.random_write_iops",
            sheet.random_write_iops,
            ("solid_state.random_write_iops", Some(solid.random_write_iops)),
        ),
        (
            "sheet.random_write_peak_iops",
            sheet.random_write_peak_iops,
            ("solid_state.random_write_peak_iops", Some(solid.peak_iops())),
        ),
        (
            "sheet.sequential_read_mb_per_s",
            sheet.sequential_read_mb_per_s,
            ("solid_state.sequential_read_mb_per_s", Some(solid.sequential_read_mb_per_s)),
        ),
        (
            "sheet.sequential_write_mb_per_s",
            sheet.sequential_write_mb_per_s,
            ("solid_state.sequential_write_mb_per_s", Some(solid.sequential_write_mb_per_s)),
        ),
    ])?;
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
    positive(&[
        ("disk.rpm", Some(disk.rpm)),
        ("disk.average_seek_ms", Some(disk.average_seek_ms)),
        ("disk.sequential_mb_per_s", Some(disk.sequential_mb_per_s)),
        ("disk.track_to_track_seek_ms", disk.track_to_track_seek_ms),
        ("disk.full_stroke_seek_ms", disk.full_stroke_seek_ms),
        ("disk.queue_depth", count(disk.queue_depth)),
        ("disk.interface_mb_per_s", disk.interface_mb_per_s),
    ])?;
    not_negative(&[
        ("disk.command_overhead_us", disk.command_overhead_us),
        ("disk.flush_us", disk.flush_us),
    ])?;
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
    let interface = SheetFigure {
        key: "disk.interface_mb_per_s",
        value: disk.interface_mb_per_s.unwrap_or(600.0),
    };
    let platter = SheetFigure { key: "disk.sequential_mb_per_s", value: disk.sequential_mb_per_s };
    at_most(&platter, &interface, "nothing is faster than the link to the host")
}

fn sheet_of_disk(sheet: &Sheet, disk: &Disk) -> Checked {
    let given = ("disk.sequential_mb_per_s", Some(disk.sequential_mb_per_s));
    promises(&[
        ("sheet.sequential_read_mb_per_s", sheet.sequential_read_mb_per_s, given),
        ("sheet.sequential_write_mb_per_s", sheet.sequential_write_mb_per_s, given),
    ])?;
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
            return refuse("`array.stripe_bytes` has no meaning at level 1: remove it".to_owned());
        }
        (0 | 10, Some(bytes)) if (4096..=1 << 30).contains(&bytes) && bytes.is_power_of_two() => {}
        (0 | 10, _) => {
            return refuse(
                "`array.stripe_bytes` is needed at levels 0 and 10: a power of two from 4096 to \
                 2^30, such as 65536"
                    .to_owned(),
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
        return refuse(
            "`array.member` is an array itself: name the device that both are made of".to_owned(),
        );
    }
    if member.limits.is_some() {
        return refuse(
            "`array.member.limits` is not modelled: give the limits of the whole in [limits]"
                .to_owned(),
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
