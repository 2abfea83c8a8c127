//! What two sets of runs differ in, apart from their numbers: a comparison is of what it is said to
//! be of, or of nothing.

use device::Role;
use itertools::Itertools;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use store::{ABSENT, Aspect, Fact, Lab, Moment, NewCell, Repeat, RepeatId, Results, StoreResult};

/// Variables of a server's identity differ in every start and say nothing.
pub const IDENTITY_VARIABLES: [&str; 22] = [
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
    "mysqlx_port",
    "pid_file",
    "port",
    "pseudo_thread_id",
    "report_port",
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
const OF_OTHER_FACTS: [&str; 4] = ["preset", "dilate", "rate", "terminals"];
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
) -> StoreResult<Vec<Difference>> {
    let [base, other] = [facts(results, base)?, facts(results, other)?];
    let both = base.iter().chain(&other);
    let versions = both.filter(|((aspect, _), _)| *aspect == Aspect::Version);
    let is_one_version = versions.flat_map(|(_, values)| values).all_equal_value().is_ok();
    // Another version has other variables, which is no news; and some runs have none recorded.
    let is_told = |name: &str| is_one_version || !name.starts_with(VARIABLE);
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
fn facts(results: &Results, repeats: &[RepeatId]) -> StoreResult<ValuesByFact> {
    let mut all = ValuesByFact::new();
    for id in repeats {
        let repeat = results.repeat(*id)?;
        let cell = results.cell(repeat.cell)?;
        let lab = results.lab(cell.lab)?;
        let mut facts = of_cell(&cell.what, &repeat);
        facts.extend(of_host(&lab, results.host_facts(&repeat)?));
        let variables = results.variables(*id, Moment::Start)?.into_iter();
        let says_something = |(name, value): &(String, String)| {
            !IDENTITY_VARIABLES.contains(&name.as_str()) && !value.starts_with('/')
        };
        facts.extend(
            variables.filter(says_something).map(|(name, value)| {
                Fact::new(Aspect::Settings, format!("{VARIABLE}{name}"), value)
            }),
        );
        for Fact { aspect, name, value } in facts {
            all.entry((aspect, name)).or_default().insert(value);
        }
    }
    Ok(all)
}

fn of_cell(what: &NewCell, repeat: &Repeat) -> Vec<Fact> {
    let is_place = |name: &str| Role::ALL.iter().any(|role| role.name() == name);
    let is_of_others = |name: &str| OF_OTHER_FACTS.contains(&name) || is_place(name);
    let mut facts = what.facts();
    facts.retain(|fact| fact.aspect != Aspect::Settings || !is_of_others(&fact.name));
    // A private server has another socket each time.
    let mut targets = facts.iter_mut().filter(|fact| fact.name == "target");
    if let (Some(target), Some(_)) = (targets.next(), &repeat.my_cnf) {
        ABSENT.clone_into(&mut target.value);
    }
    facts.push(Fact::new(Aspect::Dilation, "dilation", repeat.dilation));
    facts.extend(what.places.iter().map(|place| {
        Fact::new(Aspect::Device, format!("backing of {}", place.role), &place.backing)
    }));
    facts
}

fn of_host(lab: &Lab, facts: Vec<(String, String)>) -> Vec<Fact> {
    let lasting = facts.into_iter().filter(|(name, _)| !PASSING_FACTS.contains(&name.as_str()));
    let is_of_kernel = |name: &str| KERNEL_FACTS.contains(&name);
    let aspect = |name: &str| if is_of_kernel(name) { Aspect::Kernel } else { Aspect::Host };
    let of_host = lasting.map(|(name, value)| Fact::new(aspect(&name), name, value));
    let version = Fact::new(Aspect::Mydyno, "mydyno_version", &lab.mydyno_version);
    of_host.chain([version]).collect()
}
