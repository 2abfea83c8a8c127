//! Dimensions of the matrix: what their values are called, and in which order they stand.

use device::Role;
use toml::Spanned;

/// Before the names of server variables.
pub(crate) const VARIABLE: &str = "set.";

/// The options that may have a list, in the order of the matrix: the values of the last one change
/// fastest.
pub(crate) const DIMENSIONS: [&str; 30] = [
    "dsn",
    "topology",
    "engine",
    "preset",
    "set",
    "instances",
    "nodes",
    "cores",
    "dilate",
    "schemas",
    "data",
    "redo",
    "undo",
    "doublewrite",
    "binlog",
    "temp",
    "used",
    "warehouses",
    "partitions",
    "table_options",
    "tables",
    "table_size",
    "workload",
    "rand_type",
    "style",
    "isolation",
    "connections",
    "terminals",
    "rate",
    "fault",
];

/// One dimension: its values, of which there is at least one.
pub(crate) type Dimension = Vec<Spanned<Setting>>;

/// One value of one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    name: String,
    value: String,
}

impl Setting {
    pub(crate) fn new(name: impl Into<String>, value: impl Into<String>) -> Setting {
        Setting { name: name.into(), value: value.into() }
    }

    /// A server variable that a cell has already, which tells it from others.
    pub fn of_variable(name: &str, value: &str) -> Setting {
        Setting::new(format!("{VARIABLE}{name}"), value)
    }

    /// The plan's key; of a server variable `set.` and its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its value as text.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Where it stands in the matrix.
    pub(crate) fn rank(&self) -> Option<usize> {
        let option = self.variable().map_or(&*self.name, |_| "set");
        DIMENSIONS.iter().position(|dimension| *dimension == option)
    }

    /// The role that it places.
    pub(crate) fn role(&self) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == self.name)
    }

    /// Is it what a server is told, and not what it is or does?
    pub(crate) fn is_setting(&self) -> bool {
        let is_place = self.role().is_some_and(|role| role != Role::Data);
        is_place || self.name == "preset" || self.variable().is_some()
    }

    /// The name of the server variable that it is.
    pub(crate) fn variable(&self) -> Option<&str> {
        self.name.strip_prefix(VARIABLE)
    }

    /// Its name and value in results, where the plan's words are kept there.
    pub fn row(&self) -> Option<(String, String)> {
        let is_row = self.role().is_some() || ["rate", "terminals"].contains(&&*self.name);
        is_row.then(|| (self.name.clone(), self.value.clone()))
    }
}
