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
    use super::{XaError, XaResolved, is_committed, resolve};
    use crate::shards::ShardSession;
    use crate::tests::scripted::{Reply, ScriptedServer, now};
    use crate::xa::{BranchId, GlobalId, ShardName, XaRun};
    use base::{WarehouseRange, Warehouses};

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

    /// The name of the shard with warehouses 1 to 10, or 11 to 20, of schema `tpcc`.
    fn shard(number: u32) -> ShardName {
        ShardName::new("tpcc", number * 10 + 1)
    }

    /// A row of XA RECOVER: the branch on a shard of a transaction that shard 0 decides.
    fn recovered(global: GlobalId, on: ShardName) -> String {
        let branch = BranchId::new(global, on, shard(0));
        let (global, qualifier) = (branch.global.to_string(), branch.qualifier());
        format!("1|{}|{}|{global}{qualifier}", global.len(), qualifier.len())
    }

    /// Resolves what is prepared on two servers, which answer other questions as told; and what
    /// they were sent that changes anything.
    fn resolved(
        prepared: [Vec<String>; 2],
        [first, second]: [(&'static str, Reply); 2],
    ) -> (Result<XaResolved, XaError>, Vec<String>) {
        let server = |rows: Vec<String>, other| {
            ScriptedServer::of_replies(vec![
                other,
                ("SELECT DATABASE()", Reply::row("tpcc")),
                ("XA RECOVER", Reply::rows(rows)),
                ("GET_LOCK", Reply::row(1)),
            ])
        };
        let [on_first, on_second] = prepared;
        let one = server(on_first, first);
        let two = one.beside("2: ", server(on_second, second));
        let mut sessions = [one.session(), two.session()];
        let ranges = WarehouseRange::all(Warehouses(20)).divided(2);
        let mut parts: Vec<_> = sessions
            .iter_mut()
            .zip(ranges)
            .map(|(session, range)| ShardSession { session, range })
            .collect();
        let resolved = now(resolve(&mut parts));
        let mut sent = one.sent();
        sent.retain(|sql| !sql.contains("DATABASE()") && !sql.contains("XA RECOVER"));
        (resolved, sent)
    }

    const AS_USUAL: (&str, Reply) = ("nothing", Reply::Lost);

    #[test]
    fn an_ended_runs_transactions_end_as_their_deciding_branch_did() {
        let run = XaRun::new("test");
        let owner = run.owner(4);
        let (undecided, decided) = (run.next(owner), run.next(owner));
        let prepared = [
            vec![recovered(undecided, shard(0))],
            vec![recovered(undecided, shard(1)), recovered(decided, shard(1))],
        ];
        let (ended, sent) = resolved(prepared, [AS_USUAL, AS_USUAL]);
        assert_eq!(ended, Ok(XaResolved { committed: 1, rolled_back: 1, under_way: 0 }));
        let branch = |global, on| BranchId::new(global, shard(on), shard(0));
        let wanted = [
            format!("SELECT GET_LOCK('{owner}', 5)"),
            format!("2: SELECT GET_LOCK('{owner}', 5)"),
            // That which decides comes last.
            format!("2: XA ROLLBACK {}", branch(undecided, 1)),
            format!("XA ROLLBACK {}", branch(undecided, 0)),
            format!("2: XA COMMIT {}", branch(decided, 1)),
            format!("SELECT RELEASE_LOCK('{owner}')"),
            format!("2: SELECT RELEASE_LOCK('{owner}')"),
        ];
        assert_eq!(sent, wanted);
    }

    #[test]
    fn a_run_that_goes_on_keeps_its_transactions() {
        let run = XaRun::new("test");
        let (first, other) = (run.next(run.owner(4)), run.next(run.owner(5)));
        let rows = |on| vec![recovered(first, shard(on)), recovered(other, shard(on))];
        let busy = ("GET_LOCK", Reply::row(0));
        let (ended, sent) = resolved([rows(0), rows(1)], [AS_USUAL, busy]);
        assert_eq!(ended, Ok(XaResolved { under_way: 2, ..XaResolved::default() }));
        assert!(!sent.iter().any(|sql| sql.contains("XA ")), "{sent:?}");
        // Only what is held is released.
        let released: Vec<_> = sent.iter().filter(|sql| sql.contains("RELEASE_LOCK")).collect();
        assert!(released.len() == 2 && !released.iter().any(|sql| sql.starts_with("2: ")));
    }

    #[test]
    fn transactions_of_others_are_left_alone() {
        let run = XaRun::new("test");
        let global = run.next(run.owner(4));
        let of_another_database = recovered(global, ShardName::new("other", 1));
        let rows = vec![of_another_database, "1|3|3|abcdef".to_owned(), "1|99|3|abc".to_owned()];
        let (ended, sent) = resolved([rows, Vec::new()], [AS_USUAL, AS_USUAL]);
        assert_eq!((ended, sent), (Ok(XaResolved::default()), Vec::new()));
    }

    #[test]
    fn a_server_that_cannot_resolve_is_named() {
        let run = XaRun::new("test");
        let global = run.next(run.owner(4));
        let rows = |on| vec![recovered(global, shard(on))];
        let with = |second| resolved([rows(0), rows(1)], [AS_USUAL, second]).0.unwrap_err();
        let forbidden = with(("GET_LOCK", Reply::Refused(1235)));
        assert!(matches!(forbidden, XaError::NoLocks { shard: 2, .. }), "{forbidden}");
        let hidden = with(("XA RECOVER", Reply::Refused(1401)));
        assert!(matches!(hidden, XaError::NotListed { shard: 2, .. }), "{hidden}");
        let lost = with(("XA RECOVER", Reply::Lost));
        assert!(matches!(lost, XaError::Inspect(_)), "{lost}");
        let stuck = with(("XA ROLLBACK", Reply::Refused(1399)));
        let XaError::NotResolved { shard, what, .. } = stuck else { panic!("{stuck}") };
        assert_eq!((shard, what), (2, "roll back its branch"));
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
        let several = XaResolved { under_way: 2, ..XaResolved::default() }.note().unwrap();
        assert!(several.starts_with("2 prepared transactions of a run that goes on were left"));
        // Its locks stay until the server notices that nobody is there, or is told.
        assert!(note.contains("KILL its sessions"), "{note}");
    }
}
