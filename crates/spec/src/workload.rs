//! The workloads and their databases, with what is asked of both by name.

use crate::rand_type::RandType;
use base::named;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// What is driven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum WorkloadKind {
    /// Transactions of clause 2 without keying and think time.
    Tpcc,
    /// Terminals with keying and think times, as clause 5 has them.
    TpccSpec,
    /// The statement sequence of tpcc-mysql.
    TpccMysql,
    #[serde(untagged)]
    Script(ScriptKind),
}

/// A workload that is a list of statements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum ScriptKind {
    SysbenchOltp(OltpMix),
    /// The transactions of a file, by its path.
    File(String),
}

named! {
    /// Which script of sysbench it is. Those in `Uniform` draw ids uniformly.
    #[derive(Serialize)]
    pub enum OltpMix {
        ReadWrite = "sysbench-oltp",
        ReadOnly = "sysbench-oltp-read-only",
        WriteOnly = "sysbench-oltp-write-only",
        /// One SELECT by primary key, without BEGIN and COMMIT.
        PointSelect = "sysbench-oltp-point-select",
        UpdateIndex = "sysbench-oltp-update-index",
        UpdateNonIndex = "sysbench-oltp-update-non-index",
        Insert = "sysbench-oltp-insert",
        Delete = "sysbench-oltp-delete",
        /// Rows of ten values of `k`.
        RandomPoints = "sysbench-select-random-points",
        /// A count over ten ranges of `k`.
        RandomRanges = "sysbench-select-random-ranges",
        ReadWriteUniform = "sysbench-oltp-uniform",
        ReadOnlyUniform = "sysbench-oltp-read-only-uniform",
        WriteOnlyUniform = "sysbench-oltp-write-only-uniform",
        PointSelectUniform = "sysbench-oltp-point-select-uniform",
    }
}

impl OltpMix {
    /// How it draws ids where nothing else is asked for.
    pub const fn rand_type(self) -> RandType {
        match self {
            OltpMix::ReadWriteUniform
            | OltpMix::ReadOnlyUniform
            | OltpMix::WriteOnlyUniform
            | OltpMix::PointSelectUniform => RandType::Uniform,
            OltpMix::ReadWrite
            | OltpMix::ReadOnly
            | OltpMix::WriteOnly
            | OltpMix::PointSelect
            | OltpMix::UpdateIndex
            | OltpMix::UpdateNonIndex
            | OltpMix::Insert
            | OltpMix::Delete
            | OltpMix::RandomPoints
            | OltpMix::RandomRanges => RandType::Special,
        }
    }
}

/// What a workload is driven on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum DatabaseKind {
    Tpcc,
    #[serde(untagged)]
    Script(ScriptDatabase),
}

/// What workloads are driven on that are lists of statements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum ScriptDatabase {
    Sbtest(SbtestTables),
    /// What the setup of a workload's file makes, by the file's path.
    File(String),
}

/// The tables sbtest1, sbtest2 and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SbtestTables {
    pub count: u32,
    /// Of each table.
    pub rows: u32,
}

impl SbtestTables {
    /// As sysbench has it.
    pub const BY_DEFAULT: SbtestTables = SbtestTables { count: 1, rows: 10_000 };
    /// Most tables: each connection prepares nine statements for each of them.
    pub const COUNT_MAX: u32 = 1_000;
    /// Most rows of one of them: their key is an INT.
    pub const ROWS_MAX: u32 = i32::MAX as u32;
}

/// What the names of files with workloads end in.
const FILE_ENDING: &str = ".toml";

impl WorkloadKind {
    /// Those that have a name of their own.
    pub fn named() -> Vec<WorkloadKind> {
        let oltp = OltpMix::ALL.map(|mix| WorkloadKind::Script(ScriptKind::SysbenchOltp(mix)));
        let tpcc = [WorkloadKind::Tpcc, WorkloadKind::TpccSpec, WorkloadKind::TpccMysql];
        tpcc.into_iter().chain(oltp).collect()
    }

    /// The name on the command line, in plans and in results.
    pub fn name(&self) -> &str {
        match self {
            WorkloadKind::Tpcc => "tpcc",
            WorkloadKind::TpccSpec => "tpcc-spec",
            WorkloadKind::TpccMysql => "tpcc-mysql",
            WorkloadKind::Script(ScriptKind::SysbenchOltp(mix)) => mix.name(),
            WorkloadKind::Script(ScriptKind::File(path)) => path,
        }
    }

    /// What it is driven on, of the size that it has by default.
    pub fn database(&self) -> DatabaseKind {
        DatabaseKind::Script(match self {
            WorkloadKind::Tpcc | WorkloadKind::TpccSpec | WorkloadKind::TpccMysql => {
                return DatabaseKind::Tpcc;
            }
            WorkloadKind::Script(ScriptKind::SysbenchOltp(_)) => {
                ScriptDatabase::Sbtest(SbtestTables::BY_DEFAULT)
            }
            WorkloadKind::Script(ScriptKind::File(path)) => ScriptDatabase::File(path.clone()),
        })
    }

    /// Is it on a TPC-C database?
    pub fn is_tpcc(&self) -> bool {
        self.database() == DatabaseKind::Tpcc
    }

    /// Are its transactions those of clause 2?
    pub fn is_by_the_clauses(&self) -> bool {
        matches!(self, WorkloadKind::Tpcc | WorkloadKind::TpccSpec)
    }

    /// The options that size databases, each with the first workload that goes by it.
    pub fn all_sizes() -> impl Iterator<Item = (&'static str, WorkloadKind)> {
        WorkloadKind::named().into_iter().flat_map(|workload| {
            let sizes = workload.database().sizes();
            sizes.into_iter().map(move |(option, _)| (option, workload.clone()))
        })
    }
}

impl DatabaseKind {
    /// How large it is, by the options of a plan; of TPC-C it is the warehouses that tell.
    pub fn sizes(&self) -> Vec<(&'static str, u32)> {
        match self {
            DatabaseKind::Script(ScriptDatabase::Sbtest(SbtestTables { count, rows })) => {
                vec![("tables", *count), ("table_size", *rows)]
            }
            DatabaseKind::Tpcc | DatabaseKind::Script(ScriptDatabase::File(_)) => Vec::new(),
        }
    }
}

impl FromStr for WorkloadKind {
    type Err = String;

    fn from_str(text: &str) -> Result<WorkloadKind, String> {
        if text.ends_with(FILE_ENDING) {
            return Ok(WorkloadKind::Script(ScriptKind::File(text.to_owned())));
        }
        let named = WorkloadKind::named();
        // `oltp_read_write` and the like: sysbench's own names.
        let of_script =
            text.contains('_').then(|| text.replace('_', "-").replace("-read-write", ""));
        let of_script = of_script.map(|name| format!("sysbench-{name}"));
        let is_meant = |name: &str| name == text || of_script.as_deref() == Some(name);
        named.iter().find(|workload| is_meant(workload.name())).cloned().ok_or_else(|| {
            let names: Vec<&str> = named.iter().map(WorkloadKind::name).collect();
            format!(
                "unknown workload {text:?}; known are {}, and files that end in {FILE_ENDING}",
                names.join(", ")
            )
        })
    }
}

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::{ScriptKind, WorkloadKind};

    #[test]
    fn workloads_have_names_or_are_files() {
        for workload in WorkloadKind::named() {
            assert_eq!(workload.name().parse(), Ok(workload.clone()));
        }
        let file = WorkloadKind::Script(ScriptKind::File("x/a.toml".to_owned()));
        assert_eq!("x/a.toml".parse(), Ok(file));
        for (script, name) in [
            ("oltp_read_write", "sysbench-oltp"),
            ("oltp_update_non_index", "sysbench-oltp-update-non-index"),
            ("select_random_points", "sysbench-select-random-points"),
        ] {
            assert_eq!(script.parse::<WorkloadKind>().unwrap().name(), name);
        }
        let unknown = "tpch".parse::<WorkloadKind>().unwrap_err();
        assert!(unknown.contains("tpcc-spec"), "{unknown}");
    }
}
