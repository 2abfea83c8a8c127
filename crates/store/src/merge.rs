//! Several results files made one: what machines measured of one lab, each into a file of its own,
//! becomes one lab.
//!
//! The merged file is built beside the output and takes its place when it is whole and on the disk.
//! So whatever kills the process, the output is the old file or the new one. An output that is
//! there already is where the merged file starts from, so that files can be added one by one, and
//! again; where they bring nothing new, it is not touched.

mod copy;
mod error;
mod schema;

pub use copy::MergedRepeats;
pub use error::MergeError;

use crate::open::{beside, directory_of, uri};
use crate::rows::{Lab, LabStatus};
use crate::values::LabId;
use crate::{Results, StoreError, StoreResult, process};
use base::{Exit, counted};
use copy::{Copier, Origins};
use error::MergeResult;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use schema::SchemaTable;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Keeps numbers apart while blocks are given new ones.
const BLOCKS_MAX: u32 = 1 << 30;

/// What came of merging. `docs/json.md` describes its keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MergeSummary {
    /// Did the output change?
    #[serde(rename = "changed")]
    pub is_changed: bool,
    /// In the order in which they were named.
    pub files: Vec<MergedFile>,
    /// Labs of the output.
    pub labs: Vec<MergedLab>,
}

/// What a file brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MergedFile {
    #[serde(rename = "file")]
    pub path: PathBuf,
    #[serde(flatten)]
    pub repeats: MergedRepeats,
}

/// A lab of the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MergedLab {
    #[serde(rename = "lab_id")]
    pub lab: LabId,
    pub name: String,
    pub status: LabStatus,
    /// Why it is not done.
    pub reason: Option<String>,
    /// The names of the machines that measured it.
    pub machines: Vec<String>,
}

/// Adds results files to `output`, which is made where there is none.
///
/// # Errors
/// The files do not belong together, one is being written, or the output cannot be. Whatever the
/// error, all files keep what they have.
pub fn merge(inputs: &[PathBuf], output: &Path) -> MergeResult<MergeSummary> {
    // Where it is a symbolic link, the file behind it is replaced.
    let output = &fs::canonicalize(output).unwrap_or_else(|_| output.to_path_buf());
    require_distinct(inputs, output)?;
    let before = output.exists().then(|| Results::open_as_it_is(output)).transpose()?;
    let sources: Vec<Results> =
        inputs.iter().map(|path| Results::open_as_it_is(path)).collect::<Result<_, _>>()?;
    let all: Vec<&Results> = before.iter().chain(&sources).collect();
    all.iter().try_for_each(|results| require_ended(results))?;
    require_one_plan(&all)?;
    let (building, out) = MergingFile::begin(output, before.as_ref())?;
    let mut origins = Origins::new();
    let mut files = Vec::new();
    let tables = schema::tables(&out.connection).map_err(|cause| out.sql(cause))?;
    let mut is_changed = before.is_none();
    for source in &sources {
        let (repeats, is_changed_by_it) = add(source, &out, &tables, &mut origins)?;
        files.push(MergedFile { path: source.path.clone(), repeats });
        is_changed |= is_changed_by_it;
    }
    if is_changed {
        finish_labs(&out, &all)?;
    }
    let labs =
        out.labs()?.into_iter().map(|lab| merged_lab(&out, lab)).collect::<Result<_, _>>()?;
    if is_changed {
        building.publish(out, before)?;
    }
    Ok(MergeSummary { files, labs, is_changed })
}

/// Adds a file to the output; says whether that changed it.
fn add(
    source: &Results,
    out: &Results,
    tables: &[SchemaTable],
    origins: &mut Origins,
) -> MergeResult<(MergedRepeats, bool)> {
    let failed = |cause| out.sql(cause);
    let connection = &out.connection;
    let uri = uri(&source.path, source.writable)?;
    connection.execute("ATTACH ?1 AS source", [uri]).map_err(failed)?;
    connection
        .execute_batch(
            "CREATE TEMP TABLE mapped (name TEXT, old INTEGER, new INTEGER, is_new INTEGER, \
             PRIMARY KEY (name, old)) WITHOUT ROWID",
        )
        .map_err(failed)?;
    // Rows that were written, but for those of `mapped`.
    let changes = || -> rusqlite::Result<i64> {
        let sql = "SELECT total_changes() - (SELECT count(*) FROM temp.mapped)";
        connection.query_row(sql, [], |row| row.get(0))
    };
    let unchanged = changes().map_err(failed)?;
    let transaction =
        Transaction::new_unchecked(connection, TransactionBehavior::Deferred).map_err(failed)?;
    let mut copier = Copier { source, out, tables, origins, repeats: MergedRepeats::default() };
    copier.copy()?;
    let repeats = copier.repeats;
    transaction.commit().map_err(failed)?;
    let is_changed = changes().map_err(failed)? != unchanged;
    connection.execute_batch("DROP TABLE temp.mapped; DETACH source").map_err(failed)?;
    Ok((repeats, is_changed))
}

fn merged_lab(out: &Results, lab: Lab) -> StoreResult<MergedLab> {
    let machines = out.machines(lab.id)?;
    Ok(MergedLab {
        lab: lab.id,
        name: lab.name,
        status: lab.status,
        reason: lab.reason,
        machines: machines.iter().map(crate::LabMachine::name).collect(),
    })
}

/// Refuses what is named twice, under whatever names.
fn require_distinct(inputs: &[PathBuf], output: &Path) -> MergeResult<()> {
    let identity = |path: &Path| fs::metadata(path).ok().map(|of| (of.dev(), of.ino()));
    for (place, input) in inputs.iter().enumerate() {
        let (this, name) = (identity(input), input.display());
        let same = inputs[..place].iter().find(|other| identity(other) == this);
        let why = match same {
            _ if this.is_none() => {
                format!("no results file {name}; name files that `mydyno lab run --results` wrote")
            }
            Some(same) => format!("{} and {name} are one file; name it once", same.display()),
            None if identity(output) == this => format!(
                "{name} is the output {}, which keeps what it has; name only the files that are \
                 to be added",
                output.display()
            ),
            None => continue,
        };
        return Err(MergeError::refused(Exit::Usage, why));
    }
    Ok(())
}

/// Refuses a file in which a process still writes, or may.
fn require_ended(results: &Results) -> MergeResult<()> {
    for lab in results.labs()?.into_iter().filter(|lab| lab.status == LabStatus::Running) {
        let process = results.process_of("lab", lab.id.0)?;
        let (file, name, lab) = (results.path.display(), lab.name, lab.id);
        let why = if process::is_alive(&process) {
            format!("lab {lab} ({name}) of {file} is being executed; wait for its end")
        } else if !process::is_of_this_boot(&process) {
            format!(
                "lab {lab} ({name}) of {file} is being executed on another machine, or was killed \
                 there; wait for its end or go on with it, or, if it is dead, run `mydyno lab \
                 status --results {file}`, which marks it"
            )
        } else {
            continue;
        };
        return Err(MergeError::refused(Exit::Environment, why));
    }
    Ok(())
}

/// Refuses labs of different plans, or of different versions of mydyno.
fn require_one_plan(all: &[&Results]) -> MergeResult<()> {
    let mut first: Option<(&Results, Lab)> = None;
    for results in all {
        for lab in results.labs()?.into_iter().filter(|lab| lab.plan.is_some()) {
            let Some((of, known)) = &first else {
                first = Some((results, lab));
                continue;
            };
            let (one, other) = (of.path.display(), results.path.display());
            let why = if (&known.name, &known.plan) != (&lab.name, &lab.plan) {
                let name = &known.name;
                let other_plan = match *name == lab.name {
                    true => format!("another plan with the name {name}"),
                    false => lab.name,
                };
                format!(
                    "{one} has a lab of plan {name}, {other} one of {other_plan}; a merged file \
                     has one plan: merge the files of each by themselves"
                )
            } else if known.mydyno_version != lab.mydyno_version {
                let (was, is) = (&known.mydyno_version, &lab.mydyno_version);
                format!(
                    "{one} was measured by mydyno {was}, {other} by {is}, and a lab is not mixed \
                     of two; measure one of them again"
                )
            } else {
                continue;
            };
            return Err(MergeError::refused(Exit::Failed, why));
        }
    }
    Ok(())
}

/// Numbers the blocks of each plan's lab anew, and says what the lab lacks.
fn finish_labs(out: &Results, sources: &[&Results]) -> StoreResult<()> {
    let mut has_whole = false;
    for source in sources {
        let mut labs = source.labs()?.into_iter();
        has_whole |= labs.any(|lab| lab.plan.is_some() && lab.status == LabStatus::Done);
    }
    for lab in out.labs()?.into_iter().filter(|lab| lab.plan.is_some()) {
        number_blocks(&out.connection, lab.id).map_err(|cause| out.sql(cause))?;
        let missing = match lab.turns {
            _ if has_whole => None,
            None => Some("repeats may be missing".to_owned()),
            Some(turns) => match (turns as usize).saturating_sub(ended_turns(out, lab.id)?) {
                0 => None,
                left => Some(counted(left, "repeat is missing", "repeats are missing")),
            },
        };
        let is_done = missing.is_none();
        let status = if is_done { LabStatus::Done } else { LabStatus::Interrupted };
        let sql = "UPDATE lab SET status = ?2, reason = ?3 WHERE id = ?1";
        out.connection.execute(sql, (lab.id, status, missing)).map_err(|cause| out.sql(cause))?;
    }
    Ok(())
}

/// Repeats of the plan's cells that need not be measured any more.
fn ended_turns(out: &Results, lab: LabId) -> StoreResult<usize> {
    let mut ended = BTreeSet::new();
    let mut points = BTreeSet::new();
    for ramp in out.ramps(lab)? {
        points.extend(out.ramp_points(ramp.id)?.iter().map(|point| point.id));
        if ramp.finished_utc_ns.is_some() {
            ended.insert((ramp.what.ordinal, ramp.what.repeat));
        }
    }
    for cell in out.cells(lab)? {
        for repeat in out.repeats(cell.id)? {
            if !points.contains(&repeat.id) && out.has_ended(&repeat)? {
                ended.insert((cell.what.ordinal, repeat.ordinal));
            }
        }
    }
    Ok(ended.len())
}

/// Gives the blocks of a lab numbers from 1, in the order of time.
fn number_blocks(connection: &Connection, lab: LabId) -> rusqlite::Result<()> {
    let sql = "SELECT block FROM block WHERE lab_id = ?1 ORDER BY started_utc_ns, machine";
    let blocks: Vec<u32> =
        connection.prepare(sql)?.query_map([lab], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let move_to = |from: u32, to: u32| {
        let sql = "UPDATE block SET block = ?3 WHERE lab_id = ?1 AND block = ?2";
        connection.execute(sql, (lab, from, to))?;
        let sql = "UPDATE repeat SET block = ?3 WHERE block = ?2 \
                   AND cell_id IN (SELECT id FROM cell WHERE lab_id = ?1)";
        connection.execute(sql, (lab, from, to))
    };
    for (block, number) in blocks.iter().zip(1..) {
        move_to(*block, BLOCKS_MAX + number)?;
    }
    for number in 1..=blocks.len() as u32 {
        move_to(BLOCKS_MAX + number, number)?;
    }
    Ok(())
}

/// The merged file while it is built, beside the output. It goes away with this value, and what a
/// killed process left of it with the next one.
struct MergingFile {
    path: PathBuf,
    output: PathBuf,
    /// Held, so that no other process builds in the same place.
    _lock: File,
}

impl MergingFile {
    /// Begins with what the output has.
    fn begin(output: &Path, before: Option<&Results>) -> MergeResult<(MergingFile, Results)> {
        let cannot = |cause| MergeError::write(output, &cause);
        let [path, lock] = [".merging", ".merging-lock"].map(|suffix| beside(output, suffix));
        let lock = locked(&lock, output)?;
        let building = MergingFile { path, output: output.to_path_buf(), _lock: lock };
        let path = &building.path;
        remove(path).map_err(cannot)?;
        if let Some(before) = before {
            let into = path.to_string_lossy();
            let copied = before.connection.execute("VACUUM INTO ?1", [&into]);
            copied.map_err(|cause| before.sql(cause))?;
        }
        let mut results = Results::create_or_open(path)?;
        // What goes wrong is told of the file that people know.
        results.path = output.to_path_buf();
        Ok((building, results))
    }

    /// Puts the file in the place of the output.
    fn publish(self, built: Results, before: Option<Results>) -> MergeResult<()> {
        let cannot = |cause| MergeError::write(&self.output, &cause);
        // Moves its write-ahead log into the one file.
        let Results { connection, path, .. } = built;
        connection.close().map_err(|(_, cause)| StoreError::from_sqlite(&path, cause))?;
        let sql = |cause| StoreError::from_sqlite(&path, cause);
        File::open(&self.path).and_then(|file| file.sync_all()).map_err(cannot)?;
        // The write-ahead log of the old file would be taken for one of the new file.
        if let Some(before) = &before {
            let old = &before.connection;
            old.pragma_update(None, "journal_mode", "delete").map_err(sql)?;
            old.execute_batch("BEGIN EXCLUSIVE").map_err(sql)?;
        }
        fs::rename(&self.path, &self.output).map_err(cannot)?;
        File::open(directory_of(&self.output)).and_then(|file| file.sync_all()).map_err(cannot)
    }
}

impl Drop for MergingFile {
    /// What cannot be removed now is, or is told, when the next one begins.
    fn drop(&mut self) {
        let _ = remove(&self.path);
        let _ = fs::remove_file(beside(&self.output, ".merging-lock"));
    }
}

/// Removes a database with the files of its write-ahead log.
fn remove(path: &Path) -> io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        match fs::remove_file(beside(path, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The lock of who merges into the output.
fn locked(path: &Path, output: &Path) -> MergeResult<File> {
    let cannot = |cause| MergeError::write(output, &cause);
    let file = File::create(path).map_err(cannot)?;
    let is_ours = file.try_lock().is_ok();
    // Who had it has removed it meanwhile, so that another may lock a new one.
    let identity = |of: fs::Metadata| (of.dev(), of.ino());
    let there = fs::metadata(path).map(identity).ok();
    if !is_ours || there != Some(identity(file.metadata().map_err(cannot)?)) {
        let output = output.display();
        let why =
            format!("another `mydyno merge` writes {output} at this moment; wait for its end");
        return Err(MergeError::refused(Exit::Environment, why));
    }
    Ok(file)
}
