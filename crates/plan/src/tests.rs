//! Whole plans: those that are shipped, wrong ones with the place that is told, and properties of
//! the expansion.

mod external;
mod fuzz;
mod lengths;
mod ramps;

use crate::schema::tests::violations;
use crate::*;
use base::{Dilation, Exit, Warehouses};
use device::Role;
use proptest::prelude::*;
use spec::{Connections, Dilate, Lengths, PopulationSpec, Scale, Style, WorkloadKind};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

pub(crate) const PLAN: &str = "\
[lab]
name = 'x'

[server]
engine = ['mysql-5.7', 'mysql-8.0']
preset = 'config-3'
set = { innodb_io_capacity = [200, 2000], innodb_doublewrite = false }

[storage]
data = ['hdd-15k', 'nvme-pm1725']
redo = 'twin'

[load]
warehouses = 10
connections = [8, 16, 32]
";
pub(crate) const CELLS: usize = 24;

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

pub(crate) fn known() -> KnownNames<'static> {
    KnownNames {
        engines: names(&["mysql-5.7", "mysql-8.0", "mariadb-10.11", "xtradb-5.6"]),
        presets: names(&["default", "config-1", "config-2", "config-3", "config-a"]),
        place: &|text| storage::parse_place(text).map_err(|error| error.to_string()),
    }
}

pub(crate) fn cells(text: &str) -> Result<Vec<PlannedCell>, PlanError> {
    Plan::parse(text, "p.toml")?.cells(&known())
}

/// The error of a plan, with the text that its place is at.
pub(crate) fn wrong(text: &str) -> (PlanError, String) {
    let error = cells(text).expect_err(text);
    assert_eq!(error.exit(), Exit::PlanInvalid);
    let line = text.lines().nth(error.line - 1).unwrap_or_default();
    let rest = line.chars().skip(error.column - 1).collect();
    (error, rest)
}

#[test]
fn a_plan_comes_to_the_cells_of_its_matrix() {
    let all = cells(PLAN).unwrap();
    assert_eq!(all.len(), CELLS);
    let first = &all[0];
    assert_eq!(
        first.label(),
        "engine=mysql-5.7 set.innodb_io_capacity=200 data=hdd-15k connections=8"
    );
    // The last dimension changes fastest.
    assert_eq!(all[1].what.load.connections, Connections::Fixed(16));
    assert_eq!((all[12].private().engine.as_str(), all[12].ordinal), ("mysql-8.0", 13));
    assert_eq!(
        first.private().set,
        [("innodb_io_capacity", "200"), ("innodb_doublewrite", "OFF")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    let places = &all[3].private().placement.places;
    assert_eq!(places[&Role::Data].device_name(), "nvme-pm1725");
    assert_eq!(places[&Role::Redo], places[&Role::Data]);
    let preset = first.private().preset.as_ref().unwrap();
    assert_eq!((preset.name.as_str(), preset.scale), ("config-3", Scale::Auto));
    assert_eq!(first.what.load.workload, WorkloadKind::Tpcc);
    assert_eq!(first.what.load.style, Style::Statements);
    assert_eq!(first.private().population.warehouses, Warehouses(10));
    assert_eq!(first.what.lengths, Lengths::default());
    assert_eq!((first.repeats, first.what.load.seed), (3, 1));
    // 70 s to measure, 10 minutes, and 10 s for each of 10 warehouses.
    assert_eq!(first.repeat_time_limit.as_secs(), 70 + 600 + 100);
}

#[test]
fn a_cells_key_is_of_what_was_measured_alone() {
    let all = cells(PLAN).unwrap();
    let again = PLAN
        .replace("name = 'x'", "name = 'y'\nrepeats = 7\norder = 'listed'")
        .replace("[8, 16, 32]", "[32, 8]")
        .replace("redo = 'twin'", "redo = 'twin'\nundo = 'same'");
    let again = cells(&again).unwrap();
    assert_eq!(again[1].what.identity(), all[0].what.identity());
    assert_eq!(again[1].what.key(), all[0].what.key());
    assert_eq!(all[0].what.key().len(), 16);
    // Cells that differ in their load only have the same server.
    assert_eq!(all[0].private().identity(), all[1].private().identity());
    assert_ne!(all[0].private().identity(), all[3].private().identity());
    for changed in [
        PLAN.replace("name = 'x'", "name = 'x'\nseed = 2"),
        PLAN.replace("= 'twin'", "= 'same'"),
        PLAN.replace("warehouses = 10", "warehouses = 10\nwindow = '61s'"),
        PLAN.replace("'config-3'", "'config-3'\nscale = 'papers'"),
        PLAN.replace("innodb_doublewrite = false", "innodb_doublewrite = true"),
        PLAN.replace("redo =", "page_cache = '1G'\nredo ="),
    ] {
        assert_ne!(cells(&changed).unwrap()[0].what.key(), all[0].what.key(), "{changed}");
    }
}

#[test]
fn settings_may_be_changed_one_at_a_time() {
    let text = |most: u32| {
        PLAN.replace("name = 'x'", &format!("name = 'x'\nchanges_max = {most}"))
            .replace("'config-3'", "['config-1', 'config-3']")
            .replace("= false", "= [false, true]")
            .replace("redo = 'twin'", "redo = ['twin', 'nvme-pcie4']")
    };
    // 2 engines, 2 devices and 3 counts of connections, with 4 settings of two values.
    let crossed = 12;
    for (most, expected) in [(1, 1 + 4), (2, 1 + 4 + 6), (3, 15)] {
        assert_eq!(cells(&text(most)).unwrap().len(), crossed * expected, "{most}");
    }
    let (error, at) = wrong(&text(1).replace("changes_max = 1", "changes_max = 0"));
    assert!(at.starts_with('0'), "{error} {at}");
    let (error, at) = wrong(&PLAN.replace("name = 'x'", "name = 'x'\nchanges_max = 2"));
    assert!(at.starts_with('2') && error.why.contains("leaves nothing out"), "{error} {at}");
}

#[test]
fn what_is_excluded_is_left_out() {
    let text = format!(
        "{PLAN}\n[[exclude]]\ndata = 'hdd-15k'\nconnections = [16, 32]\n[[exclude]]\nengine = \
         'mysql-8.0'\nset.innodb_io_capacity = 200"
    );
    let all = cells(&text).unwrap();
    // 2 engines x 2 settings x 2 values on the disk, and of 16 left the 4 of the second.
    assert_eq!(all.len(), CELLS - 8 - 4);
    let is_wrong = |cell: &PlannedCell| {
        cell.private().placement.places[&Role::Data].device_name() == "hdd-15k"
            && cell.what.load.connections.first() > Some(8)
    };
    assert!(!all.iter().any(is_wrong));
    assert!(all.iter().enumerate().all(|(index, cell)| cell.ordinal as usize == index + 1));
}

#[test]
fn a_dilated_repeat_has_to_fit_into_its_limit() {
    let limited = PLAN.replace("name = 'x'", "name = 'x'\nrepeat_time_limit = '5m'");
    assert!(cells(&limited).is_ok());
    let dilated = limited.replace("'config-3'", "'config-3'\ndilate = [2, 8]");
    let (error, at) = wrong(&dilated);
    assert!(at.starts_with("8]"), "{at}");
    assert!(error.to_string().contains("takes 9m 20s of real time"), "{error}");
    // One that lives faster takes less; how fast an automatic one does is not known before.
    let within = |limit: &str, dilate: &str| {
        let limited = limited.replace("'5m'", &format!("'{limit}'"));
        cells(&limited.replace("'config-3'", &format!("'config-3'\ndilate = {dilate}")))
    };
    let faster = within("10s", "'1/8'").unwrap();
    assert_eq!(faster[0].private().dilate, Dilate::By(Dilation::new(0.125).unwrap()));
    assert!(within("8s", "0.125").unwrap_err().to_string().contains("may take 8s 750ms"));
    assert!(within("3s", "'auto'").is_ok());
    assert!(within("2s", "'auto'").is_err());
    // An automatic one is kept below it.
    let auto = limited.replace("'config-3'", "'config-3'\ndilate = 'auto'");
    assert_eq!(cells(&auto).unwrap()[0].private().dilate.fixed(), None);
    // Where nothing limits it, it has as many times as long.
    let free = cells(&PLAN.replace("'config-3'", "'config-3'\ndilate = 8")).unwrap();
    assert_eq!(free[0].repeat_time_limit.as_secs(), 8 * 70 + 600 + 100);
    let fast = cells(&PLAN.replace("'config-3'", "'config-3'\ndilate = [0.5, 'auto']")).unwrap();
    assert_eq!(fast[0].repeat_time_limit.as_secs(), 35 + 600 + 100);
    let sizes = Sizes { pool_bytes: 1 << 30, redo_bytes: 1 << 30 };
    let of = |cell| (CellNeeds::of(cell, sizes, Files::Home).duration, cell.what.estimate_word());
    let plain = cells(PLAN).unwrap();
    let [half, real] = [&fast[0], &plain[0]].map(of);
    assert_eq!((real.0 - half.0, half.1, real.1), (Duration::from_secs(35), "about", "about"));
    assert!(fast.iter().any(|cell| of(cell).1.contains("K of `dilate` is not known before")));
    let real = PLAN.replace("'twin'", "'/tmp'").replace("'config-3'", "'config-3'\ndilate = 8");
    assert!(wrong(&real).0.to_string().contains("real devices"));
}

/// Changes of the plan above, the text that the error's place is at, and words of the error.
const WRONG: &[(&str, &str, &str, &[&str])] = &[
    ("[lab]", "[lab", "", &["this is not TOML"]),
    ("name = 'x'", "nmae = 'x'", "nmae", &["unknown key `nmae` in [lab]", "nearest is `name`"]),
    ("[storage]", "[storge]", "storge]", &["unknown key `storge`", "`storage`"]),
    ("name = 'x'", "", "lab]", &["[lab] lacks `name`"]),
    ("name = 'x'", "name = ''", "''", &["`name` is", "it is empty"]),
    ("name = 'x'", "name = 'x'\nrepeats = 0", "0", &["`repeats` is 0", "from 1 to 1000"]),
    ("name = 'x'", "name = 'x'\nrepeats = [1, 2]", "[1, 2]", &["no dimension"]),
    ("name = 'x'", "name = 'x'\norder = 'reverse'", "'reverse'", &["random, listed"]),
    ("name = 'x'", "name = 'x'\nseed = -1", "-1", &["`seed` is -1"]),
    ("name = 'x'", "name = 'x'\nrepeat_time_limit = '1m'", "'1m'", &["before its end"]),
    ("'mysql-8.0'", "'mysql-8.O'", "'mysql-8.O'", &["unknown engine", "nearest is `mysql-8.0`"]),
    ("'config-3'", "'config3'", "'config3'", &["unknown preset", "`config-3`"]),
    ("'config-3'", "7", "7", &["`preset` is 7", "a text"]),
    ("'config-3'", "'config-3'\ndilate = 0.03", "0.03", &["`dilate` is 0.03", "from 1/32 to 100"]),
    ("'config-3'", "'config-3'\ndilate = 'much'", "'much'", &["\"auto\" or a number"]),
    ("'config-3'", "'config-3'\ndilate_max = 4", "4", &["bounds `dilate = \"auto\"`"]),
    ("[200, 2000]", "[]", "[]", &["empty list", "no cell"]),
    ("[200, 2000]", "[200, '200']", "'200'", &["this value twice"]),
    ("[200, 2000]", "[200, [1]]", "[1]", &["a list in a list"]),
    ("innodb_doublewrite", "port", "port", &["port", "leave it out"]),
    ("innodb_doublewrite", "innodb-io-capacity", "innodb-io-capacity", &["set twice"]),
    ("set = {", "set = 7 # {", "7 #", &["`set` is 7", "a table"]),
    ("'hdd-15k'", "'hdd-51k'", "'hdd-51k'", &["unknown device", "hdd-15k"]),
    ("'hdd-15k', ", "'hdd-15k', 'hdd-15k', ", "'hdd-15k', 'nvme", &["twice"]),
    ("'hdd-15k'", "'twin'", "'twin'", &["`data` cannot be"]),
    ("'hdd-15k', ", "'/tmp', ", "'twin'", &["twin of /tmp", "real device"]),
    ("data = [", "undo = [", "'twin'", &["`data` has no device"]),
    ("'twin'", "['twin', 'hdd-15k']", "'hdd-15k']", &["same measurement"]),
    ("redo = 'twin'", "count_io = 'yes'", "'yes'", &["true or false"]),
    ("redo = 'twin'", "page_cache = '65G'", "'65G'", &["up to 64G"]),
    ("data = [", "page_cache = 1\nbinlog = '/tmp' #", "1", &["emulated devices"]),
    ("warehouses = 10", "warehouses = '10'", "'10'", &["a whole number"]),
    ("warehouses = 10", "partitions = [0, 8]", "8]", &["error 1506", "foreign keys"]),
    ("warehouses = 10", "foreign_keys = false\npartitions = 9999", "9999", &["from 0 to 1024"]),
    ("warehouses = 10", "workload = 'tpc'", "'tpc'", &["`workload` is", "`tpcc`"]),
    ("warehouses = 10", "style = 'batch'", "'batch'", &["`style` is", "batched"]),
    ("warehouses = 10", "workload = 'tpcc-mysql'\nstyle = 'batched'", "'batched'", &["tpcc-mysql"]),
    ("warehouses = 10", "window = 0", "0", &["`window` is 0"]),
    ("warehouses = 10", "interval = '2m'", "'2m'", &["longer than the window"]),
    ("connections = [8, 16, 32]", "", "load]", &["[load] lacks `connections`"]),
    ("[8, 16, 32]", "[8, 16, 3.5]", "3.5", &["`connections` is 3.5"]),
    ("[8, 16, 32]", "[8, 1_000_000]", "1_000_000", &["100000"]),
];
#[test]
fn wrong_plans_are_refused_with_their_place() {
    for (right, replacement, at, words) in WRONG {
        assert!(PLAN.contains(right), "{right}");
        let mut text = PLAN.replacen(right, replacement, 1);
        if replacement.contains("page_cache = 1\n") {
            text = text.replace("redo = 'twin'", "");
        }
        let (error, rest) = wrong(&text);
        assert!(rest.starts_with(at), "{replacement:?}: {error} at {rest:?}");
        for word in *words {
            assert!(error.to_string().contains(word), "{replacement:?}: {error}");
        }
    }
}

#[test]
fn exclusions_that_say_nothing_are_refused() {
    let with = |exclusion: &str| wrong(&format!("{PLAN}\n[[exclude]]\n{exclusion}"));
    let (error, at) = with("connections = 9");
    assert!(error.why.contains("no cell has connections"), "{error}");
    assert_eq!(at, "9");
    let (error, _) = with("style = 'batched'");
    assert!(error.why.contains("known are statements"), "{error}");
    let (error, _) = with("");
    assert!(error.why.contains("names nothing"), "{error}");
    let (error, _) = with("window = '1s'");
    assert!(error.why.contains("unknown key `window` in [[exclude]]"), "{error}");
    let (error, _) = with("engine = ['mysql-5.7', 'mysql-8.0']");
    assert!(error.why.contains("the matrix is empty"), "{error}");
    let (error, _) = wrong(&format!("exclude = 7\n{PLAN}"));
    assert!(error.why.contains("[[exclude]]"), "{error}");
}

#[test]
fn a_plan_needs_its_tables() {
    for missing in ["[lab]", "[server]", "[load]"] {
        let tables = PLAN.split("\n\n").filter(|t| !t.starts_with(missing));
        let text = tables.collect::<Vec<_>>().join("\n\n");
        let (error, _) = wrong(&text);
        assert_eq!((error.line, error.column), (1, 1));
        assert!(error.why.contains(&format!("no {missing}")), "{error}");
    }
    let (error, at) = wrong(&PLAN.replace("[load]", "[[load]]"));
    assert!(error.why.contains("`load` is no table"), "{error}");
    assert!(at.starts_with("[[load]]") || at.starts_with("load]]"), "{at}");
}

#[test]
fn a_matrix_has_a_limit() {
    let many: Vec<String> = (1..=800).map(|count| count.to_string()).collect();
    let text = PLAN.replace("8, 16, 32", &many.join(", "));
    assert_eq!(cells(&text).unwrap().len(), 6_400);
    let text = text.replace("warehouses = 10", "warehouses = [10, 20]");
    let (error, at) = wrong(&text);
    assert!(error.why.contains("12800 cells"), "{error}");
    assert!(error.why.contains("`connections`") && at.starts_with("1, 2"), "{error}");
    let many: Vec<String> = (1..=10_001).map(|count| count.to_string()).collect();
    let (error, _) = wrong(&PLAN.replace("8, 16, 32", &many.join(", ")));
    assert!(error.why.contains("10001 values"), "{error}");
    let (error, _) = wrong(&format!("# {}\n{PLAN}", "x".repeat(PLAN_BYTES_MAX)));
    assert!(error.why.contains("1 MiB"), "{error}");
}

#[test]
fn what_there_is_not_is_refused() {
    let text = PLAN.replace("name = 'x'", "name = 'x'\ntime_limit = '4h'");
    let plan = Plan::parse(&text, "p.toml").unwrap();
    let sizes = Sizes { pool_bytes: 2 << 30, redo_bytes: 1 << 30 };
    let needed = |files: Files| -> Vec<(PlannedCell, CellNeeds)> {
        let cells = plan.cells(&known()).unwrap().into_iter();
        cells
            .map(|cell| {
                let needs = CellNeeds::of(&cell, sizes, files);
                (cell, needs)
            })
            .collect()
    };
    let image = MissingImage {
        engine: "mysql-5.7".to_owned(),
        population: PopulationSpec::default(),
        page_size_bytes: 16384,
        settings: Vec::new(),
    };
    let images = [image];
    let host = |disk: u64, memory: u64| Host {
        disk_free_bytes: Some(disk << 30),
        memory_available_bytes: Some(memory << 30),
        images_max_bytes: 64 << 30,
    };
    let needs_of = |plan: &Plan, files, host| {
        let cells = needed(files);
        // Three repeats.
        let repeats: Vec<_> = cells.iter().chain(&cells).chain(&cells).collect();
        plan.needs(&repeats, &images, &host)
    };
    let of = |files, host| needs_of(&plan, files, host);
    let needs = of(Files::Memory, host(3, 7)).unwrap();
    // 24 cells, 3 repeats of some 95 s.
    assert!((6_000..7_500).contains(&needs.duration.as_secs()), "{needs:?}");
    assert!(needs.memory_bytes > 4 << 30 && needs.disk_bytes < 4 << 30);
    let error = of(Files::Memory, host(3, 5)).unwrap_err();
    assert!(error.why.contains("memory") && error.why.contains("cell 1 "), "{error}");
    assert_eq!((error.line, error.column), (15, 14));
    let needs = of(Files::Home, host(7, 4)).unwrap();
    assert!(needs.memory_bytes < 4 << 30 && needs.disk_bytes > 3 << 30);
    let error = of(Files::Home, host(3, 4)).unwrap_err();
    assert!(error.why.contains("of disk"), "{error}");
    assert!(of(Files::Elsewhere, host(3, 4)).is_ok());
    // Images that are not kept at a time need no room at a time.
    let most = |images_max_bytes| {
        let host = Host { images_max_bytes, ..host(99, 99) };
        let images = vec![images[0].clone(); 30];
        plan.needs(&[], &images, &host).unwrap().disk_bytes
    };
    assert!(most(u64::MAX) > 25 << 30 && most(4 << 30) < 9 << 30);
    // What is done already needs nothing any more.
    let none = plan.needs(&[], &[], &host(0, 0)).unwrap();
    assert_eq!((none.disk_bytes, none.duration), (0, Duration::ZERO));

    let text = text.replace("'4h'", "'30m'");
    let plan = Plan::parse(&text, "p.toml").unwrap();
    assert_eq!(plan.time_limit(), Some(Duration::from_secs(1_800)));
    let error = needs_of(&plan, Files::Memory, host(9, 9)).unwrap_err();
    assert_eq!((error.line, error.column), (3, 14));
    assert!(error.why.contains("72 repeats"), "{error}");
}

#[test]
fn the_shipped_plans_are_sound() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = root.join("plans");
    // Files are named from the source directory, in which such a plan is run.
    let place = |text: &str| {
        let is_file = text.ends_with(".toml");
        let at = if is_file { root.join(text) } else { text.into() };
        storage::parse_place(at.to_str().unwrap()).map_err(|error| error.to_string())
    };
    let known = KnownNames { place: &place, ..known() };
    let mut seen = BTreeSet::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if stem.contains('.') {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let plan = Plan::parse(&text, path.to_str().unwrap()).unwrap_or_else(|e| panic!("{e}"));
        let cells = plan.cells(&known).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(plan.name(), stem);
        let repeats = plan.schedule().repeats;
        let told = match repeats {
            1 => "one repeat".to_owned(),
            _ => format!("{repeats} repeats"),
        };
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        let head = head.join(" ");
        assert!(head.contains(&format!("{} cells", cells.len())), "{stem}: {}", cells.len());
        assert!(head.contains(&told), "{stem}");
        let value = serde_json::to_value(toml::from_str::<toml::Value>(&text).unwrap()).unwrap();
        let violated = violations(&json_schema(), &value, &stem);
        assert!(violated.is_empty(), "{violated:?}");
        seen.insert(stem);
    }
    for number in ["1-", "2-", "3-", "4-", "5-", "7-", "8-", "9-"] {
        let is_of_it = |name: &&String| name.starts_with(number) && !name.ends_with("-dilated");
        let of_it: Vec<&String> = seen.iter().filter(is_of_it).collect();
        assert_eq!(of_it.len(), 2, "{of_it:?}");
        assert_eq!(format!("{}-small", of_it[1].trim_end_matches("-small")), *of_it[1]);
    }
    assert!(seen.contains("device-by-connections-small"));
}

#[test]
fn listed_order_is_that_of_the_matrix() {
    let schedule = TurnSchedule { order: Order::Listed, repeats: 2, seed: 1 };
    let turns = execution_order(3, schedule);
    let indices: Vec<usize> = turns.iter().map(|turn| turn.index).collect();
    assert_eq!(indices, [0, 1, 2, 0, 1, 2]);
}

/// So many distinct numbers as a TOML list.
fn list(count: usize) -> String {
    let all: Vec<String> = (1..=count).map(|n| n.to_string()).collect();
    format!("[{}]", all.join(", "))
}

proptest! {
    #[test]
    fn a_matrix_is_the_product_of_its_dimensions(
        a in 1..5_usize, b in 1..4_usize, c in 1..5_usize, d in 1..5_usize,
    ) {
        let text = format!(
            "lab.name = 'x'\nserver.engine = 'mysql-5.7'\nserver.set = {{ a = {}, b = {} \
             }}\nload.warehouses = {}\nload.connections = {}",
            list(a), list(b), list(c), list(d)
        );
        let all = cells(&text).unwrap();
        prop_assert_eq!(all.len(), a * b * c * d);
        let keys: BTreeSet<String> = all.iter().map(|cell| cell.what.key()).collect();
        prop_assert_eq!(keys.len(), all.len());
        let varying = [a, b, c, d].iter().filter(|count| **count > 1).count();
        prop_assert!(all.iter().all(|cell| cell.varying.len() == varying));
    }

    #[test]
    fn each_block_has_every_cell_once(cells in 0..40_usize, repeats in 1..6_u32, seed: u64) {
        let schedule = TurnSchedule { order: Order::Random, repeats, seed };
        let turns = execution_order(cells, schedule);
        prop_assert_eq!(&turns, &execution_order(cells, schedule));
        prop_assert_eq!(turns.len(), cells * repeats as usize);
        if cells > 0 {
            for (number, block) in turns.chunks(cells).enumerate() {
                prop_assert!(block.iter().all(|turn| turn.repeat as usize == number + 1));
                let mut indices: Vec<usize> = block.iter().map(|turn| turn.index).collect();
                indices.sort_unstable();
                prop_assert!(indices.into_iter().eq(0..cells));
            }
        }
        // Blocks differ, and seeds do: forty cells have more orders than anybody can draw twice.
        if cells > 20 {
            let other = TurnSchedule { seed: seed ^ 1, ..schedule };
            prop_assert_ne!(&turns, &execution_order(cells, other));
            if repeats > 1 {
                let order = |block: &[Turn]| block.iter().map(|t| t.index).collect::<Vec<_>>();
                prop_assert_ne!(order(&turns[..cells]), order(&turns[cells..2 * cells]));
            }
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,60}", at in 0..300_usize, cut in 0..40_usize) {
        // Shapes of plans and worse; only the absence of panics counts, and that errors have a
        // place.
        let end = (at + cut).min(PLAN.len());
        let start = at.min(end);
        let broken = format!("{}{text}{}", &PLAN[..start], &PLAN[end..]);
        if let Err(error) = cells(&broken) {
            prop_assert!(error.line >= 1 && error.column >= 1 && !error.why.is_empty());
        }
    }
}
