//! What a cell is, fact by fact: the one list by which cells are told apart.

use crate::rows::NewCell;
use base::named;
use serde::Serialize;
use spec::defaults;

/// Where something is not known, or there is none.
pub const ABSENT: &str = "-";

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

/// Something that may be another in other runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    pub aspect: Aspect,
    /// `connections`, `innodb_io_capacity`, `data`, ...
    pub name: String,
    pub value: String,
}

impl Fact {
    pub fn new(aspect: Aspect, name: impl Into<String>, value: impl ToString) -> Fact {
        Fact { aspect, name: name.into(), value: value.to_string() }
    }
}

impl NewCell {
    /// What it is. A preset, places and a dilation are settings of their plan, too.
    pub fn facts(&self) -> Vec<Fact> {
        // To name the preset that is there without one is no difference.
        let preset = self.preset.as_ref().map(|preset| &preset.name);
        let preset = preset.filter(|name| *name != defaults::PRESET);
        let types: Vec<&str> = self.transactions.iter().map(|of| of.name.as_str()).collect();
        let length = |ns: u64, is_auto: bool| match (is_auto, ns as f64 / 1e9) {
            (true, s) => format!("auto, at most {s} s"),
            (false, s) => format!("{s} s"),
        };
        // A cell that has met no server does not say all that the others do.
        let history_key = self.history_key.unwrap_or(false);
        let isolation = self.isolation.as_deref().unwrap_or(defaults::ISOLATION.name());
        let mut facts = vec![
            Fact::new(Aspect::Engine, "engine", &self.engine),
            Fact::new(Aspect::Engine, "flavour", &self.flavour),
            Fact::new(Aspect::Version, "server_version", &self.server_version),
            Fact::new(Aspect::Target, "target", &self.target),
            Fact::new(Aspect::Target, "transport", &self.transport),
            Fact::new(Aspect::Preset, "preset", known(preset)),
            Fact::new(Aspect::Workload, "workload", &self.workload),
            Fact::new(Aspect::Workload, "transactions", types.join(", ")),
            Fact::new(Aspect::Workload, "home", known(self.home)),
            Fact::new(Aspect::Workload, "terminals", known(self.terminals)),
            Fact::new(Aspect::Workload, "inactive_warehouses", known(self.inactive_warehouses)),
            Fact::new(Aspect::Workload, "isolation", isolation),
            Fact::new(Aspect::Style, "style", &self.style),
            Fact::new(Aspect::Schema, "history_key", history_key),
            Fact::new(Aspect::Schema, "foreign_keys", known(self.foreign_keys)),
            Fact::new(Aspect::Schema, "partitions", self.partitions),
            Fact::new(Aspect::Schema, "schemas", self.schemas),
            Fact::new(Aspect::Warehouses, "warehouses", known(self.warehouses)),
            Fact::new(Aspect::Connections, "connections", self.connections),
            Fact::new(Aspect::Instances, "instances", self.instances),
            Fact::new(Aspect::Cores, "cores", known(self.cores)),
            Fact::new(Aspect::Rate, "rate", known(self.rate_asked.as_ref())),
            Fact::new(Aspect::Rate, "arrivals", known(self.arrivals.as_ref())),
            Fact::new(Aspect::Length, "warmup", length(self.warmup_ns, self.warmup_auto)),
            Fact::new(Aspect::Length, "window", length(self.window_ns, self.window_auto)),
            Fact::new(Aspect::Length, "interval", length(self.interval_ns, false)),
            Fact::new(Aspect::Length, "precision", known(self.precision_share)),
            Fact::new(Aspect::Seed, "seed", self.seed),
        ];
        facts.extend(self.places.iter().map(|place| {
            let figures = place.profile_fingerprint.as_ref();
            let figures = figures.map_or_else(String::new, |figures| format!(" ({figures})"));
            Fact::new(Aspect::Device, &place.role, format!("{}{figures}", place.device))
        }));
        let settings = self.settings.iter();
        facts.extend(settings.map(|(name, value)| Fact::new(Aspect::Settings, name, value)));
        facts
    }

    /// What is not the same in a cell that is to be this one: a name, with the value here and
    /// there. The target may differ: a managed server gets a new port. The seed is that of the
    /// plan, which a lab goes on with.
    pub(crate) fn difference(&self, other: &NewCell) -> Option<[String; 3]> {
        let [here, there] = [self, other].map(|cell| {
            let mut facts = cell.facts();
            facts.retain(|fact| ![Aspect::Target, Aspect::Seed].contains(&fact.aspect));
            facts
        });
        let only_in = |facts: &[Fact], others: &[Fact]| {
            facts.iter().find(|fact| !others.contains(fact)).cloned()
        };
        let differs = only_in(&here, &there).or_else(|| only_in(&there, &here))?;
        let is_it = |of: &&Fact| (of.aspect, &of.name) == (differs.aspect, &differs.name);
        let value = |facts: &[Fact]| known(facts.iter().find(is_it).map(|fact| &fact.value));
        let (was, is) = (value(&here), value(&there));
        Some([differs.name, was, is])
    }
}

fn known<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| value.to_string())
}
