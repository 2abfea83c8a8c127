//! A lab of many cells on one page: what varies, side by side, each number a link to its cell, and
//! NA with its reason.

use crate::common::browser::{console, open, open_at, page_of};
use crate::common::{ONE_CELL, Shape, new_lab};
use std::path::Path;
use store::{
    DeviceIo, NewCell, RequestIo, RequestKind, RoleIo, ShimFacts, ThroughputMetric, TimeTotals,
};
use testkit::{SECOND_NS, Scratch, place};

/// 16 cells, of which the second has no result.
const LAB: Shape = Shape {
    name: "lab",
    devices: &["hdd-15k", "nvme-pm1725"],
    connections: &[8, 32],
    capacities: &[("200", 0.5), ("2000", 1.0), ("15000", 0.99), ("30000", 0.6)],
    repeats: 3,
    warmup_s: 4,
    window_s: 12,
    failing_cell: Some(2),
    observed: true,
    ..ONE_CELL
};

/// Says on the page how much wider it is than its window, and how far below the window's top that
/// is which its address names.
const LOOK: &str = "<script>setTimeout(() => { const d = document.documentElement;
  const named = location.hash && document.getElementById(location.hash.slice(1));
  document.body.dataset.over = Math.max(0, d.scrollWidth - d.clientWidth);
  document.body.dataset.below = named ? Math.abs(Math.round(named.getBoundingClientRect().top)) : \
  0; }, 2000)</script>";

const CLOSE_AND_CLICK: &str = "<script>setTimeout(() => { const box = \
    document.querySelector('#cell-5 > details');
  document.body.dataset.wasOpen = box.open; box.open = false; \
  document.querySelector('a[href=\"#cell-5\"]').click(); }, 1000)</script>";

fn written(name: &str, html: &str) -> std::path::PathBuf {
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&page, format!("{html}{LOOK}")).unwrap();
    page
}

#[test]
fn what_varies_stands_side_by_side() {
    let (scratch, _, html) = page_of(&LAB, "lab");
    let has = |words: &str| assert!(html.contains(words), "{words}");
    for words in [
        // By connections.
        "<b>New-order maximum</b>, ms",
        "data-what=\"New-order maximum, ms\"",
        "data-what=\"Retries, per 1,000 committed\"",
        "<b>Retries by connections, per 1,000 committed</b>",
        "Retries are tries made again after a deadlock",
        // Comparisons: four groups of each device, eight of each connection count.
        "<h3>By data</h3>",
        "<h3>By innodb_io_capacity</h3>",
        "innodb_io_capacity=200, 8 connections",
        "hdd-15k, 32 connections",
        "baseline",
        "&lt; 0.001",
        "No value was shown to help in one group",
        "Where the time of a transaction differs, 16 cells",
        "<b>30000</b> against 200, ",
        // Each device by itself.
        "<h2>What each setting does</h2>",
        "<span class=\"tag bad\">worst</span>",
        // Sweeps.
        "more than 15000 hurts (30000: -",
        "\"x_text\":[\"200\",\"2000\",\"15000\",\"30000\"]",
        // Where the time goes.
        "<b>One transaction by what it waits for</b>",
        // Resources.
        "<b>CPU, user and system</b>, % of all cores",
        "<b>Reads of data</b>, 1/s",
        // The papers' ratio.
        "<th scope=\"row\">nvme-pm1725 : hdd-15k</th>",
        // Devices.
        "<th scope=\"row\">hdd-15k</th><td>",
        "8 connections</option>",
    ] {
        has(words);
    }
    // The answer comes first, then one picture of it.
    has("<h2>How does throughput depend on ");
    has("There is no result of ");
    let places = ["id=\"answer\"", "id=\"picture\"", "id=\"results\"", "id=\"cell-1\""];
    let places = places.map(|of| html.find(of).unwrap_or_else(|| panic!("{of} is missing")));
    assert!(places.is_sorted(), "{places:?}");
    // Each table that has NA says why, and leads to the cell.
    let footnote = "<p class=\"soft small na\">NA, <a class=\"to\" href=\"#cell-2\">cell 2</a>: \
        server_died: the server on";
    assert!(html.matches(footnote).count() >= 5, "{}", html.matches(footnote).count());
    assert!(html.contains("<a class=\"to\" href=\"#cell-2\">NA</a>"));
    in_a_browser(&html, scratch.path());
}

fn in_a_browser(html: &str, scratch: &Path) {
    // Six over connections, two of the variable, two over time, the spread of five types, and those
    // of the machine; cells are closed.
    let page = written("lab.html", html);
    let shown = open(&page, scratch);
    assert_eq!(console(&shown), Vec::<&str>::new());
    let drawn = shown.dom.split("data-ready=").nth(1).map(|rest| &rest[..4]);
    assert_eq!(drawn, Some("\"21\""), "{:?}", shown.log);
    assert!(shown.dom.contains("data-over=\"0\""), "wider than a screen");
    // What names no place on the page does no harm.
    let nowhere = format!("{}#1%", page.display());
    let narrow = open_at(Path::new(&nowhere), scratch, 500);
    assert_eq!(console(&narrow), Vec::<&str>::new());
    assert!(narrow.dom.contains("data-over=\"0\""), "wider than a phone");
    // A link to a cell opens it, and again where the address has it already.
    assert!(shown.dom.contains("id=\"cell-5\"><details><summary>"));
    let page = written("lab-linked.html", &format!("{html}{CLOSE_AND_CLICK}"));
    let linked = open(Path::new(&format!("{}#cell-5", page.display())), scratch);
    assert!(linked.dom.contains("data-was-open=\"true\""));
    assert_eq!(console(&linked), Vec::<&str>::new());
    let at = linked.dom.find("id=\"cell-5\"").unwrap();
    assert!(linked.dom[at..].starts_with("id=\"cell-5\"><details open"));
    assert!(linked.dom.contains("data-below=\"0\""), "not in view");
    let charts = linked.dom.matches("<canvas").count();
    assert_eq!(charts, 21 + 6, "six charts of the cell");
}

#[test]
fn cells_without_a_number_are_among_their_like() {
    let shape = Shape {
        name: "lacking",
        capacities: &[],
        repeats: 2,
        failing_cell: None,
        unstarted_cell: Some(2),
        cut_cell: Some(3),
        observed: false,
        ..LAB
    };
    let (scratch, _, html) = page_of(&shape, "lacking");
    // One row and one line for each device, in every table.
    let row = |words: &str| html.matches(&format!("<th scope=\"row\">{words}</th>")).count();
    assert_eq!((row("hdd-15k, tcp"), row("nvme-pm1725, tcp")), (0, 0));
    assert!(row("hdd-15k") >= 5 && row("nvme-pm1725") >= 5);
    assert_eq!(html.matches("\"name\":\"hdd-15k\",\"cells\"").count(), 1);
    assert!(html.contains("\"x\":[8.0,32.0],\"x_text\":[\"8\",\"32\"]"));
    // A window that was cut is no number of its cell, in a table as in a comparison.
    for words in [
        "cell 2</a>: server_did_not_start",
        "cell 3</a>: ended early: after 3 s of 12 s",
        "<span class=\"tag warn\">ended early 2 of 2</span>",
    ] {
        assert!(html.contains(words), "{words}");
    }
    let results = store::Results::open(&scratch.path().join("mydyno.db")).unwrap();
    let lab = results.labs().unwrap()[0].id;
    let outcome = analyse::lab_outcome(&results, lab).unwrap();
    let known: Vec<bool> = outcome.cells.iter().map(|cell| cell.nopm.mean.is_some()).collect();
    assert_eq!(known, [true, false, false, true]);
}

#[test]
fn a_cell_of_fewer_repeats_says_so() {
    let shape = Shape {
        name: "fewer",
        capacities: &[],
        repeats: 2,
        failing_cell: None,
        observed: false,
        ..LAB
    };
    let (scratch, _, _) = page_of(&shape, "fewer");
    let results = store::Results::open(&scratch.path().join("mydyno.db")).unwrap();
    let lab = results.labs().unwrap()[0].id;
    let cell = results.cells(lab).unwrap().remove(3);
    let last = results.repeats(cell.id).unwrap().remove(1);
    let drowned = store::RepeatFailure {
        reason_code: "lock_wait_timeout".to_owned(),
        reason: "319 of 424 tries".to_owned(),
        ..store::RepeatFailure::default()
    };
    results.fail_repeat(last.id, &drowned).unwrap();
    let html = report::render(&results, lab).unwrap();
    let footnote = "cell 4</a> (1 of 2 failed): lock_wait_timeout: 319 of 424 tries";
    assert!(html.matches(footnote).count() >= 3, "{footnote}");
    assert!(!html.contains("\">NA</a>"));
}

#[test]
fn one_repeat_says_so() {
    let shape = Shape { repeats: 1, observed: false, failing_cell: None, ..LAB };
    let (_, _, html) = page_of(&shape, "lab-once");
    assert!(html.contains("<td class=\"num soft\">one repeat</td>"));
    assert!(html.contains("fewer than three repeats support no claim"));
    assert!(!html.contains("&lt; 0.001"));
    assert!(!html.contains("CPU, user and system"), "nothing was sampled");
    assert!(!html.contains("Percona Lab"), "none of its cells is there");
}

#[test]
fn a_large_lab_stays_usable() {
    let shape = Shape {
        name: "large",
        devices: &["hdd-15k", "sata-850pro", "sas-pm1633", "nvme-pm1725"],
        connections: &[8, 16, 32, 64],
        capacities: &[],
        repeats: 2,
        warmup_s: 15,
        window_s: 60,
        failing_cell: None,
        ..LAB
    };
    let (scratch, page, html) = page_of(&shape, "large");
    let megabytes = html.len() as f64 / 1e6;
    assert!(megabytes < 10.0, "{megabytes} MB of 32 repeats");
    let nav = html.split("<nav").nth(1).unwrap().split("</nav>").next().unwrap();
    let (sections, cells) = nav.split_once("<details class=\"menu\">").unwrap();
    assert_eq!((sections.matches("<a ").count(), cells.matches("<a ").count()), (10, 16), "{nav}");
    let shown = open(&page, scratch.path());
    assert_eq!(console(&shown), Vec::<&str>::new());
    let drawn = shown.dom.split("data-ready=").nth(1).map(|rest| &rest[..4]);
    assert_eq!(drawn, Some("\"19\""));
}

#[test]
fn very_many_repeats_are_told_in_brief() {
    let shape = Shape {
        name: "very-large",
        devices: &["hdd-15k", "sata-850pro", "sas-pm1633", "nvme-pm1725"],
        connections: &[8, 16, 32, 64],
        repeats: 3,
        warmup_s: 0,
        window_s: 2,
        failing_cell: None,
        observed: false,
        ..LAB
    };
    let (scratch, page, html) = page_of(&shape, "very-large");
    let cells = 4 * 4 * 4;
    assert_eq!(html.matches("Of repeat 1; the lab has so many").count(), cells);
    // One throughput chart for each cell, and no table of its inputs.
    let charts = html.matches("data-chart=\"throughput\"").count();
    assert_eq!((charts, html.matches("clause 5.5.1.5").count()), (cells, 0));
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
    let linked = open(Path::new(&format!("{}#cell-9", page.display())), scratch.path());
    assert_eq!(console(&linked), Vec::<&str>::new());
    assert_eq!(linked.dom.matches("<canvas").count(), 15 + 2 + 3);
}

/// A cell of plans/percona-2026.toml.
fn studied(ordinal: u32, pool: &str, connections: u32) -> NewCell {
    let settings = [("innodb_buffer_pool_size", pool), ("tables", "20"), ("table_size", "200000")];
    NewCell {
        ordinal,
        connections,
        workload: "sysbench-oltp-uniform".to_owned(),
        throughput_metric: ThroughputMetric::Tpm,
        places: ["data", "redo"].map(|role| place(role, "percona-2026-drive")).into(),
        settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        ..testkit::cell()
    }
}

/// So many requests to a role in a window of two seconds.
fn io_of(role: &str, requests: &[(RequestKind, u64)]) -> RoleIo {
    let requests = requests.iter().map(|(kind, requests)| RequestIo {
        kind: *kind,
        requests: *requests,
        bytes: 0,
        response: TimeTotals::default(),
        service: TimeTotals::default(),
    });
    RoleIo {
        role: role.to_owned(),
        counted_ns: 2 * SECOND_NS,
        requests: requests.collect(),
        ..RoleIo::default()
    }
}

#[test]
fn cells_of_a_published_study_stand_beside_it() {
    let results = Scratch::with(&new_lab(&ONE_CELL));
    let first = results.begin(&studied(1, "82M", 16));
    let roles = vec![
        io_of("data", &[(RequestKind::Read, 16_000), (RequestKind::Write, 8_000)]),
        io_of("redo", &[(RequestKind::Write, 2_000)]),
    ];
    let io = DeviceIo { shim: ShimFacts::default(), roles };
    results.record_device_io(first, &io).unwrap();
    testkit::measure(&results, first, 900);
    for (ordinal, pool, connections) in [(2, "492M", 1), (3, "256M", 16)] {
        let repeat = results.begin(&studied(ordinal, pool, connections));
        testkit::measure(&results, repeat, 144);
    }
    let html = report::render(&results, results.lab).unwrap();
    // K, then measured, published and factor of transactions, reads, writes and p95.
    let figures = [
        "1", "450", "404", "1.11", "17.8", "23.4", "1.32", "11.1", "10.0", "1.11", "40.0", "66.8",
        "1.67",
    ];
    let figures = figures.map(|figure| format!("<td class=\"num\">{figure}</td>")).concat();
    let row = format!("mysql-5.7, pool of 2 GB, 16 connections</a></th>{figures}</tr>");
    for words in [
        "<h2>Beside Percona Lab's report of 2026</h2>",
        "its pools were 25 times as large as here",
        &row,
        "<p>The throughput of mysql-5.7, pool of 12 GB, 1 connection is 2.00 times less than \
         published: what bounds it is not known.</p>",
    ] {
        assert!(html.contains(words), "{words}");
    }
    // Another pool has no counterpart, and what is alike no sentence.
    assert_eq!(html.matches(" GB, 16 connections").count(), 1);
}
