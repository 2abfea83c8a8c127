//! The charts in a real browser: each shows what the results file has, can be asked, narrowed down
//! and printed, and can be read by everybody; names are never markup.

use crate::common::browser::{FOUR_SECONDS, OPEN_CELLS, axe, console, open, open_with, page_of};
use crate::common::{ONE_CELL, Shape, spend_on_statements};
use serde_json::Value;
use std::path::{Path, PathBuf};
use store::{CellId, Repeat, Results};

const LAB: Shape = Shape {
    name: "charts",
    devices: &["hdd-15k", "nvme-pm1725"],
    connections: &[8, 32],
    repeats: 3,
    warmup_s: 4,
    window_s: 20,
    observed: true,
    ..ONE_CELL
};

/// Keeps what uPlot draws, for what comes after it.
const SPY: &str = "<script>var plots = []; { const Real = uPlot; uPlot = Object.assign(function \
    (options, columns, box) {
  const plot = new Real(options, columns, box); plots.push({ plot, box }); return plot; }, Real); }
  const tell = (seen) => { const told = document.createElement('script'); told.type = \
  'application/json'; told.id = 'told';
    told.textContent = JSON.stringify(seen); document.body.append(told); };</script>";

/// All charts that are on the page.
const SEEN: &str = "<script>setTimeout(() => tell(plots.filter(({ box }) => \
    document.contains(box)).map(({ plot, box }) =>
  Object.assign({ names: plot.series.slice(1).map((line) => line.label), columns: plot.data }, \
  box.closest('figure').dataset))), 2500)</script>";

struct Opened {
    results: Results,
    scratch: tempfile::TempDir,
    page: PathBuf,
}

/// The lab with these scripts at the page's end.
fn lab_with(shape: &Shape, scripts: &str) -> Opened {
    let (scratch, page, _) = page_of(shape, shape.name);
    let results = Results::open(&scratch.path().join("mydyno.db")).unwrap();
    spend_on_statements(&results);
    let lab = results.labs().unwrap()[0].id;
    let html = report::render(&results, lab).unwrap();
    let own = "<script>\"use strict\";";
    assert_eq!(html.matches(own).count(), 1);
    let page = page.with_file_name(format!("{}-spied.html", shape.name));
    std::fs::write(&page, html.replace(own, &format!("{SPY}{own}")) + scripts).unwrap();
    Opened { results, scratch, page }
}

impl Opened {
    /// What the page's scripts told.
    fn told(&self) -> Value {
        let shown = open(&self.page, self.scratch.path());
        assert_eq!(console(&shown), Vec::<&str>::new());
        let told = shown.dom.split("id=\"told\">").nth(1).expect("the page told nothing");
        serde_json::from_str(told.split("</script>").next().unwrap()).unwrap()
    }

    fn repeats(&self, cell: CellId) -> Vec<Repeat> {
        self.results.repeats(cell).unwrap()
    }

    fn mean(&self, cell: CellId, number: impl Fn(&Repeat) -> f64) -> f64 {
        let all: Vec<f64> = self.repeats(cell).iter().map(number).collect();
        all.iter().sum::<f64>() / all.len() as f64
    }
}

/// The value of the nth line at `x`.
fn at(chart: &Value, line: usize, x: f64) -> f64 {
    let place = chart["columns"][0].as_array().unwrap().iter().position(|of| *of == x).unwrap();
    chart["columns"][line + 1][place].as_f64().unwrap()
}

/// Charts have five digits.
fn assert_near(drawn: f64, stored: f64, what: &str) {
    assert!((drawn - stored).abs() <= stored.abs() * 1e-4, "{what}: {drawn} for {stored}");
}

#[test]
fn charts_show_what_the_file_has() {
    let lab = lab_with(&LAB, &format!("{OPEN_CELLS}{SEEN}"));
    let charts = lab.told();
    let find = |kind: &str, what: &str| -> Vec<&Value> {
        let is_it = |of: &&Value| of["chart"] == kind && (what.is_empty() || of["what"] == what);
        charts.as_array().unwrap().iter().filter(is_it).collect()
    };
    let cells = lab.results.cells(lab.results.labs().unwrap()[0].id).unwrap();
    let summary = |repeat: &Repeat| lab.results.summary(repeat.id).unwrap();
    for (place, cell) in cells.iter().enumerate() {
        let (line, x) = (place / 2, f64::from(cell.what.connections));
        let [nopm, p95, reads] = ["Throughput, NOPM", "New-order p95, ms", "Reads of data, 1/s"]
            .map(|what| {
                let [chart] = find("curves", what)[..] else { panic!("{what}: not one chart") };
                at(chart, line, x)
            });
        assert_near(nopm, lab.mean(cell.id, |of| summary(of).rates.nopm.unwrap()), "NOPM");
        let p95_us = lab.mean(cell.id, |of| summary(of).primary.p95_us.unwrap());
        assert_near(p95, p95_us / 1e3, "p95");
        let reads_per_s = |of: &Repeat| {
            let devices = summary(of).devices;
            let data = devices.iter().find(|device| device.role == "data").unwrap();
            data.read.as_ref().unwrap().per_s.unwrap()
        };
        assert_near(reads, lab.mean(cell.id, reads_per_s), "reads");
        // One is drawn of each cell, in intervals of a second.
        let first = lab.repeats(cell.id)[0].id;
        let own = |kind: &str| -> &Value {
            let all = find(kind, "");
            let id = first.0.to_string();
            all.into_iter().find(|of| of["repeat"].as_str() == Some(&id)).unwrap()
        };
        let over_time = own("throughput")["columns"][1].as_array().unwrap();
        let window: f64 = over_time[4..].iter().map(|value| value.as_f64().unwrap()).sum();
        let summary = lab.results.summary(first).unwrap();
        assert_near(window / 20.0, summary.rates.nopm.unwrap(), "throughput over time");
        let p90_us = summary.transactions.0[0].1.p90_us.unwrap();
        assert_near(at(own("distribution"), 0, 10.0), p90_us / 1e3, "the tenth");
    }
    assert_eq!(
        find("spread", "payment")[0]["names"][1],
        find("over_time", "p95_ms")[0]["names"][1]
    );
    assert_eq!((find("panel", "").len(), find("latency", "").len()), (4 * 3, 4));
}

/// What a hand does, and what the page makes of it.
const DO: &str = "<script>setTimeout(() => {
  const q = (of) => document.querySelector(of), fire = (on, event) => on.dispatchEvent(event);
  const seen = {}, over = q('#picture .u-over'), box = over.getBoundingClientRect(), middle = { \
  clientX: box.left + box.width * 0.9, clientY: box.top + 50, bubbles: true };
  fire(over, new MouseEvent('mouseenter', middle)); fire(over, new MouseEvent('mousemove', middle));
  setTimeout(() => {
    seen.tip = q('#picture .tip').hidden || q('#picture .tip').textContent;
    const part = q('#account .k7'); fire(part, new PointerEvent('pointerover', { bubbles: true }));
    seen.part = q('body > .tip').hidden || q('body > .tip').textContent;
    fire(document.body, new PointerEvent('pointerover', { bubbles: true })); seen.left = q('body > \
    .tip').hidden;
    const menu = q('.menu'), filter = menu.querySelector('input'); menu.open = true; filter.value \
    = 'HDD'; fire(filter, new Event('input'));
    seen.links = [...menu.querySelectorAll('li')].map((link) => link.offsetParent !== null);
    fire(document, new KeyboardEvent('keydown', { key: 'Escape' })); seen.closed = !menu.open;
    const shown = () => plots.filter(({ box }) => box.closest('#resources')).map(({ plot }) => \
    plot.series[1].show);
    q('#picture .legend button').click(); seen.hidden = plots.find(({ box }) => \
    box.closest('#picture')).plot.series[1].show;
    q('#resources .multiples > .legend button').click(); seen.multiples = shown().some((is) => is);
    const key = q('#account [data-part]'); key.click();
    seen.parts = [...document.querySelectorAll('#account \
    .stacks')[0].querySelectorAll('.k1')].map((of) => getComputedStyle(of).visibility);
    const scale = q('#account [data-scale]'), bars = \
    [...scale.closest('figure').querySelectorAll('.stack')], share = (of) => \
    parseFloat(of.style.getPropertyValue('--of')) / 100;
    bars[0].style.setProperty('--of', '50%'); const wrong = (as) => bars.filter((of) => \
    Math.abs(of.offsetWidth - of.parentNode.clientWidth * as(of)) > 2).length;
    seen.shares = wrong(() => 1); scale.value = 'times'; fire(scale, new Event('change')); \
    seen.times = wrong(share);
    q('[data-open-cells]').click(); seen.open = document.querySelectorAll('.folded > \
    details[open]').length;
    fire(window, new Event('beforeprint')); seen.paper = document.documentElement.className; \
    fire(window, new Event('afterprint'));
    tell(seen);
  }, 300);
}, 500)</script>";

#[test]
fn charts_can_be_asked_narrowed_down_and_printed() {
    let lab = lab_with(&Shape { name: "hand", ..LAB }, DO);
    let seen = lab.told();
    let words = |key: &str| seen[key].as_str().unwrap_or_else(|| panic!("{key}: {seen}"));
    assert!(words("tip").starts_with("32 connections") && words("tip").contains(" ± "), "{seen}");
    assert!(words("part").starts_with("the log at commit: ") && words("part").contains(" ± "));
    for (key, value) in [
        ("left", "true"),
        ("links", "[true,true,false,false]"),
        ("closed", "true"),
        ("hidden", "false"),
        ("multiples", "false"),
        ("parts", "[\"hidden\",\"hidden\",\"hidden\",\"hidden\"]"),
        ("shares", "0"),
        ("times", "0"),
        ("open", "4"),
        ("paper", "\"paper\""),
    ] {
        assert_eq!(seen[key].to_string(), value, "{key}: {seen}");
    }
    // What is closed is not printed.
    let pages = [pdf_pages(&lab, ""), pdf_pages(&lab, OPEN_CELLS)];
    assert!(pages[0] > 1 && pages[1] > pages[0] + 4, "{pages:?}");
}

fn pdf_pages(lab: &Opened, script: &str) -> usize {
    let labs = lab.results.labs().unwrap();
    let page = lab.page.with_file_name("printed.html");
    let html = report::render(&lab.results, labs[0].id).unwrap();
    std::fs::write(&page, html + script).unwrap();
    let pdf = lab.scratch.path().join("printed.pdf");
    open_with(
        &page,
        lab.scratch.path(),
        &[&format!("--print-to-pdf={}", pdf.display()), FOUR_SECONDS],
    );
    let pdf = String::from_utf8_lossy(&std::fs::read(pdf).unwrap()).into_owned();
    pdf.matches("/Type /Page\n").count()
}

/// Faults that shut somebody out, by the rules of axe.
const RULES: &str = "<script>setTimeout(() => axe.run().then((found) => tell(found.violations
  .filter((of) => of.impact === 'serious' || of.impact === 'critical')
  .map((of) => [of.id, of.nodes.length, of.nodes[0].html.slice(0, 200), \
  of.nodes[0].failureSummary]))), 2000)</script>";

/// Says how much wider than its window the page is.
const WIDER: &str = "<script>setTimeout(() => { const d = document.documentElement;
  document.body.dataset.over = d.scrollWidth - d.clientWidth; document.body.dataset.width = \
  d.clientWidth; }, 1500)</script>";

#[test]
fn everybody_can_read_it_on_any_screen() {
    let scripts = format!("{OPEN_CELLS}{WIDER}<script>{}</script>{RULES}", axe());
    let shape = Shape { name: "readable", devices: &["hdd-15k"], ..LAB };
    let lab = lab_with(&shape, &scripts);
    // Light on a desk, and dark on a phone.
    for (width, dark) in [(1_300, "1"), (390, "0")] {
        let options = [
            format!("--window-size={width},1200"),
            format!("--blink-settings=preferredColorScheme={dark}"),
            FOUR_SECONDS.to_owned(),
        ];
        let shown =
            open_with(&lab.page, lab.scratch.path(), &options.each_ref().map(String::as_str));
        assert_eq!(console(&shown), Vec::<&str>::new());
        assert!(shown.dom.contains("id=\"told\">[]<"), "{width}, {dark}: {}", faults(&shown.dom));
        assert!(shown.dom.contains("data-over=\"0\""), "wider than {width} pixels");
    }
}

fn faults(dom: &str) -> &str {
    dom.split("id=\"told\">")
        .nth(1)
        .map_or("axe did not end", |told| told.split("</script>").next().unwrap())
}

#[test]
fn names_are_never_markup() {
    let shape = Shape {
        name: "</title><script>document.title='taken'</script><img src=x \
            onerror=\"document.title='taken'\">",
        engines: &["mysql-5.7", "<img src=x onerror=\"document.title='taken'\">"],
        capacities: &[
            ("\"><svg onload=\"document.title='taken'\">", 1.0),
            ("'</script><b id=bold>", 1.2),
        ],
        connections: &[8, 32],
        warmup_s: 0,
        window_s: 5,
        ..ONE_CELL
    };
    const COUNT: &str = "<script>setTimeout(() => {
      document.querySelectorAll('[data-tip]').forEach((of) => of.dispatchEvent(new \
      PointerEvent('pointerover', { bubbles: true })));
      const taken = [...document.querySelectorAll('img, #bold, script, svg:not(.band)')].map((of) \
      => of.outerHTML.slice(0, 60));
      document.body.dataset.taken = document.title.endsWith('mydyno report') + ' ' + taken.length; \
      }, 2000)</script>";
    let (scratch, _, html) = page_of(&shape, "hostile");
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile.html");
    std::fs::write(&page, format!("{html}{OPEN_CELLS}{COUNT}")).unwrap();
    let shown = open(&page, scratch.path());
    assert_eq!(console(&shown), Vec::<&str>::new());
    // The page's own scripts and data, and the two of this test.
    assert!(
        shown.dom.contains("data-taken=\"true 5\""),
        "{}",
        shown.dom.split("data-taken").nth(1).unwrap()
    );
}
