//! What is read of a server before it is advised. Nothing is changed.

use super::sessions::with_session_until;
use super::subject::Subject;
use crate::error::{LabError, LabResult, unfit};
use crate::measure::preflight::{data_bytes, status, variables};
use crate::progress::Job;
use crate::stop;
use advise::{
    AdvisedDevice, MountedFileSystem, NamedValues, ServerMachine, ServerSnapshot, StatusWatch,
    release_of,
};
use analyse::{Account, measurement};
use base::{ServerRelease, value_of};
use device::{Profile, Role, Setup};
use observe::first_line;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use store::{RepeatId, RepeatStatus, Results, StoreError};

/// Halves of the watch whose rates of statements differ by more are no steady load.
const STEADY: std::ops::Range<f64> = 0.67..1.5;
/// Fewer statements a second are mydyno's own.
const LOAD_MIN_PER_S: f64 = 5.0;

/// What is asked beside the server.
pub struct SnapshotAsked<'a> {
    /// Between the two readings of the status.
    pub watch: Duration,
    /// The device of the data, where mydyno does not emulate it.
    pub device: Option<Profile>,
    /// Where stored runs against this server are looked for.
    pub results: &'a Path,
}

/// Reads a server for [`advise::advise`], which takes the time of the watch.
///
/// # Errors
/// Where the server cannot be asked, or `stop` is set.
pub fn snapshot_of(
    subject: &Subject,
    asked: SnapshotAsked<'_>,
    job: &Job<'_>,
) -> LabResult<ServerSnapshot> {
    let (server, variables, data_bytes) = tell(subject, job.stop)?;
    let readings = watched(subject, asked.watch, job)?;
    job.notes(doubts(&readings));
    let [first, _, last] = readings;
    let directory = variables.get("datadir").map(PathBuf::from);
    // A loopback address may be the end of a tunnel: the data has to be here too.
    let directory = directory.filter(|directory| subject.is_local() && directory.exists());
    let redo = variables.get("innodb_log_group_home_dir").map(PathBuf::from);
    let device = asked.device.as_ref().map(AdvisedDevice::of).or_else(|| emulated(subject));
    let device = device.or_else(|| real_device(directory.as_deref()?));
    Ok(ServerSnapshot {
        server,
        watch: StatusWatch {
            // A server whose clock is slow counts for its own seconds.
            seconds: (last.at - first.at).as_secs_f64() / subject.dilation().factor(),
            first: first.values,
            last: last.values,
        },
        data_bytes,
        machine: directory.as_deref().map(machine),
        device,
        redo_is_apart: redo_is_apart(subject, directory.as_deref(), redo),
        account: stored_account(asked.results, subject, job),
        variables,
    })
}

/// What a server says of itself: its release, its variables and the size of its tables.
fn tell(
    subject: &Subject,
    stop: &AtomicBool,
) -> LabResult<(ServerRelease, NamedValues, Option<u64>)> {
    with_session_until(&subject.without_schema()?, stop, async |session| {
        let variables: NamedValues = variables(session).await?.into_iter().collect();
        // A user that may not look finds no tables.
        let data_bytes = data_bytes(session, "engine = 'InnoDB'").await;
        let server = release_of(&variables).ok_or_else(|| {
            let version = variables.get("version").map(String::as_str).unwrap_or_default();
            unfit(format!(
                "the server calls its version {version:?}, which names no release to advise; ask \
                 it for @@version"
            ))
        })?;
        Ok((server, variables, data_bytes))
    })
}

/// A reading of the status.
struct StatusAt {
    at: Instant,
    values: NamedValues,
}

impl StatusAt {
    /// Statements a second since an earlier reading.
    fn statements_per_s(&self, earlier: &StatusAt) -> Option<f64> {
        let questions = |of: &StatusAt| of.values.get("Questions")?.parse::<f64>().ok();
        let seconds = (self.at - earlier.at).as_secs_f64();
        Some((questions(self)? - questions(earlier)?) / seconds.max(1e-3))
    }
}

/// Readings at the begin of the watch, in its middle and at its end.
fn watched(subject: &Subject, watch: Duration, job: &Job<'_>) -> LabResult<[StatusAt; 3]> {
    let read_after = |wait: Duration| -> LabResult<StatusAt> {
        if stop::comes_within(wait, || job.is_stopped()) {
            return Err(LabError::Interrupted);
        }
        with_session_until(&subject.without_schema()?, job.stop, async |session| {
            let values = status(session).await?;
            Ok(StatusAt { at: Instant::now(), values: values.into_iter().collect() })
        })
    };
    job.step(&format!("watching the server for {} s", watch.as_secs()));
    Ok([read_after(Duration::ZERO)?, read_after(watch / 2)?, read_after(watch / 2)?])
}

/// What makes the watch say little.
fn doubts([first, middle, last]: &[StatusAt; 3]) -> Option<String> {
    let (before, after) = middle.statements_per_s(first).zip(last.statements_per_s(middle))?;
    if before.max(after) < LOAD_MIN_PER_S {
        let doubt = "the server has no load: rules that look at one say nothing; ask again while \
            it works";
        return Some(doubt.to_owned());
    }
    (!STEADY.contains(&(after / before.max(1e-3)))).then(|| {
        format!(
            "the load changed while it was watched, from {before:.0} to {after:.0} statements a \
             second: watch for longer (--watch), or when it is steady"
        )
    })
}

/// The device that mydyno emulates for the data.
fn emulated(subject: &Subject) -> Option<AdvisedDevice> {
    let setup = Setup::parse(&subject.placed.page.as_ref()?.setup_text().ok()?).ok()?;
    setup.profile_of(Role::Data).map(AdvisedDevice::of)
}

/// What the system knows of a device that nobody probed. Virtual ones call themselves rotational,
/// and have no model.
fn real_device(directory: &Path) -> Option<AdvisedDevice> {
    let facts = storage::probe::facts(directory);
    let is_disk = facts.rotational?;
    if is_disk && facts.model.is_none() {
        return None;
    }
    Some(AdvisedDevice {
        name: facts.model.unwrap_or_else(|| "the device of the data".to_owned()),
        is_disk,
        random_read_iops: None,
        random_write_iops: None,
    })
}

/// Is the redo log on another device than the data?
fn redo_is_apart(subject: &Subject, data: Option<&Path>, redo: Option<PathBuf>) -> Option<bool> {
    let place = |role: &str| subject.placed.places.iter().find(|place| place.role == role);
    if let Some(data) = place("data") {
        return Some(place("redo").is_some_and(|redo| redo.device != data.device));
    }
    let redo = redo.unwrap_or_default();
    // MySQL says "./" of a log that is beside the data.
    if redo.as_os_str().is_empty() || redo == Path::new("./") || Some(redo.as_path()) == data {
        return Some(false);
    }
    let data = data?;
    let device = |path: &Path| std::fs::metadata(path).ok().map(|metadata| metadata.dev());
    Some(device(data)? != device(&redo)?)
}

fn machine(directory: &Path) -> ServerMachine {
    let facts = observe::host_facts(None);
    let number = |name: &str| value_of(&facts, name)?.parse::<u64>().ok();
    let is_node = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        name.strip_prefix("node")?.parse::<u32>().ok()
    };
    let nodes = std::fs::read_dir("/sys/devices/system/node");
    let nodes = nodes.map_or(1, |nodes| nodes.filter_map(is_node).count().max(1));
    ServerMachine {
        memory_bytes: number("memory_bytes").unwrap_or(0),
        cores: number("cpu_cores").unwrap_or(1) as u32,
        numa_nodes: nodes as u32,
        transparent_huge_pages: first_line("/sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|line| chosen(&line)),
        swappiness: first_line("/proc/sys/vm/swappiness").and_then(|line| line.parse().ok()),
        file_system: observe::mount_of(directory).map(|mount| MountedFileSystem {
            kind: mount.kind,
            mount_point: mount.point,
            options: mount.options,
            scheduler: storage::probe::facts(directory).scheduler.and_then(|line| chosen(&line)),
        }),
    }
}

/// `madvise` of `always [madvise] never`.
fn chosen(line: &str) -> Option<String> {
    Some(line.split_once('[')?.1.split_once(']')?.0.to_owned())
}

/// The account of the last whole run against this server, where there is one and the file can be
/// read: it is no condition of advice.
fn stored_account(file: &Path, subject: &Subject, job: &Job<'_>) -> Option<Account> {
    if !file.exists() {
        return None;
    }
    last_account(file, &subject.dsn()).unwrap_or_else(|error| {
        job.note(&format!("where the time of a transaction goes is not known: {error}"));
        None
    })
}

fn last_account(file: &Path, target: &str) -> Result<Option<Account>, StoreError> {
    let results = Results::open(file)?;
    for lab in results.labs()?.iter().rev() {
        for cell in results.cells(lab.id)?.iter().rev().filter(|cell| cell.what.target == target) {
            let repeats = results.repeats(cell.id)?;
            let done = repeats.iter().rev().find(|repeat| repeat.status == RepeatStatus::Done);
            let Some(repeat) = done else { continue };
            if let Some(account) = account_of(&results, repeat.id)? {
                return Ok(Some(account));
            }
        }
    }
    Ok(None)
}

/// Where the time of a transaction went in a stored run; `None` where its time was not divided.
///
/// # Errors
/// The results file cannot be read.
pub fn account_of(results: &Results, run: RepeatId) -> Result<Option<Account>, StoreError> {
    Ok(measurement(results, run)?.resources.and_then(|resources| resources.account))
}

#[cfg(test)]
mod tests {
    use super::{NamedValues, StatusAt, chosen, doubts};
    use std::time::{Duration, Instant};

    #[test]
    fn a_load_that_changes_is_doubted() {
        let begun = Instant::now();
        let reading = |second: u64, questions: u64| StatusAt {
            at: begun + Duration::from_secs(second),
            values: NamedValues::from([("Questions".to_owned(), questions.to_string())]),
        };
        let said = |middle: u64, last: u64| {
            let note = doubts(&[reading(0, 0), reading(10, middle), reading(20, last)]);
            note.map(|note| note[..21].to_owned())
        };
        assert_eq!(said(1000, 2100), None);
        assert_eq!(said(1000, 4000).as_deref(), Some("the load changed whil"));
        assert_eq!(said(3, 6).as_deref(), Some("the server has no loa"));
    }

    #[test]
    fn what_is_chosen_stands_in_brackets() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("none"), None);
    }
}
