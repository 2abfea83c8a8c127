//! What sources tell of this process and its machine against what the test used. Other tests in the
//! process would use CPU time, memory, disks and threads as well, so each has a process of its own,
//! and they take turns.

#![expect(
    clippy::print_stdout,
    reason = "what was measured is worth reading, also outside of test functions"
)]

mod amounts;
#[path = "../common/mod.rs"]
mod common;
mod cpu;
mod disks;

use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Set in the process of one test.
const CHILD: &str = "MYDYNO_OBSERVE_TEST_CHILD";

/// Runs the test `name` of this binary, which does `work`, in a process of its own, while no other
/// of them runs.
fn alone(name: &str, work: impl FnOnce()) {
    static TURN: Mutex<()> = Mutex::new(());
    if std::env::var_os(CHILD).is_some() {
        work();
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    // A name that no test has is a success of none.
    let has_passed = output.status.success() && said.contains("ok. 1 passed");
    assert!(has_passed, "{name}, {}: {said}", output.status);
    print!("{said}");
}
