//! Pages in a real browser.

use super::{Shape, build};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the browser made of a page.
pub struct Shown {
    pub dom: String,
    pub log: String,
    /// Requests that the page made.
    pub asked: usize,
}

/// Of a window, in pixels.
const WIDTH: u32 = 1300;

/// Opens a page in headless Chromium with a profile of its own.
pub fn open(page: &Path, scratch: &Path) -> Shown {
    open_at(page, scratch, WIDTH)
}

/// The same in a window of another width.
pub fn open_at(page: &Path, scratch: &Path, width: u32) -> Shown {
    open_with(page, scratch, &[&format!("--window-size={width},2000"), FOUR_SECONDS])
}

/// Of the page's own clock, which stands still while it computes.
pub const FOUR_SECONDS: &str = "--virtual-time-budget=4000";

/// The same with these options.
pub fn open_with(page: &Path, scratch: &Path, options: &[&str]) -> Shown {
    let profile = tempfile::tempdir_in(scratch).unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .args([
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--disable-dev-shm-usage",
        ])
        .args(["--enable-logging=stderr", "--dump-dom"])
        .args(options)
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--log-net-log={}", profile.path().join("net.json").display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|cause| {
            panic!("cannot start `chromium` ({cause}); install the package chromium")
        });
    assert!(
        output.status.success(),
        "chromium failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let network = std::fs::read_to_string(profile.path().join("net.json")).unwrap();
    // What the browser asks for itself (updates, dictionaries) has no origin; what a page asks for
    // has its page's.
    let asked = network
        .match_indices("\"initiator\":\"")
        .filter(|(at, key)| !network[at + key.len()..].starts_with("not an origin"))
        .count();
    Shown {
        dom: String::from_utf8_lossy(&output.stdout).into_owned(),
        log: String::from_utf8_lossy(&output.stderr).into_owned(),
        asked,
    }
}

pub fn page_of(shape: &Shape, name: &str) -> (tempfile::TempDir, PathBuf, String) {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (results, lab) = build(&scratch.path().join("mydyno.db"), shape);
    let html = report::render(&results, lab).unwrap();
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html"));
    std::fs::write(&page, &html).unwrap();
    (scratch, page, html)
}

pub fn console(shown: &Shown) -> Vec<&str> {
    shown.log.lines().filter(|line| line.contains("CONSOLE")).collect()
}

/// Opens all cells that are closed.
pub const OPEN_CELLS: &str = "<script>setTimeout(() => {
  const button = document.querySelector('[data-open-cells]'); if (button) button.click(); }, \
  500)</script>";

/// The page of a fixture, which says nothing and asks for nothing, with so many charts: at first,
/// and once all cells are open.
pub fn check(shape: &Shape, name: &str, charts: [usize; 2]) -> (String, Shown) {
    let (scratch, page, html) = page_of(shape, name);
    std::fs::write(&page, format!("{html}{OPEN_CELLS}")).unwrap();
    let shown = open(&page, scratch.path());
    assert_eq!(console(&shown), Vec::<&str>::new());
    assert_eq!(shown.asked, 0, "the page asked the network");
    let drawn = format!("data-ready=\"{}\"", charts[0]);
    let found = shown.dom.split("data-ready=").nth(1).map(|rest| &rest[..6]);
    assert!(
        shown.dom.contains(&drawn),
        "{drawn} is not in the page but {found:?}: {:?}",
        shown.log
    );
    assert_eq!(shown.dom.matches("<canvas").count(), charts[1]);
    assert!(!html.contains("geheim"), "a password is in the report");
    assert!(!html.contains("tpmC"), "tpmC is printed");
    (html, shown)
}

/// The rules of axe-core, by the package client that fetches engines.
pub fn axe() -> String {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("axe");
    let script = directory.join("axe.min.js");
    if !script.exists() {
        let fetched = Command::new("mvn")
            .args(["-q", "-B", "dependency:unpack"])
            .arg("-Dartifact=com.deque.html.axe-core:selenium:4.10.1")
            .arg(format!("-DoutputDirectory={}", directory.display()))
            .current_dir(env!("CARGO_TARGET_TMPDIR"))
            .output()
            .unwrap_or_else(|cause| panic!("cannot start `mvn` ({cause}); install maven"));
        assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stdout));
    }
    std::fs::read_to_string(script).unwrap()
}
