//! From options to the cell that they ask for, whoever gives them.

use crate::options::{CellOptions, DriveOptions, MetersOptions};
use crate::schema::keys_of;
use crate::values::given;
use base::Warehouses;
use device::Role;
use serde_json::{Map, Value};
use spec::{
    AccountFrom, Cell, Connections, DatabaseKind, Dilate, External, Lengths, Load, Meters,
    OpenLoop, Pauses, Place, Placement, PopulationSpec, Preset, Private, Problem, Scale,
    ScriptDatabase, Server, WorkloadKind, defaults,
};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// On data's device; the default of every other role.
const SAME: &str = "same";
/// On a second device of the kind that data has, as the white papers had.
const TWIN: &str = "twin";

/// Options that say nothing without another one, and why.
const COMPANIONS: [(&str, &str, &str); 3] = [
    ("arrivals", "rate", "it is the time between the transactions of an open loop"),
    ("nodes", "topology", "it is the number of servers that belong together"),
    ("scale", "preset", "it is for the sizes of a preset"),
];

/// Reads a place, which may mean to open a profile's file.
pub type ReadPlace<'a> = dyn Fn(&str) -> Result<Place, String> + 'a;

/// Is this place told by that of data?
pub(crate) fn is_relative(place: &str) -> bool {
    place == SAME || place == TWIN
}

/// Is this engine a server's binary, and no name of the catalogue?
pub(crate) fn is_binary(engine: &str) -> bool {
    engine.contains('/')
}

/// What only servers have that mydyno starts.
fn of_private() -> impl Iterator<Item = &'static str> {
    let of_others = ["dsn", "defaults_file", "schemas", "topology"];
    let of_load = ["population_seed", "foreign_keys", "partitions", "table_options"];
    let sizes = WorkloadKind::all_sizes().map(|(option, _)| option);
    let tables = ["server", "storage", "crash"].into_iter().filter_map(keys_of);
    let keys = tables.flat_map(Map::keys).map(String::as_str);
    keys.filter(move |key| !of_others.contains(key)).chain(of_load).chain(sizes)
}

/// The option of those given that the server cannot have, by what says which server it is.
pub(crate) fn misplaced(is_given: impl Fn(&str) -> bool) -> Result<(), Problem> {
    let Some(option) = of_private().find(|option| is_given(option)) else { return Ok(()) };
    if let Some(external) = ["dsn", "defaults_file"].into_iter().find(|option| is_given(option)) {
        let why = format!(
            "it is for servers that mydyno starts, and `{external}` names one that is there \
             already; leave one of them out, or see `mydyno server start`"
        );
        return Problem::of(option, why);
    }
    let why = "it is for servers that mydyno starts; name an `engine`, give it to `mydyno server \
               start`, or leave it out";
    Problem::when(!is_given("engine") && !is_given("server_binary"), option, why)?;
    let why = "it is for a server that is there already, and a private server has one schema; use \
               `mydyno server start`, then `mydyno load --schemas`, and name it by `dsn`, or leave \
               it out";
    Problem::when(is_given("schemas"), "schemas", why)
}

impl CellOptions {
    /// What they ask for, with inputs of this seed. It is not judged yet: see [`Cell::validate`].
    ///
    /// # Errors
    /// Options that do not go together, and places that are none.
    pub fn cell(&self, seed: u64, place: &ReadPlace<'_>) -> Result<Cell, Problem> {
        self.require_fit()?;
        let DriveOptions { rate, arrivals, warmup, window, interval, .. } = &self.load;
        let mut server = self.server(place)?;
        let account_from = given(&self.load.account_from);
        Self::prepare_account(account_from, &mut server)?;
        let by_default = Load::of_seed(seed);
        let warehouses = given(&self.database.warehouses).map(Warehouses);
        let spacing = given(arrivals).unwrap_or(defaults::SPACING);
        let load = Load {
            workload: self.workload(),
            style: given(&self.load.style).unwrap_or(by_default.style),
            no_prepare: given(&self.load.no_prepare).unwrap_or_default(),
            isolation: given(&self.load.isolation),
            // All that a private database has are used.
            warehouses: warehouses.filter(|_| server.private().is_none()),
            inactive_warehouses: given(&self.load.inactive_warehouses).unwrap_or_default(),
            connections: self.connections(),
            terminals: given(&self.load.terminals),
            home: given(&self.load.home).unwrap_or_default(),
            xa: given(&self.load.xa).unwrap_or_default(),
            rand_type: given(&self.load.rand_type),
            rate: given(rate).map(|rate| OpenLoop { rate, spacing }),
            pauses: Pauses {
                retry: given(&self.load.retry_pause).unwrap_or(by_default.pauses.retry),
                ..by_default.pauses
            },
            threads: given(&self.load.threads),
            // The shim, where it is there, is the default.
            account_from: account_from.filter(|from| *from != AccountFrom::Shim),
            seed,
        };
        let lengths = Lengths {
            warmup: given(warmup).unwrap_or(defaults::WARMUP),
            window: given(window).unwrap_or(defaults::WINDOW),
            precision_share: given(&self.load.precision),
            interval: given(interval).unwrap_or(defaults::INTERVAL),
        };
        Ok(Cell {
            server,
            load,
            lengths,
            checks: given(&self.load.check).unwrap_or_default(),
            lock_wait_timeouts_max_share: given(&self.load.lock_wait_timeouts_max).flatten(),
            meters: self.meters.meters(),
        })
    }

    /// The server whose database is to be loaded or checked.
    ///
    /// # Errors
    /// As [`CellOptions::cell`].
    pub fn target_alone(&self, place: &ReadPlace<'_>) -> Result<Server, Problem> {
        let target = self.target.clone();
        CellOptions { target, ..CellOptions::default() }.require_fit()?;
        self.server(place)
    }

    /// A private server has what its account is from.
    fn prepare_account(
        account_from: Option<AccountFrom>,
        server: &mut Server,
    ) -> Result<(), Problem> {
        const VARIABLE: &str = "performance_schema";
        let Server::Private(private) = server else { return Ok(()) };
        let has_shim = private.placement.count || private.placement.is_emulated();
        let why = "the shim is not there on real storage whose I/O is not counted; place a role on \
                   a profile (data: hdd-15k), say `count_io` too, or leave it out";
        let is_lost = account_from == Some(AccountFrom::Shim) && !has_shim;
        Problem::when(is_lost, "account_from", why)?;
        if account_from == Some(AccountFrom::PerformanceSchema) {
            let why = "`set` has performance_schema, which this switches on; leave one of them out";
            let is_set = private.set.iter().any(|(name, _)| name == VARIABLE);
            Problem::when(is_set, "account_from", why)?;
            private.set.push((VARIABLE.to_owned(), "ON".to_owned()));
        }
        Ok(())
    }

    fn server(&self, place: &ReadPlace<'_>) -> Result<Server, Problem> {
        let (target, server) = (&self.target, &self.server);
        let topology = given(&target.topology).unwrap_or_default();
        let Some(engine) = self.engine() else {
            return Ok(Server::External(External {
                dsns: target.dsn.iter().map(|dsn| dsn.0.clone()).collect(),
                topology,
                defaults_file: given(&target.defaults_file).map(PathBuf::from),
                schemas: given(&target.schemas),
                set: Vec::new(),
            }));
        };
        let by_name = is_binary(&engine).then(|| engine.clone());
        let scale = given(&server.scale).unwrap_or(Scale::Auto);
        let servers = given(&target.nodes).or(given(&server.instances));
        Ok(Server::Private(Private {
            binary: given(&target.server_binary).or(by_name).map(PathBuf::from),
            preset: given(&server.preset).map(|name| Preset { name, scale }),
            set: target.set.iter().map(|set| set.0.clone()).collect(),
            placement: self.placement(place)?,
            population: self.population(),
            instances: servers.unwrap_or(1),
            topology,
            dilate: self.dilate().at_most(given(&server.dilate_max)),
            cores: given(&server.cores),
            fault: given(&self.crash.fault),
            engine,
        }))
    }

    /// The database that private servers have, or that is to be loaded.
    pub fn population(&self) -> PopulationSpec {
        let (asked, by_default) = (&self.database, PopulationSpec::default());
        let warehouses = given(&asked.warehouses).map(Warehouses);
        let mut database = self.workload().database();
        match &mut database {
            DatabaseKind::Script(ScriptDatabase::Sbtest(tables)) => {
                tables.count = given(&asked.tables).unwrap_or(tables.count);
                tables.rows = given(&asked.table_size).unwrap_or(tables.rows);
            }
            DatabaseKind::Tpcc | DatabaseKind::Script(ScriptDatabase::File(_)) => {}
        }
        PopulationSpec {
            database,
            warehouses: warehouses.unwrap_or(by_default.warehouses),
            shard: None,
            foreign_keys: given(&asked.foreign_keys).unwrap_or(by_default.foreign_keys),
            partitions: given(&asked.partitions).unwrap_or(by_default.partitions),
            table_options: given(&asked.table_options),
            seed: given(&self.load.population_seed).unwrap_or(by_default.seed),
        }
    }

    /// What the files of private servers are placed on; data before the others.
    ///
    /// # Errors
    /// As [`CellOptions::cell`].
    pub fn placement(&self, place: &ReadPlace<'_>) -> Result<Placement, Problem> {
        let storage = &self.storage;
        let mut placement = Placement {
            used: given(&storage.used),
            page_cache_bytes: given(&storage.page_cache),
            count: given(&storage.count_io).unwrap_or_default(),
            ..Placement::default()
        };
        for (role, text) in [
            (Role::Data, &storage.data),
            (Role::Redo, &storage.redo),
            (Role::Undo, &storage.undo),
            (Role::Doublewrite, &storage.doublewrite),
            (Role::Binlog, &storage.binlog),
            (Role::Temp, &storage.temp),
        ] {
            let Some(text) = text else { continue };
            let found = resolve(&placement, role, &text.0, place);
            let found = found.or_else(|why| Problem::of(role.name(), why))?;
            placement.places.extend(found.map(|place| (role, place)));
        }
        Ok(placement)
    }

    /// Are private servers asked for?
    pub fn is_private(&self) -> bool {
        self.engine().is_some()
    }

    /// Is nothing asked for?
    pub fn is_empty(&self) -> bool {
        self.all_given().is_empty()
    }

    fn all_given(&self) -> BTreeSet<String> {
        let all = serde_json::to_value(self)
            .expect("each option is absent, or a bool that says that it was given, or a list");
        let entries = all.as_object().into_iter().flatten();
        let is_given = |value: &Value| {
            value.is_boolean() || value.as_array().is_some_and(|all| !all.is_empty())
        };
        entries.filter(|(_, value)| is_given(value)).map(|(name, _)| name.clone()).collect()
    }

    /// Refuses options that do not go together.
    fn require_fit(&self) -> Result<(), Problem> {
        let all = self.all_given();
        let is_given = |option: &str| all.contains(option);
        misplaced(is_given)?;
        for (option, other, why) in COMPANIONS {
            let why = format!("{why}; add `{other}`, or leave it out");
            Problem::when(is_given(option) && !is_given(other), option, why)?;
        }
        let why = "servers that belong together are counted by `nodes`; name that instead";
        Problem::when(is_given("instances") && is_given("topology"), "instances", why)?;
        let why = "a ramp finds the number of connections; leave one of them out";
        Problem::when(is_given("connections") && self.is_ramp, "connections", why)?;
        let is_fixed = self.dilate().fixed().is_some();
        let why = "it bounds `dilate = \"auto\"`; name that, or leave it out";
        Problem::when(is_given("dilate_max") && is_fixed, "dilate_max", why)?;
        let workload = self.workload();
        let database = workload.database();
        let has_others = self.is_private() && database != DatabaseKind::Tpcc;
        let why = format!("workload {workload} has no warehouses; leave them out");
        Problem::when(is_given("warehouses") && has_others, "warehouses", why)?;
        let own = database.sizes();
        for (option, of) in WorkloadKind::all_sizes() {
            let is_own = own.iter().any(|(size, _)| *size == option);
            let why = format!("it is for databases of workload {of}; use that, or leave it out");
            Problem::when(is_given(option) && !is_own, option, why)?;
        }
        Ok(())
    }

    pub(crate) fn workload(&self) -> WorkloadKind {
        given(&self.load.workload).unwrap_or(defaults::WORKLOAD)
    }

    fn dilate(&self) -> Dilate {
        given(&self.server.dilate).unwrap_or(Dilate::NONE)
    }

    /// The engine of private servers.
    fn engine(&self) -> Option<String> {
        let binary = self.target.server_binary.as_ref();
        let of_binary = binary.map(|_| Private::OF_BINARY.to_owned());
        given(&self.target.engine).or(of_binary)
    }

    fn connections(&self) -> Connections {
        if self.is_ramp {
            return Connections::Ramp(self.ramp.limits());
        }
        given(&self.load.connections).map_or(Connections::ByDefault, Connections::Fixed)
    }
}

impl MetersOptions {
    /// The meters that they name.
    pub fn meters(&self) -> Meters {
        Meters {
            power_command: given(&self.power_command),
            host_metrics: given(&self.host_metrics),
        }
    }
}

/// The place of a role, beside what is placed already, data among it; none is where data is.
fn resolve(
    placed: &Placement,
    role: Role,
    text: &str,
    place: &ReadPlace<'_>,
) -> Result<Option<Place>, String> {
    match text {
        SAME | TWIN if role == Role::Data => Err(format!(
            "`data` cannot be {text:?}, which is said of other roles; name a device profile or a \
             directory, or leave it out"
        )),
        SAME => Ok(None),
        TWIN => {
            match placed.places.get(&Role::Data) {
                Some(data @ Place::Emulated { .. }) => Ok(Some(data.clone())),
                Some(Place::Directory(directory)) => Err(format!(
                    "it cannot be the twin of {}, which is a real device; name the directory of \
                 another one",
                    directory.display()
                )),
                None => Err("it cannot be a twin where `data` has no device; name one for `data`"
                    .to_owned()),
            }
        }
        text => place(text).map(Some),
    }
}
