//! The JSON schema of a plan, for editors that check TOML while it is typed, and the tables of its
//! documentation.

use crate::document::PlanDocument;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema, as docs/plan.schema.json has it.
pub fn json_schema() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let generator = settings.into_generator();
    let mut schema = generator.into_root_schema_for::<PlanDocument>().to_value();
    unwrap_descriptions(&mut schema);
    let excluded = dimension_keys(&schema).map(|(section, key)| {
        (key.to_owned(), schema["properties"][section]["properties"][key].clone())
    });
    let excluded: Map<String, Value> = excluded.collect();
    schema["properties"]["exclude"] = json!({
        "type": "array",
        "items": {
            "description": "Cells to leave out: those that have one of the named values of every \
                            key. Values have to be in the matrix, and each table has to leave \
                            something out.",
            "type": "object",
            "additionalProperties": false,
            "properties": excluded,
        },
    });
    schema
}

/// Doc comments are wrapped, and what is read is not.
fn unwrap_descriptions(schema: &mut Value) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    let inside = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (_, property) in inside.into_iter().flatten() {
        unwrap_descriptions(property);
    }
}

/// The keys of dimensions with their tables, in the order of the documentation.
pub(crate) fn dimension_keys(schema: &Value) -> impl Iterator<Item = (&'static str, &str)> {
    ["server", "storage", "load", "crash"].into_iter().flat_map(|section| {
        let keys = schema["properties"][section]["properties"].as_object();
        let keys = keys.into_iter().flatten();
        let is_dimension = |value: &Value| !value["anyOf"][1]["items"].is_null();
        keys.filter(move |(name, value)| *name == "set" || is_dimension(value))
            .map(move |(name, _)| (section, name.as_str()))
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::json_schema;
    use serde_json::Value;
    use std::fmt::Write;
    use std::path::{Path, PathBuf};

    /// Set, these tests write the files that they otherwise compare with.
    const UPDATE: &str = "MYDYNO_UPDATE_DOCS";
    const BEGIN: &str = "<!-- keys: written by the tests of crates/plan -->\n";
    const END: &str = "<!-- end of keys -->\n";

    fn docs(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
    }

    fn is_as_written(path: &Path, expected: &str) {
        if std::env::var_os(UPDATE).is_some() {
            std::fs::write(path, expected).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            found == expected,
            "{} is behind the keys; run the tests of this crate with {UPDATE}=1",
            path.display()
        );
    }

    /// What is wrong with a value by a schema, as far as this crate's schema goes.
    pub(crate) fn violations(schema: &Value, value: &Value, at: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut require = |holds: bool, what: &str| {
            if !holds {
                wrong.push(format!("{at}: {what}"));
            }
        };
        if let Some(options) = schema["anyOf"].as_array() {
            let fits = options.iter().any(|one| violations(one, value, at).is_empty());
            require(fits, "fits none");
        }
        let kinds: Vec<&str> = match &schema["type"] {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let is = |kind: &str| match kind {
            "string" => value.is_string(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => false,
        };
        require(kinds.is_empty() || kinds.iter().any(|kind| is(kind)), "type");
        if let Some(names) = schema["enum"].as_array() {
            require(names.contains(value), "enum");
        }
        let bound = |name: &str| schema[name].as_u64();
        if let Some(number) = value.as_i64() {
            let number = u64::try_from(number).unwrap_or(0);
            require(bound("minimum").is_none_or(|least| number >= least), "minimum");
            require(bound("maximum").is_none_or(|most| number <= most), "maximum");
        }
        if let Some(text) = value.as_str() {
            require(bound("minLength").is_none_or(|n| text.len() as u64 >= n), "minLength");
        }
        if let Some(items) = value.as_array() {
            require(bound("minItems").is_none_or(|n| items.len() as u64 >= n), "minItems");
            for item in items {
                wrong.extend(violations(&schema["items"], item, at));
            }
        }
        wrong.extend(violations_inside(schema, value, at));
        wrong
    }

    /// Those of an object's keys.
    fn violations_inside(schema: &Value, value: &Value, at: &str) -> Vec<String> {
        let Some(entries) = value.as_object() else {
            return Vec::new();
        };
        let needed = schema["required"].as_array().into_iter().flatten();
        let lacking = needed.filter_map(Value::as_str).filter(|name| !entries.contains_key(*name));
        let mut wrong: Vec<String> = lacking.map(|name| format!("{at}: lacks {name}")).collect();
        let others = &schema["additionalProperties"];
        for (name, value) in entries {
            let inside = format!("{at}.{name}");
            match &schema["properties"][name] {
                Value::Null if others.is_object() => {
                    wrong.extend(violations(others, value, &inside));
                }
                Value::Null if schema["type"] == "object" => {
                    wrong.push(format!("{inside}: unknown"));
                }
                Value::Null => {}
                known => wrong.extend(violations(known, value, &inside)),
            }
        }
        wrong
    }

    #[test]
    fn the_shipped_schema_is_this_one() {
        let text = serde_json::to_string_pretty(&json_schema()).unwrap() + "\n";
        is_as_written(&docs("plan.schema.json"), &text);
    }

    /// What a key means, and its default.
    fn description(property: &Value) -> (&str, &str) {
        let text = property["description"].as_str().unwrap();
        let text = text.strip_suffix(']').unwrap();
        text.split_once(" [default: ").unwrap()
    }

    /// In the order of the structs, which a JSON object does not keep.
    fn listed(properties: &Value) -> Vec<(&str, &Value)> {
        let text = include_str!("document.rs");
        let place = |name: &str| text.find(&format!("pub(crate) {name}: "));
        let entries = properties.as_object().unwrap().iter();
        let mut entries: Vec<_> = entries.map(|(name, value)| (name.as_str(), value)).collect();
        entries.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
        entries
    }

    #[test]
    fn every_key_is_documented() {
        let schema = json_schema();
        let mut tables = String::from(BEGIN);
        for (name, section) in listed(&schema["properties"]) {
            let about = |section: &Value| section["description"].as_str().unwrap().to_owned();
            if name == "exclude" {
                let keys = listed(&section["items"]["properties"]).into_iter();
                let keys: Vec<String> = keys.map(|(key, _)| format!("`{key}`")).collect();
                let about = about(&section["items"]);
                let keys = keys.join(", ");
                writeln!(tables, "\n### `[[{name}]]`\n\n{about} Its keys: {keys}.").unwrap();
                continue;
            }
            writeln!(tables, "\n### `[{name}]`\n\n{}\n", about(section)).unwrap();
            writeln!(tables, "| key | takes | default | meaning |\n|---|---|---|---|").unwrap();
            for (key, property) in listed(&section["properties"]) {
                let takes = property["title"].as_str().unwrap().replace('"', "`");
                let (meaning, default) = description(property);
                writeln!(tables, "| `{key}` | {takes} | {default} | {meaning} |").unwrap();
            }
        }
        tables.push('\n');
        let path = docs("plans.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = page.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        is_as_written(&path, &format!("{before}{tables}{END}{after}"));
    }

    #[test]
    fn the_validator_of_these_tests_finds_what_is_wrong() {
        let plan = |text: &str| {
            let value: toml::Value = toml::from_str(text).unwrap();
            let value = serde_json::to_value(value).unwrap();
            violations(&json_schema(), &value, "plan")
        };
        let right = "lab.name = 'x'\nserver.engine = 'e'\nload.connections = [1, 2]";
        assert_eq!(plan(right), Vec::<String>::new());
        for wrong in [
            "lab.nmae = 'x'",
            "lab.order = 'reverse'",
            "lab.repeats = 0",
            "lab.repeats = [1, 2]",
            "load.window = []",
            "load.warehouses = 'ten'",
            "load.style = []",
            "server.preset = ''",
            "server.set.a = [[1]]",
            "storage.count_io = 1",
            "ramp.stop_cpu = true",
            "ramp.stop_p90 = { new_order = [1] }",
            "ramp.points = 0",
            "exclude = 7",
            "labs.x = 1",
        ] {
            assert_ne!(plan(&format!("{right}\n{wrong}")), Vec::<String>::new(), "{wrong}");
        }
        assert_ne!(plan("lab.name = 'x'"), Vec::<String>::new());
        let ramp = right.replace("connections = [1, 2]", "warehouses = 1");
        assert_ne!(plan(&ramp), Vec::<String>::new());
        let ramp = format!(
            "{ramp}\nramp = {{ stop_cpu = false, stop_kink = 3, stop_p90.payment = '1s' }}"
        );
        assert_eq!(plan(&ramp), Vec::<String>::new());
    }
}
