//! From the text of a plan to what it says.

use crate::error::{PlanError, Source, Span, Wrong};
use crate::keys::{self, Key, SECTIONS, Section};
use crate::length::{Length, PRECISION_DEFAULT};
use crate::order::Order;
use crate::plan::{Axis, Exclusion, Plan, Scale};
use crate::read::{self, Reader, refuse_unknown};
use crate::read_ramp;
use crate::setting::Setting;
use base::limits::AUTO_INTERVALS_MIN;
use base::{RampLimits, Warehouses};
use device::Role;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Longest text of a plan: a hundred times what a large one needs.
pub const PLAN_BYTES_MAX: usize = 1 << 20;

const REPEATS_DEFAULT: u32 = 3;
const SEED_DEFAULT: u64 = 1;
const PRESET_DEFAULT: &str = "default";
const WAREHOUSES_DEFAULT: u32 = 10;
const WORKLOAD_DEFAULT: &str = "tpcc";
const STYLE_DEFAULT: &str = "statements";
const WARMUP_DEFAULT: Length = Length::fixed(Duration::from_secs(10));
const WINDOW_DEFAULT: Length = Length::fixed(Duration::from_secs(60));
const INTERVAL_DEFAULT: Duration = Duration::from_secs(1);

impl Plan {
    /// Reads a plan; `path` is its name in messages. Names of engines, presets and places are not looked up yet: see [`Plan::cells`].
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
        "the plan, whose tables are [lab], [server], [storage], [load], [ramp] and [[exclude]]",
    )?;
    let mut plan = Plan {
        source: source.clone(),
        name: String::new(),
        scale: Scale::Auto,
        order: Order::Random,
        repeats: REPEATS_DEFAULT,
        seed: SEED_DEFAULT,
        time_limit: None,
        repeat_time_limit: None,
        page_cache_bytes: None,
        count_io: false,
        foreign_keys: true,
        warmup: WARMUP_DEFAULT,
        window: WINDOW_DEFAULT,
        precision_share: PRECISION_DEFAULT,
        interval: INTERVAL_DEFAULT,
        threads: None,
        ramp: None,
        is_shortened: false,
        axes: Vec::new(),
        exclusions: Vec::new(),
    };
    let (lab, _) = required(root, &keys::LAB)?;
    let (server, at_server) = required(root, &keys::SERVER)?;
    let (load, at_load) = required(root, &keys::LOAD)?;
    plan.read_load(&load)?;
    plan.read_lab(&lab)?;
    let (axes, by_default) = (&mut plan.axes, PRESET_DEFAULT.to_owned());
    add(axes, engines(&server)?);
    add_or(
        axes,
        presets(&server)?,
        &at_server,
        Setting::Preset(by_default),
    );
    axes.extend(variables(&server)?);
    add(axes, instances(&server)?);
    plan.scale = scale(&server)?;
    if let Some((storage, _)) = section(root, &keys::STORAGE)? {
        plan.axes.extend(places(&storage)?);
        plan.page_cache_bytes = storage.one(&keys::PAGE_CACHE, read::size)?;
        let count_io = storage.one(&keys::COUNT_IO, read::flag)?;
        plan.count_io = count_io.is_some_and(Spanned::into_inner);
    }
    add_load(&mut plan.axes, &load, &at_load)?;
    plan.ramp = ramp(root, &load, at_load)?;
    plan.exclusions = exclusions(root, &plan.axes)?;
    Ok(plan)
}

impl Plan {
    fn read_lab(&mut self, lab: &Reader<'_>) -> Result<(), Wrong> {
        if let Some(name) = lab.one(&keys::NAME, read::text)? {
            self.name = name.into_inner();
        }
        if let Some(repeats) = lab.one(&keys::REPEATS, read::count)? {
            self.repeats = repeats.into_inner();
        }
        if let Some(seed) = lab.one(&keys::SEED, read::seed)? {
            self.seed = seed.into_inner();
        }
        let order = lab.one(&keys::ORDER, read::text)?;
        if order.is_some_and(|order| order.get_ref() == Order::Listed.name()) {
            self.order = Order::Listed;
        }
        self.time_limit = lab.one(&keys::TIME_LIMIT, read::duration)?;
        let needed = self.warmup.most + self.window.most;
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
        if let Some(foreign_keys) = load.one(&keys::FOREIGN_KEYS, read::flag)? {
            self.foreign_keys = foreign_keys.into_inner();
        }
        let warmup = load.one(&keys::WARMUP, read::length)?;
        let window = load.one(&keys::WINDOW, read::length)?;
        self.warmup = warmup.as_ref().map_or(self.warmup, |one| *one.get_ref());
        self.window = window.as_ref().map_or(self.window, |one| *one.get_ref());
        if let Some(interval) = load.one(&keys::INTERVAL, read::duration)? {
            if *interval.get_ref() > self.window.most {
                let why = "`interval` is longer than the window, which then has no point of a time series; choose a shorter one";
                return Err(Wrong::new(interval.span(), why));
            }
            self.interval = interval.into_inner();
        }
        let threads = load.one(&keys::THREADS, read::count)?;
        self.threads = threads.map(Spanned::into_inner);
        for (key, length) in [(&keys::WARMUP, warmup), (&keys::WINDOW, window)] {
            if let Some(length) = length {
                self.require_intervals(key, &length)?;
            }
        }
        if let Some(precision) = load.one(&keys::PRECISION, read::precision)? {
            if !self.window.is_auto {
                let why = "`precision` ends a window of automatic length, and this plan's has a fixed one; leave it out, or write window = \
                           \"auto\"";
                return Err(Wrong::new(precision.span(), why));
            }
            self.precision_share = precision.into_inner();
        }
        Ok(())
    }

    /// An automatic length has room for what it is judged by.
    fn require_intervals(&self, key: &Key, length: &Spanned<Length>) -> Result<(), Wrong> {
        let needed = self.interval * AUTO_INTERVALS_MIN;
        if !length.get_ref().is_auto || length.get_ref().most >= needed {
            return Ok(());
        }
        let why = format!(
            "`{}` is judged by {AUTO_INTERVALS_MIN} intervals at least, which take {}; allow it more, or choose a shorter `interval`",
            key.name,
            humantime::format_duration(needed)
        );
        Err(Wrong::new(length.span(), why))
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

/// A dimension of settings made of values.
fn axis<T>(values: Vec<Spanned<T>>, setting: impl Fn(T) -> Setting) -> Axis {
    let spanned = values.into_iter();
    spanned
        .map(|value| Spanned::new(value.span(), setting(value.into_inner())))
        .collect()
}

fn add(axes: &mut Vec<Axis>, axis: Option<Axis>) {
    axes.extend(axis);
}

fn add_or(axes: &mut Vec<Axis>, axis: Option<Axis>, section: &Span, by_default: Setting) {
    axes.push(axis.unwrap_or_else(|| vec![Spanned::new(section.clone(), by_default)]));
}

fn engines(reader: &Reader<'_>) -> Result<Option<Axis>, Wrong> {
    let values = reader.each(&keys::ENGINE, read::text)?;
    Ok(values.map(|values| axis(values, Setting::Engine)))
}

fn presets(reader: &Reader<'_>) -> Result<Option<Axis>, Wrong> {
    let values = reader.each(&keys::PRESET, read::text)?;
    Ok(values.map(|values| axis(values, Setting::Preset)))
}

fn variables(reader: &Reader<'_>) -> Result<Vec<Axis>, Wrong> {
    let variables = reader.variables()?.into_iter();
    let axes = variables.map(|variable| {
        axis(variable.values, |value| Setting::Variable {
            name: variable.name.clone(),
            value,
        })
    });
    Ok(axes.collect())
}

fn instances(reader: &Reader<'_>) -> Result<Option<Axis>, Wrong> {
    let values = reader.each(&keys::INSTANCES, read::count)?;
    Ok(values.map(|values| axis(values, Setting::Instances)))
}

fn places(reader: &Reader<'_>) -> Result<Vec<Axis>, Wrong> {
    let mut axes = Vec::new();
    for role in Role::ALL {
        let values = reader.each(keys::of_role(role), read::text)?;
        add(
            &mut axes,
            values.map(|values| axis(values, |place| Setting::Place { role, place })),
        );
    }
    Ok(axes)
}

fn warehouses(reader: &Reader<'_>) -> Result<Option<Axis>, Wrong> {
    let values = reader.each(&keys::WAREHOUSES, read::count)?;
    let setting = |count| Setting::Warehouses(Warehouses(count));
    Ok(values.map(|values| axis(values, setting)))
}

fn partitions(reader: &Reader<'_>) -> Result<Option<Axis>, Wrong> {
    let values = reader.each(&keys::PARTITIONS, read::count)?;
    Ok(values.map(|values| axis(values, Setting::Partitions)))
}

fn workloads(reader: &Reader<'_>) -> Result<Option<Axis>, Wrong> {
    let values = reader.each(&keys::WORKLOAD, read::text)?;
    Ok(values.map(|values| axis(values, Setting::Workload)))
}

fn styles(reader: &Reader<'_>) -> Result<Option<Axis>, Wrong> {
    let values = reader.each(&keys::STYLE, read::text)?;
    Ok(values.map(|values| axis(values, Setting::Style)))
}

fn isolations(reader: &Reader<'_>) -> Result<Option<Axis>, Wrong> {
    let values = reader.each(&keys::ISOLATION, read::isolation)?;
    Ok(values.map(|values| axis(values, Setting::Isolation)))
}

fn connections(reader: &Reader<'_>) -> Result<Option<Axis>, Wrong> {
    let values = reader.each(&keys::CONNECTIONS, read::count)?;
    Ok(values.map(|values| axis(values, Setting::Connections)))
}

fn add_load(axes: &mut Vec<Axis>, load: &Reader<'_>, at: &Span) -> Result<(), Wrong> {
    let size = Setting::Warehouses(Warehouses(WAREHOUSES_DEFAULT));
    add_or(axes, warehouses(load)?, at, size);
    add(axes, partitions(load)?);
    let workload = Setting::Workload(WORKLOAD_DEFAULT.to_owned());
    add_or(axes, workloads(load)?, at, workload);
    let style = Setting::Style(STYLE_DEFAULT.to_owned());
    add_or(axes, styles(load)?, at, style);
    add(axes, isolations(load)?);
    add(axes, connections(load)?);
    Ok(())
}

/// The ramp of a plan; it has that, or numbers of connections.
fn ramp(root: &DeTable<'_>, load: &Reader<'_>, at_load: Span) -> Result<Option<RampLimits>, Wrong> {
    let counts = connections(load)?;
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
        Some(name) if name.get_ref() == Scale::Papers.name() => Scale::Papers,
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
        let mut conditions: Vec<Axis> = Vec::new();
        add(&mut conditions, engines(&reader)?);
        add(&mut conditions, presets(&reader)?);
        conditions.extend(variables(&reader)?);
        add(&mut conditions, instances(&reader)?);
        conditions.extend(places(&reader)?);
        add(&mut conditions, warehouses(&reader)?);
        add(&mut conditions, partitions(&reader)?);
        add(&mut conditions, workloads(&reader)?);
        add(&mut conditions, styles(&reader)?);
        add(&mut conditions, isolations(&reader)?);
        add(&mut conditions, connections(&reader)?);
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
