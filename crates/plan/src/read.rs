//! From the tables of a plan to the options that they name: those of all cells, and the values of
//! dimensions. Each value is read alone, so that what is wrong with it is told with its place.

use crate::CELLS_MAX;
use crate::dimension::{DIMENSIONS, Dimension, Setting, VARIABLE};
use crate::error::PlanProblem;
use crate::kinds::{ResponseLimits, SetVariable, with_known};
use crate::lab_options::LabOptions;
use crate::options::CellOptions;
use crate::schema::{keys_of, tables};
use crate::values::{Given, Kind};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use spec::Rate;
use std::collections::BTreeSet;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};
use tpcc::Transaction;

/// Makes a value of a key a setting.
type ReadSetting<'a> =
    dyn Fn(&PlanKey<'_>, &Spanned<DeValue<'_>>) -> Result<Setting, PlanProblem> + 'a;

/// Options and their values as text, as a command line has them.
pub(crate) type Texts = Map<String, Value>;

/// The tables of a plan but for [[exclude]].
#[derive(Default)]
pub(crate) struct PlanTables {
    pub(crate) lab: Texts,
    /// What all cells have in common.
    pub(crate) common: Texts,
    pub(crate) dimensions: Vec<Dimension>,
}

impl PlanTables {
    pub(crate) fn read(root: &DeTable<'_>) -> Result<PlanTables, PlanProblem> {
        let mut read = PlanTables::default();
        for (name, table) in root.iter().filter(|(name, _)| name.get_ref() != "exclude") {
            let Some(known) = keys_of(name.get_ref()) else {
                let why = format!("unknown key `{}` in the plan, which has tables", name.get_ref());
                return Err(unknown(&why, name, &[tables(), vec!["exclude"]].concat()));
            };
            let Some(entries) = table.get_ref().as_table() else {
                let why = format!(
                    "`{0}` is no table; write [{0}] on a line of its own, and its keys below",
                    name.get_ref()
                );
                return Err(PlanProblem::new(name.span(), why));
            };
            for (key, value) in entries {
                let Some((key, schema)) = known.get_key_value(key.get_ref().as_ref()) else {
                    let why = format!("unknown key `{}` in [{}]", key.get_ref(), name.get_ref());
                    let known: Vec<&str> = known.keys().map(String::as_str).collect();
                    return Err(unknown(&why, key, &known));
                };
                let key = PlanKey { name: key, schema };
                if DIMENSIONS.contains(&key.name) {
                    key.read_dimensions(value, &mut read.dimensions)?;
                } else if name.get_ref() == "lab" {
                    read.lab.insert(key.name.to_owned(), key.text_for::<LabOptions>(value)?.into());
                } else {
                    let text = key.text_for::<CellOptions>(value)?;
                    read.common.insert(key.name.to_owned(), text.into());
                }
            }
        }
        Ok(read)
    }
}

pub(crate) fn unknown(why: &str, key: &Spanned<DeString<'_>>, known: &[&str]) -> PlanProblem {
    PlanProblem::new(key.span(), with_known(why, key.get_ref(), known))
}

/// A key of a plan.
pub(crate) struct PlanKey<'a> {
    pub(crate) name: &'a str,
    /// Of one value.
    pub(crate) schema: &'a Value,
}

impl PlanKey<'_> {
    /// Adds the values of a dimension or, for `set`, of one for each variable.
    pub(crate) fn read_dimensions(
        &self,
        value: &Spanned<DeValue<'_>>,
        dimensions: &mut Vec<Dimension>,
    ) -> Result<(), PlanProblem> {
        if self.name != "set" {
            dimensions.push(self.dimension(value, &|key, value| {
                let text = key.text_for::<CellOptions>(value)?;
                // As results have it.
                let rate = (key.name == "rate").then(|| text.parse::<Rate>().ok()).flatten();
                Ok(Setting::new(key.name, rate.map_or(text, |rate| rate.to_string())))
            })?);
            return Ok(());
        }
        let Some(variables) = value.get_ref().as_table() else { return Err(self.refused(value)) };
        let schema = &self.schema["additionalProperties"];
        let mut variables: Vec<_> = variables.iter().collect();
        variables.sort_by_key(|(name, _)| name.span().start);
        let mut seen = BTreeSet::new();
        for (written, value) in variables {
            let key = PlanKey { name: written.get_ref(), schema };
            let why = format!("`{}` is no name of a variable; write NAME = VALUE", key.name);
            PlanProblem::when(key.name.contains('='), written.span(), why)?;
            let dimension = key.dimension(value, &|key, value| {
                let text = format!("{}={}", key.name, key.text(value)?);
                let (name, value) = SetVariable::read(&text)
                    .map_err(|why| PlanProblem::new(written.span(), why.unwrap_or_default()))?;
                Ok(Setting::new(format!("{VARIABLE}{name}"), value))
            })?;
            let name = dimension.first().and_then(|first| first.get_ref().variable());
            let name = name.unwrap_or_default().to_owned();
            let why = format!("the variable {name} is set twice; leave one of them out");
            PlanProblem::when(!seen.insert(name), written.span(), why)?;
            dimensions.push(dimension);
        }
        Ok(())
    }

    /// Its values, each once.
    fn dimension(
        &self,
        value: &Spanned<DeValue<'_>>,
        read: &ReadSetting<'_>,
    ) -> Result<Dimension, PlanProblem> {
        let array = value.get_ref().as_array();
        let items = array.map_or(std::slice::from_ref(value), |items| &items[..]);
        let (name, count) = (self.name, items.len());
        let why = format!(
            "`{name}` is an empty list, so that the matrix has no cell; name a value, or leave the \
             key out"
        );
        PlanProblem::when(items.is_empty(), value.span(), why)?;
        let why = format!(
            "`{name}` has {count} values, and a matrix has {CELLS_MAX} cells at most; name fewer"
        );
        PlanProblem::when(count > CELLS_MAX, value.span(), why)?;
        let mut dimension = Dimension::new();
        let mut seen = BTreeSet::new();
        for item in items {
            let why = format!("`{name}` is a list in a list; it takes {}", self.takes());
            PlanProblem::when(item.get_ref().is_array(), item.span(), why)?;
            let setting = read(self, item)?;
            let is_new = seen.insert(setting.value().to_owned());
            let why = format!(
                "`{name}` has this value twice; leave one out (`repeats` measures a cell more than \
                 once)"
            );
            PlanProblem::when(!is_new, item.span(), why)?;
            dimension.push(Spanned::new(item.span(), setting));
        }
        Ok(dimension)
    }

    /// The text of a value that is right for its option.
    fn text_for<T: DeserializeOwned>(
        &self,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<String, PlanProblem> {
        let text = self.text(value)?;
        let given = if self.name == "dsn" { vec![&*text].into() } else { Value::from(&*text) };
        let alone = Texts::from_iter([(self.name.to_owned(), given)]);
        let read: Result<T, _> = serde_json::from_value(alone.into());
        read.map(|_| text).map_err(|why| {
            let why = format!("`{}` is {}; {why}", self.name, shown(value.get_ref()));
            PlanProblem::new(value.span(), why)
        })
    }

    /// The text of a value of a type that its option takes.
    fn text(&self, value: &Spanned<DeValue<'_>>) -> Result<String, PlanProblem> {
        let (types, text) = match value.get_ref() {
            DeValue::String(text) => (&["string"][..], text.to_string()),
            DeValue::Integer(_) => (&["integer", "number"][..], scalar(value.get_ref())),
            DeValue::Float(_) => (&["number"][..], scalar(value.get_ref())),
            DeValue::Boolean(_) => (&["boolean"][..], scalar(value.get_ref())),
            DeValue::Table(entries) => (&["object"][..], self.entries(entries)?),
            DeValue::Array(_) | DeValue::Datetime(_) => (&[][..], String::new()),
        };
        let is_taken = types.iter().any(|of| takes_type(self.schema, of));
        is_taken.then_some(text).ok_or_else(|| self.refused(value))
    }

    /// A table as a command line has it: `payment=5s,delivery=80s`.
    fn entries(&self, entries: &DeTable<'_>) -> Result<String, PlanProblem> {
        let mut texts = Vec::new();
        for (name, value) in entries {
            let text = format!("{}={}", name.get_ref(), scalar(value.get_ref()));
            if let Err(why) = text.parse::<Given<ResponseLimits>>() {
                let types = Transaction::ALL.map(Transaction::name);
                let is_known = types.contains(&name.get_ref().as_ref());
                let span = if is_known { value.span() } else { name.span() };
                return Err(PlanProblem::new(span, format!("`{}` has {text}: {why}", self.name)));
            }
            texts.push(text);
        }
        Ok(texts.join(","))
    }

    fn refused(&self, value: &Spanned<DeValue<'_>>) -> PlanProblem {
        let shown = shown(value.get_ref());
        let why = format!("`{}` is {shown}; it takes {}", self.name, self.takes());
        PlanProblem::new(value.span(), why)
    }

    fn takes(&self) -> &str {
        self.schema["title"].as_str().unwrap_or("a number, a text, true or false")
    }
}

/// Does an option take values of this type of JSON?
fn takes_type(schema: &Value, of: &str) -> bool {
    let any = |list: &Value, fits: &dyn Fn(&Value) -> bool| {
        list.as_array().is_some_and(|list| list.iter().any(fits))
    };
    let is_of_it = |value: &Value| {
        (value.is_string(), of) == (true, "string") || (value.is_boolean(), of) == (true, "boolean")
    };
    schema["type"] == of
        || any(&schema["type"], &|one| one == of)
        || any(&schema["enum"], &is_of_it)
        || any(&schema["anyOf"], &|one| takes_type(one, of))
}

/// A value as messages show it.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Array(_) => "a list, and it is no dimension of the matrix".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
        other => scalar(other),
    }
}

/// A value as a command line has it.
fn scalar(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => {
            let parsed = i128::from_str_radix(number.as_str(), number.radix());
            parsed.map_or_else(|_| number.as_str().to_owned(), |number| number.to_string())
        }
        DeValue::Float(number) => {
            let parsed = number.as_str().parse::<f64>();
            parsed.map_or_else(|_| number.as_str().to_owned(), |number| number.to_string())
        }
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(_) | DeValue::Table(_) => shown(value),
    }
}
