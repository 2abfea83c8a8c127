//! Each rule at its bound: what is just allowed, and what is just refused.

use crate::cell::tests::cell;
use crate::{
    Cell, Connections, DatabaseKind, Dilate, External, Fault, Length, Lengths, OF_REAL_DEVICES,
    OltpMix, OpenLoop, Place, PopulationSpec, Preset, Private, RampLimits, RandType, SbtestTables,
    Scale, ScriptDatabase, ScriptKind, Server, Spacing, Style, Topology, Used, UsedShare,
    WorkloadKind,
};
use base::limits::{AUTO_INTERVALS_MIN, CORES_MAX};
use base::{Dilation, Warehouses};
use device::Role;
use std::path::PathBuf;
use std::time::Duration;

/// A change of the default cell.
type Change = fn(&mut Cell);

fn private(cell: &mut Cell) -> &mut Private {
    match &mut cell.server {
        Server::Private(private) => private,
        Server::External(_) => panic!("the cell has a server that was there"),
    }
}

fn population(cell: &mut Cell) -> &mut PopulationSpec {
    &mut private(cell).population
}

fn external(cell: &mut Cell) -> &mut External {
    if let Server::Private(_) = cell.server {
        cell.server = Server::External(External::default());
    }
    match &mut cell.server {
        Server::External(external) => external,
        Server::Private(_) => unreachable!("it was replaced"),
    }
}

fn ramp() -> Connections {
    Connections::Ramp(RampLimits::default())
}

fn rate() -> Option<OpenLoop> {
    Some(OpenLoop { rate: "500/s".parse().unwrap(), spacing: Spacing::Poisson })
}

fn emulated(cell: &mut Cell, role: Role) {
    on(cell, role, "sata-850pro");
}

fn on(cell: &mut Cell, role: Role, device: &str) {
    let profile = Box::new(device::builtin(device).unwrap());
    let place = Place::Emulated { profile, file: None, at: None };
    private(cell).placement.places.insert(role, place);
}

fn real(cell: &mut Cell, role: Role) {
    private(cell).placement.places.insert(role, Place::Directory(PathBuf::from("/mnt/x")));
}

#[track_caller]
fn allowed(changes: &[Change]) {
    let mut cell = cell();
    changes.iter().for_each(|change| change(&mut cell));
    assert_eq!(cell.validate(), Ok(()));
}

#[track_caller]
fn refused(option: &str, changes: &[Change]) -> String {
    let mut cell = cell();
    changes.iter().for_each(|change| change(&mut cell));
    let problem = cell.validate().unwrap_err();
    assert_eq!(problem.option, option, "{}", problem.why);
    problem.why
}

const SPEC: Change = |cell| cell.load.workload = WorkloadKind::TpccSpec;
const MYSQL: Change = |cell| cell.load.workload = WorkloadKind::TpccMysql;
const OLTP: Change = |cell| {
    cell.load.workload = WorkloadKind::Script(ScriptKind::SysbenchOltp(OltpMix::ReadWrite));
};
const FILE: Change = |cell| {
    cell.load.workload = WorkloadKind::Script(ScriptKind::File("a.toml".to_owned()));
};
const RAMP: Change = |cell| cell.load.connections = ramp();
const RATE: Change = |cell| cell.load.rate = rate();
const HOME: Change = |cell| cell.load.home = true;
const BATCHED: Change = |cell| cell.load.style = Style::Batched;
const SHARDS: Change = |cell| {
    private(cell).topology = Topology::Shards;
    private(cell).instances = 2;
};
const REPLICAS: Change = |cell| {
    private(cell).topology = Topology::PrimaryReplicas;
    private(cell).instances = 2;
};
const KILL: Change = |cell| private(cell).fault = Some(Fault::Kill);
const POWER_CUT: Change = |cell| private(cell).fault = Some(Fault::PowerCut);
const ON_A_PROFILE: Change = |cell| emulated(cell, Role::Data);

#[test]
fn workloads_take_what_they_have() {
    allowed(&[]);
    for workload in [MYSQL, OLTP, FILE] {
        allowed(&[workload]);
        allowed(&[workload, RATE]);
        allowed(&[workload, RAMP]);
        assert!(refused("style", &[workload, BATCHED]).contains("batched"));
        refused("home", &[workload, HOME]);
    }
    let zipfian: Change = |cell| cell.load.rand_type = Some(RandType::ZIPFIAN);
    let uniform: Change = |cell| {
        cell.load.workload =
            WorkloadKind::Script(ScriptKind::SysbenchOltp(OltpMix::ReadWriteUniform));
    };
    allowed(&[OLTP, zipfian]);
    for workload in [MYSQL, FILE, SPEC, uniform] {
        refused("rand_type", &[workload, zipfian]);
    }
    let warehouses: Change = |cell| cell.load.warehouses = Some(Warehouses(2));
    allowed(&[warehouses]);
    allowed(&[MYSQL, warehouses]);
    refused("warehouses", &[OLTP, warehouses]);
    refused("warehouses", &[FILE, warehouses]);
    allowed(&[HOME, BATCHED]);
    allowed(&[RATE]);
    refused("rate", &[RATE, RAMP]);
    let steps: Change = |cell| {
        let rate = "0s:5,1m:9".parse().unwrap();
        cell.load.rate = Some(OpenLoop { rate, spacing: Spacing::Uniform });
    };
    allowed(&[steps]);
    let long = Length::auto(Duration::from_secs(600));
    for lengths in
        [Lengths { warmup: long, ..cell().lengths }, Lengths { window: long, ..cell().lengths }]
    {
        let mut cell = cell();
        cell.lengths = lengths;
        steps(&mut cell);
        assert_eq!(cell.validate().unwrap_err().option, "rate");
        RATE(&mut cell);
        assert_eq!(cell.validate(), Ok(()));
    }
    refused("terminals", &[|cell| cell.load.terminals = Some(10)]);
    refused("inactive_warehouses", &[|cell| cell.load.inactive_warehouses = 1]);
}

#[test]
fn terminals_have_a_pace_of_their_own() {
    allowed(&[SPEC, |cell| cell.load.terminals = Some(10)]);
    refused("workload", &[SPEC, RAMP]);
    refused("rate", &[SPEC, RATE]);
    refused("home", &[SPEC, HOME]);
    // Of ten warehouses that are made, or of those that are named.
    allowed(&[SPEC, |cell| cell.load.inactive_warehouses = 9]);
    refused("inactive_warehouses", &[SPEC, |cell| cell.load.inactive_warehouses = 10]);
    let named: Change = |cell| cell.load.warehouses = Some(Warehouses(3));
    allowed(&[SPEC, named, |cell| cell.load.inactive_warehouses = 2]);
    refused("inactive_warehouses", &[SPEC, named, |cell| cell.load.inactive_warehouses = 3]);
}

#[test]
fn a_ramp_has_sound_limits() {
    allowed(&[RAMP]);
    let limits = RampLimits { step: 0, ..RampLimits::default() };
    let mut of = cell();
    of.load.connections = Connections::Ramp(limits);
    assert_eq!(of.validate().unwrap_err().option, "step");
}

#[test]
fn lengths_have_room_for_their_intervals() {
    let seconds = |s| Duration::from_secs(s);
    let most = u64::from(AUTO_INTERVALS_MIN);
    let with = |lengths: Lengths| Cell { lengths, ..cell() }.validate().map_err(|of| of.option);
    let default = Lengths::default();
    let window = |length| Lengths { window: length, ..default };
    let warmup = |length| Lengths { warmup: length, ..default };
    assert_eq!(with(window(Length::auto(seconds(most)))), Ok(()));
    assert_eq!(with(window(Length::auto(seconds(most - 1)))), Err("window"));
    assert_eq!(with(warmup(Length::auto(seconds(most)))), Ok(()));
    assert_eq!(with(warmup(Length::auto(seconds(most - 1)))), Err("warmup"));
    assert_eq!(with(window(Length::fixed(seconds(1)))), Ok(()));
    let precise = |length| Lengths { precision_share: Some(0.01), ..window(length) };
    assert_eq!(with(precise(Length::auto(seconds(600)))), Ok(()));
    assert_eq!(with(precise(Length::fixed(seconds(600)))), Err("precision"));
    let interval = |interval| Lengths { interval, ..window(Length::fixed(seconds(5))) };
    assert_eq!(with(interval(seconds(5))), Ok(()));
    assert_eq!(with(interval(seconds(5) + Duration::from_nanos(1))), Err("interval"));
}

#[test]
fn topologies_are_of_workloads_that_are_known() {
    allowed(&[SHARDS]);
    allowed(&[REPLICAS]);
    allowed(&[REPLICAS, SPEC]);
    allowed(&[REPLICAS, |cell| cell.load.style = Style::Pipelined]);
    refused("topology", &[REPLICAS, BATCHED]);
    refused("topology", &[SHARDS, SPEC]);
    refused("topology", &[SHARDS, OLTP]);
    refused("topology", &[REPLICAS, MYSQL]);
    allowed(&[SHARDS, BATCHED]);
    allowed(&[OLTP, |cell| {
        private(cell).topology = Topology::MultiPrimary;
        private(cell).instances = 2;
    }]);
    refused("topology", &[SHARDS, |cell| private(cell).instances = 1]);
    let warehouses: Change = |cell| population(cell).warehouses = Warehouses(2);
    allowed(&[SHARDS, warehouses]);
    refused("warehouses", &[SHARDS, |cell| population(cell).warehouses = Warehouses(1)]);
}

#[test]
fn servers_that_were_there_have_schemas_by_themselves() {
    let schemas: Change = |cell| external(cell).schemas = Some(2);
    allowed(&[schemas]);
    refused("schemas", &[schemas, SPEC]);
    refused("schemas", &[schemas, |cell| external(cell).topology = Topology::MultiPrimary]);
    allowed(&[|cell| external(cell).topology = Topology::MultiPrimary]);
    allowed(&[|cell| external(cell).schemas = None, SPEC]);
}

#[test]
fn xa_is_over_shards_without_foreign_keys() {
    let xa: Change = |cell| cell.load.xa = true;
    let keyless: Change = |cell| population(cell).foreign_keys = false;
    allowed(&[xa, SHARDS, keyless]);
    allowed(&[xa, SHARDS, keyless, |cell| cell.load.style = Style::Pipelined]);
    refused("xa", &[xa, SHARDS]);
    refused("xa", &[xa, keyless]);
    refused("xa", &[xa, SHARDS, keyless, BATCHED]);
}

#[test]
fn a_fault_is_of_one_witnessed_server() {
    allowed(&[KILL]);
    allowed(&[KILL, SPEC]);
    refused("fault", &[KILL, |cell| private(cell).instances = 2]);
    refused("fault", &[KILL, OLTP]);
    refused("fault", &[KILL, RAMP]);
    refused("fault", &[POWER_CUT]);
    allowed(&[POWER_CUT, ON_A_PROFILE]);
    refused("fault", &[POWER_CUT, ON_A_PROFILE, |cell| real(cell, Role::Redo)]);
}

#[test]
fn private_servers_share_what_there_is() {
    allowed(&[|cell| private(cell).instances = 8]);
    refused("instances", &[|cell| private(cell).instances = 9]);
    refused("instances", &[SPEC, |cell| private(cell).instances = 2]);
    let one: Change = |cell| cell.load.connections = Connections::Fixed(1);
    allowed(&[one]);
    refused("instances", &[one, |cell| private(cell).instances = 2]);
    allowed(&[|cell| private(cell).cores = Some(1)]);
    allowed(&[|cell| private(cell).cores = Some(CORES_MAX)]);
    refused("cores", &[|cell| private(cell).cores = Some(0)]);
    refused("cores", &[|cell| private(cell).cores = Some(CORES_MAX + 1)]);
}

#[test]
fn partitions_are_of_tables_without_foreign_keys() {
    let partitions: Change = |cell| population(cell).partitions = 1;
    refused("partitions", &[partitions]);
    allowed(&[partitions, |cell| population(cell).foreign_keys = false]);
    const SBTEST: ScriptDatabase = ScriptDatabase::Sbtest(SbtestTables { count: 1, rows: 1 });
    allowed(&[|cell| population(cell).database = DatabaseKind::Script(SBTEST), OLTP]);
    let sbtest: Change = |cell| {
        population(cell).database = DatabaseKind::Script(SBTEST);
        population(cell).foreign_keys = false;
    };
    refused("partitions", &[OLTP, sbtest, partitions]);
}

fn used_share(share: f64) -> Option<Used> {
    Some(Used { share: UsedShare::Of(share), is_fresh: false })
}

#[test]
fn real_devices_are_as_they_are() {
    let page_cache: Change = |cell| private(cell).placement.page_cache_bytes = Some(1 << 30);
    refused("page_cache", &[page_cache]);
    refused("page_cache", &[page_cache, |cell| real(cell, Role::Data)]);
    allowed(&[page_cache, ON_A_PROFILE]);
    allowed(&[page_cache, |cell| emulated(cell, Role::Redo)]);
    let used: Change = |cell| private(cell).placement.used = used_share(0.05);
    refused("used", &[used]);
    refused("used", &[used, |cell| real(cell, Role::Data)]);
    allowed(&[used, ON_A_PROFILE]);
    let none: Change = |cell| private(cell).placement.used = used_share(0.0);
    let more: Change = |cell| private(cell).placement.used = used_share(1.01);
    refused("used", &[none, ON_A_PROFILE]);
    refused("used", &[more, ON_A_PROFILE]);
    let papers: Change =
        |cell| private(cell).placement.used = Some(Used { share: UsedShare::Auto, is_fresh: true });
    refused("preset", &[papers, ON_A_PROFILE]);
    allowed(&[papers, ON_A_PROFILE, |cell| {
        private(cell).preset = Some(Preset { name: "config-3".to_owned(), scale: Scale::Auto });
    }]);
    let fresh: Change = |cell| {
        let fresh = used_share(0.05).map(|used| Used { is_fresh: true, ..used });
        private(cell).placement.used = fresh;
    };
    allowed(&[fresh, ON_A_PROFILE]);
    let of_a_disk = refused("used", &[fresh, |cell| on(cell, Role::Data, "hdd-15k")]);
    assert!(of_a_disk.contains("a disk has none"), "{of_a_disk}");
    let dilate: Change = |cell| private(cell).dilate = Dilate::By(Dilation::whole(2));
    assert_eq!(refused("dilate", &[dilate]), OF_REAL_DEVICES);
    allowed(&[dilate, ON_A_PROFILE]);
    refused("dilate", &[dilate, ON_A_PROFILE, |cell| real(cell, Role::Redo)]);
    allowed(&[|cell| real(cell, Role::Data)]);
}
