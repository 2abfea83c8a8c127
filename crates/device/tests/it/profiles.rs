//! Profiles as people write them, well and badly.

use device::cut::PowerLoss;
use device::{
    CacheSetup, DeviceSetup, JournalSetup, Member, Profile, Setup, Sharing, builtin, builtins,
};

const SSD: &str = r#"
name = "mine"
title = "Mine"
capacity_bytes = 1_000_000_000
[solid_state]
read_latency_us = 100
random_read_iops = 100_000
sequential_read_mb_per_s = 550
write_latency_us = 30
random_write_iops = 9_000
sequential_write_mb_per_s = 520
flush_us = 1000
power_loss_protected = false
"#;

const DISK: &str = r#"
name = "mine"
title = "Mine"
capacity_bytes = 1_000_000_000
[disk]
rpm = 7200
average_seek_ms = 8.5
sequential_mb_per_s = 200
"#;

fn error(text: &str) -> String {
    Profile::parse(text).unwrap_err().to_string()
}

/// The error of the text with one line in another form.
fn changed(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    error(&text.replace(from, to))
}

#[test]
fn builtins_are_valid_and_come_back_from_their_text() {
    for profile in builtins() {
        let text = toml::to_string(&profile).unwrap();
        assert_eq!(Profile::parse(&text).unwrap(), profile, "{text}");
        assert_eq!(builtin(&profile.name).unwrap(), profile);
    }
    assert!(builtin("floppy").is_none());
}

#[test]
fn profiles_travel_in_setups() {
    let device = |profile| DeviceSetup { profile, seed: 7, preconditioned: true };
    let setup = Setup {
        page: "page".to_owned(),
        directories: vec!["data".to_owned()],
        every_file: None,
        doublewrite_in_system_tablespace: None,
        spin: true,
        cache: CacheSetup { bytes: 1 << 20, read_ahead_bytes: 131_072 },
        sharing: Some(Sharing { memory: "/proc/1/fd/2".to_owned(), process: 3 }),
        journal: Some(JournalSetup { file: "journal".to_owned(), ring_bytes: 1 << 20 }),
        devices: builtins().into_iter().map(device).collect(),
        roles: Vec::new(),
    };
    let text = setup.to_toml().unwrap();
    assert_eq!(Setup::parse(&text).unwrap(), setup);
}

/// Dotted keys of all numbers.
fn numbers(table: &toml::Table, prefix: &str, found: &mut Vec<String>) {
    for (key, value) in table {
        match value {
            toml::Value::Table(table) => numbers(table, &format!("{prefix}{key}."), found),
            toml::Value::Integer(_) | toml::Value::Float(_) => found.push(format!("{prefix}{key}")),
            _ => {}
        }
    }
}

#[test]
fn every_figure_of_a_builtin_has_a_source_and_every_source_a_figure() {
    for profile in builtins() {
        let mut figures = Vec::new();
        numbers(&toml::Table::try_from(&profile).unwrap(), "", &mut figures);
        figures.sort();
        let sources: Vec<String> = profile.sources.keys().cloned().collect();
        assert_eq!(figures, sources, "{}", profile.name);
        let empty = profile.sources.values().any(|text| text.len() < 5);
        assert!(!empty, "{}", profile.name);
    }
}

#[test]
fn the_least_profiles_are_valid() {
    Profile::parse(SSD).unwrap();
    Profile::parse(DISK).unwrap();
    let mirror = "name = \"m\"\ntitle = \"M\"\ncapacity_bytes = 1_000_000\n[array]\nlevel = \
        1\nmembers = 2\n";
    let mirror = mirror.replace("1_000_000", "10_000_000");
    let named = Profile::parse(&format!("{mirror}member = \"hdd-15k\"\n")).unwrap();
    assert_eq!(named.array.unwrap().builtin_name(), Some("hdd-15k"));
    let inline = SSD
        .replace("[solid_state]", "[array.member.solid_state]")
        .replace("\nname", "\n[array.member]\nname");
    let inline = Profile::parse(&format!("{mirror}{inline}")).unwrap();
    let text = toml::to_string(&inline).unwrap();
    assert_eq!(Profile::parse(&text).unwrap(), inline);
    assert!(matches!(inline.array.unwrap().member, Member::Inline(_)));
}

#[test]
fn keys_that_are_wrong_are_named() {
    let text = changed(SSD, "read_latency_us", "read_latncy_us");
    assert_eq!(
        text,
        "`solid_state.read_latncy_us` is no key of a profile; did you mean `read_latency_us`?"
    );
    let text = changed(SSD, "[solid_state]", "[solidstate]");
    assert!(text.contains("did you mean `solid_state`"), "{text}");
    let text = changed(SSD, "flush_us = 1000\n", "");
    assert!(text.contains("[solid_state] lacks `flush_us`"), "{text}");
    let text = changed(SSD, "flush_us = 1000", "flush_us = \"1 ms\"");
    assert!(text.starts_with("`solid_state.flush_us`: invalid type"), "{text}");
    let text = changed(SSD, "[solid_state]", "sheet = 1\n[solid_state]");
    assert!(text.contains("[sheet]"), "{text}");
    let text = error(&format!("{SSD}[sources]\n\"solid_state.flsh_us\" = \"me\"\n"));
    assert!(text.contains("did you mean `solid_state.flush_us`"), "{text}");
    assert!(error("name = ").contains("TOML parse error at line 1"));
}

/// What is written, what is written instead, and what the message then contains.
type Change = (&'static str, &'static str, &'static str);

const SSD_CHANGES: &[Change] = &[
    ("1_000_000_000", "0", "`capacity_bytes`"),
    ("name = \"mine\"", "name = \"My SSD\"", "`name`"),
    ("flush_us = 1000", "flush_us = -1", "`solid_state.flush_us`"),
    ("read_latency_us = 100", "read_latency_us = nan", "`solid_state.read_latency_us`"),
    ("write_latency_us = 30", "write_latency_us = 0", "`solid_state.write_latency_us`"),
    ("flush_us = 1000", "flush_us = 1000\nunits = 8", "`solid_state.units`"),
    ("100_000", "200_000", "`solid_state.interface_mb_per_s`"),
    ("9_000", "200_000", "`solid_state.sequential_write_mb_per_s`"),
    ("9_000", "9_000\nburst_bytes = 5", "`solid_state.random_write_peak_iops`"),
    ("9_000", "9_000\nburst_bytes = 5\nrandom_write_peak_iops = 10", "sustained"),
    ("9_000", "9_000\ncache_bytes = 5", "`solid_state.cache_bytes`"),
    ("9_000", "9_000\nread_latency_while_writing_us = 5", "no read faster"),
    ("9_000", "9_000\nlatency_variation = 2", "`solid_state.latency_variation`"),
    ("9_000", "9_000\natomic_write_bytes = 1000", "`solid_state.atomic_write_bytes`"),
    ("[solid_state]", "[sheet]\nrandom_read_iops = 5\n[solid_state]", "belong together"),
    (
        "[solid_state]",
        "[sheet]\nrandom_read_iops = 100000\nrandom_read_queue_depth = 4\n[solid_state]",
        "raise the depth",
    ),
    ("[solid_state]", "[sheet]\nsequential_read_mb_per_s = 1000\n[solid_state]", "promises more"),
    ("[solid_state]", "[limits]\niops = 0\n[solid_state]", "`limits.iops`"),
    (
        "[solid_state]",
        "[limits]\niops = 100\n[sheet]\nrandom_read_iops = 200\nrandom_read_queue_depth = \
         4\n[solid_state]",
        "`limits.iops`",
    ),
];

const DISK_CHANGES: &[Change] = &[
    ("rpm = 7200", "rpm = 72", "`disk.rpm`"),
    ("8.5", "8.5\nfull_stroke_seek_ms = 9", "`disk.average_seek_ms`"),
    ("8.5", "8.5\nqueue_depth = 1000", "`disk.queue_depth`"),
    ("200", "2000", "`disk.sequential_mb_per_s`"),
    ("[disk]", "[sheet]\nrandom_read_iops = 500\nrandom_read_queue_depth = 1\n[disk]", "depth 1"),
];

#[test]
fn impossible_figures_are_refused() {
    for (text, changes) in [(SSD, SSD_CHANGES), (DISK, DISK_CHANGES)] {
        for (from, to, key) in changes {
            let message = changed(text, from, to);
            assert!(message.contains(key), "{to}: {message}");
        }
    }
}

#[test]
fn a_profile_says_in_one_way_how_it_works() {
    let both = format!("{SSD}[disk]\nrpm = 7200\naverage_seek_ms = 8\nsequential_mb_per_s = 1\n");
    assert!(error(&both).contains("more than one"));
    let none = SSD.split("[solid_state]").next().unwrap();
    assert!(error(none).contains("add one of the tables"));
}

#[test]
fn impossible_arrays_are_refused() {
    let text = "name = \"a\"\ntitle = \"A\"\ncapacity_bytes = 1_200_000_000_000\n[array]\nlevel = \
        10\nmembers = 4\nstripe_bytes = 65536\nmember = \"hdd-15k\"\n";
    Profile::parse(text).unwrap();
    for (from, to, key) in [
        ("level = 10", "level = 5", "`array.level`"),
        ("members = 4", "members = 3", "`array.members`"),
        ("members = 4", "members = 2", "`array.members`"),
        ("members = 4", "members = 400", "`array.members`"),
        ("stripe_bytes = 65536\n", "", "`array.stripe_bytes`"),
        ("level = 10", "level = 1", "`array.stripe_bytes`"),
        ("65536", "65000", "`array.stripe_bytes`"),
        ("hdd-15k", "hdd-16k", "`array.member`"),
        ("1_200_000_000_000", "1_300_000_000_000", "`capacity_bytes`"),
    ] {
        let message = changed(text, from, to);
        assert!(message.contains(key), "{to}: {message}");
    }
}

#[test]
fn what_is_lost_with_the_power_is_in_the_profile() {
    let rules = |name| builtin(name).unwrap().power_loss();
    let sector = PowerLoss { volatile_bytes: 0, atomic_write_bytes: 512, flush_lies: false };
    assert_eq!(rules("nvme-pm1725"), sector);
    assert_eq!(rules("hdd-15k"), sector);
    assert_eq!(rules("sata-850pro"), PowerLoss { volatile_bytes: 16 << 20, ..sector });
    assert_eq!(rules("hdd-7k2"), PowerLoss { volatile_bytes: 48 << 20, ..sector });
    let keys = "[solid_state]\natomic_write_bytes = 16384\nflush_lies = true";
    let lying = Profile::parse(&SSD.replace("[solid_state]", keys)).unwrap().power_loss();
    assert_eq!((lying.atomic_write_bytes, lying.flush_lies), (16384, true));
    // An array keeps no more whole than lies in one stripe.
    let array = "name = \"s\"\ntitle = \"S\"\ncapacity_bytes = 10_000_000\n[array]\nlevel = \
        0\nmembers = 2\nstripe_bytes = 4096\n";
    let member = SSD.replace("[solid_state]", &keys.replace("[solid", "[array.member.solid"));
    let member = member.replace("\nname", "\n[array.member]\nname");
    let array = Profile::parse(&format!("{array}{member}")).unwrap().power_loss();
    assert_eq!((array.atomic_write_bytes, array.flush_lies), (4096, true));
    assert_eq!(array.volatile_bytes, 2 * (16 << 20));
}
