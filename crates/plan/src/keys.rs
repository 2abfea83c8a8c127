//! Where keys stand in the text of a plan.

use crate::error::Span;
use std::collections::BTreeMap;
use toml::de::DeTable;

/// The keys of a plan and the tables that they are in: of one name the first, and one that is
/// outside before those inside of it.
#[derive(Clone, Debug)]
pub(crate) struct Keys(BTreeMap<String, KeyPlace>);

#[derive(Clone, Debug)]
struct KeyPlace {
    key: Span,
    /// Of a table its name.
    value: Span,
}

impl Keys {
    pub(crate) fn of(root: &DeTable<'_>) -> Keys {
        let mut keys = Keys(BTreeMap::new());
        keys.add(root);
        keys
    }

    fn add(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            let inside = value.get_ref().as_table();
            let key = name.span();
            let place = KeyPlace { value: inside.map_or(value.span(), |_| key.clone()), key };
            self.0.entry(name.get_ref().to_string()).or_insert(place);
            if let Some(inside) = inside {
                self.add(inside);
            }
        }
    }

    /// The value of a key; of a table its name, of what is not there the beginning of the plan.
    pub(crate) fn value_or_table(&self, name: &str) -> Span {
        self.0.get(name).map_or(0..0, |place| place.value.clone())
    }

    /// Is this key or table there?
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The name of a key or a table; of what is not there the beginning of the plan.
    pub(crate) fn name(&self, name: &str) -> Span {
        self.0.get(name).map_or(0..0, |place| place.key.clone())
    }
}
