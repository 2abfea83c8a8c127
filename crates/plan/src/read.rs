//! Reads the tables of a plan: every value is of its key's shape, and every key is one that a plan has.

use crate::error::{Span, Wrong};
use crate::keys::{DURATION_MAX, Key, SET, Section, Shape};
use base::{parse_size, variable_name};
use spec::{Length, Rate, parse_precision};
use std::time::Duration;
use storage::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Most values of one list: a matrix is no larger.
const VALUES_MAX: usize = crate::CELLS_MAX;

/// A server variable, and the values that it takes.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) values: Vec<Spanned<String>>,
}

/// One table, all of whose keys are known.
pub(crate) struct Reader<'a> {
    entries: &'a DeTable<'a>,
}

impl<'a> Reader<'a> {
    /// Checks the names of the keys; `header` is where the table begins.
    pub(crate) fn open(
        section: &Section,
        header: Span,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Result<Reader<'a>, Wrong> {
        let DeValue::Table(entries) = value.get_ref() else {
            let why = format!(
                "`{}` is {}; it takes a table: write {} on a line of its own, and its keys below",
                section.name,
                with_article(value.get_ref().type_str()),
                section.header()
            );
            return Err(Wrong::new(value.span(), why));
        };
        let names: Vec<&str> = section.keys.iter().map(|key| key.name).collect();
        refuse_unknown(entries, &names, &section.header())?;
        for key in section.required {
            if !entries.contains_key(key.name) {
                let why = format!(
                    "{} lacks `{}`, {}; it takes {}",
                    section.header(),
                    key.name,
                    key.meaning,
                    key.shape.words()
                );
                return Err(Wrong::new(header, why));
            }
        }
        Ok(Reader { entries })
    }

    /// One value.
    pub(crate) fn one<T>(
        &self,
        key: &Key,
        read: fn(&Key, &Spanned<DeValue<'_>>) -> Result<T, Wrong>,
    ) -> Result<Option<Spanned<T>>, Wrong> {
        let Some(value) = self.entries.get(key.name) else {
            return Ok(None);
        };
        Ok(Some(Spanned::new(value.span(), read(key, value)?)))
    }

    /// One value, or a list of them.
    pub(crate) fn each<T: PartialEq>(
        &self,
        key: &Key,
        read: fn(&Key, &Spanned<DeValue<'_>>) -> Result<T, Wrong>,
    ) -> Result<Option<Vec<Spanned<T>>>, Wrong> {
        let Some(value) = self.entries.get(key.name) else {
            return Ok(None);
        };
        list_or_one(key.name, value, |value| read(key, value)).map(Some)
    }

    /// The server variables, in the order of the file.
    pub(crate) fn variables(&self) -> Result<Vec<Variable>, Wrong> {
        let Some(value) = self.entries.get(SET.name) else {
            return Ok(Vec::new());
        };
        let DeValue::Table(table) = value.get_ref() else {
            return Err(mismatch(&SET, value));
        };
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let mut variables: Vec<Variable> = Vec::new();
        for (name, value) in entries {
            // As the server itself reads them.
            let plain = variable_name(name.get_ref());
            if variables.iter().any(|other| other.name == plain) {
                let why = format!("the variable {plain} is set twice; leave one of them out");
                return Err(Wrong::new(name.span(), why));
            }
            let values = list_or_one(&plain, value, |value| scalar(&plain, value))?;
            for value in &values {
                let setting = (plain.clone(), value.get_ref().clone());
                server::validate_settings(&[setting])
                    .map_err(|error| Wrong::new(name.span(), error.to_string()))?;
            }
            variables.push(Variable {
                name: plain,
                values,
            });
        }
        Ok(variables)
    }
}

/// Refuses a key that is none of `names`.
pub(crate) fn refuse_unknown(
    entries: &DeTable<'_>,
    names: &[&str],
    place: &str,
) -> Result<(), Wrong> {
    let mut unknown: Vec<_> = entries
        .keys()
        .filter(|key| !names.contains(&key.get_ref().as_ref()))
        .collect();
    unknown.sort_by_key(|key| key.span().start);
    match unknown.first() {
        None => Ok(()),
        Some(key) => {
            let why = format!("unknown key `{}` in {place}", key.get_ref());
            Err(Wrong::new(
                key.span(),
                with_known(why, key.get_ref(), names),
            ))
        }
    }
}

/// Adds the nearest known name, and all of them.
pub(crate) fn with_known<S: AsRef<str>>(why: String, name: &str, known: &[S]) -> String {
    let known: Vec<String> = known.iter().map(|name| name.as_ref().to_owned()).collect();
    let meant = match nearest(name, &known) {
        Some(nearest) => format!("; the nearest is `{nearest}`"),
        None => String::new(),
    };
    format!("{why}{meant}; known are {}", known.join(", "))
}

fn list_or_one<T: PartialEq>(
    name: &str,
    value: &Spanned<DeValue<'_>>,
    read: impl Fn(&Spanned<DeValue<'_>>) -> Result<T, Wrong>,
) -> Result<Vec<Spanned<T>>, Wrong> {
    let DeValue::Array(items) = value.get_ref() else {
        return Ok(vec![Spanned::new(value.span(), read(value)?)]);
    };
    if items.is_empty() {
        let why = format!(
            "`{name}` is an empty list, so that the matrix has no cell; name a value, or leave the key out"
        );
        return Err(Wrong::new(value.span(), why));
    }
    if items.len() > VALUES_MAX {
        let why = format!(
            "`{name}` has {} values, and a matrix has {VALUES_MAX} cells at most; name fewer",
            items.len()
        );
        return Err(Wrong::new(value.span(), why));
    }
    let mut values: Vec<Spanned<T>> = Vec::with_capacity(items.len());
    for item in items.iter() {
        let one = read(item)?;
        if values.iter().any(|other| *other.get_ref() == one) {
            let why = format!(
                "`{name}` has this value twice; leave one out (`repeats` measures a cell more than once)"
            );
            return Err(Wrong::new(item.span(), why));
        }
        values.push(Spanned::new(item.span(), one));
    }
    Ok(values)
}

/// A value that is not of the key's shape.
pub(crate) fn mismatch(key: &Key, value: &Spanned<DeValue<'_>>) -> Wrong {
    let kind = value.get_ref().type_str();
    let takes = key.shape.words();
    let why = match value.get_ref() {
        DeValue::Array(_) if !key.is_dimension => format!(
            "`{}` is a list, and it is no dimension of the matrix; it takes {takes}",
            key.name
        ),
        DeValue::String(text) => format!("`{}` is {text:?}; it takes {takes}", key.name),
        DeValue::Integer(number) => format!("`{}` is {number}; it takes {takes}", key.name),
        DeValue::Float(number) if matches!(key.shape, Shape::Share { .. }) => {
            format!("`{}` is {}; it takes {takes}", key.name, number.as_str())
        }
        _ => format!("`{}` is {}; it takes {takes}", key.name, with_article(kind)),
    };
    Wrong::new(value.span(), why)
}

/// A kind of value, as TOML calls it.
fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'i']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {kind}")
}

pub(crate) fn integer(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// One of a few, by its name.
pub(crate) fn one_of<T: Copy>(
    key: &Key,
    value: &Spanned<DeValue<'_>>,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, Wrong> {
    let text = text(key, value)?;
    let found = all.iter().find(|one| name(**one) == text);
    found.copied().ok_or_else(|| mismatch(key, value))
}

/// Transactions per second, or a share of what a closed loop does.
pub(crate) fn rate(key: &Key, value: &Spanned<DeValue<'_>>) -> Result<Rate, Wrong> {
    let text = match value.get_ref() {
        DeValue::String(text) => text.clone().into_owned(),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        _ => return Err(mismatch(key, value)),
    };
    let why = |why| Wrong::new(value.span(), format!("`{}` is {text:?}; {why}", key.name));
    text.parse().map_err(why)
}

/// A text that is not empty, and of those that the key has where it has some.
pub(crate) fn text(key: &Key, value: &Spanned<DeValue<'_>>) -> Result<String, Wrong> {
    let Some(text) = value.get_ref().as_str() else {
        return Err(mismatch(key, value));
    };
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        let why = format!("`{}` is empty or has a control character in it", key.name);
        return Err(Wrong::new(value.span(), why));
    }
    match key.shape {
        Shape::OneOf(names) if !names.contains(&text) => {
            let why = format!("`{}` is {text:?}", key.name);
            Err(Wrong::new(value.span(), with_known(why, text, names)))
        }
        _ => Ok(text.to_owned()),
    }
}

/// A whole number in the bounds of its key.
pub(crate) fn count(key: &Key, value: &Spanned<DeValue<'_>>) -> Result<u32, Wrong> {
    let Shape::Count { least, most } = key.shape else {
        return Err(mismatch(key, value));
    };
    integer(value.get_ref())
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| mismatch(key, value))
}

/// Any number that a seed can be.
pub(crate) fn seed(key: &Key, value: &Spanned<DeValue<'_>>) -> Result<u64, Wrong> {
    integer(value.get_ref()).ok_or_else(|| mismatch(key, value))
}

pub(crate) fn flag(key: &Key, value: &Spanned<DeValue<'_>>) -> Result<bool, Wrong> {
    value
        .get_ref()
        .as_bool()
        .ok_or_else(|| mismatch(key, value))
}

/// Bytes, as servers write them.
pub(crate) fn size(key: &Key, value: &Spanned<DeValue<'_>>) -> Result<u64, Wrong> {
    let Shape::Size { most_bytes } = key.shape else {
        return Err(mismatch(key, value));
    };
    let bytes = match value.get_ref() {
        DeValue::String(text) => parse_size(text),
        other => integer(other),
    };
    bytes
        .filter(|bytes| *bytes <= most_bytes)
        .ok_or_else(|| mismatch(key, value))
}

/// A time as people write it, or a number of seconds.
pub(crate) fn duration(key: &Key, value: &Spanned<DeValue<'_>>) -> Result<Duration, Wrong> {
    let Shape::Duration { least } = key.shape else {
        return Err(mismatch(key, value));
    };
    let parsed = match value.get_ref() {
        DeValue::String(text) => humantime::parse_duration(text).ok(),
        other => integer(other).map(Duration::from_secs),
    };
    parsed
        .filter(|time| (least..=DURATION_MAX).contains(time))
        .ok_or_else(|| mismatch(key, value))
}

/// A time, or as long as it needs.
pub(crate) fn length(key: &Key, value: &Spanned<DeValue<'_>>) -> Result<Length, Wrong> {
    let Shape::Length { least, auto_most } = key.shape else {
        return Err(mismatch(key, value));
    };
    let parsed = match value.get_ref() {
        DeValue::String(text) => Length::parse(text, auto_most, humantime::parse_duration).ok(),
        other => integer(other).map(|seconds| Length::fixed(Duration::from_secs(seconds))),
    };
    parsed
        .filter(|length| (least..=DURATION_MAX).contains(&length.most))
        .ok_or_else(|| mismatch(key, value))
}

/// A share of a mean.
pub(crate) fn precision(key: &Key, value: &Spanned<DeValue<'_>>) -> Result<f64, Wrong> {
    let parsed = match value.get_ref() {
        DeValue::String(text) => parse_precision(text),
        DeValue::Float(number) => parse_precision(number.as_str()),
        _ => None,
    };
    parsed.ok_or_else(|| mismatch(key, value))
}

/// A server variable's value as its my.cnf has it.
fn scalar(name: &str, value: &Spanned<DeValue<'_>>) -> Result<String, Wrong> {
    let text = match value.get_ref() {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|number| number.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(true) => Some("ON".to_owned()),
        DeValue::Boolean(false) => Some("OFF".to_owned()),
        _ => None,
    };
    text.ok_or_else(|| {
        let kind = value.get_ref().type_str();
        let why = format!(
            "the variable {name} is {}; it takes a number, a text, true or false, or a list of them",
            with_article(kind)
        );
        Wrong::new(value.span(), why)
    })
}
