//! What a dilated clock has to know: every function of the C library by which a server, its
//! libraries or its plugins could learn the time or wait for one.

use crate::support::{ENGINES, home, install};
use base::UNDILATED_FUNCTIONS;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One function a line, with a reason where it has to do with time.
const HARMLESS: &str = include_str!("../../../base/src/harmless_functions.txt");
/// What the clock exports, one function a line: a test of its own compares it with the library.
const DILATED: &str = include_str!("../../../clock/tests/dilated_functions.txt");
/// Functions of the C library and of those by which requests are submitted carry the version of
/// their library; what others export calls these in its turn.
const VERSIONS: [&str; 3] = ["GLIBC_", "LIBAIO_", "LIBURING_"];
/// What is the C library itself.
const C_LIBRARY: [&str; 8] = [
    "libc.so",
    "libm.so",
    "libpthread.so",
    "libdl.so",
    "librt.so",
    "libresolv.so",
    "ld-linux",
    "linux-vdso",
];
const OF_TIME: [&str; 12] = [
    "time", "clock", "sleep", "wait", "poll", "select", "alarm", "tick", "delay", "usage", "pause",
    "tzname",
];

fn harmless() -> BTreeMap<&'static str, Option<&'static str>> {
    let line = |line: &'static str| match line.split_once("  # ") {
        Some((name, why)) => (name, Some(why)),
        None => (line, None),
    };
    HARMLESS.lines().map(line).collect()
}

/// The server of an engine, the libraries that it is started with, and its plugins.
fn programs_of(engine: &str) -> Vec<PathBuf> {
    let directory = home().join("engines").join(engine);
    let manifest = std::fs::read_to_string(directory.join("mydyno-engine.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let place = |key: &str| manifest.get(key).map(|name| directory.join(name.as_str().unwrap()));
    let server = place("binary").unwrap();
    let mut loader = Command::new(&server);
    loader.env("LD_TRACE_LOADED_OBJECTS", "1");
    loader.envs(place("libraries").map(|libraries| ("LD_LIBRARY_PATH", libraries)));
    let output = loader.output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("libc.so") && !told.contains("not found"), "{engine}: {told}");
    let libraries = told.lines().filter_map(|line| line.split_whitespace().nth(2));
    let is_other = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        path.is_absolute() && !C_LIBRARY.iter().any(|own| name.starts_with(own))
    };
    let libraries = libraries.map(PathBuf::from).filter(is_other);
    let plugins = ["lib/plugin", "lib/mysql/plugin", "usr/lib/mysql/plugin"];
    let plugins = plugins.iter().filter_map(|of| std::fs::read_dir(directory.join(of)).ok());
    let plugins = plugins.flatten().map(|entry| entry.unwrap().path());
    let plugins = plugins.filter(|path| path.extension().is_some_and(|end| end == "so"));
    libraries.chain(plugins).chain([server.clone()]).collect()
}

/// The functions of the C library and its like that a program imports.
fn imported(program: &Path) -> BTreeSet<String> {
    let options = ["--dynamic", "--undefined-only", "--format=posix"];
    let output = Command::new("nm").args(options).arg(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text.lines().filter_map(|line| {
        let (name, version) = line.split_whitespace().next()?.split_once('@')?;
        let version = version.trim_start_matches('@');
        VERSIONS.iter().any(|of| version.starts_with(of)).then(|| name.to_owned())
    });
    names.collect()
}

#[test]
fn every_function_that_a_server_imports_is_dilated_refused_or_harmless() {
    let harmless = harmless();
    let is_known = |name: &str| {
        DILATED.lines().any(|dilated| dilated == name)
            || UNDILATED_FUNCTIONS.contains(&name)
            || harmless.contains_key(name)
    };
    let mut unknown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for engine in ENGINES {
        install(engine);
        let mut read = 0;
        for program in programs_of(engine) {
            let names = imported(&program);
            read += names.len();
            let refused: Vec<&String> =
                names.iter().filter(|name| UNDILATED_FUNCTIONS.contains(&name.as_str())).collect();
            assert!(refused.is_empty(), "{}: {refused:?}", program.display());
            for name in names.into_iter().filter(|name| !is_known(name)) {
                unknown.entry(name).or_default().insert(program.display().to_string());
            }
        }
        assert!(read > 300, "{engine}: only {read} functions were read");
    }
    assert!(
        unknown.is_empty(),
        "{unknown:#?}\nput each that tells the time or waits for one into the clock and into \
         dilated_functions.txt, or into UNDILATED_FUNCTIONS; all others into harmless_functions.txt"
    );
}

/// A list that is in order and names each function once can be read by people.
#[test]
fn the_harmless_functions_are_reviewed() {
    let names: Vec<&str> = HARMLESS.lines().collect();
    assert!(names.is_sorted_by(|a, b| a < b), "sort harmless_functions.txt by bytes");
    for (name, why) in harmless() {
        let mut elsewhere = DILATED.lines().chain(UNDILATED_FUNCTIONS.iter().copied());
        assert!(!elsewhere.any(|other| other == name), "{name} is in two lists");
        let needs = OF_TIME.iter().any(|word| name.contains(word));
        assert!(!needs || why.is_some(), "{name} has to do with time: say why it is harmless");
    }
}
