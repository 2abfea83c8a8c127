//! From the text of a plan to what it says.

use crate::error::{PlanError, Source, Span, Wrong};
use crate::keys::{self, Key, SECTIONS, Section};
use crate::order::Order;
use crate::plan::{Axis, Exclusion, Plan};
use crate::read::{self, Reader, refuse_unknown};
use crate::read_ramp;
use crate::setting::Setting;
use base::Warehouses;
use device::Role;
use spec::{
    Connections, Isolation, Lengths, Load, Meters, Private, RampLimits, Scale, Spacing, Style,
    defaults,
};
use std::collections::BTreeMap;
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
        let source = Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        parse(&source).map_err(|wrong| source.error(wrong))
    }
}

fn parse(source: &Source) -> Result<Plan, Wrong> {
    if source.text.len() > PLAN_BYTES_MAX {
        return Err(Wrong::new(0..0, "a plan is 1 MiB long at most"));
    }
    let root = DeTable::parse(&source.text).map_err(|error| {
        let message = error.message().trim().replace('\n', ", ");
        let span = error.span().unwrap_or(0..0);
        Wrong::new(span, format!("this is not TOML: {message}"))
    })?;
    let root = root.get_ref();
    let names = SECTIONS.map(|section| section.name);
    refuse_unknown(
        root,
        &names,
        "the plan, whose tables are [lab], [server], [storage], [load], [ramp], [meters] and [[exclude]]",
    )?;
    let mut plan = Plan {
        source: source.clone(),
        name: String::new(),
        scale: Scale::Auto,
        order: Order::Random,
        repeats: defaults::REPEATS,
        seed: defaults::PLAN_SEED,
        time_limit: None,
        repeat_time_limit: None,
        page_cache_bytes: None,
        // Each cell's dimensions say the rest.
        private: Private::of_engine(""),
        load: Load::of_seed(defaults::PLAN_SEED),
        lengths: Lengths::default(),
        meters: Meters::default(),
        spacing: defaults::SPACING,
        is_shortened: false,
        axes: Vec::new(),
        exclusions: Vec::new(),
        spans: spans(root),
    };
    let (lab, _) = required(root, &keys::LAB)?;
    let (server, at_server) = required(root, &keys::SERVER)?;
    let (load, at_load) = required(root, &keys::LOAD)?;
    plan.read_load(&load)?;
    plan.read_lab(&lab)?;
    plan.axes = server_axes(&server, Some(&at_server))?;
    plan.scale = scale(&server)?;
    if let Some((storage, _)) = section(root, &keys::STORAGE)? {
        plan.axes.extend(storage_axes(&storage)?);
        plan.page_cache_bytes = storage.one(&keys::PAGE_CACHE, read::size)?;
        set(
            &mut plan.private.placement.count,
            storage.one(&keys::COUNT_IO, read::flag)?,
        );
    }
    plan.axes.extend(load_axes(&load, Some(&at_load))?);
    if let Some(limits) = ramp(root, &load, at_load)? {
        plan.load.connections = Connections::Ramp(limits);
    }
    if let Some((meters, _)) = section(root, &keys::METERS)? {
        let text = |key: &Key| Ok(meters.one(key, read::text)?.map(Spanned::into_inner));
        plan.meters = Meters {
            power_command: text(&keys::POWER_COMMAND)?,
            host_metrics: text(&keys::HOST_METRICS)?,
        };
    }
    plan.exclusions = exclusions(root, &plan.axes)?;
    Ok(plan)
}

/// Where keys have their values; a table without such a key, where its own name is.
fn spans(root: &DeTable<'_>) -> BTreeMap<String, Span> {
    let mut spans = BTreeMap::new();
    for (name, value) in root {
        spans.insert(name.get_ref().to_string(), name.span());
        let keys = value.get_ref().as_table().into_iter().flatten();
        spans.extend(keys.map(|(key, value)| (key.get_ref().to_string(), value.span())));
    }
    spans
}

/// Takes what the plan says, where it says anything.
fn set<T>(field: &mut T, said: Option<Spanned<T>>) {
    if let Some(said) = said {
        *field = said.into_inner();
    }
}

impl Plan {
    fn read_lab(&mut self, lab: &Reader<'_>) -> Result<(), Wrong> {
        set(&mut self.name, lab.one(&keys::NAME, read::text)?);
        set(&mut self.repeats, lab.one(&keys::REPEATS, read::count)?);
        set(&mut self.seed, lab.one(&keys::SEED, read::seed)?);
        self.load.seed = self.seed;
        self.private.population.seed = self.seed;
        let order = lab.one(&keys::ORDER, read::text)?;
        if order.is_some_and(|order| order.get_ref() == Order::Listed.name()) {
            self.order = Order::Listed;
        }
        self.time_limit = lab.one(&keys::TIME_LIMIT, read::duration)?;
        let needed = self.lengths.warmup.most + self.lengths.window.most;
        if let Some(limit) = lab.one(&keys::REPEAT_TIME_LIMIT, read::duration)? {
            if *limit.get_ref() <= needed {
                let why = format!(
                    "`repeat_time_limit` ends every repeat before its end: warm-up and window may take {} alone",
                    humantime::format_duration(needed)
                );
                return Err(Wrong::new(limit.span(), why));
            }
            self.repeat_time_limit = Some(limit.into_inner());
        }
        Ok(())
    }

    fn read_load(&mut self, load: &Reader<'_>) -> Result<(), Wrong> {
        let population = &mut self.private.population;
        set(
            &mut population.foreign_keys,
            load.one(&keys::FOREIGN_KEYS, read::flag)?,
        );
        let lengths = &mut self.lengths;
        set(&mut lengths.warmup, load.one(&keys::WARMUP, read::length)?);
        set(&mut lengths.window, load.one(&keys::WINDOW, read::length)?);
        set(
            &mut lengths.interval,
            load.one(&keys::INTERVAL, read::duration)?,
        );
        let precision = load.one(&keys::PRECISION, read::precision)?;
        lengths.precision_share = precision.map(Spanned::into_inner);
        let threads = load.one(&keys::THREADS, read::count)?;
        self.load.threads = threads.map(Spanned::into_inner);
        set(&mut self.load.home, load.one(&keys::HOME, read::flag)?);
        let inactive = load.one(&keys::INACTIVE_WAREHOUSES, read::count)?;
        set(&mut self.load.inactive_warehouses, inactive);
        let arrivals = load.one(&keys::ARRIVALS, |key, value| {
            read::one_of(key, value, &Spacing::ALL, Spacing::name)
        })?;
        if let (Some(arrivals), None) = (&arrivals, load.each(&keys::RATE, read::rate)?) {
            let why = "`arrivals` is the time between the transactions of an open loop; add `rate`, or leave it out";
            return Err(Wrong::new(arrivals.span(), why));
        }
        set(&mut self.spacing, arrivals);
        Ok(())
    }
}

/// The reader of a table, and where the table begins.
type Opened<'a> = (Reader<'a>, Span);

fn section<'a>(root: &'a DeTable<'a>, section: &Section) -> Result<Option<Opened<'a>>, Wrong> {
    match root.get_key_value(section.name) {
        None => Ok(None),
        Some((name, value)) => {
            let reader = Reader::open(section, name.span(), value)?;
            Ok(Some((reader, name.span())))
        }
    }
}

fn required<'a>(root: &'a DeTable<'a>, wanted: &Section) -> Result<Opened<'a>, Wrong> {
    section(root, wanted)?.ok_or_else(|| {
        let needed: Vec<String> = wanted
            .required
            .iter()
            .map(|key| format!(" with at least `{}`", key.name))
            .collect();
        let why = format!(
            "the plan has no {}; add it{} (docs/plans.md has all keys)",
            wanted.header(),
            needed.concat()
        );
        Wrong::new(0..0, why)
    })
}

/// Reads the values of a key; they are a dimension where there are several.
fn dimension<T: PartialEq>(
    reader: &Reader<'_>,
    key: &Key,
    read: fn(&Key, &Spanned<DeValue<'_>>) -> Result<T, Wrong>,
    setting: impl Fn(T) -> Setting,
) -> Result<Option<Axis>, Wrong> {
    let values = reader.each(key, read)?;
    Ok(values.map(|values| axis(values, setting)))
}

fn axis<T>(values: Vec<Spanned<T>>, setting: impl Fn(T) -> Setting) -> Axis {
    let spanned = values.into_iter();
    spanned
        .map(|value| Spanned::new(value.span(), setting(value.into_inner())))
        .collect()
}

/// The only value of a dimension that the table at `section` does not name.
fn by_default(setting: Setting, section: Option<&Span>) -> Option<Axis> {
    section.map(|span| vec![Spanned::new(span.clone(), setting)])
}

/// The dimensions of [server]; where `section` is its place, with those that have a default.
fn server_axes(reader: &Reader<'_>, section: Option<&Span>) -> Result<Vec<Axis>, Wrong> {
    let mut axes = Vec::new();
    axes.extend(dimension(
        reader,
        &keys::ENGINE,
        read::text,
        Setting::Engine,
    )?);
    let preset = Setting::Preset(defaults::PRESET.to_owned());
    let presets = dimension(reader, &keys::PRESET, read::text, Setting::Preset)?;
    axes.extend(presets.or_else(|| by_default(preset, section)));
    for variable in reader.variables()? {
        axes.push(axis(variable.values, |value| Setting::Variable {
            name: variable.name.clone(),
            value,
        }));
    }
    axes.extend(dimension(
        reader,
        &keys::INSTANCES,
        read::count,
        Setting::Instances,
    )?);
    Ok(axes)
}

fn storage_axes(reader: &Reader<'_>) -> Result<Vec<Axis>, Wrong> {
    let mut axes = Vec::new();
    for role in Role::ALL {
        let place = |place| Setting::Place { role, place };
        axes.extend(dimension(reader, keys::of_role(role), read::text, place)?);
    }
    Ok(axes)
}

/// The dimensions of [load]; where `section` is its place, with those that have a default.
fn load_axes(reader: &Reader<'_>, section: Option<&Span>) -> Result<Vec<Axis>, Wrong> {
    let mut axes = Vec::new();
    let warehouses = |count| Setting::Warehouses(Warehouses(count));
    let sizes = dimension(reader, &keys::WAREHOUSES, read::count, warehouses)?;
    let size = Setting::Warehouses(defaults::WAREHOUSES);
    axes.extend(sizes.or_else(|| by_default(size, section)));
    axes.extend(dimension(
        reader,
        &keys::PARTITIONS,
        read::count,
        Setting::Partitions,
    )?);
    let workloads = reader.each(&keys::WORKLOAD, |key, value| {
        let workload = read::text(key, value)?.parse();
        workload.map_err(|why: String| Wrong::new(value.span(), why))
    })?;
    let workloads = workloads.map(|values| axis(values, Setting::Workload));
    axes.extend(workloads.or_else(|| by_default(Setting::Workload(defaults::WORKLOAD), section)));
    let styles = reader.each(&keys::STYLE, |key, value| {
        read::one_of(key, value, &Style::ALL, Style::name)
    })?;
    let styles = styles.map(|values| axis(values, Setting::Style));
    axes.extend(styles.or_else(|| by_default(Setting::Style(defaults::STYLE), section)));
    let levels = reader.each(&keys::ISOLATION, |key, value| {
        read::one_of(key, value, &Isolation::ALL, Isolation::name)
    })?;
    axes.extend(levels.map(|values| axis(values, Setting::Isolation)));
    axes.extend(dimension(
        reader,
        &keys::CONNECTIONS,
        read::count,
        Setting::Connections,
    )?);
    axes.extend(dimension(
        reader,
        &keys::TERMINALS,
        read::count,
        Setting::Terminals,
    )?);
    axes.extend(dimension(reader, &keys::RATE, read::rate, Setting::Rate)?);
    Ok(axes)
}

/// The ramp of a plan; it has that, or numbers of connections.
fn ramp(root: &DeTable<'_>, load: &Reader<'_>, at_load: Span) -> Result<Option<RampLimits>, Wrong> {
    let counts = load.each(&keys::CONNECTIONS, read::count)?;
    match (section(root, &keys::RAMP)?, counts) {
        (None, Some(_)) => Ok(None),
        (Some((reader, at)), None) => read_ramp::ramp(&reader, at).map(Some),
        (Some((_, at)), Some(_)) => {
            let why = "[ramp] finds the number of connections, and [load] names `connections`; leave one of them out";
            Err(Wrong::new(at, why))
        }
        (None, None) => {
            let key = &keys::CONNECTIONS;
            let why = format!(
                "[load] lacks `{}`, {}; it takes {}; or add a table [ramp], which finds how many each cell supports",
                key.name,
                key.meaning,
                key.shape.words()
            );
            Err(Wrong::new(at_load, why))
        }
    }
}

fn scale(server: &Reader<'_>) -> Result<Scale, Wrong> {
    let named = server.one(&keys::SCALE, read::text)?;
    Ok(match named {
        Some(name) if *name.get_ref() == Scale::Papers.name() => Scale::Papers,
        _ => Scale::Auto,
    })
}

/// The tables of what is left out.
fn exclusions(root: &DeTable<'_>, axes: &[Axis]) -> Result<Vec<Exclusion>, Wrong> {
    let Some((name, value)) = root.get_key_value(keys::EXCLUDE.name) else {
        return Ok(Vec::new());
    };
    let DeValue::Array(tables) = value.get_ref() else {
        let why = "`exclude` is a list of tables; write [[exclude]] on a line of its own, and its keys below";
        return Err(Wrong::new(name.span(), why));
    };
    let mut exclusions = Vec::new();
    for table in tables.iter() {
        let reader = Reader::open(&keys::EXCLUDE, table.span(), table)?;
        let mut conditions = server_axes(&reader, None)?;
        conditions.extend(storage_axes(&reader)?);
        conditions.extend(load_axes(&reader, None)?);
        if conditions.is_empty() {
            let why = "[[exclude]] names nothing, which would leave out every cell; name keys of the cells to leave out";
            return Err(Wrong::new(table.span(), why));
        }
        for value in conditions.iter().flatten() {
            require_in_matrix(value, axes)?;
        }
        exclusions.push(Exclusion {
            span: table.span(),
            conditions,
        });
    }
    Ok(exclusions)
}

/// What is in no cell cannot be left out.
fn require_in_matrix(value: &Spanned<Setting>, axes: &[Axis]) -> Result<(), Wrong> {
    let wanted = value.get_ref();
    let name = wanted.name();
    let all = axes.iter().flatten().map(Spanned::get_ref);
    let of_name: Vec<&Setting> = all.filter(|setting| setting.name() == name).collect();
    if of_name.contains(&wanted) {
        return Ok(());
    }
    let why = format!(
        "no cell has {name} = {:?}, so that it cannot be left out",
        wanted.value()
    );
    let values: Vec<String> = of_name.iter().map(|setting| setting.value()).collect();
    let why = if values.is_empty() {
        format!("{why}; the matrix has no `{name}` at all")
    } else {
        read::with_known(why, &wanted.value(), &values)
    };
    Err(Wrong::new(value.span(), why))
}
