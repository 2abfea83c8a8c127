//! From the text of a plan to what it says.

use crate::dimension::{Dimension, Setting, by_default, dimensions_of};
use crate::document::{LabTable, PlanDocument, RampTable, ServerTable};
use crate::error::{PlanError, PlanProblem, PlanText};
use crate::keys::{Keys, no_table};
use crate::kinds::with_known;
use crate::order::Order;
use crate::plan::{Exclusion, Plan};
use crate::schema::{dimension_keys, json_schema};
use crate::values::spread;
use serde::Deserialize;
use spec::{
    Cell, Connections, External, Lengths, Load, Meters, Private, RampLimits, Server, WorkloadKind,
    defaults,
};
use std::path::PathBuf;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, Deserializer};
use tpcc::Transaction;

/// Longest text of a plan: a hundred times what a large one needs.
pub const PLAN_BYTES_MAX: usize = 1 << 20;

/// What only servers have that mydyno starts.
const OF_PRIVATE: [&str; 17] = [
    "engine",
    "server_binary",
    "preset",
    "scale",
    "set",
    "instances",
    "nodes",
    "dilate",
    "dilate_max",
    "cores",
    "fault",
    "storage",
    "population_seed",
    "foreign_keys",
    "partitions",
    "tables",
    "table_size",
];

impl Plan {
    /// Reads a plan; `path` is its name in messages. Names of engines, presets and places are not
    /// looked up yet: see [`Plan::cells`].
    ///
    /// # Errors
    /// What is wrong with the text, with line and column.
    pub fn parse(text: &str, path: &str) -> Result<Plan, PlanError> {
        let source = PlanText { path: path.to_owned(), text: text.to_owned() };
        parse(&source).map_err(|problem| source.error(problem))
    }
}

fn parse(source: &PlanText) -> Result<Plan, PlanProblem> {
    if source.text.len() > PLAN_BYTES_MAX {
        return Err(PlanProblem::new(0..0, "a plan is 1 MiB long at most"));
    }
    let root = DeTable::parse(&source.text).map_err(|error| {
        let message = error.message().trim().replace('\n', ", ");
        let span = error.span().unwrap_or(0..0);
        PlanProblem::new(span, format!("this is not TOML: {message}"))
    })?;
    let excluded = root.get_ref().get("exclude").cloned();
    // serde would read a struct from a list, too.
    let is_list = |entry: &(&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
        entry.0.get_ref() != "exclude" && entry.1.get_ref().is_array()
    };
    if let Some((name, _)) = root.get_ref().iter().find(is_list) {
        return Err(no_table(name.get_ref(), name.span()));
    }
    let keys = Keys::of(root.get_ref());
    let mut document = read(root, &keys)?;
    for table in ["lab", "server", "load"] {
        if keys.name(table).is_none() {
            let why = format!("the plan has no [{table}]; add it (docs/plans.md has all keys)");
            return Err(PlanProblem::new(0..0, why));
        }
    }
    let common = common(&document, &keys)?;
    if common.server.private().is_some() {
        let at = |table| keys.name(table).unwrap_or(0..0);
        let preset = defaults::PRESET.to_owned();
        by_default(&mut document.server.preset, preset, at("server"));
        let warehouses = defaults::WAREHOUSES.0;
        by_default(&mut document.load.warehouses, warehouses, at("load"));
    }
    let at_load = keys.value_or_table("load");
    by_default(&mut document.load.workload, defaults::WORKLOAD, at_load.clone());
    by_default(&mut document.load.style, defaults::STYLE, at_load);
    let lab = std::mem::take(&mut document.lab);
    let page_cache_bytes = std::mem::take(&mut document.storage.page_cache).0;
    let dimensions = dimensions_of(document)?;
    let mut plan = Plan {
        source: source.clone(),
        name: String::new(),
        order: Order::Random,
        repeats: defaults::REPEATS,
        time_limit: lab.time_limit.0.clone(),
        repeat_time_limit: None,
        page_cache_bytes,
        changes_max: lab.changes_max.0.clone(),
        common,
        is_shortened: false,
        exclusions: exclusions(excluded, &dimensions)?,
        dimensions,
        keys,
    };
    plan.set_lab(&lab)?;
    Ok(plan)
}

fn read(root: Spanned<DeTable<'_>>, keys: &Keys) -> Result<PlanDocument, PlanProblem> {
    PlanDocument::deserialize(Deserializer::from(root)).map_err(|error| keys.problem(&error))
}

/// What all cells have in common; dimensions say the rest.
fn common(document: &PlanDocument, keys: &Keys) -> Result<Cell, PlanProblem> {
    let PlanDocument { server, storage, load, meters, .. } = document;
    let seed = document.lab.seed.get().copied().unwrap_or(defaults::PLAN_SEED);
    let mut cell = Cell {
        server: Server::Private(Private::of_engine("")),
        load: Load::of_seed(seed),
        lengths: Lengths::default(),
        checks: true,
        lock_wait_timeouts_max_share: Some(defaults::LOCK_WAIT_TIMEOUTS_MAX_SHARE),
        meters: Meters {
            power_command: meters.power_command.get().cloned(),
            host_metrics: meters.host_metrics.get().cloned(),
        },
    };
    match external(server, keys)? {
        Some(external) => cell.server = Server::External(external),
        None => {
            let mut private = private(server, keys)?;
            private.population.seed = load.population_seed.get().copied().unwrap_or(seed);
            load.foreign_keys.set(&mut private.population.foreign_keys);
            storage.count_io.set(&mut private.placement.count);
            cell.server = Server::Private(private);
        }
    }
    load.check.set(&mut cell.checks);
    let most = &load.lock_wait_timeouts_max;
    most.set(&mut cell.lock_wait_timeouts_max_share);
    load.warmup.set(&mut cell.lengths.warmup);
    load.window.set(&mut cell.lengths.window);
    load.interval.set(&mut cell.lengths.interval);
    cell.lengths.precision_share = load.precision.get().copied();
    load.home.set(&mut cell.load.home);
    load.xa.set(&mut cell.load.xa);
    load.retry_pause.set(&mut cell.load.retry_pause);
    cell.load.threads = load.threads.get().copied();
    load.inactive_warehouses.set(&mut cell.load.inactive_warehouses);
    if load.arrivals.get().is_some() && load.rate.get().is_none() {
        let why = "`arrivals` is the time between the transactions of an open loop; add `rate`, or \
                   leave it out";
        return Err(PlanProblem::new(load.arrivals.span(), why));
    }
    let dilates = server.dilate.get();
    let is_auto = dilates.is_some_and(|all| all.iter().any(|one| one.fixed().is_none()));
    if server.dilate_max.get().is_some() && !is_auto {
        let why = "`dilate_max` bounds `dilate = \"auto\"`; add that, or leave it out";
        return Err(PlanProblem::new(server.dilate_max.span(), why));
    }
    cell.load.connections = connections(document, keys)?;
    Ok(cell)
}

/// The server that is there already, where the plan names one.
fn external(server: &ServerTable, keys: &Keys) -> Result<Option<External>, PlanProblem> {
    let Some(named) = [
        ("dsn", server.dsn.get().is_some()),
        ("defaults_file", server.defaults_file.get().is_some()),
    ]
    .into_iter()
    .find_map(|(name, is_named)| is_named.then_some(name)) else {
        let schemas = server.schemas.get().map(|_| {
            let why = "`schemas` is for a server that is there already, and a private server has \
                       one schema; name it by `dsn`, or leave `schemas` out";
            PlanProblem::new(server.schemas.span(), why)
        });
        return schemas.map_or(Ok(None), Err);
    };
    if let Some((name, span)) = OF_PRIVATE.iter().find_map(|name| Some((name, keys.name(name)?))) {
        let why = format!(
            "`{name}` is for servers that mydyno starts, and `{named}` names one that is there \
             already; leave one of them out"
        );
        return Err(PlanProblem::new(span, why));
    }
    for dsn in spread(server.dsn.0.clone()) {
        let why = match server::dsn_has_password(dsn.get_ref()) {
            Ok(false) => continue,
            // Its text is not repeated: it may hold a password.
            Err(error) => format!("`dsn`: {error}"),
            Ok(true) => "`dsn` has a password in it, and the results file keeps the plan; leave \
                         it out, and give it by MYDYNO_PASSWORD or an option file \
                         (`defaults_file`)"
                .to_owned(),
        };
        return Err(PlanProblem::new(dsn.span(), why));
    }
    Ok(Some(External {
        defaults_file: server.defaults_file.get().map(PathBuf::from),
        ..External::default()
    }))
}

fn private(server: &ServerTable, keys: &Keys) -> Result<Private, PlanProblem> {
    let binary = server.server_binary.get().map(PathBuf::from);
    if binary.is_none() && server.engine.get().is_none() {
        let why = "[server] names no server; add `engine` for private ones (\"mysql-5.7\"; `mydyno \
                   server list` has all) or the `server_binary` of one, or `dsn` for one that is \
                   there already";
        return Err(PlanProblem::new(keys.name("server").unwrap_or(0..0), why));
    }
    Ok(Private { binary, ..Private::of_engine(Private::OF_BINARY) })
}

/// How many connections there are where no dimension says it: a plan has that, or a ramp, or
/// nothing but terminals.
fn connections(document: &PlanDocument, keys: &Keys) -> Result<Connections, PlanProblem> {
    let at = |table| keys.name(table).unwrap_or(0..0);
    let is_named = document.load.connections.get().is_some();
    let workloads = document.load.workload.get();
    let all_have_terminals =
        workloads.is_some_and(|all| all.iter().all(|kind| *kind == WorkloadKind::TpccSpec));
    match &document.ramp {
        Some(_) if is_named => {
            let why = "[ramp] finds the number of connections, and [load] names `connections`; \
                       leave one of them out";
            Err(PlanProblem::new(at("ramp"), why))
        }
        Some(ramp) => limits(ramp, keys).map(Connections::Ramp),
        None if is_named || all_have_terminals => Ok(Connections::ByDefault),
        None => {
            let why = "[load] lacks `connections`, the number of client sessions; or add a table \
                       [ramp], which finds how many each cell supports";
            Err(PlanProblem::new(at("load"), why))
        }
    }
}

/// The limits of a ramp; those that are not named are the papers'.
fn limits(ramp: &RampTable, keys: &Keys) -> Result<RampLimits, PlanProblem> {
    let mut limits = RampLimits::default();
    ramp.start.set(&mut limits.start);
    ramp.step.set(&mut limits.step);
    ramp.connections_max.set(&mut limits.connections_max);
    limits.points_max = ramp.points.get().map_or(limits.points_max, |most| *most as usize);
    ramp.stop_cpu.set(&mut limits.cpu_busy_share);
    ramp.stop_retries.set(&mut limits.retries_share);
    ramp.stop_kink.set(&mut limits.kink_elasticity);
    ramp.stop_plateau.set(&mut limits.plateau_elasticity);
    if let Some(times) = ramp.stop_p90.get() {
        limits.p90_us.clear();
        for (name, limit) in times.iter().flatten() {
            let known = Transaction::ALL.map(Transaction::name);
            if !known.contains(&&**name.get_ref()) {
                let why = format!("unknown transaction type `{}` in `stop_p90`", name.get_ref());
                let why = with_known(&why, name.get_ref(), &known);
                return Err(PlanProblem::new(name.span(), why));
            }
            limits.p90_us.insert(name.get_ref().clone(), *limit.get_ref());
        }
    }
    match limits.check() {
        Ok(()) => Ok(limits),
        Err(error) => {
            let named = error.keys().into_iter().find(|key| keys.name(key).is_some());
            let span = keys.value_or_table(named.unwrap_or("ramp"));
            Err(PlanProblem::new(span, error.to_string()))
        }
    }
}

impl Plan {
    fn set_lab(&mut self, lab: &LabTable) -> Result<(), PlanProblem> {
        let Some(name) = lab.name.get() else {
            let why = "[lab] lacks `name`, which results and reports call the lab by";
            return Err(PlanProblem::new(self.keys.value_or_table("lab"), why));
        };
        self.name.clone_from(name);
        lab.repeats.set(&mut self.repeats);
        lab.order.set(&mut self.order);
        let lengths = self.common.lengths;
        let needed = lengths.warmup.most + lengths.window.most;
        self.repeat_time_limit = lab.repeat_time_limit.get().copied();
        if self.repeat_time_limit.is_some_and(|limit| limit <= needed) {
            let why = format!(
                "`repeat_time_limit` ends every repeat before its end: warm-up and window may take \
                 {} alone",
                humantime::format_duration(needed)
            );
            return Err(PlanProblem::new(lab.repeat_time_limit.span(), why));
        }
        Ok(())
    }
}

/// The tables of what is left out. Their keys are those of dimensions, whichever table has them.
fn exclusions(
    excluded: Option<Spanned<DeValue<'_>>>,
    dimensions: &[Dimension],
) -> Result<Vec<Exclusion>, PlanProblem> {
    let Some(excluded) = excluded else {
        return Ok(Vec::new());
    };
    let no_tables = "`exclude` is a list of tables; write [[exclude]] on a line of its own, and \
                     its keys below";
    let no_tables = PlanProblem::new(excluded.span(), no_tables);
    let DeValue::Array(tables) = excluded.into_inner() else {
        return Err(no_tables);
    };
    let schema = json_schema();
    let known: Vec<_> = dimension_keys(&schema).collect();
    let mut exclusions = Vec::new();
    for table in tables {
        let span = table.span();
        let DeValue::Table(table) = table.into_inner() else {
            return Err(no_tables);
        };
        let mut root = DeTable::new();
        for (key, value) in table {
            let name = key.get_ref();
            let Some((section, _)) = known.iter().find(|(_, known)| *known == name.as_ref()) else {
                let why = format!("unknown key `{name}` in [[exclude]]");
                let known: Vec<&str> = known.iter().map(|(_, name)| *name).collect();
                return Err(PlanProblem::new(key.span(), with_known(&why, name, &known)));
            };
            let section = Spanned::new(span.clone(), DeString::from(*section));
            let table = root
                .entry(section)
                .or_insert_with(|| Spanned::new(span.clone(), DeValue::Table(DeTable::new())));
            if let DeValue::Table(table) = table.get_mut() {
                table.insert(key, value);
            }
        }
        let keys = Keys::of(&root);
        let conditions = dimensions_of(read(Spanned::new(span.clone(), root), &keys)?)?;
        if conditions.is_empty() {
            let why = "[[exclude]] names nothing, which would leave out every cell; name keys of \
                       the cells to leave out";
            return Err(PlanProblem::new(span, why));
        }
        for value in conditions.iter().flatten() {
            require_in_matrix(value, dimensions)?;
        }
        exclusions.push(Exclusion { span, conditions });
    }
    Ok(exclusions)
}

/// What is in no cell cannot be left out.
fn require_in_matrix(
    value: &Spanned<Setting>,
    dimensions: &[Dimension],
) -> Result<(), PlanProblem> {
    let wanted = value.get_ref();
    let name = wanted.name();
    let all = dimensions.iter().flatten().map(Spanned::get_ref);
    let of_name: Vec<&Setting> = all.filter(|setting| setting.name() == name).collect();
    if of_name.contains(&wanted) {
        return Ok(());
    }
    let why = format!("no cell has {name} = {:?}, so that it cannot be left out", wanted.value());
    let values: Vec<&str> = of_name.iter().map(|setting| setting.value()).collect();
    let why = if values.is_empty() {
        format!("{why}; the matrix has no `{name}` at all")
    } else {
        with_known(&why, wanted.value(), &values)
    };
    Err(PlanProblem::new(value.span(), why))
}
