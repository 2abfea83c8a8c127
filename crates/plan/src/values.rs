//! How a value stands in a file: alone, or in a list that is a dimension of the matrix. A [`Kind`]
//! says what values there are; its errors get the place of the value from serde.

use crate::error::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use toml::Spanned;

/// Stands for the name of its key in the error of a value, which does not know it.
pub(crate) const KEY: char = '\0';
/// Most values of one list: a matrix is no larger.
const VALUES_MAX: usize = crate::CELLS_MAX;

/// What is wrong with a value; none where it is simply nothing that its key takes.
pub(crate) type Why = Option<String>;

/// What a key takes. It stands for a type only and has no values itself.
pub(crate) trait Kind: Sized {
    /// What is made of it.
    type Value;

    /// What it takes, for people.
    fn takes() -> String;

    /// The JSON schema of a value.
    fn schema() -> Value;

    /// Reads a value that is no list and no table.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read(raw: &Raw<'_>) -> Result<Self::Value, Why>;

    /// Reads a list; most keys take none.
    fn read_list<'de, A: SeqAccess<'de>>(mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        read::<Self, _>(&Raw::List)
    }

    /// Reads a table; most keys take none.
    fn read_table<'de, A: MapAccess<'de>>(mut entries: A) -> Result<Self::Value, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        read::<Self, _>(&Raw::Table)
    }
}

/// A value as TOML has it.
pub(crate) enum Raw<'a> {
    Text(&'a str),
    Integer(i128),
    Float(f64),
    Flag(bool),
    List,
    ListInList,
    Table,
}

impl fmt::Display for Raw<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Raw::Text(text) => write!(f, "{text:?}"),
            Raw::Integer(number) => write!(f, "{number}"),
            Raw::Float(number) => write!(f, "{number}"),
            Raw::Flag(flag) => write!(f, "{flag}"),
            Raw::List => f.write_str("a list, and it is no dimension of the matrix"),
            Raw::ListInList => f.write_str("a list in a list"),
            Raw::Table => f.write_str("a table"),
        }
    }
}

fn read<K: Kind, E: Error>(raw: &Raw<'_>) -> Result<K::Value, E> {
    let takes = || format!("`{KEY}` is {raw}; it takes {}", K::takes());
    K::read(raw).map_err(|why| E::custom(why.unwrap_or_else(takes)))
}

/// One value; none where the key is not there.
pub(crate) struct One<K: Kind>(pub(crate) Option<Spanned<K::Value>>);

/// One value, or a list of them, which is a dimension.
pub(crate) struct Many<K>(PhantomData<K>);

/// What is made of that.
#[derive(Clone)]
pub(crate) enum OneOrList<T> {
    One(T),
    List(Vec<Spanned<T>>),
}

/// A key of a dimension.
pub(crate) type Axis<K> = One<Many<K>>;

impl<K: Kind> Default for One<K> {
    fn default() -> One<K> {
        One(None)
    }
}

impl<K: Kind> One<K> {
    /// The value without its place.
    pub(crate) fn get(&self) -> Option<&K::Value> {
        self.0.as_ref().map(Spanned::get_ref)
    }

    /// Where the value stands.
    pub(crate) fn span(&self) -> Span {
        self.0.as_ref().map_or(0..0, Spanned::span)
    }

    /// The value, if there is one, or else that of a field.
    pub(crate) fn set(&self, field: &mut K::Value)
    where
        K::Value: Clone,
    {
        if let Some(value) = self.get() {
            field.clone_from(value);
        }
    }
}

/// All values of a key; none where it is not there.
pub(crate) fn spread<T>(values: Option<Spanned<OneOrList<T>>>) -> Vec<Spanned<T>> {
    let Some(values) = values else {
        return Vec::new();
    };
    let span = values.span();
    match values.into_inner() {
        OneOrList::One(value) => vec![Spanned::new(span, value)],
        OneOrList::List(values) => values,
    }
}

impl<T> OneOrList<T> {
    /// Their references.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = &T> + '_> {
        match self {
            OneOrList::One(value) => Box::new(std::iter::once(value)),
            OneOrList::List(values) => Box::new(values.iter().map(Spanned::get_ref)),
        }
    }
}

impl<'de, K: Kind> Deserialize<'de> for One<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<One<K>, D::Error> {
        let read = Spanned::<Read<K>>::deserialize(deserializer)?;
        Ok(One(Some(Spanned::new(read.span(), read.into_inner().0))))
    }
}

impl<K: Kind> JsonSchema for One<K> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("value")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = K::schema();
        schema["title"] = Value::from(K::takes());
        Schema::try_from(schema).expect("the schema of every kind is an object")
    }
}

impl<K: Kind> Kind for Many<K> {
    type Value = OneOrList<K::Value>;

    fn takes() -> String {
        format!("{}, or a list", K::takes())
    }

    fn schema() -> Value {
        let one = K::schema();
        let list = json!({ "type": "array", "minItems": 1, "uniqueItems": true, "items": one });
        json!({ "anyOf": [one, list] })
    }

    fn read(raw: &Raw<'_>) -> Result<Self::Value, Why> {
        K::read(raw).map(OneOrList::One)
    }

    fn read_list<'de, A: SeqAccess<'de>>(mut items: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Read<ListItem<K>>>>()? {
            values.push(Spanned::new(item.span(), item.into_inner().0));
        }
        let why = match values.len() {
            0 => {
                "is an empty list, so that the matrix has no cell; name a value, or leave the key \
                  out"
                .to_owned()
            }
            many if many > VALUES_MAX => {
                format!(
                    "has {many} values, and a matrix has {VALUES_MAX} cells at most; name fewer"
                )
            }
            _ => return Ok(OneOrList::List(values)),
        };
        Err(A::Error::custom(format!("`{KEY}` {why}")))
    }
}

/// A value in a list.
struct ListItem<K>(PhantomData<K>);

impl<K: Kind> Kind for ListItem<K> {
    type Value = K::Value;

    fn takes() -> String {
        K::takes()
    }

    fn schema() -> Value {
        K::schema()
    }

    fn read(raw: &Raw<'_>) -> Result<K::Value, Why> {
        K::read(raw)
    }

    fn read_list<'de, A: SeqAccess<'de>>(mut items: A) -> Result<K::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        read::<K, _>(&Raw::ListInList)
    }
}

/// Reads any value inside of a call of the deserializer, which so knows the place of an error.
struct Read<K: Kind>(K::Value);

impl<'de, K: Kind> Deserialize<'de> for Read<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Read<K>, D::Error> {
        let visit = Visit::<K>(PhantomData);
        deserializer.deserialize_any(visit).map(Read)
    }
}

struct Visit<K>(PhantomData<K>);

impl<'de, K: Kind> Visitor<'de> for Visit<K> {
    type Value = K::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&K::takes())
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<K::Value, E> {
        read::<K, _>(&Raw::Flag(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<K::Value, E> {
        read::<K, _>(&Raw::Integer(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<K::Value, E> {
        read::<K, _>(&Raw::Integer(number.into()))
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<K::Value, E> {
        read::<K, _>(&Raw::Integer(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<K::Value, E> {
        read::<K, _>(&Raw::Float(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<K::Value, E> {
        read::<K, _>(&Raw::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<K::Value, A::Error> {
        K::read_list(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<K::Value, A::Error> {
        K::read_table(entries)
    }
}

/// A name that the file chooses, and its value.
pub(crate) type Entry<T> = (Spanned<String>, Spanned<T>);

/// The entries of a table whose names the file chooses, in its order.
pub(crate) fn entries_of<'de, K: Kind, A: MapAccess<'de>>(
    mut table: A,
) -> Result<Vec<Entry<K::Value>>, A::Error> {
    let mut entries = Vec::new();
    while let Some(name) = table.next_key::<Spanned<String>>()? {
        let value = table.next_value::<Spanned<Read<K>>>()?;
        entries.push((name, Spanned::new(value.span(), value.into_inner().0)));
    }
    entries.sort_by_key(|(name, _)| name.span().start);
    Ok(entries)
}
