//! One value of one dimension.

use base::Warehouses;
use device::Role;
use spec::{Isolation, Rate, Style, WorkloadKind};

/// What a dimension of the matrix sets of a cell. A later kind of dimension is another variant.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    Engine(String),
    Preset(String),
    Variable {
        name: String,
        value: String,
    },
    /// Servers of a cell.
    Instances(u32),
    /// As the plan says it: `same` and `twin` too.
    Place {
        role: Role,
        place: String,
    },
    Warehouses(Warehouses),
    /// Of each table that can be split; 0 for none.
    Partitions(u32),
    Workload(WorkloadKind),
    Style(Style),
    Isolation(Isolation),
    Connections(u32),
    Rate(Rate),
    Terminals(u32),
}

impl Setting {
    /// The plan's key; of a server variable `set.` and its name.
    pub fn name(&self) -> String {
        match self {
            Setting::Engine(_) => "engine",
            Setting::Preset(_) => "preset",
            Setting::Variable { name, .. } => return format!("set.{name}"),
            Setting::Instances(_) => "instances",
            Setting::Place { role, .. } => role.name(),
            Setting::Warehouses(_) => "warehouses",
            Setting::Partitions(_) => "partitions",
            Setting::Workload(_) => "workload",
            Setting::Style(_) => "style",
            Setting::Isolation(_) => "isolation",
            Setting::Connections(_) => "connections",
            Setting::Rate(_) => "rate",
            Setting::Terminals(_) => "terminals",
        }
        .to_owned()
    }

    /// Its value as text.
    pub fn value(&self) -> String {
        match self {
            Setting::Engine(text)
            | Setting::Preset(text)
            | Setting::Variable { value: text, .. }
            | Setting::Place { place: text, .. } => text.clone(),
            Setting::Workload(workload) => workload.name().to_owned(),
            Setting::Style(style) => style.name().to_owned(),
            Setting::Isolation(level) => level.name().to_owned(),
            Setting::Rate(rate) => rate.to_string(),
            Setting::Warehouses(warehouses) => warehouses.to_string(),
            Setting::Instances(count)
            | Setting::Partitions(count)
            | Setting::Terminals(count)
            | Setting::Connections(count) => count.to_string(),
        }
    }
}
