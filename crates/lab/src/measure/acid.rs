//! The ACID tests of clause 3 on a server under test.

use crate::error::{LabError, LabResult, WhileDoing, unfit};
use crate::measure::seeds::new_seed;
use crate::progress::Job;
use crate::target::schemas;
use crate::target::sessions::{text, until, with_session};
use crate::target::subject::Subject;
use base::Random;
use drive::streams::INPUTS;
use reactor::Tasks;
use server::Instance;
use spec::Isolation;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tpcc::acid::{
    AcidFinding, AcidVerdict, DURABILITY, order_until_lost, run_acid_tests, what_survived,
};
use tpcc::{Database, InputSource, RunConstants, Witness};
use wire::{Connection, Connector};

/// Connections that order until the server is killed.
const CONNECTIONS: u64 = 8;
/// How long they do.
const LOAD: Duration = Duration::from_secs(5);
/// How long they may take to notice that the server is gone.
const NOTICE: Duration = Duration::from_secs(10);
/// How often a stop is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What durability depends on.
const SETTINGS: [&str; 4] =
    ["innodb_flush_log_at_trx_commit", "innodb_doublewrite", "log_bin", "sync_binlog"];

/// The isolation levels at which tests are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcidLevels {
    One(Isolation),
    /// All of them, to see what each gives; those that TPC-C allows have to pass.
    All,
}

impl AcidLevels {
    /// The levels, the one first at which a run is.
    pub fn levels(self) -> Vec<Isolation> {
        match self {
            AcidLevels::One(level) => vec![level],
            AcidLevels::All => Isolation::ALL.to_vec(),
        }
    }

    /// Is it a failure if a test does not pass at this level?
    pub fn requires(self, level: Isolation) -> bool {
        match self {
            AcidLevels::One(asked) => asked == level,
            AcidLevels::All => matches!(level, Isolation::RepeatableRead | Isolation::Serializable),
        }
    }
}

/// Runs the tests on the database of a subject, which must be one, and kills and starts again its
/// server where it is a private one; `stop` ends them early.
///
/// # Errors
/// Where there are several databases or none, the server is gone or does not come back, or the user
/// interrupts.
pub fn test_acid(
    subject: &Subject,
    asked: AcidLevels,
    job: &Job<'_>,
) -> LabResult<Vec<AcidFinding>> {
    let databases = subject.databases()?;
    if databases.iter().count() > 1 {
        return Err(unfit("the ACID tests are of one database on one server; name one"));
    }
    let connector = databases.first();
    let database = schemas::inspect(&databases, None)?.database;
    let seed = new_seed();
    let mut findings = Vec::new();
    let levels = asked.levels();
    for level in levels.iter().copied() {
        let rows = (database.range, Random::new(seed, &[]));
        let found = until(job.stop, async {
            let progress = &mut |test: tpcc::acid::AcidTest| {
                job.step(&format!("{}: {} {}", level.name(), test.name, test.title));
            };
            Ok(run_acid_tests(connector, rows, level, progress).await?)
        });
        findings.extend(found.map_err(|error| subject.explain(error))?);
    }
    let isolation = levels[0];
    findings.push(match subject.instance() {
        Some(instance) => {
            let orders = Orders { connector, database: &database, isolation, seed };
            survives_a_kill(instance, &orders, job)?
        }
        None => AcidFinding {
            test: DURABILITY,
            isolation,
            verdict: AcidVerdict::NotTested,
            phenomenon: None,
            evidence: vec![
                "mydyno does not end a server that is not its own; test it on a private one, with \
                 --engine"
                    .to_owned(),
            ],
        },
    });
    Ok(findings)
}

/// The load under which a server is killed.
struct Orders<'a> {
    connector: &'a Connector,
    database: &'a Database,
    isolation: Isolation,
    seed: u64,
}

/// Kills a server under load, starts it again and looks for what it had acknowledged.
fn survives_a_kill(
    instance: &Instance,
    orders: &Orders<'_>,
    job: &Job<'_>,
) -> LabResult<AcidFinding> {
    job.step("ordering, until the server is killed");
    let (witness, settings) = with_session(orders.connector, async |session| {
        let witness = Witness::begin(session).await.doing("asking for what is there")?;
        Ok((witness, settings(session).await?))
    })?;
    order_and_kill(instance, orders, &witness, job.stop)?;
    job.step("starting the server again");
    let start = Instant::now();
    instance.start_again()?;
    let recovery = start.elapsed();
    let survived = async |session: &mut Connection| Ok(what_survived(session, &witness).await?);
    let mut seen = with_session(orders.connector, survived)?;
    seen.saw(format!(
        "killed after {} s under load of {CONNECTIONS} connections, back after {:.1} s; {settings}",
        LOAD.as_secs(),
        recovery.as_secs_f64()
    ));
    Ok(seen.finding(DURABILITY, orders.isolation))
}

/// The values of [`SETTINGS`].
async fn settings(session: &mut Connection) -> LabResult<String> {
    let mut lines = Vec::new();
    for name in SETTINGS {
        let value = text(session, &format!("SELECT @@GLOBAL.{name}")).await;
        let value = value.doing("reading a variable")?;
        lines.push(format!("{name} = {value}"));
    }
    Ok(lines.join(", "))
}

/// Runs the load and kills the server in the middle of it.
fn order_and_kill(
    instance: &Instance,
    orders: &Orders<'_>,
    witness: &Witness,
    stop: &AtomicBool,
) -> LabResult<()> {
    let refused = RefCell::new(None);
    let constants = RunConstants::for_run(orders.database.c_load, orders.seed);
    let mut tasks = Tasks::new().map_err(LabError::Reactor)?;
    for connection in 0..CONNECTIONS {
        let random = Random::new(orders.seed, &[INPUTS, connection]);
        let source = InputSource::new(random, constants, orders.database.range, None);
        let refused = &refused;
        tasks.spawn(async move {
            let asked = (source, orders.isolation);
            if let Err(error) = order_until_lost(orders.connector, asked, witness).await {
                refused.replace(Some(error));
            }
        });
    }
    let end = Instant::now() + LOAD;
    while Instant::now() < end && !stop.load(Ordering::Relaxed) {
        let look = Instant::now() + LOOK_EVERY;
        if tasks.run_until(Some(look)).map_err(LabError::Reactor)? == 0 {
            break;
        }
    }
    instance.kill()?;
    tasks.run_until(Some(Instant::now() + NOTICE)).map_err(LabError::Reactor)?;
    drop(tasks);
    match refused.take() {
        _ if stop.load(Ordering::Relaxed) => Err(LabError::Interrupted),
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}
