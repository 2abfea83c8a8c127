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
    let profile = tempfile::tempdir_in(scratch).unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .args([
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--disable-dev-shm-usage",
        ])
        .args(["--enable-logging=stderr", "--virtual-time-budget=4000", "--dump-dom"])
        .arg(format!("--window-size={width},2000"))
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

/// The page of a fixture with so many charts, which says nothing and asks for nothing.
pub fn check(shape: &Shape, name: &str, charts: usize) -> (String, Shown) {
    let (scratch, page, html) = page_of(shape, name);
    let shown = open(&page, scratch.path());
    assert_eq!(console(&shown), Vec::<&str>::new());
    assert_eq!(shown.asked, 0, "the page asked the network");
    let drawn = format!("data-ready=\"{charts}\"");
    assert!(shown.dom.contains(&drawn), "{drawn} is not in the page: {:?}", shown.log);
    assert_eq!(shown.dom.matches("<canvas").count(), charts);
    assert!(!html.contains("geheim"), "a password is in the report");
    assert!(!html.contains("tpmC"), "tpmC is printed");
    (html, shown)
}
