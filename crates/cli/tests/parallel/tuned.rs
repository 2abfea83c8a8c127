//! `mydyno tune`: the best cell of a plan is found, and a search goes on where it was ended.

use crate::support::{
    directory, float, install, list, mydyno, number, result, results, shim, text,
};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;

const PLAN: &str = "[lab]\nname = \"small\"\n[server]\nengine = \"mysql-5.7\"\n\
                    [server.set]\ninnodb_buffer_pool_size = [\"8M\", \"64M\"]\n\
                    innodb_io_capacity = [200, 2000]\n\
                    innodb_log_file_size = \"16M\"\n\
                    [storage]\ndata = \"sata-850pro\"\n\
                    [load]\nwarehouses = 1\nconnections = 4\nwarmup = \"1s\"\n\
                    window = \"2s\"\ncheck = false\n";

fn tune(here: &Path, more: &[&str]) -> crate::support::Mydyno {
    mydyno(["tune", "plan.toml", "--json"]).and_args(more).in_directory(here)
}

fn pool(cell: &Value) -> &str {
    let settings = list(cell, "/settings");
    let of = settings.iter().find(|of| of[0] == "innodb_buffer_pool_size").unwrap();
    of[1].as_str().unwrap()
}

#[test]
#[ignore = "make soak"]
fn the_best_cell_is_found_and_a_search_goes_on() {
    install("mysql-5.7");
    shim();
    let work = directory();
    let here = work.path();
    std::fs::write(here.join("plan.toml"), PLAN).unwrap();
    let file = here.join("mydyno.db");
    let mut first = tune(here, &["--budget", "10m"]).spawn();
    first.until_stored(&file, "SELECT 1 FROM repeat WHERE id = 4 AND status = 'done'");
    first.signal(Signal::KILL);
    drop(first);
    let stored = "SELECT id, cell_id, ordinal FROM repeat WHERE status = 'done' ORDER BY id";
    let before = results(&file, stored);
    let found = tune(here, &["--budget", "10m"]).run().exits(0).json();
    // Nothing is measured twice.
    let after = results(&file, stored);
    assert_eq!(&after[..before.len()], before);
    let twice = "SELECT count(*) FROM (SELECT 1 FROM repeat WHERE status = 'done' \
                 GROUP BY cell_id, ordinal HAVING count(*) > 1)";
    assert_eq!(result(&file, twice), "0");
    assert_eq!((number(&found, "/cells"), number(&found, "/tried")), (4, 4));
    assert_eq!((pool(&found["start"]), pool(&found["best"])), ("8M", "64M"), "{found:#}");
    assert!(float(&found, "/gain/ratio_low") > 1.1, "{found:#}");
    assert_eq!(number(&found, "/gain/pairs"), 5);
    let effects = list(&found, "/effects");
    let of_pool = effects.iter().find(|of| of["dimension"] == "innodb_buffer_pool_size").unwrap();
    assert!(float(of_pool, "/values/0/ratio_low") > 1.1, "{found:#}");
    let report = std::fs::read_to_string(here.join(text(&found, "/report"))).unwrap();
    assert!(report.contains("What each setting does") && report.contains("What to set"));
}

#[test]
fn what_cannot_be_searched_is_named() {
    let work = directory();
    let here = work.path();
    let refused = |plan: &str, code: i32, words: &[&str]| {
        std::fs::write(here.join("plan.toml"), plan).unwrap();
        tune(here, &[]).run().exits(code).says(words);
        assert!(!here.join("mydyno.db").exists() || code == 4);
    };
    install("mysql-5.7");
    let one = PLAN.replace("[\"8M\", \"64M\"]", "\"8M\"");
    refused(&one, 3, &["too few cells", "lists"]);
    let ramp = PLAN.replace("connections = 4\n", "") + "[ramp]\n";
    refused(&ramp, 3, &["connections", "[ramp]"]);
    let auto = PLAN.replace("[server.set]", "dilate = \"auto\"\n[server.set]");
    refused(&auto, 4, &["dilate = 8"]);
}
