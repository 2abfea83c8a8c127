//! House rules that a machine can check and clippy cannot: the floors of the design, the length of
//! files, the reasons for dependencies, words that must not be in the tree.

mod circles;
mod history;
mod names;
mod sources;

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const LINES_MAX: usize = 600;
const COLUMNS_MAX: usize = 100;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Files that git tracks or would track.
fn files() -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(listed.status.success(), "git ls-files failed");
    let names = String::from_utf8(listed.stdout).unwrap();
    let exists = |name: &&str| root().join(name).is_file();
    names.lines().filter(exists).map(str::to_owned).collect()
}

/// `| floor | crate | ...` of ARCHITECTURE.md. What is preloaded stands beside the floors, on top
/// of the lowest.
fn floors() -> BTreeMap<String, i32> {
    let text = read("ARCHITECTURE.md");
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.trim().strip_prefix('|')?.split('|').map(str::trim);
        let (floor, names) = (cells.next()?, cells.next()?);
        let floor = if floor == "-" { Some(1) } else { floor.parse().ok() };
        Some((floor?, names.strip_prefix('`')?.split('`').next()?.to_owned()))
    });
    rows.map(|(floor, name)| (name, floor)).collect()
}

/// The crates of the workspace, as cargo knows them.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {said}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn crates_import_from_floors_below_only() {
    let floors = floors();
    let mut seen = 0;
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let own =
            *floors.get(name).unwrap_or_else(|| panic!("{name} has no floor in ARCHITECTURE.md"));
        seen += 1;
        let dependencies = package["dependencies"].as_array().unwrap();
        let used = dependencies
            .iter()
            .filter(|dependency| dependency["path"].is_string() && dependency["kind"] != "dev");
        for dependency in used {
            let used = dependency["name"].as_str().unwrap();
            let below = floors[used];
            assert!(below < own, "{name} (floor {own}) imports {used} (floor {below})");
        }
    }
    assert_eq!(seen, floors.len(), "ARCHITECTURE.md lists crates that do not exist");
}

#[test]
fn no_file_is_too_long() {
    let long: Vec<String> = files()
        .iter()
        .filter(|name| name.ends_with(".rs"))
        .map(|name| (name, read(name).lines().count()))
        .filter(|(_, lines)| *lines > LINES_MAX)
        .map(|(name, lines)| format!("{name}: {lines}"))
        .collect();
    assert!(long.is_empty(), "split by meaning: {long:?}");
}

#[test]
fn no_line_is_too_wide() {
    let mut wide = Vec::new();
    for name in files().iter().filter(|name| name.ends_with(".rs")) {
        let text = read(name);
        let lines = text.lines().zip(1..);
        let is_wide = |(line, _): &(&str, usize)| line.chars().count() > COLUMNS_MAX;
        wide.extend(lines.filter(is_wide).map(|(_, number)| format!("{name}:{number}")));
    }
    assert!(wide.is_empty(), "wrap at {COLUMNS_MAX} columns: {wide:?}");
}

/// The part of a source file that is not tests.
fn without_tests(text: &str) -> &str {
    let begins = ["#[cfg(test)]\nmod ", "#[cfg(test)]\npub(crate) mod "];
    // Tests in a file of their own end nothing here.
    let are_here = |(at, begin): &(usize, &str)| {
        text[at + begin.len()..].lines().next().is_some_and(|line| line.ends_with('{'))
    };
    let found = begins.iter().flat_map(|begin| text.match_indices(begin)).filter(are_here);
    let end = found.map(|(at, _)| at).min();
    &text[..end.unwrap_or(text.len())]
}

#[test]
fn invariants_come_with_their_proof() {
    let product = |name: &&String| {
        let is_test = name.ends_with("/tests.rs") || name.contains("/tests/");
        name.starts_with("crates/") && name.contains("/src/") && !is_test
    };
    let mut bare = Vec::new();
    for name in files().iter().filter(product).filter(|name| name.ends_with(".rs")) {
        let text = read(name);
        let source = without_tests(&text);
        let expects = source.split(".expect(").skip(1);
        // The message is the proof; a word or two prove nothing.
        let unproven = expects.filter(|rest| {
            let message =
                rest.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next());
            message.is_none_or(|message| message.split(' ').count() < 4)
        });
        if source.contains(".unwrap()") || unproven.count() > 0 {
            bare.push(name.clone());
        }
    }
    assert!(bare.is_empty(), "unwrap or expect without a proof: {bare:?}");
}

#[test]
fn every_dependency_says_why() {
    let text = read("Cargo.toml");
    let section = text.split("[workspace.dependencies]").nth(1).unwrap();
    let section = section.split("\n[").next().unwrap();
    let silent: Vec<&str> = section
        .lines()
        .filter(|line| !line.starts_with('#') && line.contains('=') && !line.contains("path = "))
        .filter(|line| !line.contains("# "))
        .collect();
    assert!(silent.is_empty(), "dependencies without a reason: {silent:?}");
}

#[test]
fn every_crate_inherits_the_lints() {
    for name in files().iter().filter(|name| name.ends_with("/Cargo.toml")) {
        assert!(read(name).contains("[lints]\nworkspace = true"), "{name} does not");
    }
}

#[test]
fn nothing_is_left_behind() {
    // Written apart, so that this file does not find itself.
    let words = ["TO DO", "FIX ME", "XX X", "unimple mented!", "#[ign ore", "#[all ow("]
        .map(|word| word.replace(' ', ""));
    // The long tests are run by another command.
    let soak = "#[ign ore = \"make soak\"]".replacen(' ', "", 1);
    let sources = [".rs", ".sh", ".toml", ".md", ".js", ".css", ".sql", "Makefile"];
    let is_source = |name: &&String| {
        let is_script = [".ci/", "contrib/"].iter().any(|folder| name.starts_with(folder));
        is_script || sources.iter().any(|end| name.ends_with(end))
    };
    for name in files().iter().filter(is_source) {
        let text = read(name).replace(&soak, "");
        for word in &words {
            assert!(!text.contains(word.as_str()), "{name} contains {word}");
        }
    }
}
