//! The shim's library, which cargo does not build for the tests of another crate.

use super::BINARY;
use std::path::Path;
use std::process::Command;
use std::sync::Once;

/// Builds it beside the binary, once for each test process.
pub fn shim() {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        let directory = Path::new(BINARY).parent().unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--locked", "-p", "shim"]);
        if directory.ends_with("release") {
            build.arg("--release");
        }
        build.current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(build.status().unwrap().success(), "the shim does not build");
    });
}
