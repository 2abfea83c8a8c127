//! Where keys stand in the text of a plan.

use crate::error::{PlanProblem, Span};
use crate::kinds::with_known;
use crate::values::KEY;
use toml::de::DeTable;

/// The keys of a plan and the tables that they are in, each before those inside of it.
#[derive(Clone, Debug)]
pub(crate) struct Keys(Vec<KeyPlace>);

#[derive(Clone, Debug)]
struct KeyPlace {
    name: String,
    /// The table that has it.
    header: String,
    key: Span,
    value: Span,
    is_table: bool,
}

impl Keys {
    pub(crate) fn of(root: &DeTable<'_>) -> Keys {
        let mut keys = Keys(Vec::new());
        let tables = "the plan, whose tables are [lab], [server], [storage], [load], [ramp], \
                      [crash], [meters] and [[exclude]]";
        keys.add(root, tables);
        keys
    }

    fn add(&mut self, table: &DeTable<'_>, header: &str) {
        for (name, value) in table {
            self.0.push(KeyPlace {
                name: name.get_ref().to_string(),
                header: header.to_owned(),
                key: name.span(),
                value: value.span(),
                is_table: value.get_ref().is_table(),
            });
            if let Some(inside) = value.get_ref().as_table() {
                self.add(inside, &format!("[{}]", name.get_ref()));
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

    /// What serde found wrong, with the name of the key. It tells unknown keys and the known ones
    /// in a text only, in backticks; all values are read by [`crate::values`], so what it calls an
    /// invalid type is one of the tables.
    pub(crate) fn problem(&self, error: &toml::de::Error) -> PlanProblem {
        let span = error.span().unwrap_or(0..0);
        let has_it = |place: &&KeyPlace| {
            place.key.contains(&span.start) || place.value.contains(&span.start)
        };
        let place = self.0.iter().rfind(has_it);
        let (name, header) = place.map_or(("", ""), |place| (&place.name, &place.header));
        let message = error.message();
        let mut quoted = message.split('`').skip(1).step_by(2);
        if message.starts_with("unknown field") {
            let unknown = quoted.next().unwrap_or_default();
            let known: Vec<&str> = quoted.collect();
            let why = format!("unknown key `{unknown}` in {header}");
            return PlanProblem::new(span, with_known(&why, unknown, &known));
        }
        if message.starts_with("invalid type") {
            return no_table(name, span);
        }
        PlanProblem::new(span, message.replace(KEY, name))
    }
}

/// A section of the plan that is a value.
pub(crate) fn no_table(name: &str, span: Span) -> PlanProblem {
    let why =
        format!("`{name}` is no table; write [{name}] on a line of its own, and its keys below");
    PlanProblem::new(span, why)
}
