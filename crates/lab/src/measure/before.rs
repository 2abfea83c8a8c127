//! What is known before a run: what is driven, and what its servers say.

use crate::error::{LabResult, WhileDoing};
use crate::measure::changed_columns::{Columns, columns};
use crate::measure::drill::Drill;
use crate::measure::preflight::ServerTold;
use crate::measure::workload::{self, Fitted, fit, isolation_on};
use crate::measure::{preflight, prepared};
use crate::target::nodes;
use crate::target::schemas::{self, Inspected};
use crate::target::sessions::with_session;
use crate::target::subject::Subject;
use base::{Session, Warehouses, redo_log_bytes, value_of};
use drive::{Facts, Schemas};
use spec::{Cell, Load, Style, Topology, WorkloadKind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tpcc::{Database, ShardRanges};
use wire::{Connector, Metadata, ServerInfo};

/// What is known before a run.
pub(crate) struct BeforeRun {
    /// What is driven.
    pub(crate) fitted: Fitted,
    /// Where the server is ended with the load.
    pub(crate) drill: Option<Drill>,
    pub(crate) server: ServerInfo,
    pub(crate) transport: &'static str,
    pub(crate) result_metadata: &'static str,
    /// TLS version and cipher.
    pub(crate) tls: Option<String>,
    pub(crate) facts: Facts,
    /// What became of transactions over shards that an earlier run had left.
    prepared_before: Option<String>,
    pub(crate) told: ServerTold,
    /// Where the server describes them only once.
    pub(crate) columns: Option<Columns>,
    /// Of the tables and indexes of its first schema, as the server estimates them.
    pub(crate) data_bytes: Option<u64>,
}

impl BeforeRun {
    pub(crate) fn database(&self) -> Option<&Database> {
        self.fitted.tpcc.as_ref().map(|inspected| &inspected.database)
    }

    /// All warehouses, inactive ones too; none where the database is no TPC-C one.
    pub(crate) fn configured(&self) -> Warehouses {
        self.database().map_or(Warehouses(0), |database| database.warehouses)
    }

    /// Among how many warehouses remote order lines and payments choose, one of which is their own.
    pub(crate) fn remote_warehouses(&self, load: &Load) -> Warehouses {
        let of_shards = self.fitted.workload.shards().filter(|_| !load.xa);
        of_shards.map_or(self.fitted.concurrency.active, ShardRanges::fewest)
    }

    /// Of its first server; 0 where that does not say.
    pub(crate) fn redo_bytes(&self) -> f64 {
        let number = |of: &[(String, String)], name: &str| value_of(of, name)?.parse().ok();
        let status = |name: &str| number(&self.told.status, name);
        redo_log_bytes(|name| number(&self.told.variables, name), status).unwrap_or(0.0)
    }

    /// What of the target a reader of the numbers should know.
    pub(crate) fn notes(&self, load: &Load) -> Vec<String> {
        let tls = self.tls.as_ref();
        let mut notes: Vec<String> =
            tls.map(|tls| format!("connections were encrypted: {tls}")).into_iter().collect();
        notes.extend(self.fitted.note_of_tables());
        let Some(Inspected { database, missing_indexes, shards }) = &self.fitted.tpcc else {
            return notes;
        };
        notes.extend(shards.as_ref().map(|shards| workload::shards_note(shards, load)));
        notes.extend(self.prepared_before.clone());
        if database.c_load.is_none() {
            notes.push(
                "the database was not loaded by mydyno: its constant for last names is unknown, so \
                 the distance that clause 2.1.6.1 asks for between load and run cannot be kept"
                    .to_owned(),
            );
        }
        if !missing_indexes.is_empty() {
            notes.push(format!(
                "the database lacks indexes on {}: each lookup by them reads a district, and \
                 queries crawl; make them (in tpcc-mysql, add_fkey_idx.sql does)",
                missing_indexes.join(" and ")
            ));
        }
        let isolation = isolation_on(load, &self.told.variables);
        notes.extend(isolation.as_deref().and_then(workload::isolation_note));
        if load.workload == WorkloadKind::TpccMysql {
            notes.extend(workload::tpcc_mysql_notes());
        }
        notes
    }
}

/// Finds out what is driven, and reads what is compared after the run.
///
/// # Errors
/// Where a server is not fit, or there is no database for this load.
pub(crate) fn before(
    subject: &Subject,
    databases: &Schemas<Connector>,
    (cell, seed): (&Cell, u64),
    stop: &AtomicBool,
) -> LabResult<BeforeRun> {
    let load = &cell.load;
    nodes::require_fit(subject)?;
    let fault = cell.server.private().and_then(|private| private.fault);
    let drill = fault.map(|fault| Drill::of(fault, databases.first())).transpose()?;
    let witness = drill.as_ref().map(|drill| Arc::clone(&drill.witness));
    let fitted = fit(databases, load, seed, witness)?;
    fitted.require_transactions(&load.workload)?;
    let mut prepared_before = None;
    if let Some(shards) = fitted.workload.shards() {
        if load.xa {
            prepared::require_kept(databases)?;
        }
        prepared_before = prepared::resolve(databases, shards, load.xa)?;
    }
    let facts = nodes::facts_of_all(databases, &fitted.workload, nodes::PATIENCE_BEFORE, stop)?;
    with_session(databases.first(), async |session| {
        // The first of several servers has the most of them; a primary has all, and each shard has
        // where transactions cross them.
        let all = fitted.concurrency.connections;
        let connections = match subject.topology {
            Topology::PrimaryReplicas => all,
            _ if load.xa => all,
            _ => all.div_ceil(subject.instances()),
        };
        let statements = if load.no_prepare { 0 } else { fitted.statements };
        preflight::check_server(session, (connections, statements)).await
    })?;
    if load.style == Style::Procedures {
        schemas::install_procedures(databases)?;
    }
    with_session(databases.first(), async |session| {
        let told = preflight::told(session).await?;
        let writes = fitted.workload.types().iter().any(|of| of.row_bytes != Some(0));
        let isolation = isolation_on(load, &told.variables).filter(|_| writes);
        preflight::check_binlog(&told.variables, &isolation.unwrap_or_default())?;
        let data_bytes = preflight::data_bytes(session, "table_schema = DATABASE()").await;
        // How often the sessions of a run will have columns described.
        if !fitted.has_calls && !load.no_prepare {
            session.all_prepared().await.doing("agreeing on result metadata")?;
        }
        let is_described_once = session.metadata() == Metadata::Omitted;
        let columns = if is_described_once { Some(columns(session).await?) } else { None };
        Ok(BeforeRun {
            fitted,
            drill,
            server: session.server().clone(),
            transport: session.transport(),
            result_metadata: session.metadata().name(),
            tls: session.tls(),
            facts,
            prepared_before,
            told,
            columns,
            data_bytes,
        })
    })
}
