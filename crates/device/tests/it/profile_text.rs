//! Texts of profiles as nobody should write them: each is refused or makes a device that answers,
//! and none ends the program, hangs, or asks for much memory.

use device::page::AccessKind;
use device::{Access, Device, Profile, RequestState, builtins};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::time::{Duration, Instant};

/// What stands for a number or a word somewhere.
const VALUES: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "10",
    "0.5",
    "512",
    "4096",
    "16384",
    "1e-300",
    "1e300",
    "1e15",
    "nan",
    "inf",
    "-inf",
    "1152921504606846976",
    "9223372036854775807",
    "18446744073709551616",
    "true",
    "false",
    "\"hdd-15k\"",
    "\"raid10-hdd-8\"",
    "{}",
    "[]",
    "",
];

/// Lines that a text may gain.
const LINES: &[&str] = &[
    "[array]",
    "[disk]",
    "[solid_state]",
    "[limits]",
    "[sheet]",
    "[array.member]",
    "[array.member.array]",
    "[array.member.disk]",
    "member = \"nvme-pm1725\"",
    "[[array]]",
    "write_cache_bytes = 9223372036854775807",
    "cache_bytes = 9223372036854775807",
    "burst_bytes = 9223372036854775807",
    "random_write_peak_iops = 20000",
    "read_ahead_bytes = 9223372036854775807",
    "flush_lies = true",
    "latency_variation = 1",
    "command_overhead_us = 1e300",
    "flush_us = 1e300",
    "stripe_bytes = 4096",
    "a.b.c.d.e.f = 1",
];

#[derive(Clone, Debug)]
enum Change {
    Value { line: usize, value: usize },
    Scale { line: usize, power: i32 },
    Drop { line: usize },
    Repeat { line: usize, at: usize },
    Insert { line: usize, at: usize },
    Character { at: usize, character: char },
    Cut { at: usize },
}

fn change() -> impl Strategy<Value = Change> {
    let line = || any::<usize>();
    prop_oneof![
        6 => (line(), 0..VALUES.len()).prop_map(|(line, value)| Change::Value { line, value }),
        4 => (line(), -30..30).prop_map(|(line, power)| Change::Scale { line, power }),
        2 => line().prop_map(|line| Change::Drop { line }),
        1 => (line(), line()).prop_map(|(line, at)| Change::Repeat { line, at }),
        2 => (0..LINES.len(), line()).prop_map(|(line, at)| Change::Insert { line, at }),
        1 => (line(), any::<char>()).prop_map(|(at, character)| Change::Character {
            at,
            character
        }),
        1 => line().prop_map(|at| Change::Cut { at }),
    ]
}

fn changed(mut text: String, change: &Change) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let count = lines.len().max(1);
    let key = |line: &String| line.split_once('=').map(|(key, _)| key.to_owned());
    match change {
        Change::Value { line, value } => {
            if let Some(line) = lines.get_mut(line % count)
                && let Some(key) = key(line)
            {
                *line = format!("{key}= {}", VALUES[*value]);
            }
        }
        Change::Scale { line, power } => {
            if let Some(line) = lines.get_mut(line % count)
                && let Some((key, value)) = line.split_once('=')
                && let Ok(value) = value.trim().replace('_', "").parse::<f64>()
            {
                let scaled = value * 10_f64.powi(*power);
                *line = match value.fract() == 0.0 && *power >= 0 {
                    true => format!("{key}= {}", scaled as i64),
                    false => format!("{key}= {scaled:e}"),
                };
            }
        }
        // A cut may have left no line.
        Change::Drop { .. } if lines.is_empty() => {}
        Change::Drop { line } => drop(lines.remove(line % count)),
        Change::Repeat { line, at } => {
            let line = lines.get(line % count).cloned().unwrap_or_default();
            lines.insert(at % count, line);
        }
        Change::Insert { line, at } => lines.insert(at % count, LINES[*line].to_owned()),
        Change::Character { at, character } => {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            if let Some(at) = places.get(at % places.len().max(1)) {
                text.insert(*at, *character);
            }
            return text;
        }
        Change::Cut { at } => {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            if let Some(at) = places.get(at % places.len().max(1)) {
                text.truncate(*at);
            }
            return text;
        }
    }
    lines.join("\n")
}

fn texts() -> impl Strategy<Value = String> {
    let builtins: Vec<String> = builtins()
        .iter()
        .map(|profile| {
            // Sources are half of a text, and words to the reader.
            let bare = Profile { sources: Default::default(), ..profile.clone() };
            toml::to_string(&bare).unwrap()
        })
        .collect();
    let changes = proptest::collection::vec(change(), 0..5);
    let mutated = (proptest::sample::select(builtins), changes)
        .prop_map(|(text, changes)| changes.iter().fold(text, changed));
    let random = "(\\PC|[\n\\[\\]={}\"'.#]){0,200}";
    let nested = (0_usize..3000, "[\\[{]|a\\.|array\\.member\\.|x=\\[")
        .prop_map(|(depth, part)| part.repeat(depth));
    prop_oneof![20 => mutated, 2 => random.prop_map(String::from), 1 => nested]
}

/// Asks the device for everything, at the ends of its address space, too.
fn answers(profile: &Profile, seed: u64) {
    let mut device = Device::new(profile, seed);
    if seed.is_multiple_of(2) {
        device.precondition();
    }
    let mut now_ns = seed % 1_000_000_007;
    let mut open = Vec::new();
    for step in 0..24_u64 {
        let drawn = seed.wrapping_mul(step * 2 + 1).rotate_left(17);
        let access = Access {
            kind: AccessKind::ALL[(drawn % 3) as usize],
            address: [0, drawn, drawn % device.used_bytes(), u64::MAX][(drawn >> 8) as usize % 4],
            bytes: [512, 16384, 1 << 20, 0][(drawn >> 16) as usize % 4],
        };
        match device.submit(now_ns, access) {
            Ok(RequestState::Decided(completion)) => {
                assert!(completion.due_ns >= now_ns, "{access:?} was complete before it came");
            }
            Ok(RequestState::Queued { ticket, .. }) => open.push(ticket),
            Err(_) => {}
        }
        now_ns += [0, 1000, 1_000_000, 1_000_000_000][(drawn >> 24) as usize % 4];
    }
    if seed.is_multiple_of(5) {
        device.lose_member();
    }
    for ticket in open {
        let state = device.poll(u64::MAX / 4, ticket);
        assert!(matches!(state, RequestState::Decided(_)), "it is never answered");
    }
}

fn text_is_refused_or_makes_a_device(text: &str, seed: u64) -> Result<(), TestCaseError> {
    let began = Instant::now();
    match Profile::parse(text) {
        Err(refused) => {
            let said = refused.to_string();
            prop_assert!(!said.is_empty() && said.len() < 8 * text.len() + 2000, "{said}");
        }
        Ok(profile) => {
            answers(&profile, seed);
            let rules = profile.power_loss();
            prop_assert!(rules.atomic_write_bytes.is_power_of_two());
            prop_assert!(profile.random_pages_per_s() >= 1.0);
            let again = toml::to_string(&profile).map(|text| Profile::parse(&text));
            prop_assert_eq!(again.ok().and_then(Result::ok), Some(profile));
        }
    }
    prop_assert!(began.elapsed() < Duration::from_secs(20), "it hangs");
    Ok(())
}

fn tried(cases: u32) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let each = |(text, seed): (String, u64)| text_is_refused_or_makes_a_device(&text, seed);
    TestRunner::new(config).run(&(texts(), any::<u64>()), each).unwrap();
}

#[test]
fn any_text_is_refused_or_makes_a_device() {
    tried(4000);
}

#[test]
#[ignore = "make soak"]
fn a_million_texts_are_refused_or_make_devices() {
    tried(1_000_000);
}
