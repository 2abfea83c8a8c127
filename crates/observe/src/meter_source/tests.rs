//! What is watts, and commands that print, complain, hang and leave others behind.

use super::{MeterSource, watts};
use crate::readings::{Readings, SampleSource};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

#[test]
fn watts_are_found_in_words() {
    for (text, expected) in [
        ("220", 220.0),
        ("220\n", 220.0),
        ("  218.4 W", 218.4),
        ("power reading:   187.5 Watts\n", 187.5),
        ("PS1 Input Power | 220 Watts", 220.0),
        ("PS1 Input Power | 220.000 | Watts | ok", 220.0),
        ("2026-11-21 10:00:01 220W", 220.0),
        ("1,234 W", 1234.0),
        ("12,345.5 watts", 12_345.5),
        ("1,234", 1234.0),
        ("2.2e2", 220.0),
        ("2.2E+2 W", 220.0),
        ("+5", 5.0),
        ("power (W): 93.", 93.0),
        ("{\"watts\": 41}", 41.0),
        // The first of several.
        ("reading: 220 Watts\nminimum: 18 Watts\nsamples: 9\n", 220.0),
        ("1000000", 1e6),
    ] {
        assert_eq!(watts(text), Ok(expected), "{text:?}");
    }
}

#[test]
fn what_is_no_power_is_refused() {
    for (text, why) in [
        ("", "no number stands before"),
        ("no reading.", "no number stands before"),
        ("PS1 off", "no number stands before"),
        ("fan 3000, temperature 41", "no number stands before"),
        ("{\"watts\": 220, \"id\": 3}", "no number stands before"),
        ("0.22 kW", "no number stands before"),
        ("220 mW", "no number stands before"),
        ("0", "0 W is not more than 0"),
        ("-5", "-5 W is not more than 0"),
        ("-5 W", "-5 W is not more than 0"),
        ("1000001 W", "at most 1000000"),
        ("1e300", "at most 1000000"),
        ("220,5 W", "\"220,5\" is no number"),
        ("1.2.3", "\"1.2.3\" is no number"),
        ("nan W", "no number stands before"),
        ("inf", "no number stands before"),
    ] {
        let error = watts(text).unwrap_err();
        assert!(error.contains(why), "{text:?}: {error}");
    }
}

fn meter(command: &str, patience: Duration) -> MeterSource {
    MeterSource { patience, ..MeterSource::new(command) }
}

/// The milliwatts, or the error.
fn read(command: &str) -> Result<i64, String> {
    let mut readings = Readings::default();
    let read = MeterSource::new(command).read(&mut readings, &AtomicBool::new(false));
    read.map_err(|error| error.to_string())?;
    assert_eq!(readings.values().len(), 1);
    Ok(readings.value("power_mw", "meter").unwrap())
}

#[test]
fn a_meter_is_a_command() {
    assert_eq!(read("echo '  218.4 W'"), Ok(218_400));
    for (command, word) in [
        ("exit 3", "exit status: 3"),
        ("no-such-meter", "exit status: 127"),
        ("echo off", "in its output \"off\""),
        ("echo 0 W", "in its output \"0 W\""),
        ("echo no such sensor >&2; exit 1", "and said \"no such sensor\""),
    ] {
        let error = read(command).unwrap_err();
        assert!(error.contains(word), "{error}");
        assert!(
            error.starts_with("the meter (--power-command) gave no watts: ")
                && error.ends_with("; run the command by hand, as this user"),
            "{error}"
        );
    }
}

#[test]
fn the_command_is_in_no_error() {
    let error = read("true --password=se:cret").unwrap_err();
    assert!(!error.contains("cret"), "{error}");
}

#[test]
fn complaints_are_kept_to_their_end() {
    let error = read("head -c 1000000 /dev/zero | tr '\\0' x >&2; echo last words >&2; exit 1");
    let error = error.unwrap_err();
    assert!(error.contains("xxx") && error.contains("last words\""), "{error}");
    assert!(error.len() < 400, "{} bytes", error.len());
}

#[test]
fn long_outputs_block_nobody() {
    let begun = Instant::now();
    let mebibyte = "head -c 1048576 /dev/zero | tr '\\0' ' '";
    assert_eq!(read(&format!("{mebibyte}; echo 5 W")), Ok(5_000));
    let endless = read("yes").unwrap_err();
    assert!(endless.contains("it printed more than 4194304 bytes"), "{endless}");
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(9), "{took:?}");
}

#[test]
fn hanging_commands_end_in_time_or_with_the_run() {
    let begun = Instant::now();
    let mut readings = Readings::default();
    let late = meter("sleep 60", Duration::from_millis(200))
        .read(&mut readings, &AtomicBool::new(false))
        .unwrap_err()
        .to_string();
    assert!(late.contains("it took more than 0.2 s"), "{late}");
    let stopped = MeterSource::new("sleep 60").read(&mut readings, &AtomicBool::new(true));
    assert!(stopped.is_err() && readings.values().is_empty());
    assert!(begun.elapsed() < Duration::from_secs(5));
}

/// A dead process that nobody has reaped has no command line.
fn is_alive(pid: &str) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

fn ends(pid: &str) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_alive(pid) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    !is_alive(pid)
}

#[test]
fn what_a_command_leaves_running_is_not_waited_for_and_ends() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("pid");
    let pid_of = |path: &Path| std::fs::read_to_string(path).unwrap().trim().to_owned();
    let begun = Instant::now();
    // The sleep holds the pipe open.
    let command = format!("sleep 60 & echo $! > '{}'; echo 5", file.display());
    assert_eq!(read(&command), Ok(5_000));
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert!(ends(&pid_of(&file)), "the sleep is left");
    let error = read(&format!("{command}; exit 4")).unwrap_err();
    assert!(error.contains("exit status: 4"), "{error}");
    assert!(ends(&pid_of(&file)), "the sleep is left");
}
