//! From the text of a plan to what it says.

use crate::dimension::{DIMENSIONS, Dimension, Setting};
use crate::error::{PlanError, PlanProblem, PlanText};
use crate::keys::Keys;
use crate::kinds::with_known;
use crate::lab_options::LabOptions;
use crate::options::CellOptions;
use crate::order::{Order, TurnSchedule};
use crate::plan::{Exclusion, Plan};
use crate::read::{PlanKey, PlanTables, Texts, unknown};
use crate::schema::dimension;
use crate::to_cell::misplaced;
use crate::values::given;
use spec::{WorkloadKind, defaults};
use std::mem::take;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Longest text of a plan: a hundred times what a large one needs.
pub const PLAN_BYTES_MAX: usize = 1 << 20;

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
    let length = source.text.len();
    PlanProblem::when(length > PLAN_BYTES_MAX, 0..0, "a plan is 1 MiB long at most")?;
    let root = DeTable::parse(&source.text).map_err(|error| {
        let message = error.message().trim().replace('\n', ", ");
        let span = error.span().unwrap_or(0..0);
        PlanProblem::new(span, format!("this is not TOML: {message}"))
    })?;
    let root = root.into_inner();
    let keys = Keys::of(&root);
    let mut read = PlanTables::read(&root)?;
    for table in ["lab", "server", "load"] {
        let why = format!("the plan has no [{table}]; add it (docs/plans.md has all keys)");
        PlanProblem::when(!keys.has(table), 0..0, why)?;
    }
    let is_external = require_server(&read.dimensions, &keys)?;
    require_connections(&read.dimensions, &keys)?;
    let lab: LabOptions = serde_json::from_value(take(&mut read.lab).into())
        .expect("each of its values was read alone");
    let seed = given(&lab.seed).unwrap_or(defaults::PLAN_SEED);
    let mut by_default = |table, option: &str, value: &str| {
        if !keys.has(option) {
            let setting = Setting::new(option, value);
            read.dimensions.push(vec![Spanned::new(keys.name(table), setting)]);
        }
    };
    by_default("load", "workload", defaults::WORKLOAD.name());
    by_default("load", "style", defaults::STYLE.name());
    if !is_external {
        by_default("server", "preset", defaults::PRESET);
        by_default("load", "warehouses", &defaults::WAREHOUSES.to_string());
        read.common.entry("population_seed").or_insert_with(|| seed.to_string().into());
    }
    read.common.entry("check").or_insert_with(|| "true".into());
    let most = defaults::LOCK_WAIT_TIMEOUTS_MAX_SHARE.to_string();
    read.common.entry("lock_wait_timeouts_max").or_insert_with(|| most.into());
    let mut dimensions = read.dimensions;
    sort(&mut dimensions);
    let Some(name) = given(&lab.name) else {
        let why = "[lab] lacks `name`, which results and reports call the lab by";
        return Err(PlanProblem::new(keys.value_or_table("lab"), why));
    };
    Ok(Plan {
        source: source.clone(),
        name,
        schedule: TurnSchedule {
            order: given(&lab.order).unwrap_or(Order::Random),
            repeats: given(&lab.repeats).unwrap_or(defaults::REPEATS),
            seed,
        },
        time_limit: given(&lab.time_limit)
            .map(|limit| Spanned::new(keys.value_or_table("time_limit"), limit)),
        repeat_time_limit: given(&lab.repeat_time_limit),
        changes_max: given(&lab.changes_max)
            .map(|most| Spanned::new(keys.value_or_table("changes_max"), most)),
        meters: options(&read.common).meters.meters(),
        common: read.common,
        is_shortened: false,
        exclusions: exclusions(root.get("exclude"), &dimensions)?,
        dimensions,
        keys,
    })
}

/// Options whose values were read alone.
pub(crate) fn options(texts: &Texts) -> CellOptions {
    serde_json::from_value(texts.clone().into()).expect("each of its values was read alone")
}

/// In the order of the matrix; variables in that of the file.
fn sort(dimensions: &mut [Dimension]) {
    dimensions.sort_by_key(|dimension| {
        let first = dimension.first();
        first.map(|first| (first.get_ref().rank(), first.span().start))
    });
}

/// Says whether the server is one that is there already.
fn require_server(dimensions: &[Dimension], keys: &Keys) -> Result<bool, PlanProblem> {
    misplaced(|option| keys.has(option))
        .map_err(|problem| PlanProblem::new(keys.name(problem.option), problem.to_string()))?;
    let is_external = keys.has("dsn") || keys.has("defaults_file");
    let is_private = keys.has("engine") || keys.has("server_binary");
    let why = "[server] names no server; add `engine` for private ones (\"mysql-5.7\"; `mydyno \
               server list` has all) or the `server_binary` of one, or `dsn` for one that is there \
               already";
    PlanProblem::when(!is_external && !is_private, keys.name("server"), why)?;
    for dsn in dimensions.iter().flatten().filter(|setting| setting.get_ref().name() == "dsn") {
        let why = match server::dsn_has_password(dsn.get_ref().value()) {
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
    Ok(is_external)
}

/// A plan has `connections`, or a ramp, or nothing but terminals.
fn require_connections(dimensions: &[Dimension], keys: &Keys) -> Result<(), PlanProblem> {
    let all = dimensions.iter().flatten().map(Spanned::get_ref);
    let workloads = all.filter(|setting| setting.name() == "workload");
    let mut are_terminals = workloads.map(|of| of.value() == WorkloadKind::TpccSpec.name());
    let has_terminals =
        are_terminals.next().is_some_and(|first| first) && are_terminals.all(|it| it);
    let (is_ramp, is_named) = (keys.has("ramp"), keys.has("connections"));
    let why = "[ramp] finds the number of connections, and [load] names `connections`; leave one \
               of them out";
    PlanProblem::when(is_ramp && is_named, keys.name("ramp"), why)?;
    let why = "[load] lacks `connections`, the number of client sessions; or add a table [ramp], \
               which finds how many each cell supports";
    PlanProblem::when(!is_ramp && !is_named && !has_terminals, keys.name("load"), why)
}

/// The tables of what is left out. Their keys are those of dimensions, whichever table has them.
fn exclusions(
    excluded: Option<&Spanned<DeValue<'_>>>,
    dimensions: &[Dimension],
) -> Result<Vec<Exclusion>, PlanProblem> {
    let Some(excluded) = excluded else { return Ok(Vec::new()) };
    let no_tables = || {
        let why = "`exclude` is a list of tables; write [[exclude]] on a line of its own, and its \
                   keys below";
        PlanProblem::new(excluded.span(), why)
    };
    let tables = excluded.get_ref().as_array().ok_or_else(no_tables)?;
    let mut exclusions = Vec::new();
    for table in tables {
        let mut conditions = Vec::new();
        for (key, value) in table.get_ref().as_table().ok_or_else(no_tables)? {
            let Some(schema) = dimension(key.get_ref()) else {
                let why = format!("unknown key `{}` in [[exclude]]", key.get_ref());
                return Err(unknown(&why, key, &DIMENSIONS));
            };
            PlanKey { name: key.get_ref(), schema }.read_dimensions(value, &mut conditions)?;
        }
        let why = "[[exclude]] names nothing, which would leave out every cell; name keys of the \
                   cells to leave out";
        PlanProblem::when(conditions.is_empty(), table.span(), why)?;
        for value in conditions.iter().flatten() {
            require_in_matrix(value, dimensions)?;
        }
        exclusions.push(Exclusion { span: table.span(), conditions });
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
