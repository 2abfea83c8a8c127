//! Plans: what they come to, and that a wrong one is refused with its place before anything starts.

use crate::support::{
    Ran, assert_described, directory, float, install, list, mydyno, number, servers_under, shim,
    text,
};
use serde_json::Value;
use std::fs;
use std::path::Path;

const ENGINE: &str = "mysql-5.7";
const PLAN: &str = "\
[lab]
name = \"two-devices\"
repeats = 2

[server]
engine = \"mysql-5.7\"
set = { innodb_io_capacity = [2000, 15000], innodb_buffer_pool_size = \"64M\" }

[storage]
data = [\"hdd-15k\", \"nvme-pm1725\"]
redo = \"twin\"

[load]
warehouses = 1
connections = [8, 32]
";

fn plan(work: &Path, content: &str) -> Ran {
    shim();
    install(ENGINE);
    fs::write(work.join("my.toml"), content).unwrap();
    mydyno(["lab", "plan", "my.toml", "--json"]).in_directory(work).run()
}

#[test]
fn a_plan_is_told_cell_by_cell() {
    let work = directory();
    let document = plan(work.path(), PLAN).exits(0).json();
    assert_described(&document);
    assert_eq!(number(&document, "/schema_version"), 1);
    let cells = list(&document, "/cells");
    assert_eq!(cells.len(), 8);
    let last = &cells[7];
    assert_eq!(text(last, "/set/0/value"), "15000");
    assert_eq!(text(last, "/places/1/place"), "nvme-pm1725");
    assert_eq!(text(last, "/places/1/role"), "redo");
    assert_eq!(text(last, "/varying/2/name"), "connections");
    let turns = list(&document, "/turns");
    assert_eq!(turns.len(), 16);
    for repeat in [1, 2] {
        let of_it = turns.iter().filter(|turn| number(turn, "/repeat") == repeat);
        let mut ordinals: Vec<_> = of_it.map(|turn| number(turn, "/ordinal")).collect();
        ordinals.sort_unstable();
        assert!(ordinals.into_iter().eq(1..=8));
    }
    // 16 measurements of 70 s and more.
    assert!(float(&document, "/duration_s") > 1_120.0);
    assert!(number(&document, "/memory_bytes") > 1 << 30);

    let running = mydyno(["lab", "plan", "my.toml"]).in_directory(work.path()).spawn();
    let owner = running.pid();
    let words = running.wait().exits(0);
    assert!(words.stdout.starts_with("two-devices: 8 cells, 2 repeats, in randomised blocks"));
    // Not even one image is kept beside another.
    let many = PLAN.replacen("warehouses = 1", "warehouses = [1, 2]", 1);
    fs::write(work.path().join("many.toml"), many).unwrap();
    mydyno(["lab", "plan", "many.toml"])
        .env("MYDYNO_IMAGES_MAX", "100M")
        .in_directory(work.path())
        .run()
        .exits(0)
        .stdout
        .lines()
        .find(|line| line.contains("set MYDYNO_IMAGES_MAX="))
        .unwrap();
    let lines = words.stdout.lines();
    let measurements =
        lines.filter(|line| line.contains("hdd-15k") || line.contains("nvme-pm1725"));
    assert_eq!(measurements.count(), 16);
    assert!(words.stdout.contains("64M"));
    assert!(servers_under(owner).is_empty());
    assert!(!work.path().join("mydyno.db").exists());
}

#[test]
fn automatic_times_are_told_and_guessed() {
    let work = directory();
    let content = PLAN.replace(
        "connections = [8, 32]",
        "connections = [8, 32]\nwarmup = \"auto\"\nwindow = \"auto:10m\"\nprecision = \"1%\"",
    );
    let document = plan(work.path(), &content).exits(0).json();
    assert_described(&document);
    let cell = &list(&document, "/cells")[0];
    assert_eq!((&cell["warmup_auto"], &cell["window_auto"]), (&true.into(), &true.into()));
    assert_eq!(float(cell, "/warmup_s"), 1_800.0);
    assert_eq!(float(cell, "/precision_share"), 0.01);
    // Of 16 measurements 5 min each.
    let minutes = float(&document, "/duration_s") / 60.0;
    assert!((160.0..180.0).contains(&minutes), "{minutes}");
    let notes = list(&document, "/notes");
    let is_told = |note: &serde_json::Value| note.as_str().unwrap().contains("counts as 5 min");
    assert_eq!(notes.iter().filter(|note| is_told(note)).count(), 1);
    let words = mydyno(["lab", "plan", "my.toml"]).in_directory(work.path());
    let words = words.run().exits(0).stdout;
    for line in ["auto, 30m at most", "auto, 10m at most", "1 %"] {
        assert!(words.contains(line), "{words}");
    }
}

#[test]
fn what_a_server_or_this_machine_cannot_have_is_refused_with_its_place() {
    let work = directory();
    let real = work.path().join("real");
    fs::create_dir(&real).unwrap();
    let doublewrite = format!("doublewrite = \"{}\"\n[load]", real.display());
    for (right, replacement, place, words) in [
        ("[storage]", "[storrage]", "my.toml:9:2: ", "`storage`"),
        ("\"hdd-15k\"", "\"hdd-51k\"", "my.toml:10:9: ", "hdd-15k"),
        ("\"hdd-15k\"", "\"/nonexistent/disk\"", "my.toml:10:9: ", "no directory"),
        ("[load]", doublewrite.as_str(), "my.toml:13:15: ", "system tablespace"),
        ("\"64M\"", "\"900000G\"", "my.toml:7:71: ", "memory"),
        ("= 1\n", "= 1000000\n", "my.toml:10:9: ", "hdd-15k has 572204 MiB for them"),
        (
            "warehouses = 1\n",
            "warehouses = 1\npartitions = [0, 8]\n",
            "my.toml:15:18: ",
            "have no foreign keys",
        ),
        (
            "innodb_io_capacity = [2000, 15000]",
            "innodb_page_size = \"1G\"",
            "my.toml:7:28: ",
            "4K, 8K",
        ),
        ("repeats = 2", "time_limit = 60", "my.toml:3:14: ", "time limit"),
    ] {
        assert!(PLAN.contains(right));
        let ran = plan(work.path(), &PLAN.replacen(right, replacement, 1)).exits(3);
        let ran = ran.finds_nothing();
        assert!(ran.stderr.starts_with(&format!("mydyno: {place}")), "{}", ran.stderr);
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
    mydyno(["lab", "plan", "nowhere.toml"])
        .in_directory(work.path())
        .run()
        .exits(4)
        .says(&["cannot read the plan nowhere.toml"]);
}

#[test]
fn presets_are_translated_for_each_engine() {
    let work = directory();
    install("mysql-8.0");
    let content = PLAN
        .replace("\"mysql-5.7\"", "[\"mysql-5.7\", \"mysql-8.0\"]\npreset = \"config-3\"")
        .replace(", innodb_buffer_pool_size = \"64M\"", "");
    let document = plan(work.path(), &content).exits(0).json();
    assert_described(&document);
    // Two engines, each with two values of a variable of the preset.
    let presets = list(&document, "/presets");
    assert_eq!(presets.len(), 4);
    let fate = |preset: usize, name: &str| {
        let variables = list(&presets[preset], "/variables");
        let found = variables.iter().find(|one| one["variable"] == name).unwrap();
        text(found, "/fate").to_owned()
    };
    assert_eq!(text(&presets[3], "/engine"), "mysql-8.0");
    assert_eq!(fate(0, "innodb_buffer_pool_size"), "scaled");
    assert_eq!(fate(0, "innodb_io_capacity"), "overridden");
    assert_eq!(fate(0, "query_cache_size"), "kept");
    assert_eq!(fate(3, "query_cache_size"), "unknown");
    // A pool of 12 MB and a clone of 120 MB and redo.
    assert!(number(&document, "/memory_bytes") < 3 << 30);
}

#[test]
fn the_laptop_plans_take_the_time_that_they_say() {
    shim();
    install(ENGINE);
    let plans = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let mut found = 0;
    for entry in fs::read_dir(&plans).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_str().unwrap().ends_with("-small.toml") {
            continue;
        }
        found += 1;
        let document = mydyno(["lab", "plan", "--json"]).and_args([&path]).run().exits(0).json();
        let minutes = float(&document, "/duration_s") / 60.0;
        assert!(minutes < 60.0, "{path:?}");
        let said = fs::read_to_string(&path).unwrap();
        // Of ramps the most.
        let mut words = ["about ", "at most "].into_iter();
        let said = words.find_map(|word| said.split(word).nth(1)).unwrap();
        let said: f64 = said.split(' ').next().unwrap().parse().unwrap();
        assert!((minutes - said).abs() < 4.0, "{path:?}: {minutes:.0}");
    }
    assert!(found >= 5, "{found} plans for a laptop");
}

#[test]
fn an_engine_that_is_not_installed_is_a_note() {
    let work = directory();
    fs::write(work.path().join("my.toml"), PLAN).unwrap();
    let document = mydyno(["lab", "plan", "my.toml", "--json"])
        .env("MYDYNO_HOME", work.path().join("home"))
        .env("PATH", "/nonexistent")
        .in_directory(work.path())
        .run()
        .exits(0)
        .json();
    let notes = list(&document, "/notes");
    let told = "mydyno server install mysql-5.7";
    assert!(notes[0].as_str().unwrap().contains(told), "{notes:?}");
    let images = list(&document, "/images");
    assert_eq!(images.len(), 1);
    assert_eq!(number(&images[0], "/page_size_bytes"), 16_384);
}

/// A lab over what acts when data are made has data that are made with each value.
#[test]
fn what_data_are_made_with_has_images_of_its_own() {
    let work = directory();
    let made = "innodb_fill_factor = [100, 50], lower_case_table_names = 0,";
    let options = "table_options = ['ROW_FORMAT=DEFAULT', 'KEY_BLOCK_SIZE=8']\nwarehouses";
    let content = PLAN.replace("set = {", &format!("set = {{ {made}"));
    let document = plan(work.path(), &content.replace("warehouses", options)).exits(0).json();
    assert_described(&document);
    let images = list(&document, "/images").iter();
    let of = |image: &Value| format!("{} {}", image["table_options"], image["settings"]);
    let found: Vec<String> = images.map(of).collect();
    let expected = [
        r#""ROW_FORMAT=DEFAULT" []"#,
        r#""KEY_BLOCK_SIZE=8" []"#,
        r#""ROW_FORMAT=DEFAULT" [["innodb_fill_factor","50"]]"#,
        r#""KEY_BLOCK_SIZE=8" [["innodb_fill_factor","50"]]"#,
    ];
    assert!(expected.iter().all(|one| found.contains(&(*one).to_owned())), "{found:?}");
    assert_eq!(found.len(), expected.len());
    let myisam = PLAN.replace("warehouses", "table_options = 'engine = MyISAM'\nwarehouses");
    plan(work.path(), &myisam).exits(3).says(&["table_options", "no transactions"]);
}
