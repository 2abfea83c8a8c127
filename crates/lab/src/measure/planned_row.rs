//! The row of a cell as far as its plan tells of it.

use crate::measure::workload::{metric_of, settings_of, transactions_of};
use crate::target::preset::PRESET_SETTING;
use itertools::Itertools;
use plan::{PlannedCell, Setting};
use spec::{Cell, Dilate, External, Lengths, Private, Server, Topology};
use std::time::Duration;
use store::{NewCell, TOPOLOGY_SETTING, redact};

/// A cell as far as its plan tells of it.
pub(crate) fn planned_row(cell: &PlannedCell) -> NewCell {
    let ns = |duration: Duration| duration.as_nanos() as u64;
    let Cell { load, lengths, .. } = &cell.what;
    let Lengths { warmup, window, interval, .. } = *lengths;
    let mut row = NewCell {
        ordinal: cell.ordinal,
        workload: load.workload.name().to_owned(),
        style: load.style.name().to_owned(),
        throughput_metric: metric_of(&load.workload),
        transactions: transactions_of(&load.workload),
        connections: load.connections.first().unwrap_or_default(),
        home: Some(load.home),
        isolation: load.isolation.map(|level| level.name().to_owned()),
        warmup_ns: ns(warmup.most),
        window_ns: ns(window.most),
        interval_ns: ns(interval),
        warmup_auto: warmup.is_auto,
        window_auto: window.is_auto,
        precision_share: lengths.window_precision_share(),
        seed: load.seed,
        schemas: 1,
        instances: 1,
        settings: settings_beside_columns(cell),
        ..NewCell::default()
    };
    match &cell.what.server {
        Server::Private(private) => {
            let population = &private.population;
            row.engine.clone_from(&private.engine);
            row.warehouses = population.tpcc_warehouses().map(|count| count.0);
            row.foreign_keys = row.warehouses.map(|_| population.foreign_keys);
            row.partitions = population.partitions;
            row.instances = private.instances;
            row.cores = private.cores;
            row.settings.extend(settings_of(&population.database));
            let preset = private.preset.iter().map(|preset| preset.name.clone());
            row.settings.extend(preset.map(|name| (PRESET_SETTING.to_owned(), name)));
        }
        Server::External(external) => {
            row.engine = "external".to_owned();
            row.target = external.dsns.iter().map(|dsn| redact(dsn)).join(" ");
            row.warehouses = load.warehouses.map(|warehouses| warehouses.0);
            row.schemas = external.schemas.unwrap_or(1);
        }
    }
    row
}

/// What its plan says of the cell, in its words, the variables of its server, and what else is not
/// by default.
fn settings_beside_columns(cell: &PlannedCell) -> Vec<(String, String)> {
    let server = &cell.what.server;
    let (Server::Private(Private { set, .. }) | Server::External(External { set, .. })) = server;
    let (dilate, topology) = (server.dilate(), server.topology());
    let dilate = (dilate != Dilate::NONE).then(|| ("dilate".to_owned(), dilate.to_string()));
    let topology = (topology != Topology::Apart)
        .then(|| (TOPOLOGY_SETTING.to_owned(), topology.name().to_owned()));
    let words = cell.settings.iter().filter_map(Setting::row);
    let words = words.chain(set.iter().cloned()).chain(dilate).chain(topology);
    words.chain(cell.what.beside_default(is_told)).collect()
}

/// Is this field of a server or a load a column, or told in other words?
fn is_told(field: &str) -> bool {
    let otherwise = ["dsns", "preset", "set", "topology", "dilate", "places", "database", "rate"];
    NewCell::has_column(field) || otherwise.contains(&field) || field == "defaults_file"
}
