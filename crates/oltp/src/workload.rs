//! A script as a workload of the driver.

use crate::generate::DrawnValues;
use crate::script::{START_TRANSACTION, Script, execute};
use base::limits::OFFENDING_ROWS_MAX;
use base::{Connect, Random, Session, SessionError, SessionResult, StatementId, USERS_SETTINGS};
use drive::streams::INPUTS;
use drive::{
    Attempt, Client, Facts, Failed, Opening, Proof, RunReport, Schemas, Source, StatementTimes,
    Timed, TransactionInfo, TransactionType, Workload, failed_by, failed_in_commit, needs_prepare,
    set_isolation, takes_writes,
};
use spec::Isolation;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use store::StoredCheck;

/// What the connections of a run have in common.
#[derive(Clone, Copy, Debug)]
pub struct ScriptOptions {
    /// The server's own level where none is named.
    pub isolation: Option<Isolation>,
    /// Of the inputs.
    pub seed: u64,
}

/// Transactions of a script over any kind of session.
pub struct ScriptWorkload<C> {
    schemas: Schemas<C>,
    script: Arc<Script>,
    options: ScriptOptions,
}

impl<C: Connect + Clone + Sync> ScriptWorkload<C> {
    /// The same transactions with other inputs.
    pub fn with_seed(&self, seed: u64) -> ScriptWorkload<C> {
        let options = ScriptOptions { seed, ..self.options };
        ScriptWorkload::new(self.schemas.clone(), Arc::clone(&self.script), options)
    }

    /// Connections to the databases that `schemas` reach.
    pub fn new(
        schemas: Schemas<C>,
        script: Arc<Script>,
        options: ScriptOptions,
    ) -> ScriptWorkload<C> {
        ScriptWorkload { schemas, script, options }
    }

    /// Proves a database consistent, and tells of steps done and of all; an empty list where there
    /// is nothing to prove it by.
    ///
    /// # Errors
    /// Where the server refuses.
    pub async fn checks<S: Session>(
        &self,
        session: &mut S,
        progress: &mut dyn FnMut(u64, u64),
    ) -> SessionResult<Vec<StoredCheck>> {
        let total = self.script.checks.len() as u64;
        // The SQL of a file is that of the server's users.
        session.query("SET sql_mode = DEFAULT").await?;
        let mut results = Vec::new();
        for (done, check) in (0..).zip(&self.script.checks) {
            progress(done, total);
            let start = Instant::now();
            let answer = session.query(&check.sql).await?;
            let examples = answer.rows().take(OFFENDING_ROWS_MAX);
            results.push(StoredCheck {
                name: check.name.clone(),
                title: check.title.clone(),
                clause: String::new(),
                passed: answer.is_empty(),
                offending_rows: answer.len() as u64,
                examples: examples.map(|row| row.texts().join(", ")).collect(),
                duration_ns: start.elapsed().as_nanos() as u64,
            });
        }
        Ok(results)
    }
}

impl<C: Connect + Sync> Workload for ScriptWorkload<C> {
    type Operation = Operation;
    type Source = ScriptSource;
    type Client = ScriptClient<C>;

    fn transactions(&self) -> &'static [TransactionInfo] {
        self.script.types
    }

    fn source(&self, of: u32) -> ScriptSource {
        ScriptSource {
            script: Arc::clone(&self.script),
            random: Random::new(self.options.seed, &[INPUTS, u64::from(of)]),
        }
    }

    async fn open(&self, which: Opening) -> Result<ScriptClient<C>, Failed> {
        let server = self.schemas.writes_to(which);
        let session = self.schemas.connect(server).await?;
        let mut client = ScriptClient {
            server,
            session: Timed::new(session),
            script: Arc::clone(&self.script),
            prepared: Vec::new(),
        };
        let opened = client.set_up(self.options.isolation).await;
        opened.map_err(|error| failed_by(&error))?;
        Ok(client)
    }
}

impl<C: Connect + Sync> Proof for ScriptWorkload<C> {
    async fn facts<S: Session>(&self, session: &mut S) -> SessionResult<Facts> {
        let mut facts = Facts::default();
        for sql in self.script.constant.iter().flat_map(|constant| &constant.sql) {
            facts.0.push(session.query(sql).await?.int()?.unwrap_or(0));
        }
        Ok(facts)
    }

    fn mismatch(&self, _report: &RunReport, before: &Facts, after: &Facts) -> Option<String> {
        let what = self.script.constant.as_ref()?.what;
        (before != after).then(|| {
            format!("no transaction of the driver changes {what}, but they are others than before")
        })
    }
}

/// Says which statement the server refuses.
fn naming(sql: &str, error: SessionError) -> SessionError {
    match error {
        SessionError::Server { code, sqlstate, message } => {
            let message = format!("{message}; the statement is {}", sql.trim());
            SessionError::Server { code, sqlstate, message }
        }
        other @ (SessionError::Lost(_) | SessionError::Unexpected(_)) => other,
    }
}

/// A transaction with its values.
pub struct Operation {
    transaction: usize,
    values: DrawnValues,
}

/// Draws transactions by their weights.
pub struct ScriptSource {
    script: Arc<Script>,
    random: Random,
}

impl Source for ScriptSource {
    type Operation = Operation;

    fn deal(&mut self) -> TransactionType {
        let types = self.script.types;
        let mut left = self.random.unit();
        let dealt = types.iter().position(|of| {
            left -= of.share;
            left < 0.0
        });
        TransactionType(dealt.unwrap_or(types.len() - 1) as u8)
    }

    fn draw(&mut self, transaction: TransactionType) -> Operation {
        let of = &self.script.transactions[transaction.index()];
        Operation {
            transaction: transaction.index(),
            values: DrawnValues::drawn(&of.generators, &mut self.random),
        }
    }
}

/// One connection.
pub struct ScriptClient<C: Connect> {
    /// Which of several it works on.
    server: usize,
    session: Timed<C::Session>,
    script: Arc<Script>,
    /// The statements of each transaction's steps, by variant.
    prepared: Vec<Vec<Vec<StatementId>>>,
}

impl<C: Connect> ScriptClient<C> {
    async fn set_up(&mut self, isolation: Option<Isolation>) -> SessionResult<()> {
        if let Some(isolation) = isolation {
            set_isolation(&mut self.session, isolation).await?;
        }
        self.session.query(USERS_SETTINGS).await?;
        self.session.set_keeps_rows(false);
        self.prepare().await
    }

    /// Prepares every statement once, however many steps have it.
    async fn prepare(&mut self) -> SessionResult<()> {
        let mut known: BTreeMap<&str, StatementId> = BTreeMap::new();
        self.prepared.clear();
        for transaction in &self.script.transactions {
            let mut steps = Vec::new();
            for step in &transaction.steps {
                let mut variants = Vec::new();
                for sql in &step.variants {
                    let id = match known.get(sql.as_str()) {
                        Some(id) => *id,
                        None => {
                            let prepared = self.session.prepare_kind(step.kind, sql).await;
                            prepared.map_err(|error| naming(sql, error))?
                        }
                    };
                    known.insert(sql, id);
                    variants.push(id);
                }
                steps.push(variants);
            }
            self.prepared.push(steps);
        }
        self.session.all_prepared().await
    }

    /// One try; the error of the session behind what that makes of the try.
    async fn run(&mut self, operation: &Operation) -> Result<(), (Failed, SessionError)> {
        type Judge = fn(&SessionError) -> Failed;
        let judged_by = |judge: Judge| move |error: SessionError| (judge(&error), error);
        let script = Arc::clone(&self.script);
        let transaction = &script.transactions[operation.transaction];
        let is_explicit = transaction.steps.len() > 1;
        // A statement alone is its own COMMIT.
        let judge: Judge = if is_explicit { failed_by } else { failed_in_commit };
        if is_explicit {
            self.session.query(START_TRANSACTION).await.map_err(judged_by(judge))?;
        }
        for (place, step) in transaction.steps.iter().enumerate() {
            let values = &operation.values;
            let id = self.prepared[operation.transaction][place][step.variant(values)];
            let executed = execute(&mut self.session, id, &step.parameters, values).await;
            executed.map_err(judged_by(judge))?;
        }
        if is_explicit {
            self.session.query("COMMIT").await.map_err(judged_by(failed_in_commit))?;
        }
        if self.session.in_transaction() {
            let why = "a statement leaves a transaction open, so that nothing is committed: leave \
                       autocommit and START TRANSACTION to mydyno, and COMMIT in procedures";
            let error = SessionError::Unexpected(why.to_owned());
            return Err(judged_by(failed_by)(error));
        }
        Ok(())
    }

    /// Leaves the session as it was before the try.
    async fn recover(&mut self, error: &SessionError) -> SessionResult<()> {
        if error.code().is_none() {
            // The session is of no more use.
            return Ok(());
        }
        self.session.query("ROLLBACK").await?;
        if needs_prepare(error) {
            self.session.forget_prepared().await?;
            self.prepare().await?;
        }
        Ok(())
    }
}

impl<C: Connect> Client for ScriptClient<C> {
    type Operation = Operation;

    fn server(&self) -> usize {
        self.server
    }

    fn begin(&mut self) {
        self.session.begin();
    }

    async fn attempt(&mut self, operation: &Operation) -> Attempt {
        let Err((failed, error)) = self.run(operation).await else {
            return Attempt::Committed;
        };
        match self.recover(&error).await {
            Ok(()) => Attempt::Failed(failed),
            Err(error) => Attempt::Failed(failed_by(&error)),
        }
    }

    fn statements(&self) -> u64 {
        self.session.statements()
    }

    fn is_closed(&self) -> bool {
        self.session.is_closed()
    }

    fn statement_times(&self) -> StatementTimes<'_> {
        self.session.times()
    }

    async fn takes_writes(&mut self) -> Result<(), Failed> {
        takes_writes(&mut self.session).await
    }

    async fn close(self) {
        C::close(self.session.into_inner()).await;
    }
}
