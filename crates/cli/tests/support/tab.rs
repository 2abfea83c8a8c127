//! A tab of a real browser that lives in real time, led over the pipes of the DevTools protocol.

use super::{directory, until};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Ended where it is dropped.
pub struct Tab {
    browser: Child,
    orders: File,
    answers: BufReader<File>,
    session: Value,
    last: u64,
    /// What the page's console said.
    pub console: Vec<String>,
    _profile: TempDir,
}

impl Tab {
    /// Opens an address in a window of this width.
    pub fn open(address: &str, width: u32) -> Tab {
        let profile = directory();
        let [orders, answers] = ["orders", "answers"].map(|name| {
            let path = profile.path().join(name);
            mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
            path
        });
        let browser = Command::new("bash")
            .args(["-c", "exec chromium \"${@:3}\" 3<\"$1\" 4>\"$2\"", "bash"])
            .args([&orders, &answers])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"])
            .args(["--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"])
            .arg(format!("--window-size={width},1400"))
            .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|cause| panic!("cannot start chromium ({cause}); install it"));
        let orders = File::options().write(true).open(orders).unwrap();
        let answers = BufReader::new(File::open(answers).unwrap());
        let mut tab = Tab {
            browser,
            orders,
            answers,
            session: Value::Null,
            last: 0,
            console: Vec::new(),
            _profile: profile,
        };
        let target = tab.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let attached = tab.ask(
            "Target.attachToTarget",
            json!({ "targetId": target["targetId"], "flatten": true }),
        );
        tab.session = attached["sessionId"].clone();
        tab.ask("Runtime.enable", json!({}));
        tab.ask("Log.enable", json!({}));
        tab.ask("Page.navigate", json!({ "url": address }));
        until("the page is there", || tab.value("document.readyState") == "complete");
        tab
    }

    /// What the browser answers to a method of the protocol.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut order = json!({ "id": self.last, "method": method, "params": params });
        if !self.session.is_null() {
            order["sessionId"] = self.session.clone();
        }
        self.orders.write_all(format!("{order}\0").as_bytes()).unwrap();
        loop {
            let mut said = Vec::new();
            self.answers.read_until(0, &mut said).unwrap();
            let said: Value = serde_json::from_slice(&said[..said.len() - 1]).unwrap();
            let method = said["method"].as_str().unwrap_or_default();
            if ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"]
                .contains(&method)
            {
                self.console.push(said.to_string());
            }
            if said["id"] == self.last {
                assert!(said["error"].is_null(), "{method}: {said}");
                return said["result"].clone();
            }
        }
    }

    /// What an expression is on the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        self.ask("Runtime.evaluate", asked)["result"]["value"].clone()
    }

    /// The same as text.
    pub fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_owned()
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
