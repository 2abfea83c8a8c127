//! What is different where a measurement is a drill: its devices may lose their power, and what
//! comes up again is held against what was acknowledged.

use crate::error::{LabError, LabResult, WhileDoing, unfit};
use crate::measure::check::check;
use crate::measure::drill::Drill;
use crate::measure::measurement::Measurement;
use crate::progress::Stopwatch;
use crate::target::sessions::with_session_until;
use base::{Exit, Session, clock};
use drive::RunReport;
use server::{CorruptPages, Ending, ServerError, corrupt_pages, errors_in};
use spec::Fault;
use std::time::Duration;
use store::{StoredDrill, StoredWitness};
use tpcc::{CheckSet, Table, WitnessReport};

/// So long a server that has recovered may take to shut down.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(60);

fn add_damage(stored: &mut StoredDrill, what: &str) {
    let before = stored.damage.take().map(|damage| damage + "; ").unwrap_or_default();
    stored.damage = Some(before + what);
}

fn count_pages(found: &CorruptPages, stored: &mut StoredDrill) {
    stored.corrupt_pages = Some(found.count);
    if let Some(first) = &found.first {
        let count = found.count;
        add_damage(stored, &format!("corrupt pages: {count}, of which the first is {first}"));
    }
}

impl Measurement<'_, '_> {
    /// Goes on where the load is over: ends the server for good, cuts the power, has the server
    /// recover, and stores what survived.
    pub(crate) fn recover(&self, drill: &Drill, driven: &RunReport) -> LabResult<Exit> {
        let job = self.job;
        let instance = self
            .subject
            .instance()
            .ok_or_else(|| unfit("only a private server can be ended; name an engine"))?;
        let mut watch = Stopwatch::begin();
        let mut stored = StoredDrill { fault: drill.fault.to_string(), ..StoredDrill::default() };
        drill.react(self.subject, instance, driven, &mut stored)?;
        instance.kill()?;
        if drill.fault == Fault::PowerCut {
            job.step("cutting the power");
            let cut = storage::cut_power(instance.directory(), self.seed)?;
            stored.unstable_writes = Some(cut.counts.unstable_writes);
            stored.lost_writes = Some(cut.counts.lost_writes);
            stored.torn_writes = Some(cut.counts.torn_writes);
            stored.lost_names = Some(cut.counts.lost_names);
            stored.forced_writes = Some(cut.forced_writes + cut.unrecorded);
        }
        let data = instance.data_directory();
        stored.torn_pages = Some(corrupt_pages(data)?.count);
        job.step("recovering");
        self.subject.arm(true)?;
        let begin = clock::Instant::now();
        let recovered = instance.start_again();
        let recovery = begin.elapsed();
        self.subject.arm(false)?;
        let witnessed = match recovered {
            Err(_) if self.await_stop() => return Err(LabError::Interrupted),
            Err(error) => {
                let why = match error {
                    ServerError::Failed { why, .. } => why,
                    error => error.to_string(),
                };
                stored.damage = Some(format!("it does not recover: {why}"));
                stored.corrupt_pages = Some(corrupt_pages(data)?.count);
                Vec::new()
            }
            Ok(()) => {
                stored.recovery_ns = Some(recovery.as_nanos() as u64);
                let witnessed = self.hold_against(drill, &mut stored)?;
                // What a server still has in memory is not in its files.
                if instance.stop(SHUTDOWN_PATIENCE)? != Ending::Killed {
                    count_pages(&corrupt_pages(data)?, &mut stored);
                }
                witnessed
            }
        };
        // What was witnessed comes first: with the drill the repeat has ended.
        self.results.put(self.repeat, &witnessed)?;
        self.results.put(self.repeat, &[stored])?;
        watch.lap("the fault, recovering, and asking what is there", job);
        Ok(Exit::Ok)
    }

    /// Asks the server that has recovered: all pages, all checks, and every transaction. A server
    /// that dies of it is damage.
    fn hold_against(
        &self,
        drill: &Drill,
        stored: &mut StoredDrill,
    ) -> LabResult<Vec<StoredWitness>> {
        let (corrupt, failed, report) = match self.ask(drill) {
            Err(error @ (LabError::Interrupted | LabError::Store(_))) => return Err(error),
            Err(_) if self.await_stop() => return Err(LabError::Interrupted),
            Err(error) => {
                let log = self.subject.log_tail().as_deref().and_then(errors_in);
                let why = log.unwrap_or_else(|| self.subject.explain(error).to_string());
                stored.damage = Some(format!("its data cannot be read: {why}"));
                return Ok(Vec::new());
            }
            Ok(asked) => asked,
        };
        for (what, names) in [("corrupt tables", corrupt), ("checks that fail", failed)] {
            if !names.is_empty() {
                add_damage(stored, &format!("{what}: {}", names.join(", ")));
            }
        }
        stored.lost_span_ns = Some(report.lost_span.as_nanos() as u64);
        Ok(report.rows.into())
    }

    /// Corrupt tables, failed checks, and what the witness says.
    fn ask(&self, drill: &Drill) -> LabResult<(Vec<String>, Vec<String>, WitnessReport)> {
        let (database, stop) = (self.databases.first(), self.job.stop);
        let corrupt = with_session_until(database, stop, async |session| {
            let names = Table::ALL.map(Table::name).join(", ");
            let answer = session.query(&format!("CHECK TABLE {names}")).await;
            let answer = answer.doing("checking the pages")?;
            // Name, "check", kind of message, message.
            let is_bad =
                |kind: &str, says: &str| kind == "error" || kind == "status" && says != "OK";
            let bad = answer.rows().filter(|row| is_bad(&row.text(2), &row.text(3)));
            Ok(bad.map(|row| row.text(0)).collect::<Vec<_>>())
        })?;
        let asked = (&self.begun.fitted.workload, CheckSet::Consistency);
        let checks = check(self.subject, self.databases, asked, self.job)?;
        self.results.record_checks(self.repeat, &checks)?;
        let failed = checks.into_iter().filter(|check| !check.passed).map(|check| check.name);
        let report = with_session_until(database, stop, async |session| {
            drill.witness.compare_with(session).await.doing("asking for what is there")
        })?;
        Ok((corrupt, failed.collect(), report))
    }
}
