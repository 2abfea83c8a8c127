//! Dimensions of the matrix: what their values are called, and what each sets of a cell. A new one
//! is a field of [`crate::document`] and a line here.

use crate::document::{PlanDocument, ServerTable, StorageTable};
use crate::error::{PlanProblem, Span};
use crate::kinds::{Text, Variables};
use crate::values::{Axis, Kind, One, OneOrList, spread};
use base::{Warehouses, variable_name};
use device::Role;
use spec::{
    Cell, Connections, Dilate, External, Fault, Isolation, OpenLoop, Preset, Private, Rate, Scale,
    Server, Style, Topology, WorkloadKind, defaults,
};
use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::path::PathBuf;
use std::sync::Arc;
use toml::Spanned;

/// Before the names of server variables.
pub(crate) const VARIABLE: &str = "set.";

/// One dimension: its values, of which there is at least one.
pub(crate) type Dimension = Vec<Spanned<Setting>>;

/// One value of one dimension.
#[derive(Clone)]
pub struct Setting {
    name: String,
    value: String,
    pub(crate) what: What,
}

/// What a dimension sets of a cell.
#[derive(Clone)]
pub(crate) enum What {
    /// The place of a role, as the plan says it: `same` and `twin` too.
    Place(Role),
    Other(Arc<dyn Fn(&mut Cell) + Send + Sync>),
}

impl PartialEq for Setting {
    fn eq(&self, other: &Setting) -> bool {
        (&self.name, &self.value) == (&other.name, &other.value)
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

impl Setting {
    /// A server variable that a cell has already, which tells it from others.
    pub fn of_variable(name: &str, value: &str) -> Setting {
        Setting {
            name: format!("{VARIABLE}{name}"),
            value: value.to_owned(),
            what: What::Other(Arc::new(|_| ())),
        }
    }

    /// The plan's key; of a server variable `set.` and its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its value as text.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Is it what a server is told, and not what it is or does?
    pub(crate) fn is_setting(&self) -> bool {
        match self.what {
            What::Place(role) => role != Role::Data,
            What::Other(_) => self.name == "preset" || self.variable().is_some(),
        }
    }

    /// The name of the server variable that it is.
    pub(crate) fn variable(&self) -> Option<&str> {
        self.name.strip_prefix(VARIABLE)
    }

    /// Its name and value in results, where it has no column of its own there.
    pub fn row(&self) -> Option<(String, String)> {
        let variable = self.variable();
        let is_row = matches!(self.what, What::Place(_)) || variable.is_some();
        let is_row = is_row || ["rate", "terminals"].contains(&&*self.name);
        let name = variable.unwrap_or(&self.name);
        is_row.then(|| (name.to_owned(), self.value.clone()))
    }
}

/// A key that the plan does not have gets its default, at the name of its table.
pub(crate) fn by_default<K: Kind>(axis: &mut Axis<K>, value: K::Value, table: Span) {
    axis.0.get_or_insert(Spanned::new(table, OneOrList::One(value)));
}

/// The dimensions of the matrix, in their order: the values of the last one change fastest.
pub(crate) fn dimensions_of(document: PlanDocument) -> Result<Vec<Dimension>, PlanProblem> {
    let PlanDocument { server, storage, load, crash, .. } = document;
    let spacing = load.arrivals.get().copied().unwrap_or(defaults::SPACING);
    let mut all = Dimensions::default();
    add_servers(&mut all, server)?;
    for (role, place) in by_role(storage) {
        all.add_what(role.name(), place.0, |_: String| What::Place(role))?;
    }
    all.add("warehouses", load.warehouses, |cell, count: &u32| match &mut cell.server {
        Server::Private(server) => server.population.warehouses = Warehouses(*count),
        Server::External(_) => cell.load.warehouses = Some(Warehouses(*count)),
    })?;
    all.add("partitions", load.partitions, |cell, count: &u32| {
        private(cell, |server| server.population.partitions = *count);
    })?;
    all.add("tables", load.tables, |cell, count: &u32| {
        private(cell, |server| server.population.sbtest.count = *count);
    })?;
    all.add("table_size", load.table_size, |cell, rows: &u32| {
        private(cell, |server| server.population.sbtest.rows = *rows);
    })?;
    all.add("workload", load.workload, |cell, kind: &WorkloadKind| {
        private(cell, |server| server.population.database = kind.database());
        cell.load.workload = kind.clone();
    })?;
    all.add("style", load.style, |cell, style: &Style| {
        cell.load.style = *style;
    })?;
    all.add("isolation", load.isolation, |cell, level: &Isolation| {
        cell.load.isolation = Some(*level);
    })?;
    all.add("connections", load.connections, |cell, count: &u32| {
        cell.load.connections = Connections::Fixed(*count);
    })?;
    all.add("terminals", load.terminals, |cell, count: &u32| {
        cell.load.terminals = Some(*count);
    })?;
    all.add("rate", load.rate, move |cell, rate: &Rate| {
        let rate = *rate;
        cell.load.rate = Some(OpenLoop { rate, spacing });
    })?;
    all.add("fault", crash.fault, |cell, fault: &Fault| {
        private(cell, |server| server.fault = Some(*fault));
    })?;
    Ok(all.0)
}

/// Those of the table [server].
fn add_servers(all: &mut Dimensions, server: ServerTable) -> Result<(), PlanProblem> {
    let scale = server.scale.get().copied().unwrap_or(Scale::Auto);
    all.add("dsn", server.dsn, |cell, dsn: &String| {
        external(cell, |server| server.dsns = vec![dsn.clone()]);
    })?;
    all.add("topology", server.topology, |cell, topology: &Topology| match &mut cell.server {
        Server::Private(server) => server.topology = *topology,
        Server::External(server) => server.topology = *topology,
    })?;
    all.add("engine", server.engine, |cell, engine: &String| {
        private(cell, |server| {
            if is_binary(engine) {
                server.binary = Some(PathBuf::from(engine));
            }
            server.engine.clone_from(engine);
        });
    })?;
    all.add("preset", server.preset, move |cell, preset: &String| {
        let name = preset.clone();
        private(cell, |server| server.preset = Some(Preset { name, scale }));
    })?;
    all.add_variables(server.set)?;
    all.add("instances", server.instances, |cell, instances: &u32| {
        private(cell, |server| server.instances = *instances);
    })?;
    all.add("nodes", server.nodes, |cell, nodes: &u32| {
        private(cell, |server| server.instances = *nodes);
    })?;
    all.add("cores", server.cores, |cell, cores: &u32| {
        private(cell, |server| server.cores = Some(*cores));
    })?;
    let most = server.dilate_max.get().copied();
    all.add("dilate", server.dilate, move |cell, dilate: &Dilate| {
        private(cell, |server| server.dilate = dilate.at_most(most));
    })?;
    all.add("schemas", server.schemas, |cell, schemas: &u32| {
        external(cell, |server| server.schemas = Some(*schemas));
    })
}

fn by_role(storage: StorageTable) -> [(Role, Axis<Text>); 6] {
    [
        (Role::Data, storage.data),
        (Role::Redo, storage.redo),
        (Role::Undo, storage.undo),
        (Role::Doublewrite, storage.doublewrite),
        (Role::Binlog, storage.binlog),
        (Role::Temp, storage.temp),
    ]
}

fn private(cell: &mut Cell, set: impl FnOnce(&mut Private)) {
    if let Server::Private(server) = &mut cell.server {
        set(server);
    }
}

fn external(cell: &mut Cell, set: impl FnOnce(&mut External)) {
    if let Server::External(server) = &mut cell.server {
        set(server);
    }
}

/// Is this engine a server's binary, and no name of the catalogue?
pub(crate) fn is_binary(engine: &str) -> bool {
    engine.contains('/')
}

#[derive(Default)]
struct Dimensions(Vec<Dimension>);

impl Dimensions {
    fn add<K: Kind<Value: Display + Send + Sync + 'static>>(
        &mut self,
        name: &str,
        axis: Axis<K>,
        set: impl Fn(&mut Cell, &K::Value) + Copy + Send + Sync + 'static,
    ) -> Result<(), PlanProblem> {
        self.add_what(name, axis.0, |value| What::Other(Arc::new(move |cell| set(cell, &value))))
    }

    /// Adds the values of a key, each once.
    fn add_what<T: Display>(
        &mut self,
        name: &str,
        values: Option<Spanned<OneOrList<T>>>,
        what: impl Fn(T) -> What,
    ) -> Result<(), PlanProblem> {
        let mut dimension = Dimension::new();
        let mut seen = BTreeSet::new();
        for value in spread(values) {
            let span = value.span();
            let text = value.get_ref().to_string();
            if !seen.insert(text.clone()) {
                let why = format!(
                    "`{name}` has this value twice; leave one out (`repeats` measures a cell more \
                     than once)"
                );
                return Err(PlanProblem::new(span, why));
            }
            let setting =
                Setting { name: name.to_owned(), value: text, what: what(value.into_inner()) };
            dimension.push(Spanned::new(span, setting));
        }
        self.0.extend((!dimension.is_empty()).then_some(dimension));
        Ok(())
    }

    /// Adds server variables, in the order of the file.
    fn add_variables(&mut self, set: One<Variables>) -> Result<(), PlanProblem> {
        let mut seen = BTreeSet::new();
        for (name, values) in set.0.map(Spanned::into_inner).into_iter().flatten() {
            // As the server itself reads them.
            let plain = variable_name(name.get_ref());
            if !seen.insert(plain.clone()) {
                let why = format!("the variable {plain} is set twice; leave one of them out");
                return Err(PlanProblem::new(name.span(), why));
            }
            for value in values.get_ref().iter() {
                server::validate_settings(&[(plain.clone(), value.clone())])
                    .map_err(|error| PlanProblem::new(name.span(), error.to_string()))?;
            }
            self.add_what(&format!("{VARIABLE}{plain}"), Some(values), |value| {
                let setting = (plain.clone(), value);
                What::Other(Arc::new(move |cell| {
                    private(cell, |server| server.set.push(setting.clone()));
                }))
            })?;
        }
        Ok(())
    }
}
