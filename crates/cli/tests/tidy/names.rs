//! A type name has one meaning, and numbers in a signature cannot be mixed up.

use super::sources::{crates, is_test};
use quote::ToTokens;
use std::collections::BTreeMap;
use syn::visit::Visit;
use syn::{FnArg, Item, Signature, Type};

/// What std and everybody else call them; each crate has its own.
const NUMBERS: [&str; 14] = [
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32",
    "f64",
];

#[test]
fn a_type_name_has_one_meaning() {
    let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (package, modules) in crates() {
        for (module, file) in &modules {
            for name in file.items.iter().flat_map(type_names) {
                let home = format!("{package}::{}", module.join("::"));
                homes.entry(name).or_default().push(home);
            }
        }
    }
    homes.retain(|_, homes| homes.len() > 1);
    let told: Vec<String> =
        homes.iter().map(|(name, homes)| format!("{name}: {}", homes.join(", "))).collect();
    assert!(
        told.is_empty(),
        "type names with several meanings; say in the name what each is:\n{}",
        told.join("\n")
    );
}

/// `| word | meaning | `crate::Type` |` of ARCHITECTURE.md.
#[test]
fn words_of_the_glossary_are_types() {
    let text = super::read("ARCHITECTURE.md");
    let types = text.lines().filter_map(|line| {
        let cell = line.strip_suffix(" |")?.rsplit("| ").next()?;
        cell.strip_prefix('`')?.strip_suffix('`')?.split_once("::")
    });
    let crates = crates();
    let mut found = 0;
    for (package, name) in types {
        let is_here = crates.iter().any(|(of, modules)| {
            let mut items = modules.values().flat_map(|file| &file.items);
            *of == package && items.any(|item| type_names(item).iter().any(|own| own == name))
        });
        assert!(
            is_here,
            "the glossary of ARCHITECTURE.md has {package}::{name}, the crate has not"
        );
        found += 1;
    }
    assert!(found > 0, "ARCHITECTURE.md has no glossary");
}

/// The types that are defined here, by themselves or by a macro such as `row!` or `named!`.
fn type_names(item: &Item) -> Vec<String> {
    let ident = match item {
        Item::Struct(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) if item.ident.is_none() => {
            let tokens = item.mac.tokens.clone().into_iter();
            let words: Vec<String> = tokens.map(|token| token.to_string()).collect();
            let defined = words.windows(2).filter(|pair| ["struct", "enum"].contains(&&*pair[0]));
            return defined.map(|pair| pair[1].clone()).collect();
        }
        _ => return Vec::new(),
    };
    vec![ident.to_string()]
}

#[test]
fn two_numbers_never_stand_side_by_side() {
    let mut found = Vec::new();
    for (package, modules) in crates() {
        for (module, file) in &modules {
            let mut signatures = Alike::default();
            signatures.visit_file(file);
            let home = format!("{package}::{}", module.join("::"));
            let names = signatures.names.iter();
            found.extend(names.map(|name| format!("{home}::{name}")));
        }
    }
    assert!(
        found.is_empty(),
        "functions that take two numbers of one type side by side; name them by a struct or types \
         of their own:\n{}",
        found.join("\n")
    );
}

/// Functions with two neighbours that a caller can mix up.
#[derive(Default)]
struct Alike {
    names: Vec<String>,
}

impl Visit<'_> for Alike {
    fn visit_item_mod(&mut self, item: &syn::ItemMod) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    /// What the C library dictates is not ours to change.
    fn visit_signature(&mut self, signature: &Signature) {
        let numbers: Vec<Option<String>> = signature.inputs.iter().map(number).collect();
        let alike = |pair: &[Option<String>]| pair[0].is_some() && pair[0] == pair[1];
        if signature.abi.is_none() && numbers.windows(2).any(alike) {
            self.names.push(signature.ident.to_string());
        }
    }

    /// A trait of another crate dictates the signature.
    fn visit_item_impl(&mut self, item: &syn::ItemImpl) {
        if item.trait_.is_none() {
            syn::visit::visit_item_impl(self, item);
        }
    }
}

/// The type of an argument that is a number.
fn number(argument: &FnArg) -> Option<String> {
    let FnArg::Typed(argument) = argument else {
        return None;
    };
    let inner = match &*argument.ty {
        Type::Reference(reference) => &reference.elem,
        _ => &argument.ty,
    };
    let name = inner.to_token_stream().to_string();
    NUMBERS.contains(&name.as_str()).then_some(name)
}

#[test]
fn what_can_be_mixed_up_is_found() {
    let file = syn::parse_file(
        "fn share(part: u64, whole: u64) {} fn of(part: Part, whole: u64) {} \
         extern \"C\" fn write(length: usize, at: usize) {}",
    );
    let mut found = Alike::default();
    found.visit_file(&file.unwrap());
    assert_eq!(found.names, ["share"]);
}
