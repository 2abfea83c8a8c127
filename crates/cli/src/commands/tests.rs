//! What a flag of `mydyno run` and `mydyno ramp` can say, a plan can say, and the other way round.

use super::server::{ServerCommand, preset_of};
use super::{crash, ramp, run};
use crate::{Arguments, Command};
use base::Warehouses;
use clap::{CommandFactory, Parser};
use plan::{KnownNames, Plan};
use spec::{Cell, Connections, RampLimits};
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
    ("--lock-wait-timeouts-max", &[], "load.lock_wait_timeouts_max = 'off'"),
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
    ("--dilate 1/8 --data hdd-15k", &["server.dilate = '1/8'", "storage.data = 'hdd-15k'"]),
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
    ("--used 5% --data hdd-15k", &["storage.used = '5%'", "storage.data = 'hdd-15k'"]),
    ("--count-io", &["storage.count_io = true"]),
    ("--no-prepare", &["load.no_prepare = true"]),
    ("--warehouses 3", &["load.warehouses = 3"]),
    ("--seed 7", &["lab.seed = 7", "load.population_seed = 1"]),
    ("--population-seed 9", &["load.population_seed = 9"]),
    ("--foreign-keys=false", &["load.foreign_keys = false"]),
    ("--partitions 8 --foreign-keys=false", &["load.partitions = 8", "load.foreign_keys = false"]),
    ("--table-options=KEY_BLOCK_SIZE=8", &["load.table_options = 'KEY_BLOCK_SIZE=8'"]),
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
    (
        "--rand-type zipfian:1.1 --workload sysbench-oltp",
        &["load.rand_type = 'zipfian:1.1'", "load.workload = 'sysbench-oltp'"],
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
        "--xa --topology shards --nodes 2 --foreign-keys=false",
        &[
            "load.xa = true",
            "server.topology = 'shards'",
            "server.nodes = 2",
            "load.foreign_keys = false",
        ],
    ),
    ("--retry-pause 0", &["load.retry_pause = 0"]),
    ("--retry-pause 10ms", &["load.retry_pause = '10ms'"]),
    ("--rate 0s:5,1m:9", &["load.rate = '0s:5,1m:9'"]),
    ("--rate 80%", &["load.rate = '80%'"]),
    ("--arrivals uniform --rate 5", &["load.arrivals = 'uniform'", "load.rate = 5"]),
    ("--warmup auto:10m", &["load.warmup = 'auto:10m'"]),
    ("--window 2m", &["load.window = '2m'"]),
    ("--precision 1% --window auto", &["load.precision = '1%'", "load.window = 'auto'"]),
    ("--interval 500ms", &["load.interval = '500ms'"]),
    ("--threads 3", &["load.threads = 3"]),
    ("--account-from status", &["load.account_from = 'status'"]),
    ("--account-from performance_schema", &["load.account_from = 'performance_schema'"]),
    ("--check", &["load.check = true"]),
    ("--lock-wait-timeouts-max 5%", &["load.lock_wait_timeouts_max = '5%'"]),
    ("--redo twin --data hdd-15k", &["storage.redo = 'twin'", "storage.data = 'hdd-15k'"]),
    ("--undo same --data hdd-15k", &["storage.undo = 'same'", "storage.data = 'hdd-15k'"]),
    ("--engine /x/mysqld", &["server.engine = '/x/mysqld'"]),
    ("--power-command watts", &["meters.power_command = 'watts'"]),
    ("--host-metrics http://h:9100/metrics", &["meters.host_metrics = 'http://h:9100/metrics'"]),
    ("--start 2", &["ramp.start = 2"]),
    ("--step 4", &["ramp.step = 4"]),
    ("--connections-max 99", &["ramp.connections_max = 99"]),
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
const OUTPUT: [&str; 11] = [
    "--format",
    "--verbose",
    "--watch",
    "--metrics-listen",
    "--results",
    "--output",
    "--json",
    "--fail-if",
    "--junit",
    "--drills",
    "--help",
];

/// Flags that say which processes drive, and not what is measured: a plan's cells are measured by
/// one each, and divided among machines by `lab run --shard`.
const DRIVERS: [&str; 7] =
    ["--fleet", "--rank", "--size", "--join", "--tolerate", "--fleet-token-file", "--fleet-wait"];

/// What a command line asks for.
fn asked(command: &str, flags: &[&str]) -> Cell {
    let all = [&["mydyno", command], flags].concat();
    let parsed = Arguments::try_parse_from(all).unwrap_or_else(|error| panic!("{error}"));
    let cell = match parsed.command {
        Command::Run(arguments) => run::request(&arguments),
        Command::Ramp(arguments) => ramp::cell(&arguments),
        Command::Crash(arguments) => crash::cell(&arguments),
        _ => panic!("it measures a cell"),
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

/// The flags of a command line, without their values.
fn flags_in(said: &str) -> impl Iterator<Item = &str> {
    let flags = said.split(' ').filter(|word| word.starts_with("--"));
    flags.map(|flag| flag.split('=').next().unwrap())
}

/// Flags of a command, as they are written.
fn flags_of(command: &str) -> BTreeSet<String> {
    let all = Arguments::command();
    let command = all.find_subcommand(command).unwrap();
    let shown = command.get_arguments().filter(|flag| !flag.is_hide_set());
    let long = shown.filter_map(|flag| flag.get_long());
    long.map(|name| format!("--{name}")).collect()
}

fn every_flag_is_in_plans(command: &str, also_common: &[(&str, &[&str], &str)]) {
    let flags = flags_of(command);
    let said: BTreeSet<&str> = SAID.iter().filter_map(|(said, _)| flags_in(said).next()).collect();
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
        if !flags_in(flag).all(|flag| flags.contains(flag)) {
            continue;
        }
        let is_external = words.contains(&"--dsn") || words.contains(&"--defaults-file");
        let applies = |common: &&(&str, &[&str], &str)| {
            let of_private = ["--engine", "--preset"].contains(&common.0);
            !(flags_in(flag).any(|flag| flag == common.0) || is_external && of_private)
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
}

#[test]
fn a_drill_is_in_plans() {
    let asked = asked(
        "crash",
        &["--engine", "mysql-5.7", "--preset", "default", "--fault", "kill", "--seed", "1"],
    );
    let planned = planned(
        "lab.name = 'x'\nserver.engine = 'mysql-5.7'\ncrash.fault = 'kill'\nload.warehouses = \
         1\nload.connections = 8\nload.warmup = 1\nload.window = '4s'\nload.check = \
         false\nload.lock_wait_timeouts_max = 'off'",
    );
    assert_eq!(asked, planned);
}

/// The same words, and nothing that only one of them can say.
#[test]
fn every_key_of_plans_is_a_flag() {
    let flags = ["run", "ramp", "crash"].map(flags_of);
    let flags: BTreeSet<String> = flags.into_iter().flatten().collect();
    let lines: Vec<&str> = SAID.iter().flat_map(|(_, lines)| *lines).copied().collect();
    let schema = plan::json_schema();
    let mut keys = BTreeSet::new();
    for (table, section) in schema["properties"].as_object().unwrap() {
        // Those of the matrix as a whole say nothing of a cell.
        for (key, _) in section["properties"].as_object().into_iter().flatten() {
            let is_of_cell = table != "lab" || key == "seed";
            let line = format!("{table}.{key} = ");
            let is_said = lines.iter().any(|said| said.starts_with(&line)) || table == "crash";
            assert!(!is_of_cell || is_said, "say how a flag says {line} in this test");
            keys.extend(is_of_cell.then(|| format!("--{}", key.replace('_', "-"))));
        }
    }
    let others = OUTPUT.iter().chain(&DRIVERS).map(|flag| (*flag).to_owned()).collect();
    let of_cells: BTreeSet<String> = flags.difference(&others).cloned().collect();
    assert_eq!(of_cells, keys);
}

fn refused(command: &str, flags: &[&str]) -> String {
    let parsed = Arguments::try_parse_from([&["mydyno", command], flags].concat());
    let command = match parsed {
        Ok(parsed) => parsed.command,
        Err(error) => return error.to_string(),
    };
    let cell = match command {
        Command::Run(arguments) => run::request(&arguments),
        Command::Ramp(arguments) => ramp::cell(&arguments),
        _ => panic!("it is `run` or `ramp`"),
    };
    cell.err().map_or_else(String::new, |failure| format!("{:#}", failure.error))
}

#[test]
fn conditions_of_a_ramp_as_people_write_them() {
    let limits = |flags: &[&str]| match asked("ramp", flags).load.connections {
        Connections::Ramp(limits) => limits,
        other => panic!("{other:?}"),
    };
    assert_eq!(limits(&[]), RampLimits::default());
    let flags = "--start 2 --step 1 --connections-max 9 --points 5 --stop-cpu off --stop-p90 \
                 payment=250ms --stop-retries 5% --stop-kink off --stop-plateau 0";
    let expected = RampLimits {
        start: 2,
        step: 1,
        connections_max: 9,
        points_max: 5,
        cpu_busy_share: None,
        p90_us: [("payment".to_owned(), 250_000.0)].into(),
        retries_share: Some(0.05),
        kink_elasticity: None,
        plateau_elasticity: Some(0.0),
    };
    assert_eq!(limits(&flags.split(' ').collect::<Vec<_>>()), expected);
    for bad in [
        ["--start", "0"],
        ["--step", "0.5"],
        ["--connections-max", "1000000"],
        ["--points", "0"],
        ["--stop-cpu", "0%"],
        ["--stop-cpu", "101%"],
        ["--stop-cpu", "much"],
        ["--stop-p90", "5s"],
        ["--stop-p90", "new_order=0"],
        ["--stop-p90", "new_odrer=5s"],
        ["--stop-p90", "payment=1s,payment=2s"],
        ["--stop-retries", "0"],
        ["--stop-retries", "101%"],
        ["--stop-kink", "steep"],
        ["--stop-plateau", ""],
        ["--workload", "tpcc-spec"],
        ["--connections", "8"],
        ["--rate", "5"],
    ] {
        assert!(refused("ramp", &bad).contains(bad[0]), "{bad:?}: {}", refused("ramp", &bad));
    }
}

#[test]
fn sizes_and_places_of_private_servers() {
    let engine = ["--engine", "mysql-5.7"];
    let with = |more: &[&str]| refused("run", &[&engine[..], more].concat());
    let places = ["--redo", "/mnt/a", "--count-io", "--page-cache", "512M", "--undo", "hdd-15k"];
    assert_eq!(with(&places), "");
    for bad in ["", "M", "-1", "1.5G", "99999999999T", "65G"] {
        assert!(with(&[&format!("--page-cache={bad}")]).contains("512M"), "{bad:?}");
    }
    for bad in ["", "0", "-1", "big", "99999999999"] {
        let words = with(&["--preset", "config-1", &format!("--scale={bad}")]);
        assert!(words.contains("papers"), "{bad:?}: {words}");
    }
    for (more, word) in [
        (&["--data", "floppy"][..], "mydyno device list"),
        (&["--data", "twin"], "said of other roles"),
        (&["--redo", "/mnt/a", "--page-cache", "1G"], "emulated devices"),
        (&["--scale", "5"], "--scale: it is for the sizes of a preset; add --preset"),
        (&["--instances", "2", "--topology", "shards"], "counted by --nodes"),
        (&["--nodes", "2"], "add --topology"),
        (&["--arrivals", "uniform"], "--arrivals: it is the time between"),
        (&["--schemas", "2"], "--schemas: it is for a server that is there already"),
        (&["--dilate-max", "4"], "--dilate-max: it bounds"),
        (&["--tables", "4"], "sysbench-oltp"),
        (&["--workload", "sysbench-oltp", "-w", "3"], "has no warehouses"),
        (&["--partitions", "8"], "error 1506"),
    ] {
        assert!(with(more).contains(word), "{more:?}: {}", with(more));
    }
    // Without an engine the target is an option file's.
    for target in [&[][..], &["--dsn", "mysql://h/s"]] {
        for more in [
            ["--redo", "/mnt/a"],
            ["--preset", "config-1"],
            ["--dilate", "2"],
            ["--population-seed", "2"],
            ["--table-size", "2"],
            ["--foreign-keys=false", "--partitions=2"],
        ] {
            let words = refused("run", &[target, &more].concat());
            assert!(words.contains("it is for servers that mydyno starts"), "{more:?}: {words}");
        }
    }
}

#[test]
fn a_preset_of_a_server_that_lives_on_is_for_a_size() {
    let named = |more: &[&str]| {
        let start = ["mydyno", "server", "start", "--engine", "mysql-5.7"];
        let command = Arguments::try_parse_from([&start[..], more].concat()).unwrap().command;
        let Command::Server(server) = command else { panic!("it is `server`") };
        let ServerCommand::Start(start) = server.command else { panic!("it is `server start`") };
        preset_of(&start)
    };
    assert!(named(&["--preset", "config-1"]).is_err());
    assert!(named(&["--preset", "config-1", "--scale", "auto"]).is_err());
    assert!(named(&["--preset", "config-1", "--scale", "of 500"]).is_err());
    let told = named(&["--preset", "config-1", "--scale", "10"]).ok().unwrap();
    let scale =
        ::server::preset::PresetScale::To { warehouses: Warehouses(10), of: Warehouses(1_000) };
    assert_eq!(told.unwrap().scale, scale);
    let loaded = named(&["--preset", "config-1", "--warehouses", "10"]).ok().unwrap();
    assert_eq!(loaded.unwrap().scale, scale);
    assert!(named(&["--preset", "default"]).ok().unwrap().is_some());
    assert!(named(&[]).ok().unwrap().is_none());
}
