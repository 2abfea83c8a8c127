//! The product's source files, parsed, without their tests.

use std::collections::BTreeMap;
use std::path::Path;
use syn::{Attribute, File, Item, Meta};

/// The path of a module inside its crate: `["commands", "run"]`; the crate's root is empty.
pub type Module = Vec<String>;

/// A crate's modules by path.
pub type Modules = BTreeMap<Module, File>;

/// Every crate of the workspace by name.
pub fn crates() -> BTreeMap<String, Modules> {
    let mut all: BTreeMap<String, Modules> = BTreeMap::new();
    for name in super::files() {
        let Some((package, path)) = parts(&name) else {
            continue;
        };
        let mut file = syn::parse_file(&super::read(&name))
            .unwrap_or_else(|error| panic!("{name} cannot be parsed: {error}"));
        file.items.retain(|item| !is_test(attributes(item)));
        let modules = all.entry(package.to_owned()).or_default();
        modules.insert(module(path), file);
    }
    all
}

/// `crates/lab/src/measure/run.rs`: `lab` and `measure/run.rs`; none of a file that is no source of
/// the product.
fn parts(name: &str) -> Option<(&str, &str)> {
    let (package, path) = name.strip_prefix("crates/")?.split_once("/src/")?;
    let is_test = path == "tests.rs" || path.ends_with("/tests.rs") || path.contains("tests/");
    (path.ends_with(".rs") && !is_test).then_some((package, path))
}

fn module(path: &str) -> Module {
    let path = Path::new(path).with_extension("");
    let mut names: Module = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let is_root = names.len() == 1 && ["lib", "main"].contains(&names[0].as_str());
    if is_root || names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    names
}

/// Is it compiled for tests only?
pub fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
