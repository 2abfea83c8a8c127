//! The JSON schema of a plan, for editors that check TOML while it is typed, and the tables of its documentation.

use crate::keys::{Key, SECTIONS, Section, Shape};
use serde_json::{Map, Value, json};

/// The schema, as docs/plan.schema.json has it.
pub fn json_schema() -> Value {
    let mut properties = Map::new();
    for section in SECTIONS {
        let table = table(section);
        let value = if section.is_repeated {
            json!({ "type": "array", "items": table })
        } else {
            table
        };
        properties.insert(section.name.to_owned(), value);
    }
    let required = SECTIONS
        .iter()
        .filter(|section| !section.required.is_empty());
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A plan of mydyno",
        "type": "object",
        "additionalProperties": false,
        "required": required
            .map(|section| section.name)
            .chain(["load"])
            .collect::<Vec<_>>(),
        "anyOf": [
            { "required": ["ramp"] },
            { "properties": { "load": { "required": ["connections"] } } },
        ],
        "properties": properties,
    })
}

fn table(section: &Section) -> Value {
    let of_key = |key: &&Key| (key.name.to_owned(), value(key));
    let properties: Map<String, Value> = section.keys.iter().map(of_key).collect();
    let required: Vec<&str> = section.required.iter().map(|key| key.name).collect();
    json!({
        "description": section.about,
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

fn value(key: &Key) -> Value {
    let mut schema = shape(key.shape);
    if key.is_dimension {
        schema = one_or_list(&schema);
    }
    if let Value::Object(schema) = &mut schema {
        let default = if key.default.is_empty() {
            String::new()
        } else {
            format!(" [default: {}]", key.default)
        };
        let description = format!("{}{default}", key.meaning);
        schema.insert("description".to_owned(), Value::from(description));
    }
    schema
}

fn one_or_list(one: &Value) -> Value {
    let list = json!({ "type": "array", "minItems": 1, "uniqueItems": true, "items": one });
    json!({ "anyOf": [one, list] })
}

fn or_off(condition: Value) -> Value {
    json!({ "anyOf": [condition, { "enum": [false] }] })
}

fn shape(shape: Shape) -> Value {
    match shape {
        Shape::Text => json!({ "type": "string", "minLength": 1 }),
        Shape::OneOf(names) => json!({ "type": "string", "enum": names }),
        Shape::Count { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Shape::Seed => json!({ "type": "integer", "minimum": 0 }),
        Shape::Duration { .. } | Shape::Length { .. } | Shape::Size { .. } => json!({ "anyOf": [
            { "type": "string", "minLength": 1 },
            { "type": "integer", "minimum": 0 },
        ] }),
        Shape::Rate => json!({ "anyOf": [
            { "type": "string", "minLength": 1 },
            { "type": "number", "exclusiveMinimum": 0 },
        ] }),
        Shape::Share { least, most } => json!({ "anyOf": [
            { "type": "string", "minLength": 1 },
            { "type": "number", "minimum": least, "maximum": most },
        ] }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Variables => {
            let scalar = json!({ "type": ["string", "number", "boolean"] });
            json!({ "type": "object", "additionalProperties": one_or_list(&scalar) })
        }
        Shape::ShareOrOff => or_off(json!({ "type": ["string", "number"] })),
        Shape::NumberOrOff { .. } => or_off(json!({ "type": "number" })),
        Shape::TimesOrOff => {
            let time = json!({ "type": ["string", "integer"] });
            or_off(json!({ "type": "object", "additionalProperties": time }))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::json_schema;
    use crate::keys::{SECTIONS, Shape};
    use serde_json::Value;
    use std::fmt::Write;
    use std::path::{Path, PathBuf};

    /// Set, these tests write the files that they otherwise compare with.
    const UPDATE: &str = "MYDYNO_UPDATE_DOCS";
    const BEGIN: &str = "<!-- keys: written by the tests of crates/plan -->\n";
    const END: &str = "<!-- end of keys -->\n";

    fn docs(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../docs")
            .join(name)
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
            let fits = options
                .iter()
                .any(|one| violations(one, value, at).is_empty());
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
        require(
            kinds.is_empty() || kinds.iter().any(|kind| is(kind)),
            "type",
        );
        if let Some(names) = schema["enum"].as_array() {
            require(names.contains(value), "enum");
        }
        let bound = |name: &str| schema[name].as_u64();
        if let Some(number) = value.as_i64() {
            let number = u64::try_from(number).unwrap_or(0);
            require(
                bound("minimum").is_none_or(|least| number >= least),
                "minimum",
            );
            require(
                bound("maximum").is_none_or(|most| number <= most),
                "maximum",
            );
        }
        if let Some(text) = value.as_str() {
            require(
                bound("minLength").is_none_or(|n| text.len() as u64 >= n),
                "minLength",
            );
        }
        if let Some(items) = value.as_array() {
            require(
                bound("minItems").is_none_or(|n| items.len() as u64 >= n),
                "minItems",
            );
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
        let lacking = needed
            .filter_map(Value::as_str)
            .filter(|name| !entries.contains_key(*name));
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

    #[test]
    fn every_key_is_documented() {
        let mut tables = String::from(BEGIN);
        for section in SECTIONS {
            let about = section.about;
            writeln!(tables, "\n### `{}`\n\n{about}\n", section.header()).unwrap();
            writeln!(
                tables,
                "| key | takes | default | meaning |\n|---|---|---|---|"
            )
            .unwrap();
            for key in section.keys {
                let many = if key.is_dimension && key.shape != Shape::Variables {
                    ", or a list"
                } else {
                    ""
                };
                let default = match key.default {
                    _ if section.is_repeated => "",
                    "" => "required",
                    default => default,
                };
                let (name, takes, meaning) = (key.name, key.shape.words(), key.meaning);
                let takes = takes.replace('"', "`");
                writeln!(
                    tables,
                    "| `{name}` | {takes}{many} | {default} | {meaning} |"
                )
                .unwrap();
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
            assert_ne!(
                plan(&format!("{right}\n{wrong}")),
                Vec::<String>::new(),
                "{wrong}"
            );
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
