//! What an installation has beside the program: completions and manual pages.

use crate::support::{directory, mydyno};
use std::process::Command;

#[test]
fn completions_are_scripts_of_their_shells() {
    let work = directory();
    for (shell, word) in [
        ("bash", "complete -F _mydyno"),
        ("zsh", "#compdef mydyno"),
        ("fish", "complete -c mydyno"),
    ] {
        let script = mydyno(["completions", shell]).run().exits(0).stdout;
        assert!(script.contains(word), "{shell}");
        for known in ["advise", "dilate", "fault"] {
            assert!(script.contains(known), "{shell}: {known}");
        }
        if shell == "bash" {
            let file = work.path().join("completions");
            std::fs::write(&file, script).unwrap();
            assert!(Command::new("bash").arg("-n").arg(file).status().unwrap().success());
        }
    }
    mydyno(["completions", "cobol"]).run().exits(2);
}

#[test]
fn each_command_has_a_manual_page() {
    let work = directory();
    let pages = work.path().join("share/man/man1");
    mydyno(["man"]).and_args([pages.to_str().unwrap()]).run().exits(0);
    for (page, words) in [("mydyno.1", "A dynamometer"), ("mydyno-lab-run.1", "\\-\\-shard")] {
        let text = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains(".TH ") && text.contains(words), "{page}: {text}");
    }
    let ran = mydyno(["man", "/proc/nowhere"]).run().exits(4);
    assert!(ran.stderr.contains("cannot write manual pages to /proc/nowhere"), "{}", ran.stderr);
}
