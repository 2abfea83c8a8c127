//! Every key of a plan, once: the reader, the JSON schema and the page of documentation are made from these tables.

use base::limits::{
    CONNECTIONS_MAX, DRIVER_THREADS_MAX, INSTANCES_MAX, INTERVAL_MIN, TERMINALS_MAX, WAREHOUSES_MAX,
};
use device::Role;
use spec::defaults::{WARMUP_AUTO_MOST, WINDOW_AUTO_MOST};
use spec::{Isolation, PRECISION_LEAST, PRECISION_MOST, Spacing, Style};
use std::time::Duration;
use tpcc::schema::PARTITIONS_MAX;

mod ramp;
mod shape;

pub(crate) use ramp::{
    RAMP_CONNECTIONS_MAX, RAMP_POINTS, RAMP_START, RAMP_STEP, STOP_CPU, STOP_KINK, STOP_P90,
    STOP_PLATEAU,
};
pub(crate) use shape::Shape;

/// Most repeats of a cell: far above what a confidence interval asks for.
const REPEATS_MAX: u32 = 1_000;
/// Longest time that a plan may name.
pub(crate) const DURATION_MAX: Duration = Duration::from_secs(30 * 24 * 3600);
/// The shim keeps about 32 bytes for each page of 4 KiB, so this is half a gigabyte of real memory.
const PAGE_CACHE_BYTES_MAX: u64 = 64 << 30;

/// One key.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// A list of values is a dimension of the matrix.
    pub(crate) is_dimension: bool,
    /// For people; empty where there is none.
    pub(crate) default: &'static str,
    pub(crate) meaning: &'static str,
}

/// One table of the file.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) name: &'static str,
    /// Is it written `[[name]]`, any number of times?
    pub(crate) is_repeated: bool,
    pub(crate) about: &'static str,
    pub(crate) keys: &'static [&'static Key],
    pub(crate) required: &'static [&'static Key],
}

const fn key(name: &'static str, shape: Shape, meaning: &'static str) -> Key {
    Key {
        name,
        shape,
        is_dimension: false,
        default: "",
        meaning,
    }
}

const fn dimension(name: &'static str, shape: Shape, meaning: &'static str) -> Key {
    Key {
        is_dimension: true,
        ..key(name, shape, meaning)
    }
}

const fn by_default(default: &'static str, key: Key) -> Key {
    Key { default, ..key }
}

const fn counted(most: u32) -> Shape {
    Shape::Count { least: 1, most }
}

const WORKLOADS: [&str; 3] = ["tpcc", "tpcc-spec", "tpcc-mysql"];
const STYLES: [&str; 4] = [
    Style::Statements.name(),
    Style::Pipelined.name(),
    Style::Batched.name(),
    Style::Procedures.name(),
];
const ISOLATIONS: [&str; 3] = [
    Isolation::RepeatableRead.name(),
    Isolation::ReadCommitted.name(),
    Isolation::Serializable.name(),
];
const SPACINGS: [&str; 2] = [Spacing::Poisson.name(), Spacing::Uniform.name()];

const SOME_TIME: Shape = Shape::Duration {
    least: Duration::from_secs(1),
};

pub(crate) static NAME: Key = key(
    "name",
    Shape::Text,
    "what the lab is called in results and reports",
);
pub(crate) static REPEATS: Key = by_default(
    "3",
    key(
        "repeats",
        counted(REPEATS_MAX),
        "measurements of each cell; with one only, a report has no uncertainty",
    ),
);
pub(crate) static ORDER: Key = by_default(
    "random",
    key(
        "order",
        Shape::OneOf(&["random", "listed"]),
        "`random`: each repeat is a block of all cells in an order of its own, drawn from `seed`, so that what drifts with time is no \
         cell's fault; `listed`: blocks in the order of the matrix",
    ),
);
pub(crate) static SEED: Key = by_default(
    "1",
    key(
        "seed",
        Shape::Seed,
        "of the order and of the population; the inputs of each repeat derive from it and from the repeat's number, and are the same in \
         all cells",
    ),
);
pub(crate) static TIME_LIMIT: Key = by_default(
    "none",
    key(
        "time_limit",
        SOME_TIME,
        "a plan that is expected to take longer is refused, and a lab starts no repeat after it",
    ),
);
pub(crate) static REPEAT_TIME_LIMIT: Key = by_default(
    "warm-up + window (of a ramp, and a minute, for each of its `points`) + 10m + 10s a warehouse for each of `instances`",
    key(
        "repeat_time_limit",
        SOME_TIME,
        "a repeat that takes longer, from the start of its server to its end, is ended as failed (`timed_out`); by default with the most \
         of automatic times",
    ),
);
pub(crate) static ENGINE: Key = dimension(
    "engine",
    Shape::Text,
    "a server of `mydyno server list`: `mysql-5.7`; or the path of a server's binary, with a slash: `/usr/sbin/mysqld`",
);
pub(crate) static PRESET: Key = by_default(
    "default",
    dimension(
        "preset",
        Shape::Text,
        "a named set of server variables, translated for the engine: `config-3`",
    ),
);
pub(crate) static SCALE: Key = by_default(
    "auto",
    key(
        "scale",
        Shape::OneOf(&["auto", "papers"]),
        "`auto` keeps pool : data and redo : data of the papers, whose presets are for 1,000 warehouses; `papers` takes a preset's sizes \
         as they stand",
    ),
);
pub(crate) static SET: Key = by_default(
    "none",
    key(
        "set",
        Shape::Variables,
        "server variables, which win over the preset; each that has a list is a dimension. Values are numbers, texts as a my.cnf has \
         them (`\"512M\"`), or `true` and `false` for ON and OFF",
    ),
);
pub(crate) static INSTANCES: Key = by_default(
    "1",
    dimension(
        "instances",
        counted(INSTANCES_MAX),
        "private servers of a cell, each with a database of `warehouses`: they share the machine and its devices, and divide the buffer \
         pool, the page cache of emulated devices and the connections; not with workload `tpcc-spec`",
    ),
);
pub(crate) static DATA: Key = by_default(
    "mydyno's own directory",
    dimension(
        "data",
        Shape::Text,
        "where data goes, and everything that has no place of its own: a device of `mydyno device list`, a profile's file (`./my.toml`), \
         either of them with `@DIRECTORY`, or a directory (with a slash)",
    ),
);
const OF_ROLE: &str = "same";
pub(crate) static REDO: Key = by_default(
    OF_ROLE,
    dimension(
        "redo",
        Shape::Text,
        "the redo log: a place, or `same` (on data's device), or `twin` (on a second device of the kind that data has). Roles with the \
         same place, or `twin`, share one device",
    ),
);
pub(crate) static UNDO: Key = by_default(
    OF_ROLE,
    dimension(
        "undo",
        Shape::Text,
        "undo tablespaces, on servers that have them",
    ),
);
pub(crate) static DOUBLEWRITE: Key = by_default(
    OF_ROLE,
    dimension("doublewrite", Shape::Text, "the doublewrite buffer"),
);
pub(crate) static BINLOG: Key = by_default(
    OF_ROLE,
    dimension(
        "binlog",
        Shape::Text,
        "the binary log, which a place turns on",
    ),
);
pub(crate) static TEMP: Key = by_default(
    OF_ROLE,
    dimension("temp", Shape::Text, "temporary files and tablespaces"),
);
pub(crate) static PAGE_CACHE: Key = by_default(
    "half of the tables",
    key(
        "page_cache",
        Shape::Size {
            most_bytes: PAGE_CACHE_BYTES_MAX,
        },
        "memory that buffered I/O of emulated devices has as its page cache",
    ),
);
pub(crate) static COUNT_IO: Key = by_default(
    "false",
    key(
        "count_io",
        Shape::Flag,
        "count the I/O of real storage too, by role; emulated devices are counted anyway",
    ),
);
pub(crate) static WAREHOUSES: Key = by_default(
    "10",
    dimension(
        "warehouses",
        counted(WAREHOUSES_MAX),
        "size of the database; each is about 100 MB",
    ),
);
pub(crate) static FOREIGN_KEYS: Key = by_default(
    "true",
    key(
        "foreign_keys",
        Shape::Flag,
        "the foreign keys of clause 1.3.1, with the indexes that only they need",
    ),
);
pub(crate) static PARTITIONS: Key = by_default(
    "0",
    dimension(
        "partitions",
        Shape::Count {
            least: 0,
            most: PARTITIONS_MAX,
        },
        "splits each table whose primary key has the warehouse into so many partitions by hash of it; 0 splits none. For databases \
         with `foreign_keys = false`: no MySQL has both",
    ),
);
pub(crate) static WORKLOAD: Key = by_default(
    "tpcc",
    dimension(
        "workload",
        Shape::OneOf(&WORKLOADS),
        "`tpcc`, `tpcc-spec` or `tpcc-mysql`",
    ),
);
pub(crate) static STYLE: Key = by_default(
    "statements",
    dimension(
        "style",
        Shape::OneOf(&STYLES),
        "how statements travel: `statements`, `pipelined`, `batched` or `procedures`",
    ),
);
pub(crate) static ISOLATION: Key = by_default(
    "repeatable-read; with `tpcc-mysql` the server's",
    dimension(
        "isolation",
        Shape::OneOf(&ISOLATIONS),
        "isolation level of the sessions: `repeatable-read`, `read-committed`, which is weaker than TPC-C demands, or `serializable`",
    ),
);
pub(crate) static CONNECTIONS: Key = by_default(
    "required without `[ramp]`",
    dimension(
        "connections",
        counted(CONNECTIONS_MAX),
        "client sessions in a closed loop or, with `tpcc-spec`, at the service of the terminals",
    ),
);
pub(crate) static TERMINALS: Key = by_default(
    "ten for each active warehouse",
    dimension(
        "terminals",
        counted(TERMINALS_MAX),
        "terminals of workload `tpcc-spec`; with another number some share a district, and clause 4.1.3 is not judged",
    ),
);
pub(crate) static INACTIVE_WAREHOUSES: Key = by_default(
    "0",
    key(
        "inactive_warehouses",
        Shape::Count {
            least: 0,
            most: WAREHOUSES_MAX,
        },
        "warehouses that have rows but no terminals, with workload `tpcc-spec` (clause 4.2.2)",
    ),
);
pub(crate) static HOME: Key = by_default(
    "false",
    key("home", Shape::Flag, "bind each connection to a warehouse"),
);
pub(crate) static RATE: Key = by_default(
    "a closed loop",
    dimension(
        "rate",
        Shape::Rate,
        "open loop: transactions of all types per second (`500` or `\"500/s\"`), or a share of what a closed loop does (`\"80%\"`), \
         which is measured first",
    ),
);
pub(crate) static ARRIVALS: Key = by_default(
    "poisson",
    key(
        "arrivals",
        Shape::OneOf(&SPACINGS),
        "time between the transactions of an open loop: `poisson` (random, as many users come) or `uniform`",
    ),
);
pub(crate) static POWER_COMMAND: Key = key(
    "power_command",
    Shape::Text,
    "a command for the shell that prints watts, as `mydyno run --power-command` has it",
);
pub(crate) static HOST_METRICS: Key = key(
    "host_metrics",
    Shape::Text,
    "Prometheus' node_exporter on the server's machine, such as `http://db:9100/metrics`",
);
pub(crate) static WARMUP: Key = by_default(
    "10s",
    key(
        "warmup",
        Shape::Length {
            least: Duration::ZERO,
            auto_most: WARMUP_AUTO_MOST,
        },
        "time before the window, not measured; `auto` ends when throughput, dirty pages and checkpoint age are steady",
    ),
);
pub(crate) static WINDOW: Key = by_default(
    "60s",
    key(
        "window",
        Shape::Length {
            least: Duration::from_secs(1),
            auto_most: WINDOW_AUTO_MOST,
        },
        "measured time; `auto` ends when the mean throughput is known to `precision`, after 180 intervals at least",
    ),
);
pub(crate) static PRECISION: Key = by_default(
    "2%",
    key(
        "precision",
        Shape::Share {
            least: PRECISION_LEAST,
            most: PRECISION_MOST,
        },
        "of `window = \"auto\"`: half the width of the mean's 95 % confidence interval, as a share of the mean",
    ),
);
pub(crate) static INTERVAL: Key = by_default(
    "1s",
    key(
        "interval",
        Shape::Duration {
            least: INTERVAL_MIN,
        },
        "one point of the time series",
    ),
);

pub(crate) static THREADS: Key = by_default(
    "one for every fourth core, as the servers are on this machine",
    key(
        "threads",
        counted(DRIVER_THREADS_MAX),
        "threads of the driver that carry the connections",
    ),
);

pub(crate) static LAB: Section = Section {
    name: "lab",
    is_repeated: false,
    about: "The experiment as a whole.",
    keys: &[
        &NAME,
        &REPEATS,
        &ORDER,
        &SEED,
        &TIME_LIMIT,
        &REPEAT_TIME_LIMIT,
    ],
    required: &[&NAME],
};
pub(crate) static SERVER: Section = Section {
    name: "server",
    is_repeated: false,
    about: "What is measured. A cell has a private server of its own, or several, on clones of a populated image.",
    keys: &[&ENGINE, &PRESET, &SCALE, &SET, &INSTANCES],
    required: &[&ENGINE],
};
pub(crate) static STORAGE: Section = Section {
    name: "storage",
    is_repeated: false,
    about: "Where its files go, by role. The table may be left out.",
    keys: &[
        &DATA,
        &REDO,
        &UNDO,
        &DOUBLEWRITE,
        &BINLOG,
        &TEMP,
        &PAGE_CACHE,
        &COUNT_IO,
    ],
    required: &[],
};
pub(crate) static LOAD: Section = Section {
    name: "load",
    is_repeated: false,
    about: "What is asked of it.",
    keys: &[
        &WAREHOUSES,
        &FOREIGN_KEYS,
        &PARTITIONS,
        &WORKLOAD,
        &STYLE,
        &ISOLATION,
        &CONNECTIONS,
        &TERMINALS,
        &INACTIVE_WAREHOUSES,
        &HOME,
        &RATE,
        &ARRIVALS,
        &WARMUP,
        &WINDOW,
        &PRECISION,
        &INTERVAL,
        &THREADS,
    ],
    required: &[],
};
pub(crate) static RAMP: Section = Section {
    name: "ramp",
    is_repeated: false,
    about: "Instead of `connections`: each cell finds by itself how many it supports. Connections rise on one server, each count with its own \
            warm-up and window, until a condition shows: first they double, then the place is refined. A condition that is `false` is left out; \
            docs/statistics.md has the rules.",
    keys: &[
        &RAMP_START,
        &RAMP_STEP,
        &RAMP_CONNECTIONS_MAX,
        &RAMP_POINTS,
        &STOP_CPU,
        &STOP_P90,
        &STOP_KINK,
        &STOP_PLATEAU,
    ],
    required: &[],
};
pub(crate) static EXCLUDE: Section = Section {
    name: "exclude",
    is_repeated: true,
    about: "Cells to leave out: those that have one of the named values of every key. Values have to be in the matrix, and each table \
            has to leave something out.",
    keys: &[
        &ENGINE,
        &PRESET,
        &SET,
        &INSTANCES,
        &DATA,
        &REDO,
        &UNDO,
        &DOUBLEWRITE,
        &BINLOG,
        &TEMP,
        &WAREHOUSES,
        &PARTITIONS,
        &WORKLOAD,
        &STYLE,
        &ISOLATION,
        &CONNECTIONS,
        &TERMINALS,
        &RATE,
    ],
    required: &[],
};
pub(crate) static METERS: Section = Section {
    name: "meters",
    is_repeated: false,
    about: "Where a machine tells of itself what nobody but the user can name. The table may be left out.",
    keys: &[&POWER_COMMAND, &HOST_METRICS],
    required: &[],
};

/// The tables of a plan, in the order of the documentation.
pub(crate) static SECTIONS: [&Section; 7] =
    [&LAB, &SERVER, &STORAGE, &LOAD, &RAMP, &METERS, &EXCLUDE];

/// The key that places a role.
pub(crate) fn of_role(role: Role) -> &'static Key {
    match role {
        Role::Data => &DATA,
        Role::Redo => &REDO,
        Role::Undo => &UNDO,
        Role::Doublewrite => &DOUBLEWRITE,
        Role::Binlog => &BINLOG,
        Role::Temp => &TEMP,
    }
}

impl Section {
    /// As its header is written.
    pub(crate) fn header(&self) -> String {
        if self.is_repeated {
            format!("[[{}]]", self.name)
        } else {
            format!("[{}]", self.name)
        }
    }
}
