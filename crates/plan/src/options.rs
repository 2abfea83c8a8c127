//! What can be asked for: each option is a key of a plan, `warmup`, and a flag of the command line,
//! `--warmup`, in the same words. Its doc comment is its `--help`, and the description of the JSON
//! schema and of docs/plans.md; what stands in `[default: ...]` is for people, since absence is a
//! value of its own here.

use crate::kinds::{
    Condition, Count, DURATION_MAX_MS, DsnText, ExporterUrl, Flag, KinkPower, MeanPrecision,
    PageCacheSize, PlateauPower, ResponseLimits, Seed, SetVariable, Share, ShellCommand, Text,
    Time, WarmupTime, WindowTime,
};
use crate::values::{Given, given};
use base::Dilation;
use base::limits::{
    CONNECTIONS_MAX, CORES_MAX, DRIVER_THREADS_MAX, INSTANCES_MAX, INTERVAL_MIN_MS,
    RETRY_PAUSE_MAX_MS, SCHEMAS_MAX, TERMINALS_MAX, WAREHOUSES_MAX,
};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::{
    AccountFrom, Dilate, Fault, Isolation, RampLimits, RandType, Rate, SbtestTables, Scale,
    Spacing, Style, Topology, Used, WorkloadKind,
};
use tpcc::schema::PARTITIONS_MAX;

/// Most points of a ramp: far above what finds a place.
const POINTS_MAX: u32 = 1_000;

/// Options with the names of their values on the command line, below a heading of the help.
macro_rules! options {
    ($(
        $(#[$of:meta])*
        pub struct $name:ident in $heading:literal {
            $($(#[$meta:meta])* pub $field:ident: $type:ty = $value:literal;)*
        }
    )*) => {$(
        $(#[$of])*
        #[derive(Args, Clone, Default, Deserialize, Serialize, JsonSchema)]
        #[serde(default)]
        #[command(next_help_heading = $heading)]
        pub struct $name {
            $($(#[$meta])* #[arg(long, value_name = $value)] pub $field: $type,)*
        }
    )*};
}

/// All that says what is measured. `flatten` hides no unknown key: a reader of plans has asked for
/// the schema of each before.
#[derive(Args, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct CellOptions {
    #[command(flatten)]
    #[serde(flatten)]
    pub target: TargetOptions,
    #[command(flatten)]
    #[serde(flatten)]
    pub server: ServerOptions,
    #[command(flatten)]
    #[serde(flatten)]
    pub storage: StorageOptions,
    #[command(flatten)]
    #[serde(flatten)]
    pub database: DatabaseOptions,
    #[command(flatten)]
    #[serde(flatten)]
    pub load: DriveOptions,
    #[command(flatten)]
    #[serde(flatten)]
    pub meters: MetersOptions,
    /// Of commands that make drills.
    #[arg(skip)]
    #[serde(flatten)]
    pub crash: CrashOptions,
    /// Of commands that raise connections.
    #[arg(skip)]
    #[serde(flatten)]
    pub ramp: RampOptions,
    /// Connections are raised, whether or not an option of that is given.
    #[arg(skip)]
    #[serde(skip)]
    pub is_ramp: bool,
}

options! {
    /// The server that is measured: one that is there already (`dsn` or `defaults_file`), or
    /// private servers of an `engine`, which each repeat starts anew on clones of a populated
    /// image.
    pub struct TargetOptions in "Target" {
        /// Server and schema, which `mydyno load` populates:
        /// `mysql://user[:password]@host:3306/tpcc[?socket=PATH&ssl-mode=REQUIRED]`; more options
        /// are ssl-ca, ssl-cert, ssl-key, server-public-key-path and get-server-public-key, as for
        /// `mysql` (docs/security.md). The password may come from MYDYNO_PASSWORD or an option file
        /// instead, and in a plan it has to. Of servers that belong together (`topology`) all
        /// hosts: `mysql://user@a:3306,b:3306/tpcc`, or on the command line a DSN for each
        /// [default: none]
        #[schemars(with = "Given<DsnText>")]
        pub dsn: Vec<Given<DsnText>> = "DSN";
        /// MySQL option file with a [client] section, instead of ~/.my.cnf [default: none]
        pub defaults_file: Option<Given<Text>> = "FILE";
        /// Number of schemas of `dsn` that are loaded, checked, or that connections are spread
        /// over: `<schema>_0`, `<schema>_1` and so on [default: the one that is named]
        pub schemas: Option<Given<Count<1, SCHEMAS_MAX>>> = "K";
        /// Engine of private servers, which start on clones of a populated image and end with their
        /// measurement: a name of `mydyno server list`, or the path of a server's binary, with a
        /// slash [default: none; a plan has it, or `server_binary`, `dsn` or `defaults_file`]
        pub engine: Option<Given<Text>> = "ENGINE";
        /// Binary of private servers (mysqld or mariadbd), instead of an installed engine [default:
        /// that of `engine`]
        pub server_binary: Option<Given<Text>> = "FILE";
        /// Server variables of private servers, which win over the preset. On the command line one,
        /// and the flag may be repeated; in a plan a table, in which each that has a list is a
        /// dimension. Values are numbers, texts as a my.cnf has them (`512M`), or `true` and
        /// `false` for ON and OFF [default: none]
        #[schemars(with = "Given<SetVariable>")]
        pub set: Vec<Given<SetVariable>> = "NAME=VALUE";
        /// How several servers belong together, which `nodes` starts or `dsn` names:
        /// `multi-primary` (Galera, Group Replication: connections go to all of them),
        /// `primary-replicas` (the first is written to, and Order-Status and Stock-Level read from
        /// the others) or `shards` (each has a range of the warehouses) [default: one server, or
        /// `instances`]
        pub topology: Option<Given<Topology>> = "TOPOLOGY";
        /// Number of private servers that belong together, each on a clone of one image [default:
        /// one server, or `instances`]
        pub nodes: Option<Given<Count<2, INSTANCES_MAX>>> = "N";
    }

    /// What private servers are given.
    pub struct ServerOptions in "Private servers" {
        /// Server variables of the white papers, translated for the engine: `config-1`, `config-2`,
        /// `config-3`, `config-a` or `default`; `set` overrides them (docs/presets.md) [default:
        /// none; of a plan `default`]
        pub preset: Option<Given<Text>> = "NAME";
        /// Sizes of the preset's buffer pool and redo log: `auto` (in the papers' proportion to the
        /// data), `papers` (as they are there), a number of warehouses (in the papers' proportion
        /// to those), or `of 500` (in proportion to the papers' database of so many warehouses,
        /// where they measured a preset with more than one) [default: auto]
        pub scale: Option<Given<Scale>> = "SCALE";
        /// Number of private servers to drive at once, each with a database of its own: they share
        /// this machine and its devices, and divide the buffer pool, the page cache of emulated
        /// devices and the connections; not with workload `tpcc-spec` [default: 1]
        pub instances: Option<Given<Count<1, INSTANCES_MAX>>> = "N";
        /// How many times slower clocks and emulated devices run, 1/32 to 100 (below 1 faster), so
        /// that this machine measures as one with cores as many times as fast: results and all
        /// other times, such as `window`, are in the seconds of these clocks; `auto` is the least
        /// at which this machine is no limit (docs/dilation.md) [default: 1]
        pub dilate: Option<Given<Dilate>> = "K";
        /// The most that `auto` of `dilate` chooses [default: 16]
        pub dilate_max: Option<Given<Dilation>> = "K";
        /// Number of cores (hardware threads) that private servers are kept to, all of them
        /// together: at most as many as mydyno may use; mydyno has the others, where there are any
        /// [default: all, shared with mydyno]
        pub cores: Option<Given<Count<1, CORES_MAX>>> = "N";
    }

    /// Places of the files of private servers, by role: an emulated device (a name of `mydyno
    /// device list` or a profile file), whose bytes are in memory or where PROFILE@DIRECTORY says;
    /// or a directory of a real device (with a slash), in which one is made. Roles with the same
    /// place, or `twin`, share one device.
    pub struct StorageOptions in "Storage" {
        /// Place of the data, and of everything that has no place of its own: an emulated device (a
        /// name of `mydyno device list` or a profile file, `./my.toml`), whose bytes are in memory
        /// or where PROFILE@DIRECTORY says; or a directory of a real device (with a slash), in
        /// which one is made; `server start` makes DIRECTORY itself the data directory where it
        /// does not exist [default: mydyno's own directory]
        pub data: Option<Given<Text>> = "PLACE";
        /// Place of the redo log, or `same` (on data's device), or `twin` (on a second device of
        /// the kind that data has; roles that are `twin` share it) [default: same]
        pub redo: Option<Given<Text>> = "PLACE";
        /// Place of undo tablespaces, on servers that have them [default: same]
        pub undo: Option<Given<Text>> = "PLACE";
        /// Place of the doublewrite buffer [default: same]
        pub doublewrite: Option<Given<Text>> = "PLACE";
        /// Place of the binary log, which this turns on [default: same]
        pub binlog: Option<Given<Text>> = "PLACE";
        /// Place of temporary files and tablespaces [default: same]
        pub temp: Option<Given<Text>> = "PLACE";
        /// Share of each emulated device that holds live data, as `5%`: flash with more spare area
        /// copies less for its erased blocks and so writes faster, and the arm of a disk moves
        /// less; `auto` is what the papers' database took of it, with a preset. With `fresh` behind
        /// it, as `5% fresh`, the rest of its flash is erased, and not written for long before
        /// [default: that of the profile, which is 100% where it does not say]
        pub used: Option<Given<Used>> = "SHARE";
        /// Size of the page cache for buffered I/O of emulated devices, such as 512M or 8G
        /// [default: half of the tables; 1G for `server start`, which does not know them]
        pub page_cache: Option<Given<PageCacheSize>> = "SIZE";
        /// Count the I/O of real storage by role, too; that of emulated devices is always counted
        /// [default: false]
        #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        pub count_io: Option<Given<Flag>> = "BOOL";
    }

    /// The database that private servers have, or that `mydyno load` makes.
    pub struct DatabaseOptions in "Database" {
        /// Number of warehouses, each about 100 MB on disk; of the database of a `dsn`, those that
        /// are used; with `tpcc-spec` each has ten terminals [default: 10; of a `dsn` all]
        #[arg(short)]
        pub warehouses: Option<Given<Count<1, WAREHOUSES_MAX>>> = "N";
        /// Have the foreign keys of clause 1.3.1, with the indexes that only they need [default:
        /// true]
        #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        pub foreign_keys: Option<Given<Flag>> = "BOOL";
        /// Number of partitions, by hash of the warehouse, of each table whose primary key has the
        /// warehouse; 0 splits none. For databases without `foreign_keys`, because MySQL has no
        /// foreign keys on partitioned tables [default: 0]
        pub partitions: Option<Given<Count<0, PARTITIONS_MAX>>> = "N";
        /// Options that end the CREATE TABLE of each table of TPC-C or `sysbench-oltp`, such as
        /// `ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8` or `ENGINE=RocksDB`; `ROW_FORMAT=DEFAULT` is
        /// as without [default: none]
        pub table_options: Option<Given<Text>> = "OPTIONS";
        /// Number of tables of `sysbench-oltp`: sbtest1, sbtest2 and so on [default: 1]
        pub tables: Option<Given<Count<1, { SbtestTables::COUNT_MAX }>>> = "N";
        /// Number of rows of each table of `sysbench-oltp`, each about 240 bytes on disk [default:
        /// 10000]
        pub table_size: Option<Given<Count<1, { SbtestTables::ROWS_MAX }>>> = "ROWS";
    }

    /// The load on the server, its lengths, and how it is judged.
    pub struct DriveOptions in "Load" {
        /// Workload: `tpcc` (transactions by the clauses, no waits), `tpcc-spec` (terminals with
        /// keying and think times), `tpcc-mysql` (the statements of that tool, with its
        /// deviations), `sysbench-oltp` and the other scripts of sysbench 1.0.20, by its names
        /// (`oltp_read_only`, `oltp_update_index`, `select_random_points`: docs/oltp.md), or
        /// FILE.toml (transactions of your own: docs/oltp.md) [default: tpcc]
        pub workload: Option<Given<WorkloadKind>> = "WORKLOAD";
        /// Distribution of the ids that workloads of sysbench ask for, as its --rand-type:
        /// `uniform`, `gaussian`, `special`, `pareto` or `zipfian`, the last two with their
        /// parameter behind a colon where it is not sysbench's default (`zipfian:1.1`,
        /// `pareto:0.2`) [default: special; uniform where the workload's name says so]
        pub rand_type: Option<Given<RandType>> = "TYPE";
        /// Statement style: `statements` (one per round trip, as applications send them),
        /// `pipelined` (the same, sent together), `batched` (set-based, the fewest round trips) or
        /// `procedures` (stored procedures) [default: statements]
        pub style: Option<Given<Style>> = "STYLE";
        /// Send the statements as text with their values, instead of having the server prepare
        /// them: for proxies that do not, and for comparisons [default: false]
        #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        pub no_prepare: Option<Given<Flag>> = "BOOL";
        /// Isolation level of the sessions: `repeatable-read`, `serializable`, or `read-committed`
        /// and `read-uncommitted`, which are weaker than TPC-C demands [default: repeatable-read;
        /// with `tpcc-mysql` that of the server]
        pub isolation: Option<Given<Isolation>> = "LEVEL";
        /// Number of connections; each is a closed loop without think time, or serves the arrivals
        /// of `rate` or the terminals of `tpcc-spec` [default: 8; with `tpcc-spec` one per
        /// terminal; a plan of another workload has it, or a table `[ramp]`]
        #[arg(short)]
        pub connections: Option<Given<Count<1, CONNECTIONS_MAX>>> = "N";
        /// Number of terminals, with `tpcc-spec`; with another number some share a district, and
        /// clause 4.1.3 is not judged [default: ten per active warehouse]
        pub terminals: Option<Given<Count<1, TERMINALS_MAX>>> = "N";
        /// Number of warehouses that have rows but no terminals, with `tpcc-spec` (clause 4.2.2)
        /// [default: 0]
        pub inactive_warehouses: Option<Given<Count<0, WAREHOUSES_MAX>>> = "N";
        /// Bind each connection to one warehouse [default: false]
        #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        pub home: Option<Given<Flag>> = "BOOL";
        /// With topology `shards`: let remote order lines and payments use warehouses of all
        /// shards, by XA transactions, instead of those of the same shard [default: false]
        #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        pub xa: Option<Given<Flag>> = "BOOL";
        /// Open loop: transactions of all types per second (500 or 500/s), which arrive whether a
        /// connection is free or not; or a share of what a closed loop does (80%), which is
        /// measured first: after a warm-up like `warmup`, until its throughput is steady and known
        /// to 3 %, for 1 minute at most. Rates that change name times of the window
        /// (`0s:1000,60s:4000`; the warm-up has the first), or a sine its lowest and highest rate
        /// and its period (`sine:500..1500/60s`) [default: a closed loop]
        pub rate: Option<Given<Rate>> = "RATE";
        /// Spacing of the arrivals of `rate`: `poisson` (random, as independent users arrive) or
        /// `uniform` [default: poisson]
        pub arrivals: Option<Given<Spacing>> = "SPACING";
        /// Longest pause before the second try of a transaction that met a deadlock or a lock wait
        /// timeout, up to 1s; it doubles with each further try, and is random below that; 0 makes
        /// no pause [default: 2ms]
        pub retry_pause: Option<Given<Time<0, RETRY_PAUSE_MAX_MS>>> = "TIME";
        /// Time before the window, not measured; `auto` ends when throughput, dirty and free pages
        /// of the buffer pool, and checkpoint age are steady, after at least 30 s and 30 intervals
        /// and at most 30 minutes (`auto:10m`: at most 10 minutes)
        /// [default: 10s; of `mydyno crash` 1s]
        pub warmup: Option<Given<WarmupTime>> = "TIME";
        /// Measured time, of a ramp that of each point; `auto` ends when the mean throughput is
        /// known to `precision`, after at least 180 intervals and at most 1 hour (`auto:10m`: at
        /// most 10 minutes) [default: 60s; of `mydyno ramp` 30s, of `mydyno crash` 4s]
        pub window: Option<Given<WindowTime>> = "TIME";
        /// Precision that ends a window of `auto`: half the width of the 95 % confidence interval
        /// of the mean, as a share of the mean [default: 2%]
        pub precision: Option<Given<MeanPrecision>> = "SHARE";
        /// Length of one interval of the time series [default: 1s]
        pub interval: Option<Given<Time<INTERVAL_MIN_MS, DURATION_MAX_MS>>> = "TIME";
        /// Number of driver threads that carry the connections [default: one per core; one per four
        /// cores with TPC-C where the server is on this machine (private, a unix socket or a
        /// loopback address); at most one per core that `cores` leaves]
        pub threads: Option<Given<Count<1, DRIVER_THREADS_MAX>>> = "N";
        /// Source of the account of a transaction's time: `shim` (where the threads that serve
        /// clients wait, under emulated devices and `count_io`), `performance_schema` (the
        /// server's instruments of the same, also of a `dsn`; they are switched on for the run,
        /// and back) or `status` (an estimate, which takes no time of the server) [default: shim,
        /// where it is there, else status]
        pub account_from: Option<Given<AccountFrom>> = "SOURCE";
        /// Seed of the population of private databases [default: 1; of a plan its `seed`]
        pub population_seed: Option<Given<Seed>> = "SEED";
        /// Run the checks of `mydyno check` after the run, of a ramp after its last point [default:
        /// false; of a plan true]
        #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        pub check: Option<Given<Flag>> = "BOOL";
        /// Largest share of tries that may end in lock wait timeouts; a repeat or a point with more
        /// has failed; or `off` [default: 1%; of `mydyno run` off]
        pub lock_wait_timeouts_max: Option<Given<Condition<Share>>> = "SHARE";
    }

    /// Instead of `connections`: how many are supported is found. Connections rise on one server,
    /// each count with its own warm-up and window, until a condition shows: first they double, then
    /// the place is refined. A condition that is `off` is left out; docs/statistics.md has the
    /// rules.
    pub struct RampOptions in "Ramp" {
        /// Number of connections of the first point [default: 8]
        pub start: Option<Given<Count<1, CONNECTIONS_MAX>>> = "N";
        /// Smallest difference between two points; each number of connections is the start plus a
        /// multiple of it [default: 8]
        pub step: Option<Given<Count<1, CONNECTIONS_MAX>>> = "N";
        /// Maximum number of connections [default: 1024]
        pub connections_max: Option<Given<Count<1, CONNECTIONS_MAX>>> = "N";
        /// Maximum number of points [default: 24]
        pub points: Option<Given<Count<1, POINTS_MAX>>> = "N";
        /// Stop where the server uses this share of the processor time available to it; mydyno, the
        /// emulation of devices and stolen time do not count; on another machine all processes
        /// count; or `off` [default: 80%]
        pub stop_cpu: Option<Given<Condition<Share>>> = "SHARE";
        /// Stop where a 90th percentile of response times exceeds its limit: a time for each
        /// transaction type that has one, of `new_order`, `payment`, `order_status`, `delivery` and
        /// `stock_level`; or `off` [default: 5s, `stock_level` 20s]
        pub stop_p90: Option<Given<Condition<ResponseLimits>>> = "TYPE=TIME,...";
        /// Stop where this share of the tries of transactions is retried, after deadlocks, lock
        /// wait timeouts and other conflicts, or `off` [default: off]
        pub stop_retries: Option<Given<Condition<Share>>> = "SHARE";
        /// Stop where a 90th percentile turns up: it rises as fast as this power of the
        /// connections, or `off` [default: 2]
        pub stop_kink: Option<Given<Condition<KinkPower>>> = "POWER";
        /// Stop where throughput no longer rises: no faster than this power of the connections, or
        /// `off` [default: 0.2]
        pub stop_plateau: Option<Given<Condition<PlateauPower>>> = "POWER";
    }
}

impl RampOptions {
    /// What they ask for; what is not named is the papers'.
    pub(crate) fn limits(&self) -> RampLimits {
        let papers = RampLimits::default();
        RampLimits {
            start: given(&self.start).unwrap_or(papers.start),
            step: given(&self.step).unwrap_or(papers.step),
            connections_max: given(&self.connections_max).unwrap_or(papers.connections_max),
            points_max: given(&self.points).unwrap_or(papers.points_max),
            cpu_busy_share: given(&self.stop_cpu).unwrap_or(papers.cpu_busy_share),
            p90_us: given(&self.stop_p90).map_or(papers.p90_us, Option::unwrap_or_default),
            retries_share: given(&self.stop_retries).unwrap_or(papers.retries_share),
            kink_elasticity: given(&self.stop_kink).unwrap_or(papers.kink_elasticity),
            plateau_elasticity: given(&self.stop_plateau).unwrap_or(papers.plateau_elasticity),
        }
    }
}

options! {
    /// Repeats are drills: a fault comes at a random moment in the second half of the window, the
    /// private server is ended, and everything that it had acknowledged is looked for
    /// (docs/crash.md).
    pub struct CrashOptions in "Drill" {
        /// What happens: `power-cut` (emulated devices lose their power: they keep what they had
        /// promised, and of the rest any part), `kill` (SIGKILL; every byte written is kept), or
        /// for 10 seconds, before the server is killed: `disk-full`, `io-error`, `short-write` (the
        /// first half is written, all acknowledged), `device-lost` (one of an array, or the only
        /// one) or `fail-slow` (10 times slower); of files of one role with it behind a colon:
        /// `io-error:redo` [default: nothing; of `mydyno crash` power-cut]
        pub fault: Option<Given<Fault>> = "FAULT";
    }

    /// Where a machine tells of itself what nobody but the user can name. The table may be left
    /// out.
    pub struct MetersOptions in "Meters" {
        /// Shell command that reads watts from a meter, run each second, such as `ipmitool dcmi
        /// power reading`; of its output the number before W or Watts counts, else the only number.
        /// Other users can see its command line: read a password from a file (ipmitool -f) or from
        /// the environment (ipmitool -E); the results file keeps its program only [default: the
        /// counters of the processors, where they can be read]
        pub power_command: Option<Given<ShellCommand>> = "COMMAND";
        /// URL of the Prometheus node_exporter of the server's machine, such as
        /// `http://db:9100/metrics` [default: this machine, where the server is on it]
        pub host_metrics: Option<Given<ExporterUrl>> = "URL";
    }
}
