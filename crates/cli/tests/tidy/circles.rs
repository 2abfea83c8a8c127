//! Files of a crate that need each other in a circle can only be understood, moved and tested
//! together. Two may; more may not.
//!
//! A file needs another where it imports from it or names it by a path. What a file re-exports is
//! needed of the file that has it.

use super::sources::{Module, Modules, crates};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;
use syn::{Item, Path, UseTree, Visibility};

/// A path as it is written, by its names.
type Names = Vec<String>;

#[test]
fn no_circle_has_more_than_two_files() {
    let mut found = Vec::new();
    for (name, modules) in crates() {
        let needs = needs(&modules);
        for circle in circles(&needs).iter().filter(|circle| circle.len() > 2) {
            let shown: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            found.push(format!("{name}: {}", shown.join(", ")));
        }
    }
    assert!(
        found.is_empty(),
        "files in a circle; move what all of them need into a module below:\n{}",
        found.join("\n")
    );
}

#[test]
fn a_circle_is_found() {
    let parsed = |text: &str| syn::parse_file(text).unwrap();
    let modules = Modules::from([
        (vec![], parsed("pub use b::B;")),
        (vec!["a".to_owned()], parsed("use crate::B;")),
        (vec!["b".to_owned()], parsed("fn f() { super::c::f() }")),
        (vec!["c".to_owned()], parsed("use crate::{a::A, d};")),
        (vec!["d".to_owned()], parsed("")),
    ]);
    let found = circles(&needs(&modules));
    let long: Vec<_> = found.iter().filter(|circle| circle.len() > 1).collect();
    assert_eq!(long, [&BTreeSet::from(["a", "b", "c"].map(|name| vec![name.to_owned()]))]);
}

/// Which modules each module needs.
fn needs(modules: &Modules) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut imported: BTreeMap<&Module, Vec<Names>> = BTreeMap::new();
    let mut re_exported: BTreeMap<Names, Names> = BTreeMap::new();
    for (module, file) in modules {
        let mut found = Found::default();
        found.visit_file(file);
        let is_public = |item: &&Item| match item {
            Item::Use(item) => !matches!(item.vis, Visibility::Inherited),
            _ => false,
        };
        for item in file.items.iter().filter(is_public) {
            let Item::Use(item) = item else { continue };
            for path in leaves(&item.tree) {
                if let (Some(path), Some(last)) = (absolute(modules, module, &path), path.last()) {
                    re_exported
                        .insert([module.as_slice(), std::slice::from_ref(last)].concat(), path);
                }
            }
        }
        let paths = found.paths.iter();
        let paths = paths.filter_map(|path| absolute(modules, module, path));
        imported.insert(module, paths.collect());
    }
    let of = |(module, paths): (&&Module, &Vec<Names>)| {
        let needed = paths.iter().map(|path| home(modules, &re_exported, path));
        let needed = needed.filter(|needed| needed != *module && !needed.is_empty());
        ((*module).clone(), needed.collect())
    };
    imported.iter().map(of).collect()
}

/// What a file names beyond itself, but for what it re-exports.
#[derive(Default)]
struct Found {
    paths: Vec<Names>,
}

impl Visit<'_> for Found {
    fn visit_item_use(&mut self, item: &syn::ItemUse) {
        if matches!(item.vis, Visibility::Inherited) && item.leading_colon.is_none() {
            self.paths.extend(leaves(&item.tree));
        }
    }

    fn visit_path(&mut self, path: &Path) {
        if path.segments.len() > 1 && path.leading_colon.is_none() {
            let names = path.segments.iter().map(|one| one.ident.to_string());
            self.paths.push(names.collect());
        }
        syn::visit::visit_path(self, path);
    }
}

/// Every path of a `use`.
fn leaves(tree: &UseTree) -> Vec<Names> {
    let below = |name: String, tree: &UseTree| {
        let paths = leaves(tree).into_iter();
        paths.map(|path| [vec![name.clone()], path].concat()).collect()
    };
    match tree {
        UseTree::Path(path) => below(path.ident.to_string(), &path.tree),
        UseTree::Name(name) => vec![vec![name.ident.to_string()]],
        UseTree::Rename(rename) => vec![vec![rename.ident.to_string()]],
        UseTree::Glob(_) => vec![vec![]],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}

/// The path from the crate's root; none of what another crate has.
fn absolute(modules: &Modules, module: &Module, path: &Names) -> Option<Names> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([module, rest].concat()),
        "super" => {
            let (_, parent) = module.split_last()?;
            let parent = parent.to_vec();
            let again = rest.first().is_some_and(|name| name == "super");
            if again {
                absolute(modules, &parent, &rest.to_vec())
            } else {
                Some([parent.as_slice(), rest].concat())
            }
        }
        _ => {
            let child = [module.as_slice(), std::slice::from_ref(first)].concat();
            modules.contains_key(&child).then(|| [module.as_slice(), path].concat())
        }
    }
}

/// The module that has what a path names.
fn home(modules: &Modules, re_exported: &BTreeMap<Names, Names>, path: &Names) -> Module {
    let mut path = path.clone();
    // A re-export leads to another at most this often; a longer chain would be a circle of its own.
    for _ in 0..8 {
        let end = (1..=path.len()).rev();
        let led = end.into_iter().find_map(|end| {
            let to = re_exported.get(&path[..end])?;
            (to != &path[..end]).then(|| [to.as_slice(), &path[end..]].concat())
        });
        match led {
            Some(to) => path = to,
            None => break,
        }
    }
    let end = (0..=path.len()).rev();
    let mut known = end.map(|end| path[..end].to_vec());
    known.find(|module| modules.contains_key(module)).unwrap_or_default()
}

/// Groups of modules that reach each other.
fn circles(needs: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        needs.keys().map(|module| (module, reached(needs, module))).collect();
    let circle = |module: &Module| {
        let mutual = reached[module].iter().filter(|other| {
            let back = reached.get(**other);
            back.is_some_and(|back| back.contains(module))
        });
        let mut circle: BTreeSet<Module> = mutual.map(|other| (*other).clone()).collect();
        circle.insert(module.clone());
        circle
    };
    needs.keys().map(circle).collect()
}

fn reached<'a>(
    needs: &'a BTreeMap<Module, BTreeSet<Module>>,
    from: &'a Module,
) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for next in needs.get(module).into_iter().flatten() {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}
