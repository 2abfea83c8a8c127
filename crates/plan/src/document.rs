//! The file as it is written: a struct for each table, a field for each key. Their doc comments are
//! the descriptions of the JSON schema and of docs/plans.md; what stands in `[default: ...]` is for
//! people, since absence is a value of its own here.

use crate::kinds::{
    Count, DURATION_MAX_MS, DilationFactor, Flag, KinkPower, MeanPrecision, PageCacheSize,
    PlateauPower, ResponseLimits, Seed, Share, Text, Time, Variables, WarmupLength, WindowLength,
};
use crate::order::Order;
use crate::values::{Axis, One};
use base::limits::{
    CONNECTIONS_MAX, CORES_MAX, DRIVER_THREADS_MAX, INSTANCES_MAX, INTERVAL_MIN_MS,
    RETRY_PAUSE_MAX_MS, SBTEST_ROWS_MAX, SBTEST_TABLES_MAX, SCHEMAS_MAX, TERMINALS_MAX,
    WAREHOUSES_MAX,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use spec::{Dilate, Fault, Isolation, Rate, Scale, Spacing, Style, Topology, WorkloadKind};
use tpcc::schema::PARTITIONS_MAX;

/// Most repeats of a cell: far above what a confidence interval asks for.
const REPEATS_MAX: u32 = 1_000;
const CHANGES_MAX: u32 = 100;
/// Most points of a ramp: far above what finds a place.
const POINTS_MAX: u32 = 1_000;

/// A plan of mydyno
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["lab", "server", "load"], "anyOf" = [
    { "required": ["ramp"] },
    { "properties": { "load": { "required": ["connections"] } } },
    { "properties": { "load": { "required": ["workload"] } } },
]))]
pub(crate) struct PlanDocument {
    pub(crate) lab: LabTable,
    pub(crate) server: ServerTable,
    pub(crate) storage: StorageTable,
    pub(crate) load: LoadTable,
    #[schemars(with = "RampTable")]
    pub(crate) ramp: Option<RampTable>,
    pub(crate) crash: CrashTable,
    pub(crate) meters: MetersTable,
    /// Read apart, by the keys of the other tables.
    #[schemars(skip)]
    pub(crate) exclude: IgnoredAny,
}

/// The experiment as a whole.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["name"]))]
pub(crate) struct LabTable {
    /// The name of the lab in results and reports [default: required]
    pub(crate) name: One<Text>,
    /// Measurements of each cell; with one only, a report has no uncertainty [default: 3]
    pub(crate) repeats: One<Count<1, REPEATS_MAX>>,
    /// `random`: each repeat is a block of all cells in an order of its own, drawn from `seed`, so
    /// drift over time does not bias any cell; `listed`: blocks in the order of the matrix
    /// [default: random]
    pub(crate) order: One<Order>,
    /// Seed of the order and of the inputs; each repeat has inputs of its own, which derive from it
    /// and from the repeat's number and are the same in all cells [default: 1]
    pub(crate) seed: One<Seed>,
    /// Settings in which a cell may differ from the first values of the plan: its `preset`, its
    /// variables and the places of roles other than `data`. 1 changes one at a time, in all
    /// combinations of everything else [default: no limit]
    pub(crate) changes_max: One<Count<1, CHANGES_MAX>>,
    /// Time after which a lab starts no repeat; a plan that is expected to take longer is refused
    /// [default: none]
    pub(crate) time_limit: One<Time<1000, DURATION_MAX_MS>>,
    /// Time from the start of a repeat's server to its end, after which the repeat is ended as
    /// failed (`timed_out`); automatic times count with their most [default: warm-up + window (of a
    /// ramp, and a minute, for each of its `points`) + 10m + 10s a warehouse for each of
    /// `instances`]
    pub(crate) repeat_time_limit: One<Time<1000, DURATION_MAX_MS>>,
}

/// The server that is measured: one that is there already (`dsn` or `defaults_file`), or private
/// servers of an `engine`, which each repeat starts anew on clones of a populated image.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("anyOf" = [
    { "required": ["engine"] },
    { "required": ["server_binary"] },
    { "required": ["dsn"] },
    { "required": ["defaults_file"] },
]))]
pub(crate) struct ServerTable {
    /// A server and a schema of it that `mydyno load` has populated:
    /// `mysql://user@host:3306/tpcc`, as `mydyno run --dsn` takes it, but without a password, which
    /// comes from MYDYNO_PASSWORD or an option file [default: none]
    pub(crate) dsn: Axis<Text>,
    /// A MySQL option file with a [client] section, instead of ~/.my.cnf [default: none]
    pub(crate) defaults_file: One<Text>,
    /// Schemas of `dsn` that the connections are spread over, `<schema>_0`, `<schema>_1` and so on
    /// (see `mydyno load --schemas`) [default: the one that is named]
    pub(crate) schemas: Axis<Count<1, SCHEMAS_MAX>>,
    /// A server of `mydyno server list`: `mysql-5.7`; or the path of a server's binary, with a
    /// slash: `/usr/sbin/mysqld` [default: required without `dsn`, `defaults_file` or
    /// `server_binary`]
    pub(crate) engine: Axis<Text>,
    /// The path of the private server's binary (mysqld or mariadbd), instead of an installed engine
    /// [default: that of `engine`]
    pub(crate) server_binary: One<Text>,
    /// A named set of server variables, translated for the engine: `config-3` [default: default]
    pub(crate) preset: Axis<Text>,
    /// Sizes of the preset's buffer pool and redo: `auto` keeps pool : data and redo : data of the
    /// papers, whose presets are for 1,000 warehouses; `papers` takes them as they stand; a number
    /// keeps that proportion to so many warehouses [default: auto]
    pub(crate) scale: One<Scale>,
    /// Server variables, which win over the preset; each that has a list is a dimension. Values are
    /// numbers, texts as a my.cnf has them (`"512M"`), or `true` and `false` for ON and OFF
    /// [default: none]
    pub(crate) set: One<Variables>,
    /// Private servers of a cell, each with a database of `warehouses`: they share the machine and
    /// its devices, and divide the buffer pool, the page cache of emulated devices and the
    /// connections; not with workload `tpcc-spec` [default: 1]
    pub(crate) instances: Axis<Count<1, INSTANCES_MAX>>,
    /// How several servers belong together, which `nodes` starts or one `dsn` names by its hosts
    /// (`mysql://user@a:3306,b:3306/tpcc`): `multi-primary` (Galera, Group Replication: connections
    /// go to all of them), `primary-replicas` (the first is written to, and Order-Status and
    /// Stock-Level read from the others) or `shards` (each has a range of the warehouses)
    /// [default: one server, or `instances`]
    pub(crate) topology: Axis<Topology>,
    /// Private servers of a cell that belong together, as `topology` says; they share this machine
    /// as `instances` do [default: 1]
    pub(crate) nodes: Axis<Count<2, INSTANCES_MAX>>,
    /// How many times slower clocks and emulated devices run, so that this machine measures as one
    /// with cores as many times as fast: 1 to 100, or `auto`, the least at which this machine is no
    /// limit; times of a plan are those of the slower clock (docs/dilation.md) [default: 1]
    pub(crate) dilate: Axis<Dilate>,
    /// How far `dilate = "auto"` goes [default: 16]
    pub(crate) dilate_max: One<DilationFactor>,
    /// Cores (hardware threads) that the private servers of a cell are kept to, all of them
    /// together: at most as many as mydyno may use; mydyno has the others, where there are any
    /// [default: all, shared with mydyno]
    pub(crate) cores: Axis<Count<1, CORES_MAX>>,
}

/// Places of the files of private servers, by role. The table may be left out.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StorageTable {
    /// The place of data and of everything that has none of its own: a device of `mydyno device
    /// list`, a profile's file (`./my.toml`), either of them with `@DIRECTORY`, or a directory
    /// (with a slash) [default: mydyno's own directory]
    pub(crate) data: Axis<Text>,
    /// The redo log: a place, or `same` (on data's device), or `twin` (on a second device of the
    /// kind that data has). Roles with the same place, or `twin`, share one device [default: same]
    pub(crate) redo: Axis<Text>,
    /// Undo tablespaces, on servers that have them [default: same]
    pub(crate) undo: Axis<Text>,
    /// The doublewrite buffer [default: same]
    pub(crate) doublewrite: Axis<Text>,
    /// The binary log, which a place turns on [default: same]
    pub(crate) binlog: Axis<Text>,
    /// Temporary files and tablespaces [default: same]
    pub(crate) temp: Axis<Text>,
    /// Memory that buffered I/O of emulated devices has as its page cache [default: half of the
    /// tables]
    pub(crate) page_cache: One<PageCacheSize>,
    /// Count the I/O of real storage too, by role; emulated devices are counted anyway
    /// [default: false]
    pub(crate) count_io: One<Flag>,
}

/// Repeats are drills: a fault comes at a random moment in the second half of the window, the
/// private server is ended, and everything that it had acknowledged is looked for (docs/crash.md).
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CrashTable {
    /// What happens: `power-cut` (emulated devices lose their power), `kill` (SIGKILL), or for ten
    /// seconds `disk-full`, `io-error`, `short-write`, `device-lost` or `fail-slow`, of one role
    /// with it behind a colon (`io-error:redo`) [default: nothing]
    pub(crate) fault: Axis<Fault>,
}

/// The load on it, its lengths, and how it is judged.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LoadTable {
    /// Warehouses of private databases, each about 100 MB; of the database of a `dsn`, those that
    /// are used [default: 10; of a `dsn` all]
    pub(crate) warehouses: Axis<Count<1, WAREHOUSES_MAX>>,
    /// Seed of the population of private databases [default: `seed` of the lab]
    pub(crate) population_seed: One<Seed>,
    /// The foreign keys of clause 1.3.1, with the indexes that only they need [default: true]
    pub(crate) foreign_keys: One<Flag>,
    /// Partitions of each table whose primary key has the warehouse, by hash of it; 0 splits none.
    /// For databases with `foreign_keys = false`: no MySQL has both [default: 0]
    pub(crate) partitions: Axis<Count<0, PARTITIONS_MAX>>,
    /// Tables of private databases for `sysbench-oltp` and its kinds: sbtest1, sbtest2 and so on
    /// [default: 1]
    pub(crate) tables: Axis<Count<1, SBTEST_TABLES_MAX>>,
    /// Rows of each of these tables, each about 240 bytes on disk [default: 10000]
    pub(crate) table_size: Axis<Count<1, SBTEST_ROWS_MAX>>,
    /// What is driven: `tpcc` (transactions by the clauses, no waits), `tpcc-spec` (terminals with
    /// keying and think times), `tpcc-mysql` (the statements of that tool), `sysbench-oltp` and its
    /// kinds (the statements of sysbench 1.0.20) or a file (transactions of your own: docs/oltp.md)
    /// [default: tpcc]
    pub(crate) workload: Axis<WorkloadKind>,
    /// How statements travel: `statements`, `pipelined`, `batched` or `procedures`
    /// [default: statements]
    pub(crate) style: Axis<Style>,
    /// Isolation level of the sessions: `repeatable-read`, `serializable`, or `read-committed` and
    /// `read-uncommitted`, which are weaker than TPC-C demands [default: repeatable-read; with
    /// `tpcc-mysql` the server's]
    pub(crate) isolation: Axis<Isolation>,
    /// Client sessions in a closed loop or, with `tpcc-spec`, at the service of the terminals
    /// [default: required without `[ramp]`; of a plan whose only workload is `tpcc-spec` one for
    /// each terminal]
    pub(crate) connections: Axis<Count<1, CONNECTIONS_MAX>>,
    /// Terminals of workload `tpcc-spec`; with another number some share a district, and clause
    /// 4.1.3 is not judged [default: ten for each active warehouse]
    pub(crate) terminals: Axis<Count<1, TERMINALS_MAX>>,
    /// Warehouses that have rows but no terminals, with workload `tpcc-spec` (clause 4.2.2)
    /// [default: 0]
    pub(crate) inactive_warehouses: One<Count<0, WAREHOUSES_MAX>>,
    /// Bind each connection to a warehouse [default: false]
    pub(crate) home: One<Flag>,
    /// With `topology = "shards"`: let remote order lines and payments use warehouses of all
    /// shards, by XA transactions, instead of those of the same shard [default: false]
    pub(crate) xa: One<Flag>,
    /// Open loop: transactions of all types per second (`500` or `"500/s"`), or a share of what a
    /// closed loop does (`"80%"`), which is measured first [default: a closed loop]
    pub(crate) rate: Axis<Rate>,
    /// Time between the transactions of an open loop: `poisson` (random, as many users come) or
    /// `uniform` [default: poisson]
    pub(crate) arrivals: One<Spacing>,
    /// Longest pause before the second try of a transaction that met a deadlock or a lock wait
    /// timeout; it doubles with each further try, and is random below that; 0 makes no pause
    /// [default: 2ms]
    pub(crate) retry_pause: One<Time<0, RETRY_PAUSE_MAX_MS>>,
    /// Time before the window, not measured; `auto` ends when throughput, dirty pages and
    /// checkpoint age are steady [default: 10s]
    pub(crate) warmup: One<WarmupLength>,
    /// Measured time; `auto` ends when the mean throughput is known to `precision`, after 180
    /// intervals at least [default: 60s]
    pub(crate) window: One<WindowLength>,
    /// What ends `window = "auto"`: half the width of the mean's 95 % confidence interval, as a
    /// share of the mean [default: 2%]
    pub(crate) precision: One<MeanPrecision>,
    /// Length of one point of the time series [default: 1s]
    pub(crate) interval: One<Time<INTERVAL_MIN_MS, DURATION_MAX_MS>>,
    /// Threads of the driver that carry the connections [default: one for each core or, with
    /// TPC-C and servers on this machine, for every fourth; at most one for each that `cores`
    /// leaves]
    pub(crate) threads: One<Count<1, DRIVER_THREADS_MAX>>,
    /// Run the checks of `mydyno check` after each repeat [default: true]
    pub(crate) check: One<Flag>,
    /// Largest share of tries that may end in lock wait timeouts; a repeat with more has failed
    /// [default: 1%]
    pub(crate) lock_wait_timeouts_max: One<Option<Share>>,
}

/// Instead of `connections`: each cell finds by itself how many it supports. Connections rise on
/// one server, each count with its own warm-up and window, until a condition shows: first they
/// double, then the place is refined. A condition that is `false` is left out; docs/statistics.md
/// has the rules.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RampTable {
    /// Connections of the first point [default: 8]
    pub(crate) start: One<Count<1, CONNECTIONS_MAX>>,
    /// The finest difference: all counts are the start and a multiple of it [default: 8]
    pub(crate) step: One<Count<1, CONNECTIONS_MAX>>,
    /// Maximum number of connections [default: 1024]
    pub(crate) connections_max: One<Count<1, CONNECTIONS_MAX>>,
    /// Maximum number of points [default: 24]
    pub(crate) points: One<Count<1, POINTS_MAX>>,
    /// The share of the processor time that was left to it which the server has used (on another
    /// machine: all programs there) [default: 80%]
    pub(crate) stop_cpu: One<Option<Share>>,
    /// The longest 90th percentiles by transaction type: `new_order`, `payment`, `order_status`,
    /// `delivery`, `stock_level`; types that are not named have no limit
    /// [default: 5s, `stock_level` 20s]
    pub(crate) stop_p90: One<Option<ResponseLimits>>,
    /// The share of the tries of transactions that is retried, after deadlocks, lock wait timeouts
    /// and other conflicts [default: false]
    pub(crate) stop_retries: One<Option<Share>>,
    /// The power of the connections that a 90th percentile rises as fast as where it turns up
    /// [default: 2]
    pub(crate) stop_kink: One<Option<KinkPower>>,
    /// The power of the connections that throughput rises no faster than where it no longer rises
    /// [default: 0.2]
    pub(crate) stop_plateau: One<Option<PlateauPower>>,
}

/// Where a machine tells of itself what nobody but the user can name. The table may be left out.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MetersTable {
    /// A command for the shell that prints watts, as `mydyno run --power-command` has it; the
    /// results file keeps its program only [default: none]
    pub(crate) power_command: One<Text>,
    /// Prometheus' node_exporter on the server's machine, such as `http://db:9100/metrics`
    /// [default: none]
    pub(crate) host_metrics: One<Text>,
}
