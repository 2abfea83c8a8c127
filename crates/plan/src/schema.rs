//! The keys of a plan with their JSON schema, for editors that check TOML while it is typed, and
//! the tables of its documentation.

use crate::dimension::DIMENSIONS;
use crate::lab_options::LabOptions;
use crate::options::{
    CrashOptions, DatabaseOptions, DriveOptions, MetersOptions, RampOptions, ServerOptions,
    StorageOptions, TargetOptions,
};
use crate::values::VALUE_SCHEMA;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// The tables of a plan, each with its keys.
static TABLES: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let generator = &mut SchemaSettings::draft07().into_generator();
    let mut tables = Map::new();
    add::<LabOptions>(&mut tables, "lab", generator);
    add::<TargetOptions>(&mut tables, "server", generator);
    add::<ServerOptions>(&mut tables, "server", generator);
    add::<StorageOptions>(&mut tables, "storage", generator);
    add::<DriveOptions>(&mut tables, "load", generator);
    add::<DatabaseOptions>(&mut tables, "load", generator);
    add::<RampOptions>(&mut tables, "ramp", generator);
    add::<CrashOptions>(&mut tables, "crash", generator);
    add::<MetersOptions>(&mut tables, "meters", generator);
    tables
});

/// Adds the options of a struct to a table.
fn add<T: JsonSchema>(tables: &mut Map<String, Value>, table: &str, from: &mut SchemaGenerator) {
    let mut added = T::json_schema(from).to_value();
    let about = unwrapped(&added);
    let table = tables.entry(table).or_insert_with(|| {
        json!({
            "type": "object",
            "description": about,
            "additionalProperties": false,
            "properties": {},
        })
    });
    for (key, option) in added["properties"].as_object_mut().into_iter().flatten() {
        let mut schema = option[VALUE_SCHEMA].take();
        schema["description"] = unwrapped(option);
        table["properties"][key] = schema;
    }
}

/// The description; doc comments are wrapped, and what is read is not.
fn unwrapped(schema: &Value) -> Value {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ").into()
}

/// The names of the tables.
pub(crate) fn tables() -> Vec<&'static str> {
    TABLES.keys().map(String::as_str).collect()
}

/// The schemas of the keys of a table.
pub(crate) fn keys_of(table: &str) -> Option<&'static Map<String, Value>> {
    TABLES.get(table)?["properties"].as_object()
}

/// The schema of a dimension; nothing else may be excluded.
pub(crate) fn dimension(key: &str) -> Option<&'static Value> {
    let mut tables = TABLES.keys().filter_map(|table| keys_of(table));
    tables.find_map(|keys| keys.get(key)).filter(|_| DIMENSIONS.contains(&key))
}

/// One value, or a list of them.
fn one_or_list(key: &str, option: &Value) -> Value {
    if !DIMENSIONS.contains(&key) {
        return option.clone();
    }
    let several = |one: &Value| {
        let list = json!({ "type": "array", "minItems": 1, "uniqueItems": true, "items": one });
        json!({ "anyOf": [one, list] })
    };
    let mut schema = option.clone();
    if key == "set" {
        schema["additionalProperties"] = several(&option["additionalProperties"]);
        return schema;
    }
    let about = schema.as_object_mut().and_then(|of| of.remove("description"));
    let takes = schema.as_object_mut().and_then(|of| of.remove("title")).unwrap_or_default();
    schema = several(&schema);
    schema["description"] = about.unwrap_or_default();
    schema["title"] = format!("{}, or a list", takes.as_str().unwrap_or_default()).into();
    schema
}

/// The schema, as docs/plan.schema.json has it.
pub fn json_schema() -> Value {
    let mut properties = TABLES.clone();
    let mut excluded = Map::new();
    for table in properties.values_mut() {
        for (key, option) in table["properties"].as_object_mut().into_iter().flatten() {
            *option = one_or_list(key, option);
            if DIMENSIONS.contains(&key.as_str()) {
                excluded.insert(key.clone(), option.clone());
            }
        }
    }
    let one_of = |keys: &[&str]| -> Value {
        keys.iter().map(|key| json!({ "required": [key] })).collect::<Vec<_>>().into()
    };
    properties["lab"]["required"] = json!(["name"]);
    properties["server"]["anyOf"] = one_of(&["engine", "server_binary", "dsn", "defaults_file"]);
    properties.insert("exclude".to_owned(), json!({
        "type": "array",
        "items": {
            "description": "Cells to leave out: those that have one of the named values of every \
                            key. Values have to be in the matrix, and each table has to leave \
                            something out.",
            "type": "object",
            "additionalProperties": false,
            "properties": excluded,
        },
    }));
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A plan of mydyno",
        "type": "object",
        "additionalProperties": false,
        "required": ["lab", "server", "load"],
        "anyOf": [
            { "required": ["ramp"] },
            { "properties": { "load": { "required": ["connections"] } } },
            { "properties": { "load": { "required": ["workload"] } } },
        ],
        "properties": properties,
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
        let Some(entries) = value.as_object() else { return Vec::new() };
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
        let text = concat!(
            " lab: server: storage: load: ramp: crash: meters: exclude: ",
            include_str!("lab_options.rs"),
            include_str!("options.rs")
        );
        let place = |name: &str| text.find(&format!(" {name}: "));
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
