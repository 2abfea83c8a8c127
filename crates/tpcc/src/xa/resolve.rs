//! What becomes of transactions that are prepared and have nobody who coordinates them.

use super::{BranchId, GlobalId, ShardName, XaOwner};
use crate::database::{InspectError, schema_name};
use crate::lock::{Lock, take_lock};
use crate::shards::ShardSession;
use base::{Session, SessionError};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long the servers may take to end the sessions of a program that is gone.
const LEAVING_WAIT: Duration = Duration::from_secs(5);

/// What else to know of transactions that are left: a server notices late that a machine is gone,
/// and holds that run's named locks and row locks meanwhile.
const LEFT: &str = " (where its machine is gone: KILL its sessions, which SHOW PROCESSLIST lists \
                    on every shard, and begin again)";

/// What became of prepared transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XaResolved {
    pub committed: u32,
    pub rolled_back: u32,
    /// Of a run that is still going on: they are left to it.
    pub under_way: u32,
}

impl XaResolved {
    /// What people should know, where there was anything.
    pub fn note(&self) -> Option<String> {
        let XaResolved { committed, rolled_back, under_way } = *self;
        let transactions = |count: u32, of: &str| match count {
            1 => format!("1 prepared transaction of {of} was"),
            _ => format!("{count} prepared transactions of {of} were"),
        };
        let ended = (committed + rolled_back > 0).then(|| {
            format!(
                "{} resolved: {committed} committed, {rolled_back} rolled back",
                transactions(committed + rolled_back, "an ended run")
            )
        });
        let going_on = (under_way > 0)
            .then(|| format!("{} left to it{LEFT}", transactions(under_way, "a run that goes on")));
        let parts: Vec<String> = ended.into_iter().chain(going_on).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Why prepared transactions cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XaError {
    #[error(transparent)]
    Inspect(#[from] InspectError),
    #[error(
        "shard {shard} does not say which transactions are prepared ({error}); on MySQL 8.0 and \
         later, GRANT XA_RECOVER_ADMIN ON *.* to the user"
    )]
    NotListed { shard: usize, error: SessionError },
    #[error("shard {shard} could not {what} of the ended run's transaction {global}: {error}")]
    NotResolved { shard: usize, what: &'static str, global: String, error: SessionError },
    #[error(
        "shard {shard} has no named locks, which tell an ended run from one that goes on: {why}"
    )]
    NoLocks { shard: usize, why: String },
}

impl From<SessionError> for XaError {
    fn from(error: SessionError) -> XaError {
        XaError::Inspect(error.into())
    }
}

/// The branches that are prepared, by transaction: the number of the shard from 0 with each.
type Prepared = BTreeMap<GlobalId, Vec<(usize, BranchId)>>;

/// Was the transaction committed? The branches that are prepared tell what was decided.
fn is_committed(branches: &[(usize, BranchId)]) -> bool {
    !branches.iter().any(|(_, branch)| branch.decides())
}

/// Resolves the prepared transactions of runs over these shards, which are all of their database:
/// those of runs that are over. A connection that lives holds a lock on each server until its
/// session there has ended, and with it whatever it had asked for: so what is seen is what stays.
///
/// # Errors
/// Any [`XaError`]. What was resolved until then is so for good, and the same call goes on.
pub async fn resolve<S: Session>(parts: &mut [ShardSession<'_, S>]) -> Result<XaResolved, XaError> {
    let owners: BTreeSet<XaOwner> = prepared(parts).await?.keys().map(|id| id.owner).collect();
    let mut all = XaResolved::default();
    for owner in owners {
        let mut held = 0;
        for part in parts.iter_mut() {
            match take_lock(part.session, &owner.to_string(), LEAVING_WAIT).await? {
                Lock::Held => held += 1,
                Lock::Busy => break,
                Lock::Forbidden(why) => return Err(XaError::NoLocks { shard: held + 1, why }),
            }
        }
        if held == parts.len() {
            let found = resolve_own(parts, owner).await?;
            all.committed += found.committed;
            all.rolled_back += found.rolled_back;
        } else {
            let of_owner = prepared(parts).await?.into_keys().filter(|id| id.owner == owner);
            all.under_way += of_owner.count() as u32;
        }
        for part in &mut parts[..held] {
            part.session.query(&format!("SELECT RELEASE_LOCK('{owner}')")).await?;
        }
    }
    Ok(all)
}

/// Resolves those of one connection, whose locks these sessions hold.
///
/// # Errors
/// Any [`XaError`].
pub(crate) async fn resolve_own<S: Session>(
    parts: &mut [ShardSession<'_, S>],
    owner: XaOwner,
) -> Result<XaResolved, XaError> {
    let mut resolved = XaResolved::default();
    let found = prepared(parts).await?.into_iter();
    for (global, mut branches) in found.filter(|(global, _)| global.owner == owner) {
        // The deciding branch comes last: who ends meanwhile leaves what is seen as it is.
        branches.sort_by_key(|(_, branch)| branch.decides());
        let (verb, what, count) = match is_committed(&branches) {
            true => ("COMMIT", "commit its branch", &mut resolved.committed),
            false => ("ROLLBACK", "roll back its branch", &mut resolved.rolled_back),
        };
        for (number, branch) in branches {
            let ended = parts[number].session.query(&format!("XA {verb} {branch}")).await;
            ended.map_err(|error| XaError::NotResolved {
                shard: number + 1,
                what,
                global: global.to_string(),
                error,
            })?;
        }
        *count += 1;
    }
    Ok(resolved)
}

/// What is prepared on the shards, of our transactions over them.
async fn prepared<S: Session>(parts: &mut [ShardSession<'_, S>]) -> Result<Prepared, XaError> {
    let mut all = Prepared::new();
    for (number, part) in parts.iter_mut().enumerate() {
        let name = ShardName::new(&schema_name(part.session).await?, part.range.first());
        let listed = part.session.query("XA RECOVER").await;
        let answer = listed.map_err(|error| match error {
            SessionError::Server { .. } => XaError::NotListed { shard: number + 1, error },
            lost => lost.into(),
        })?;
        for row in answer.rows() {
            let global_bytes = usize::try_from(row.int(1)?).unwrap_or_default();
            let text = row.text(3);
            // Names of others may be of any bytes.
            let parts = text.split_at_checked(global_bytes);
            let branch = parts.and_then(|(global, of)| BranchId::parse(global, of));
            if let Some(branch) = branch.filter(|branch| branch.shard == name) {
                all.entry(branch.global).or_default().push((number, branch));
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::{XaResolved, is_committed};
    use crate::xa::{BranchId, ShardName, XaRun};

    /// The states in which a killed coordinator leaves the branches of a transaction over shards 1,
    /// which decides, 2 and 3; true is prepared.
    #[test]
    fn the_branch_that_decides_tells_what_was_decided() {
        let run = XaRun::new("test");
        let global = run.next(run.owner(0));
        let name = |shard: u32| ShardName::new("tpcc", shard * 10 + 1);
        let branch = |shard: u32| (shard as usize, BranchId::new(global, name(shard), name(0)));
        for (prepared, when, wanted) in [
            (vec![0], "the others were not prepared yet", false),
            (vec![0, 1], "between two XA PREPAREs", false),
            (vec![0, 1, 2], "all are prepared, and nothing is decided", false),
            (vec![1, 2], "the first was committed", true),
            (vec![2], "all but the last were committed", true),
            (vec![0, 2], "one was rolled back, after another could not prepare", false),
        ] {
            let branches: Vec<_> = prepared.into_iter().map(branch).collect();
            assert_eq!(is_committed(&branches), wanted, "{when}");
        }
    }

    #[test]
    fn what_was_resolved_is_told() {
        assert_eq!(XaResolved::default().note(), None);
        let resolved = XaResolved { committed: 1, rolled_back: 1, under_way: 0 };
        assert_eq!(
            resolved.note().unwrap(),
            "2 prepared transactions of an ended run were resolved: 1 committed, 1 rolled back"
        );
        let going_on = XaResolved { under_way: 1, ..XaResolved::default() };
        let note = going_on.note().unwrap();
        assert!(note.starts_with("1 prepared transaction of a run that goes on"), "{note}");
        // Its locks stay until the server notices that nobody is there, or is told.
        assert!(note.contains("KILL its sessions"), "{note}");
    }
}
