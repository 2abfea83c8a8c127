//! The files in `contrib/` are right as far as can be seen without a cluster.

use crate::support::mydyno;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// Does bash take it?
fn is_bash(script: &str) {
    let checked = Command::new("bash").args(["-n", "-c", script]).output().unwrap();
    assert!(checked.status.success(), "{script}\n{}", String::from_utf8_lossy(&checked.stderr));
}

/// The options of a subcommand.
fn options(subcommand: &[&str]) -> BTreeSet<String> {
    let help = mydyno(subcommand).and_args(["--help"]).run().exits(0).stdout;
    let words = help.split_whitespace().filter(|word| word.starts_with("--"));
    words.map(|word| word.trim_end_matches([',', '.', ';', ')']).to_owned()).collect()
}

/// Options of `mydyno lab run` in a script.
fn used(script: &str) -> Vec<&str> {
    let (_, command) = script.split_once("exec mydyno lab run").unwrap();
    let lines = command.lines().take_while(|line| line.ends_with('\\'));
    let last = command.lines().nth(lines.clone().count()).unwrap_or_default();
    let words = lines.chain([last]).flat_map(str::split_whitespace);
    words.filter(|word| word.starts_with("--")).collect()
}

#[test]
fn job_files_name_options_that_there_are() {
    let there = options(&["lab", "run"]);
    let slurm = file("contrib/slurm-lab.sh");
    is_bash(&slurm);
    let yaml = file("contrib/kubernetes-lab.yaml");
    for script in [&slurm, &yaml] {
        let used = used(script);
        assert_eq!(used, ["--shard", "--results", "--output"]);
        assert!(used.iter().all(|option| there.contains(*option)), "{used:?} {there:?}");
    }
    // What the shell of a pod gets.
    let (_, rest) = yaml.split_once("            - |\n").unwrap();
    let inside = rest.lines().take_while(|line| line.starts_with("              "));
    is_bash(&inside.map(str::trim).collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_job_of_kubernetes_is_consistent() {
    let yaml = file("contrib/kubernetes-lab.yaml");
    for line in yaml.lines() {
        let indent = line.len() - line.trim_start().len();
        assert!(!line.contains('\t') && indent % 2 == 0 && line == line.trim_end(), "{line}");
    }
    let value = |key: &str| {
        let mut lines = yaml.lines().map(str::trim);
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(": ")).unwrap()
    };
    let shards = value("completions");
    assert_eq!((value("completionMode"), value("parallelism")), ("Indexed", shards));
    assert!(yaml.contains(&format!("--shard \"$shard/{shards}\"")));
    let (mounts, volumes) = yaml.split_once("      volumes:\n").unwrap();
    let (_, mounts) = mounts.split_once("volumeMounts:\n").unwrap();
    let names = |text: &str| -> BTreeSet<String> {
        let names = text.lines().filter_map(|line| line.trim().strip_prefix("- name: "));
        names.map(str::to_owned).collect()
    };
    assert_eq!(names(mounts), names(volumes));
}

#[test]
fn the_image_is_built_of_what_there_is() {
    let dockerfile = file("contrib/Dockerfile").replace("\\\n", " ");
    let mut instructions =
        dockerfile.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let known = ["FROM", "WORKDIR", "COPY", "RUN", "ENV", "ARG", "ENTRYPOINT"];
    assert!(
        instructions.clone().all(|line| known.contains(&line.split(' ').next().unwrap())),
        "{dockerfile}"
    );
    for line in instructions.clone() {
        if let Some(script) = line.strip_prefix("RUN ") {
            is_bash(script);
        }
    }
    // What it copies is what `contrib/deb` writes and .dockerignore lets through.
    let package = "target/mydyno.deb";
    assert!(instructions.any(|line| line.split(' ').nth(1) == Some(package)), "{dockerfile}");
    assert!(file(".dockerignore").lines().any(|line| line == format!("!{package}")));
    assert!(
        file("Makefile")
            .contains(&format!("contrib/deb $(CURDIR)/target/package $(CURDIR)/{package}"))
    );
    is_bash(&file("contrib/deb"));
}
