//! A lab on several machines: shards, one of them killed, put together.

use crate::support::{Mydyno, directory, install, list, mydyno, number, results, shim, text};
use rustix::process::Signal;
use std::fs;
use std::path::Path;

/// Two cells and three repeats.
const PLAN: &str = "[lab]\nname = \"shards\"\nrepeats = 3\n[server]\nengine = \"mysql-5.7\"\n\
                    set = { innodb_log_file_size = \"16M\" }\n[load]\nwarehouses = 1\n\
                    connections = [1, 2]\nwarmup = \"0s\"\nwindow = \"1s\"\n";

fn shard(directory: &Path, shard: u32) -> Mydyno {
    let (part, file) = (format!("{shard}/3"), format!("{shard}.db"));
    let all = ["lab", "run", "plan.toml", "--json", "--shard", &part, "--results", &file];
    mydyno(all).in_directory(directory)
}

fn merge(directory: &Path, files: &[&str]) -> Mydyno {
    mydyno(["merge", "--into", "all.db", "--json"]).and_args(files).in_directory(directory)
}

/// Cell, repeat, block and seed of everything with a result.
fn turns(file: &Path) -> Vec<Vec<String>> {
    let sql = "SELECT c.ordinal, r.ordinal, r.seed FROM repeat AS r JOIN cell AS c \
               ON c.id = r.cell_id WHERE r.status = 'done' ORDER BY r.ordinal, c.ordinal";
    results(file, sql)
}

#[test]
#[ignore = "make soak"]
fn shards_become_one_lab() {
    shim();
    install("mysql-5.7");
    let temp = directory();
    let here = temp.path();
    fs::write(here.join("plan.toml"), PLAN).unwrap();
    // One of its two repeats is there when the second machine dies.
    let mut killed = shard(here, 2).spawn();
    killed.until_stored(&here.join("2.db"), "SELECT 1 FROM repeat WHERE id = 2");
    merge(here, &["2.db"]).run().exits(4).says(&["2.db is being executed"]);
    killed.signal(Signal::KILL);
    drop(killed);
    for number in [1, 3] {
        let words = format!("shard {number}/3 is complete; `mydyno merge`");
        let document = shard(here, number).run().exits(0).says(&[&words]).json();
        assert_eq!(text(&document, "/status"), "interrupted");
        assert_eq!(document["left"], 0);
    }
    shard(here, 1).run().exits(0).says(&["nothing is left to do", "shard 1/3"]);
    let merged = merge(here, &["1.db", "2.db", "3.db"]).run().exits(0).json();
    assert_eq!(text(&merged, "/labs/0/reason"), "1 repeat is missing");
    // It goes on, and only what is new is added.
    shard(here, 2).run().exits(0).says(&["goes on: 1 of 2 repeats"]);
    let merged = merge(here, &["3.db", "2.db"]).run().exits(0).json();
    assert_eq!(text(&merged, "/labs/0/status"), "done");
    assert_eq!(number(&merged, "/files/1/repeats_added"), 1);
    let all = here.join("all.db");
    let bytes = fs::read(&all).unwrap();
    let again = merge(here, &["1.db", "2.db", "3.db"]).run().exits(0).json();
    assert_eq!(again["changed"], false);
    assert_eq!(fs::read(&all).unwrap(), bytes);

    let measured = turns(&all);
    let places: Vec<[&str; 2]> = measured.iter().map(|row| [&*row[0], &*row[1]]).collect();
    assert_eq!(places, [["1", "1"], ["2", "1"], ["1", "2"], ["2", "2"], ["1", "3"], ["2", "3"]]);
    let of_shards = [1, 2, 3].map(|number| turns(&here.join(format!("{number}.db"))));
    assert_eq!(measured, of_shards.concat());
    // The lab is whole for `lab run`, too, and has a report.
    let whole = ["lab", "run", "plan.toml", "--json", "--results", "all.db"];
    let whole = mydyno(whole).in_directory(here).run().exits(0).says(&["nothing is left to do"]);
    let document = whole.json();
    assert_eq!(list(&document, "/blocks").len(), 4);
    assert_eq!(list(&document, "/machines").len(), 1);
    assert_eq!(list(&document, "/cells/0/repeats").len(), 3);
    assert!(document["comparisons"].is_array());
    assert!(fs::read_to_string(here.join("report.html")).unwrap().contains("shards"));

    // Bad input leaves everything as it is.
    let refused = |files: &[&str], code: i32, words: &[&str]| {
        merge(here, files).run().exits(code).says(words);
    };
    let kept = fs::read(&all).unwrap();
    refused(&["all.db"], 2, &["all.db is the output"]);
    refused(&["1.db", "1.db"], 2, &["are one file"]);
    refused(&["nothing.db"], 2, &["no results file"]);
    refused(&["plan.toml"], 4, &["is not a results file"]);
    assert_eq!(fs::read(&all).unwrap(), kept);
    let many = ["lab", "run", "plan.toml", "--shard", "4/4", "--results", "4.db"];
    let many = mydyno(many).in_directory(here).run();
    many.exits(2).says(&["nothing to measure", "`repeats` to 4"]);
    assert!(!here.join("4.db").exists());
}
