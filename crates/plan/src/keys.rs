//! Where keys stand in the text of a plan.

use crate::error::{PlanProblem, Span};
use toml::de::DeTable;

/// The keys of a plan and the tables that they are in, each before those inside of it.
#[derive(Clone, Debug)]
pub(crate) struct Keys(Vec<KeyPlace>);

#[derive(Clone, Debug)]
struct KeyPlace {
    name: String,
    key: Span,
    value: Span,
    is_table: bool,
}

impl Keys {
    pub(crate) fn of(root: &DeTable<'_>) -> Keys {
        let mut keys = Keys(Vec::new());
        keys.add(root);
        keys
    }

    fn add(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            self.0.push(KeyPlace {
                name: name.get_ref().to_string(),
                key: name.span(),
                value: value.span(),
                is_table: value.get_ref().is_table(),
            });
            if let Some(inside) = value.get_ref().as_table() {
                self.add(inside);
            }
        }
    }

    fn find(&self, name: &str) -> Option<&KeyPlace> {
        self.0.iter().find(|place| place.name == name)
    }

    /// The value of a key; of a table its name, of what is not there the beginning of the plan.
    pub(crate) fn value_or_table(&self, name: &str) -> Span {
        match self.find(name) {
            None => 0..0,
            Some(place) if place.is_table => place.key.clone(),
            Some(place) => place.value.clone(),
        }
    }

    /// The name of a key or a table, if it is there.
    pub(crate) fn name(&self, name: &str) -> Option<Span> {
        self.find(name).map(|place| place.key.clone())
    }
}

/// A section of the plan that is a value.
pub(crate) fn no_table(name: &str, span: Span) -> PlanProblem {
    let why =
        format!("`{name}` is no table; write [{name}] on a line of its own, and its keys below");
    PlanProblem::new(span, why)
}
