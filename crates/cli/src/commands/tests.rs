//! What a flag of `mydyno run` and `mydyno ramp` can say, a plan can say, and the other way round.

use super::{ramp, run};
use crate::arguments::{Arguments, Command};
use clap::{CommandFactory, Parser};
use plan::{KnownNames, Plan};
use spec::Cell;
use std::collections::BTreeSet;

/// What both cells have that are compared: a flag, how it is given, and the line of the plan.
const COMMON: &[(&str, &[&str], &str)] = &[
    ("", &[], "lab.name = 'x'"),
    ("--engine", &["--engine", "mysql-5.7"], "server.engine = 'mysql-5.7'"),
    ("--preset", &["--preset", "default"], "server.preset = 'default'"),
    ("--window", &["--window", "60s"], "load.window = 60"),
    ("--seed", &["--seed", "1"], "lab.seed = 1"),
    ("--check", &[], "load.check = false"),
];

/// What else `run` says, in which a plan has other defaults.
const COMMON_OF_RUN: &[(&str, &[&str], &str)] = &[
    ("--connections", &["--connections", "8"], "load.connections = 8"),
    ("", &[], "load.lock_wait_timeouts_max = false"),
];
const COMMON_OF_RAMP: &[(&str, &[&str], &str)] = &[("", &[], "ramp = {}")];

/// Every flag that says what is measured, in a command and in a plan.
const SAID: &[(&str, &[&str])] = &[
    ("--dsn mysql://me@h/s", &["server.dsn = 'mysql://me@h/s'"]),
    ("--defaults-file my.cnf", &["server.defaults_file = 'my.cnf'"]),
    (
        "--schemas 2 --dsn mysql://me@h/s --warehouses 3",
        &["server.schemas = 2", "server.dsn = 'mysql://me@h/s'", "load.warehouses = 3"],
    ),
    ("--engine mysql-8.0", &["server.engine = 'mysql-8.0'"]),
    (
        "--server-binary /x/mysqld --engine mysql-8.0",
        &["server.server_binary = '/x/mysqld'", "server.engine = 'mysql-8.0'"],
    ),
    ("--set a=1 --set b=ON", &["server.set = { a = 1, b = true }"]),
    ("--preset config-3", &["server.preset = 'config-3'"]),
    ("--scale papers", &["server.scale = 'papers'"]),
    ("--scale 5", &["server.scale = 5"]),
    ("--instances 2", &["server.instances = 2"]),
    (
        "--topology multi-primary --nodes 3",
        &["server.topology = 'multi-primary'", "server.nodes = 3"],
    ),
    (
        "--nodes 2 --topology primary-replicas",
        &["server.nodes = 2", "server.topology = 'primary-replicas'"],
    ),
    ("--dilate 2.5 --data hdd-15k", &["server.dilate = 2.5", "storage.data = 'hdd-15k'"]),
    (
        "--dilate-max 4 --dilate auto --data hdd-15k",
        &["server.dilate_max = 4", "server.dilate = 'auto'", "storage.data = 'hdd-15k'"],
    ),
    ("--cores 2", &["server.cores = 2"]),
    ("--data hdd-15k", &["storage.data = 'hdd-15k'"]),
    ("--redo hdd-15k@/x", &["storage.redo = 'hdd-15k@/x'"]),
    ("--undo hdd-7k2", &["storage.undo = 'hdd-7k2'"]),
    ("--doublewrite /x/", &["storage.doublewrite = '/x/'"]),
    ("--binlog /x/", &["storage.binlog = '/x/'"]),
    ("--temp /x/", &["storage.temp = '/x/'"]),
    ("--page-cache 1G --data hdd-15k", &["storage.page_cache = '1G'", "storage.data = 'hdd-15k'"]),
    ("--count-io", &["storage.count_io = true"]),
    ("--warehouses 3", &["load.warehouses = 3"]),
    ("--seed 7", &["lab.seed = 7", "load.population_seed = 1"]),
    ("--population-seed 9", &["load.population_seed = 9"]),
    ("--no-foreign-keys", &["load.foreign_keys = false"]),
    ("--partitions 8 --no-foreign-keys", &["load.partitions = 8", "load.foreign_keys = false"]),
    ("--workload tpcc-mysql", &["load.workload = 'tpcc-mysql'"]),
    ("--workload sysbench-oltp-read-only", &["load.workload = 'sysbench-oltp-read-only'"]),
    (
        "--tables 4 --workload sysbench-oltp",
        &["load.tables = 4", "load.workload = 'sysbench-oltp'"],
    ),
    (
        "--table-size 500 --workload sysbench-oltp",
        &["load.table_size = 500", "load.workload = 'sysbench-oltp'"],
    ),
    (
        "--workload my.toml --dsn mysql://me@h/s",
        &["load.workload = 'my.toml'", "server.dsn = 'mysql://me@h/s'"],
    ),
    ("--style batched", &["load.style = 'batched'"]),
    ("--isolation serializable", &["load.isolation = 'serializable'"]),
    ("--connections 5", &["load.connections = 5"]),
    ("--terminals 5 --workload tpcc-spec", &["load.terminals = 5", "load.workload = 'tpcc-spec'"]),
    (
        "--inactive-warehouses 2 --workload tpcc-spec",
        &["load.inactive_warehouses = 2", "load.workload = 'tpcc-spec'"],
    ),
    ("--home", &["load.home = true"]),
    (
        "--xa --topology shards --nodes 2 --no-foreign-keys",
        &[
            "load.xa = true",
            "server.topology = 'shards'",
            "server.nodes = 2",
            "load.foreign_keys = false",
        ],
    ),
    ("--retry-pause 0", &["load.retry_pause = 0"]),
    ("--retry-pause 10ms", &["load.retry_pause = '10ms'"]),
    ("--rate 80%", &["load.rate = '80%'"]),
    ("--arrivals uniform --rate 5", &["load.arrivals = 'uniform'", "load.rate = 5"]),
    ("--warmup auto:10m", &["load.warmup = 'auto:10m'"]),
    ("--window 2m", &["load.window = '2m'"]),
    ("--precision 1% --window auto", &["load.precision = '1%'", "load.window = 'auto'"]),
    ("--interval 500ms", &["load.interval = '500ms'"]),
    ("--threads 3", &["load.threads = 3"]),
    ("--check", &["load.check = true"]),
    ("--power-command watts", &["meters.power_command = 'watts'"]),
    ("--host-metrics http://h:9100/metrics", &["meters.host_metrics = 'http://h:9100/metrics'"]),
    ("--start 2", &["ramp.start = 2"]),
    ("--step 4", &["ramp.step = 4"]),
    ("--max-connections 99", &["ramp.connections_max = 99"]),
    ("--points 5", &["ramp.points = 5"]),
    ("--stop-cpu off", &["ramp.stop_cpu = false"]),
    ("--stop-cpu 50%", &["ramp.stop_cpu = '50%'"]),
    ("--stop-p90 payment=250ms", &["ramp.stop_p90 = { payment = '250ms' }"]),
    ("--stop-retries off", &["ramp.stop_retries = false"]),
    ("--stop-retries 5%", &["ramp.stop_retries = '5%'"]),
    ("--stop-kink 3", &["ramp.stop_kink = 3"]),
    ("--stop-plateau 0.5", &["ramp.stop_plateau = 0.5"]),
];

/// Flags that say how results are shown and judged, and not what is measured.
const OUTPUT: [&str; 10] = [
    "--format",
    "--verbose",
    "--watch",
    "--metrics-listen",
    "--results",
    "--output",
    "--json",
    "--fail-if",
    "--junit",
    "--help",
];

/// Flags that say which processes drive, and not what is measured: a plan's cells are measured by
/// one each, and divided among machines by `lab run --shard`.
const DRIVERS: [&str; 7] =
    ["--fleet", "--rank", "--size", "--join", "--tolerate", "--fleet-token-file", "--fleet-wait"];

/// Keys that say how a matrix is measured, of which a single cell has no need, what makes it
/// drills, which are a command of their own, and the share of lock wait timeouts, which is fixed
/// where there is no plan.
const OF_PLANS: [&str; 8] = [
    "crash.fault",
    "lab.name",
    "lab.repeats",
    "lab.order",
    "lab.changes_max",
    "lab.time_limit",
    "lab.repeat_time_limit",
    "load.lock_wait_timeouts_max",
];

/// What a command line asks for.
fn asked(command: &str, flags: &[&str]) -> Cell {
    let all = [&["mydyno", command], flags].concat();
    let parsed = Arguments::try_parse_from(all).unwrap_or_else(|error| panic!("{error}"));
    let cell = match parsed.command {
        Command::Run(arguments) => run::request(&arguments),
        Command::Ramp(arguments) => ramp::cell(&arguments),
        _ => panic!("it is `run` or `ramp`"),
    };
    cell.unwrap_or_else(|failure| panic!("{flags:?}: {:#}", failure.error))
}

/// The only cell of a plan.
fn planned(text: &str) -> Cell {
    let engines = ::server::engines().iter();
    let presets = ::server::preset::names().into_iter();
    let known = KnownNames {
        engines: engines.map(|engine| engine.name.clone()).collect(),
        presets: presets.map(str::to_owned).collect(),
        place: &|text| storage::parse_place(text).map_err(|error| error.to_string()),
    };
    let plan = Plan::parse(text, "x.toml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let cells = plan.cells(&known);
    let mut cells = cells.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(cells.len(), 1);
    cells.remove(0).what
}

/// Flags of a command, as they are written.
fn flags_of(command: &str) -> BTreeSet<String> {
    let all = Arguments::command();
    let command = all.find_subcommand(command).unwrap();
    let long = command.get_arguments().filter_map(|flag| flag.get_long());
    long.map(|name| format!("--{name}")).collect()
}

fn every_flag_is_in_plans(command: &str, also_common: &[(&str, &[&str], &str)]) {
    let flags = flags_of(command);
    let said: BTreeSet<&str> = SAID.iter().filter_map(|(flag, _)| flag.split(' ').next()).collect();
    for flag in &flags {
        let is_of_measurement = !OUTPUT.contains(&&**flag) && !DRIVERS.contains(&&**flag);
        assert!(
            said.contains(&**flag) || !is_of_measurement,
            "plans cannot say {flag} of `mydyno {command}`; add a key of plans, and how both say \
             it here"
        );
    }
    for (flag, lines) in SAID {
        let words: Vec<&str> = flag.split(' ').collect();
        let is_flag = |word: &&&str| word.starts_with("--");
        if !words.iter().filter(is_flag).all(|word| flags.contains(*word)) {
            continue;
        }
        let is_external = words.contains(&"--dsn") || words.contains(&"--defaults-file");
        let applies = |common: &&(&str, &[&str], &str)| {
            let of_private = ["--engine", "--preset"].contains(&common.0);
            !(words.contains(&common.0) || is_external && of_private)
        };
        let common: Vec<_> = COMMON.iter().chain(also_common).filter(applies).collect();
        let given: Vec<&str> = common.iter().flat_map(|common| common.1).copied().collect();
        let text: Vec<&str> = common.iter().map(|common| common.2).collect();
        let text = [&text[..], lines].concat().join("\n");
        let text = match text.contains("ramp.") {
            true => text.replace("ramp = {}\n", ""),
            false => text,
        };
        let asked = asked(command, &[&given[..], &words].concat());
        assert_eq!(asked, planned(&text), "{command} {flag}:\n{text}");
    }
}

#[test]
fn every_flag_of_run_and_ramp_is_in_plans() {
    every_flag_is_in_plans("run", COMMON_OF_RUN);
    every_flag_is_in_plans("ramp", COMMON_OF_RAMP);
    let (run, ramp) = (flags_of("run"), flags_of("ramp"));
    for (flag, _) in SAID {
        let flag = flag.split(' ').next().unwrap();
        assert!(run.contains(flag) || ramp.contains(flag), "there is no {flag}");
    }
}

#[test]
fn every_key_of_plans_is_a_flag() {
    let lines: Vec<&str> = SAID.iter().flat_map(|(_, lines)| *lines).copied().collect();
    let schema = plan::json_schema();
    for (table, section) in schema["properties"].as_object().unwrap() {
        for key in section["properties"].as_object().into_iter().flatten() {
            let key = format!("{table}.{}", key.0);
            let is_said = lines.iter().any(|line| line.starts_with(&format!("{key} = ")));
            assert!(is_said || OF_PLANS.contains(&&*key), "no flag says {key}");
        }
    }
}
