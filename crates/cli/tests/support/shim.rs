//! The libraries that are preloaded into servers, which cargo does not build for the tests of other
//! packages.

use super::BINARY;
use std::path::Path;
use std::process::Command;
use std::sync::Once;

/// Builds them where the binary under test looks for it: beside itself, with the same profile.
pub fn shim() {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        let beside = Path::new(BINARY).parent().unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--locked", "-p", "shim", "-p", "clock", "--target-dir"])
            .arg(beside.parent().unwrap())
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            // Tests are told to say their times by it; cargo would build dependencies anew for it.
            .env_remove("RUSTC_BOOTSTRAP");
        if beside.ends_with("release") {
            cargo.arg("--release");
        }
        let output = cargo.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "building the shim: {said}");
    });
}
