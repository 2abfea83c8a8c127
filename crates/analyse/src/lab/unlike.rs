//! What two sets of runs differ in, apart from their numbers: a comparison is of what it is said to
//! be of, or of nothing.

use base::named;
use device::Role;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use store::{Lab, Moment, NewCell, Repeat, RepeatId, Results, StoreError};

/// Variables of a server's identity differ in every start and say nothing.
pub const IDENTITY_VARIABLES: [&str; 20] = [
    "datadir",
    "general_log_file",
    "gtid_binlog_pos",
    "gtid_binlog_state",
    "gtid_current_pos",
    "gtid_executed",
    "gtid_purged",
    "hostname",
    "innodb_version",
    "log_bin_basename",
    "log_bin_index",
    "log_error",
    "pid_file",
    "port",
    "pseudo_thread_id",
    "server_uuid",
    "slow_query_log_file",
    "socket",
    "timestamp",
    "tmpdir",
];
/// Facts of a host that change while it is in use.
const PASSING_FACTS: [&str; 3] = ["cpu_mhz", "free_bytes", "file_system"];
/// Of a host: its system.
const KERNEL_FACTS: [&str; 2] = ["kernel", "os"];
/// Settings that are facts of other aspects.
const OF_OTHER_FACTS: [&str; 2] = ["preset", "dilate"];
/// Where a run has no value.
const ABSENT: &str = "-";

named! {
    /// What runs may differ in.
    #[derive(PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Aspect {
        Engine = "engine",
        Version = "version",
        Target = "target",
        Preset = "preset",
        Settings = "settings",
        Device = "device",
        Workload = "workload",
        Style = "style",
        Schema = "schema",
        Warehouses = "warehouses",
        Connections = "connections",
        Instances = "instances",
        Cores = "cores",
        Rate = "rate",
        Length = "length",
        Dilation = "dilation",
        Host = "host",
        Kernel = "kernel",
        Mydyno = "mydyno",
        Seed = "seed",
    }
}

impl Aspect {
    /// Those that a comparison has to name, where its sides differ in them. Runs of other seeds are
    /// like.
    pub const NAMED: [Aspect; Aspect::ALL.len() - 1] = {
        let [named @ .., _seed] = Aspect::ALL;
        named
    };
}

/// Something that is not the same in all runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub aspect: Aspect,
    /// `innodb_io_capacity`, `data`, `cpu_model`, ...
    pub name: String,
    /// The values of either side, each once.
    pub base: Vec<String>,
    pub other: Vec<String>,
}

type ValuesByFact = BTreeMap<(Aspect, String), BTreeSet<String>>;

/// What is not the same in all runs of both sides.
///
/// # Errors
/// A repeat does not exist, or the file cannot be read.
pub(crate) fn differences(
    results: &Results,
    base: &[RepeatId],
    other: &[RepeatId],
) -> Result<Vec<Difference>, StoreError> {
    let [base, other] = [facts(results, base)?, facts(results, other)?];
    let is_version = |(aspect, _): &&(Aspect, String)| *aspect == Aspect::Version;
    let versions: BTreeSet<&String> = [&base, &other]
        .iter()
        .flat_map(|facts| facts.iter().filter(|(key, _)| is_version(key)))
        .flat_map(|(_, values)| values)
        .collect();
    // Another version has other variables, which is no news; and some runs have none recorded.
    let is_told = |name: &str| match name.strip_prefix(VARIABLE) {
        Some(_) => versions.len() == 1,
        None => true,
    };
    let keys: BTreeSet<&(Aspect, String)> = base.keys().chain(other.keys()).collect();
    let difference = |key: &(Aspect, String)| {
        let values = |facts: &ValuesByFact| match facts.get(key) {
            Some(values) => values.iter().cloned().collect(),
            None => vec![ABSENT.to_owned()],
        };
        let (base, other): (Vec<String>, Vec<String>) = (values(&base), values(&other));
        let is_same = base == other && base.len() == 1;
        let is_missing = key.1.starts_with(VARIABLE) && (base == [ABSENT] || other == [ABSENT]);
        (!is_same && !is_missing).then(|| Difference {
            aspect: key.0,
            name: key.1.trim_start_matches(VARIABLE).to_owned(),
            base,
            other,
        })
    };
    let told = keys.into_iter().filter(|(_, name)| is_told(name));
    Ok(told.filter_map(difference).collect())
}

/// Before the name of a variable as the server has it, which may be a setting of the plan too.
const VARIABLE: &str = "@@";

/// Each fact of these runs, with the values that it has in them.
fn facts(results: &Results, repeats: &[RepeatId]) -> Result<ValuesByFact, StoreError> {
    let mut all = ValuesByFact::new();
    for id in repeats {
        let repeat = results.repeat(*id)?;
        let cell = results.cell(repeat.cell)?;
        let lab = results.lab(cell.lab)?;
        let mut facts = of_cell(&cell.what, &repeat);
        facts.extend(of_places_and_settings(&cell.what));
        facts.extend(of_host(&lab, results.host_facts(&repeat)?));
        let variables = results.variables(*id, Moment::Start)?.into_iter();
        let says_something = |(name, value): &(String, String)| {
            !IDENTITY_VARIABLES.contains(&name.as_str()) && !value.starts_with('/')
        };
        facts.extend(
            variables
                .filter(says_something)
                .map(|(name, value)| (Aspect::Settings, format!("{VARIABLE}{name}"), value)),
        );
        for (aspect, name, value) in facts {
            all.entry((aspect, name)).or_default().insert(value);
        }
    }
    Ok(all)
}

fn of_cell(what: &NewCell, repeat: &Repeat) -> Vec<(Aspect, String, String)> {
    let or_absent = |text: Option<String>| text.unwrap_or_else(|| ABSENT.to_owned());
    let number = |number: Option<u32>| or_absent(number.map(|number| number.to_string()));
    let length = |ns: u64, is_auto: bool| match is_auto {
        true => format!("auto, at most {} s", ns / 1_000_000_000),
        false => format!("{} s", ns as f64 / 1e9),
    };
    let isolation = what.isolation.clone();
    let history_key = what.history_key.unwrap_or(false);
    let preset = what.preset.as_ref().map(|preset| preset.name.clone());
    // A private server has another socket each time.
    let target = match repeat.my_cnf {
        Some(_) => ABSENT.to_owned(),
        None => what.target.clone(),
    };
    let facts = [
        (Aspect::Engine, "engine", what.engine.clone()),
        (Aspect::Engine, "flavour", what.flavour.clone()),
        (Aspect::Version, "server_version", what.server_version.clone()),
        (Aspect::Target, "target", target),
        (Aspect::Target, "transport", what.transport.clone()),
        (Aspect::Preset, "preset", or_absent(preset)),
        (Aspect::Workload, "workload", what.workload.clone()),
        (Aspect::Workload, "home", or_absent(what.home.map(|of| of.to_string()))),
        (Aspect::Workload, "terminals", number(what.terminals)),
        (Aspect::Style, "style", what.style.clone()),
        (Aspect::Workload, "isolation", or_absent(isolation)),
        (Aspect::Schema, "history_key", history_key.to_string()),
        (Aspect::Schema, "foreign_keys", or_absent(what.foreign_keys.map(|of| of.to_string()))),
        (Aspect::Schema, "partitions", what.partitions.to_string()),
        (Aspect::Schema, "schemas", what.schemas.to_string()),
        (Aspect::Warehouses, "warehouses", number(what.warehouses)),
        (Aspect::Connections, "connections", what.connections.to_string()),
        (Aspect::Instances, "instances", what.instances.to_string()),
        (Aspect::Cores, "cores", number(what.cores)),
        (Aspect::Rate, "rate", or_absent(what.rate_asked.clone())),
        (Aspect::Rate, "arrivals", or_absent(what.arrivals.clone())),
        (Aspect::Length, "warmup", length(what.warmup_ns, what.warmup_auto)),
        (Aspect::Length, "window", length(what.window_ns, what.window_auto)),
        (Aspect::Dilation, "dilation", repeat.dilation.to_string()),
        (Aspect::Seed, "seed", what.seed.to_string()),
    ];
    let owned = |(aspect, name, value): (Aspect, &str, String)| (aspect, name.to_owned(), value);
    facts.into_iter().map(owned).collect()
}

fn of_places_and_settings(what: &NewCell) -> Vec<(Aspect, String, String)> {
    let mut facts = Vec::new();
    for place in &what.places {
        let device = match &place.profile_fingerprint {
            Some(fingerprint) => format!("{} ({fingerprint})", place.device),
            None => place.device.clone(),
        };
        facts.push((Aspect::Device, place.role.clone(), device));
        let backing = format!("backing of {}", place.role);
        facts.push((Aspect::Device, backing, place.backing.clone()));
    }
    let is_place = |name: &str| Role::ALL.iter().any(|role| role.name() == name);
    let settings = what.settings.iter();
    facts.extend(
        settings
            .filter(|(name, _)| !OF_OTHER_FACTS.contains(&name.as_str()) && !is_place(name))
            .map(|(name, value)| (Aspect::Settings, name.clone(), value.clone())),
    );
    facts
}

fn of_host(lab: &Lab, facts: Vec<(String, String)>) -> Vec<(Aspect, String, String)> {
    let lasting = facts.into_iter().filter(|(name, _)| !PASSING_FACTS.contains(&name.as_str()));
    let mut all: Vec<_> = lasting
        .map(|(name, value)| match KERNEL_FACTS.contains(&name.as_str()) {
            true => (Aspect::Kernel, name, value),
            false => (Aspect::Host, name, value),
        })
        .collect();
    let version = lab.mydyno_version.clone();
    all.push((Aspect::Mydyno, "mydyno_version".to_owned(), version));
    all
}
