//! What a device never does, and what it does as devices of its kind do.

use crate::simulator::{Load, closed_loop, flush_latency_us, wait};
use device::page::AccessKind;
use device::{Access, Completion, Device, Full, Profile, RequestState, Ticket, builtin, builtins};
use proptest::prelude::*;

const FLUSH: Access = Access { kind: AccessKind::Flush, address: 0, bytes: 0 };

fn read(address: u64) -> Access {
    Access { kind: AccessKind::Read, address, bytes: 4096 }
}

fn write(address: u64) -> Access {
    Access { kind: AccessKind::Write, ..read(address) }
}

/// A builtin with one change to its text.
fn changed(name: &str, from: &str, to: &str) -> Profile {
    let text = toml::to_string(&builtin(name).unwrap()).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    let text = text.split("[sources]").next().unwrap().replace(from, to);
    Profile::parse(&text).unwrap()
}

fn iops(profile: &Profile, kind: AccessKind, depth: u32) -> f64 {
    let mut device = Device::new(profile, 1);
    closed_loop(&mut device, 1, Load::random(kind, depth, 5.0)).iops
}

/// A request on its way through a test.
enum Step {
    Open(Ticket, u64),
    Done(Completion),
}

impl Step {
    fn of(progress: RequestState) -> Step {
        match progress {
            RequestState::Decided(completion) => Step::Done(completion),
            RequestState::Queued { ticket, ask_again_ns } => Step::Open(ticket, ask_again_ns),
        }
    }

    /// Asks until it is decided.
    fn finish(self, device: &mut Device) -> Completion {
        let mut step = self;
        loop {
            match step {
                Step::Done(completion) => return completion,
                Step::Open(ticket, at_ns) => step = Step::of(device.poll(at_ns, ticket)),
            }
        }
    }
}

/// Submits everything, then asks for it in the order of arrival.
fn run(device: &mut Device, requests: &[(u64, Access)]) -> Vec<Completion> {
    let submit = |(now_ns, access): &(u64, Access)| {
        let progress = device.submit(*now_ns, *access).unwrap();
        Step::of(progress)
    };
    let steps: Vec<Step> = requests.iter().map(submit).collect();
    steps.into_iter().map(|step| step.finish(device)).collect()
}

/// Arrivals 0 to 2 ms apart, now and then 20 us back in time, over the whole device.
fn requests() -> impl Strategy<Value = Vec<(u64, Access)>> {
    let kind = prop_oneof![
        4 => Just(AccessKind::Read), 4 => Just(AccessKind::Write), 1 => Just(AccessKind::Flush)
    ];
    let bytes = prop_oneof![Just(512_u32), Just(4096), Just(16384), Just(1 << 20), Just(0)];
    let one = (kind, any::<u64>(), bytes, 0..2_000_000_u64, any::<bool>());
    proptest::collection::vec(one, 1..200).prop_map(|requests| {
        let mut now_ns = 5_000_000_000;
        let at = |(kind, address, bytes, gap_ns, back): (AccessKind, u64, u32, u64, bool)| {
            now_ns += gap_ns;
            let at_ns = if back { now_ns - 20_000 } else { now_ns };
            let address = address % 100_000_000_000 / 512 * 512;
            let access = Access { kind, address, bytes };
            (at_ns, access)
        };
        requests.into_iter().map(at).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn time_goes_forward(requests in requests(), seed in any::<u64>()) {
        for profile in builtins() {
            let mut device = Device::new(&profile, seed);
            let completions = run(&mut device, &requests);
            prop_assert_eq!(device.outstanding(), 0, "{} leaks", &profile.name);
            for ((at_ns, access), done) in requests.iter().zip(&completions) {
                prop_assert!(done.due_ns >= at_ns + done.service_ns, "{} {access:?}", profile.name);
            }
            let again = run(&mut Device::new(&profile, seed), &requests);
            prop_assert_eq!(completions, again, "{} is not deterministic", &profile.name);
        }
    }

    #[test]
    fn nothing_that_is_asked_for_is_a_panic(
        requests in proptest::collection::vec(
            (0..3_usize, any::<u64>(), any::<u32>(), any::<u64>()), 1..50
        ),
    ) {
        for profile in builtins() {
            let mut device = Device::new(&profile, 1);
            for (kind, address, bytes, at_ns) in &requests {
                let kind = AccessKind::ALL[*kind];
                let access = Access { kind, address: *address, bytes: *bytes };
                if let Ok(RequestState::Queued { ticket, .. }) = device.submit(*at_ns, access) {
                    device.poll(*at_ns, ticket);
                }
            }
        }
    }

    #[test]
    fn answers_do_not_depend_on_how_often_one_asks(requests in requests()) {
        let profile = builtin("hdd-7k2").unwrap();
        let mut requests = requests;
        requests.sort_by_key(|(at_ns, _)| *at_ns);
        let patient = run(&mut Device::new(&profile, 1), &requests);
        let mut device = Device::new(&profile, 1);
        let mut steps: Vec<Step> = Vec::new();
        for (at_ns, access) in &requests {
            let ask = |step| match step {
                Step::Open(ticket, _) => Step::of(device.poll(*at_ns, ticket)),
                done @ Step::Done(_) => done,
            };
            steps = steps.into_iter().map(ask).collect();
            steps.push(Step::of(device.submit(*at_ns, *access).unwrap()));
        }
        let eager = steps.into_iter().map(|step| step.finish(&mut device));
        let eager: Vec<Completion> = eager.collect();
        prop_assert_eq!(patient, eager);
    }
}

#[test]
fn places_are_bounded_and_come_back() {
    for name in ["hdd-15k", "raid10-hdd-8"] {
        let mut device = Device::new(&builtin(name).unwrap(), 1);
        let mut open = Vec::new();
        let full = (0..100_000).find(|n| match device.submit(1_000, read(n << 20)) {
            Ok(progress) => {
                open.push(Step::of(progress));
                false
            }
            Err(Full) => true,
        });
        assert!(full.is_some_and(|n| n >= 4096), "{name}: {full:?}");
        assert_eq!(device.submit(1_000, read(0)), Err(Full));
        for step in open {
            step.finish(&mut device);
        }
        assert_eq!(device.outstanding(), 0);
    }
}

#[test]
fn a_disk_that_does_not_reorder_is_first_come_first_served() {
    let profile = changed("hdd-15k", "queue_depth = 64", "queue_depth = 1");
    let requests: Vec<_> = (0..50).map(|n| (1_000 + n, read((n * 7919 % 500) << 30))).collect();
    let due = |profile: &Profile| -> Vec<u64> {
        let completions = run(&mut Device::new(profile, 1), &requests);
        completions.iter().map(|done| done.due_ns).collect()
    };
    assert!(due(&profile).is_sorted());
    assert!(!due(&builtin("hdd-15k").unwrap()).is_sorted());
}

#[test]
fn queueing_helps_disks_and_ageing_lets_none_starve() {
    let profile = builtin("hdd-15k").unwrap();
    let (alone, queued) =
        (iops(&profile, AccessKind::Read, 1), iops(&profile, AccessKind::Read, 32));
    assert!(queued > alone * 1.8, "{alone} {queued}");
    // A stream beside one that is far away.
    let mut device = Device::new(&profile, 1);
    let far = Step::of(device.submit(1_000, read(500 << 30)).unwrap());
    let mut near = Vec::new();
    for n in 0..2000_u64 {
        let progress = device.submit(1_001 + n * 100_000, read(n << 16)).unwrap();
        near.push(Step::of(progress));
    }
    assert!(far.finish(&mut device).due_ns < 1_000_000_000);
}

#[test]
fn writes_wait_for_the_platter_unless_there_is_a_cache() {
    let through = builtin("hdd-15k").unwrap();
    let load = Load::random(AccessKind::Write, 1, 5.0);
    let latency_us =
        |profile: &Profile| closed_loop(&mut Device::new(profile, 1), 1, load).latency_us;
    // Half a revolution at least, on average.
    assert!(latency_us(&through) > 2000.0);
    let cached = changed("hdd-15k", "write_cache_bytes = 0", "write_cache_bytes = 16777216");
    let mut device = Device::new(&cached, 1);
    assert!(wait(&mut device, 1_000_000, write(5 << 30)) < 1_200_000);
    // And the flush waits instead.
    assert!(flush_latency_us(&mut Device::new(&cached, 1), &cached, 1, 100) > 2000.0);
    // But for one that lies.
    let lies = "write_cache_bytes = 16777216\nflush_lies = true";
    let lying = changed("hdd-15k", "write_cache_bytes = 0", lies);
    assert!(flush_latency_us(&mut Device::new(&lying, 1), &lying, 1, 100) < 200.0);
}

#[test]
fn a_sequential_reader_streams_at_depth_1() {
    let mut load = Load::sequential(AccessKind::Read, 2.0);
    load.depth = 1;
    let profile = builtin("hdd-15k").unwrap();
    let streamed = closed_loop(&mut Device::new(&profile, 1), 1, load).mb_per_s;
    assert!(streamed > 180.0, "{streamed}");
    let blind = changed("hdd-15k", "read_ahead_bytes = 1048576", "read_ahead_bytes = 0");
    let turning = closed_loop(&mut Device::new(&blind, 1), 1, load).mb_per_s;
    assert!(turning < 40.0, "{turning}");
}

#[test]
fn solid_state_devices_read_ahead_too() {
    let profile = builtin("nvme-pm1725").unwrap();
    let mut load = Load::sequential(AccessKind::Read, 0.1);
    load.bytes = 4096;
    load.depth = 1;
    let sequential_us = closed_loop(&mut Device::new(&profile, 1), 1, load).latency_us;
    assert!((15.0..30.0).contains(&sequential_us), "{sequential_us}");
}

#[test]
fn each_kind_keeps_to_its_own_rate() {
    // A device that writes faster than it reads.
    let text = "name = \"v\"\ntitle = \"V\"\ncapacity_bytes = \
        10000000000\n[solid_state]\nread_latency_us = 200\nrandom_read_iops = \
        10000\nsequential_read_mb_per_s = 500\nwrite_latency_us = 20\nrandom_write_iops = \
        50000\nsequential_write_mb_per_s = 500\nflush_us = 50\npower_loss_protected = true\n";
    let profile = Profile::parse(text).unwrap();
    assert!((9_900.0..10_100.0).contains(&iops(&profile, AccessKind::Read, 64)));
    assert!((49_500.0..51_000.0).contains(&iops(&profile, AccessKind::Write, 64)));
}

#[test]
fn an_array_goes_on_without_a_member_that_has_a_mirror() {
    let profile = builtin("raid1-nvme-2").unwrap();
    let last_ns = |lost: bool, access: fn(u64) -> Access| {
        let mut device = Device::new(&profile, 1);
        assert!(!lost || device.lose_member());
        let requests: Vec<_> = (0..512).map(|n| (0, access((n * 7) << 16))).collect();
        run(&mut device, &requests).iter().map(|done| done.due_ns).max().unwrap()
    };
    // Reads have half of the units, and of two writes the slower one is not waited for.
    assert!(last_ns(true, read) > last_ns(false, read) * 3 / 2);
    assert!(last_ns(true, write) <= last_ns(false, write));
    assert!(!Device::new(&builtin("sata-850pro").unwrap(), 1).lose_member());
}

#[test]
fn mirrors_read_twice_as_much() {
    let twice = iops(&builtin("raid1-nvme-2").unwrap(), AccessKind::Read, 512);
    let once = iops(&builtin("nvme-pm1725").unwrap(), AccessKind::Read, 512);
    assert!((1.9..2.1).contains(&(twice / once)), "{once} {twice}");
    let mirror = "name = \"m\"\ntitle = \"M\"\ncapacity_bytes = 600000000000\n[array]\nlevel = \
        1\nmembers = 2\nmember = \"hdd-15k\"\n";
    let twice = iops(&Profile::parse(mirror).unwrap(), AccessKind::Read, 16);
    let once = iops(&builtin("hdd-15k").unwrap(), AccessKind::Read, 8);
    assert!((1.7..2.5).contains(&(twice / once)), "{once} {twice}");
}

#[test]
fn flushes_of_a_volatile_cache_share_the_next_one_and_idle_ones_are_cheap() {
    let ended_ns = |profile: &Profile| {
        let mut device = Device::new(profile, 1);
        let mut done_ns = 0;
        for n in 0..4 {
            wait(&mut device, 1_000_000, write(n << 30));
            done_ns = wait(&mut device, 1_100_000, FLUSH);
        }
        // What came while one had the link was written after it.
        let clean_ns = wait(&mut device, done_ns, FLUSH);
        let idle_ns = wait(&mut device, clean_ns, FLUSH) - clean_ns;
        assert!(idle_ns < 100_000, "{idle_ns}");
        done_ns - 1_100_000
    };
    // The first, and one for the three that came while it was under way.
    let queued = changed("sata-850pro", "flush_queue_depth = 32\n", "");
    let ended = ended_ns(&queued);
    assert!((2 * 1_000_000..2 * 2_000_000).contains(&ended), "{ended}");
    // Where a flush has the link for itself, nothing was written until the next.
    let ended = ended_ns(&builtin("sata-850pro").unwrap());
    assert!((1_000_000..2_000_000).contains(&ended), "{ended}");
    let protected = builtin("nvme-pm1725").unwrap();
    assert!(flush_latency_us(&mut Device::new(&protected, 1), &protected, 1, 100) < 30.0);
}

#[test]
fn a_flush_has_the_link_of_sata_for_itself() {
    let delay_ns = |profile: &Profile, access: Access| {
        let mut device = Device::new(profile, 1);
        wait(&mut device, 1_000_000, write(0));
        let flushed_ns = wait(&mut device, 2_000_000, FLUSH);
        (wait(&mut device, 2_100_000, access) - 2_100_000, flushed_ns - 2_100_000)
    };
    let queued = changed("sata-850pro", "flush_queue_depth = 32\n", "");
    for access in [read(1 << 30), write(1 << 30)] {
        let (delay, rest) = delay_ns(&builtin("sata-850pro").unwrap(), access);
        assert!(delay > rest && rest > 1_000_000, "{delay} {rest}");
        let (delay, rest) = delay_ns(&queued, access);
        assert!(delay < rest, "{delay} {rest}");
    }
}

/// A redo log's flush while page cleaners have handed in all that asynchronous I/O takes.
#[test]
fn flushes_wait_for_acknowledged_writes_only() {
    let flush_us = |profile: &Profile, queued: u64| {
        let mut device = Device::new(profile, 1);
        device.precondition();
        // The cache is full, and these wait for room.
        let requests = (0..queued).map(|n| (2_000_000_000, write((n * 7) << 24)));
        let all: Vec<_> = requests.chain([(2_000_000_100, FLUSH)]).collect();
        let done = run(&mut device, &all);
        (done.last().unwrap().due_ns - 2_000_000_100) as f64 / 1e3
    };
    for name in ["nvme-pm1725", "sas-pm1633", "sata-ssd-enterprise"] {
        let profile = builtin(name).unwrap();
        let few = flush_us(&profile, 32);
        assert!(few < 5_000.0, "{name}: {few}");
        assert!((flush_us(&profile, 256) / few - 1.0).abs() < 0.5, "{name}");
    }
    // It empties its cache of 16 MiB, 4,096 pages at 9,000 a second, and 32 of the queue.
    let consumer = builtin("sata-850pro").unwrap();
    let [few, many] = [32, 256].map(|queued| flush_us(&consumer, queued) / 1e3);
    assert!((400.0..520.0).contains(&few) && (many / few - 1.0).abs() < 0.05, "{few} {many}");
    // What is acknowledged of a disk without a cache is on its platter.
    let disk = builtin("hdd-15k").unwrap();
    assert!(flush_us(&disk, 64) < 200.0);
    let cached = changed("hdd-15k", "write_cache_bytes = 0", "write_cache_bytes = 1048576");
    let [few, many] = [64, 1000].map(|queued| flush_us(&cached, queued) / 1e3);
    assert!(few > 50.0 && many < few * 6.0, "{few} {many}");
}

#[test]
fn reads_are_slower_while_the_cache_drains() {
    let profile = builtin("nvme-pm1725").unwrap();
    let mut device = Device::new(&profile, 1);
    let quiet_ns = wait(&mut device, 1_000_000_000, read(0)) - 1_000_000_000;
    for n in 0..1000 {
        device.submit(2_000_000_000, write(n << 20)).unwrap();
    }
    let read_ns: u64 = (0..64)
        .map(|n| {
            wait(&mut device, 2_001_000_000 + n * 10_000, read(n << 30))
                - 2_001_000_000
                - n * 10_000
        })
        .sum();
    assert!(read_ns / 64 > quiet_ns * 5 / 4, "{quiet_ns} {read_ns}");
}

/// The same writes keep the flash of a full drive at work for longer, as it copies more. What it
/// copies in idle time it does between reads.
#[test]
fn reads_are_slower_where_more_is_copied() {
    let read_us = |used: f64| {
        let mut profile = builtin("sata-850pro").unwrap().occupied(used);
        let solid = profile.solid_state.as_mut().unwrap();
        (solid.burst_bytes, solid.random_write_peak_iops) = (None, None);
        let mut device = Device::new(&profile, 1);
        // 6,000 writes a second, and a read after every second one.
        let mut reads_ns = 0;
        for n in 0..12_000_u64 {
            let at_ns = n * 166_667;
            device.submit(at_ns, write((n * 7_919 % 100_000) << 14)).unwrap();
            if n % 2 == 0 && n >= 6_000 {
                let begun_ns = at_ns + n * 37 % 166 * 1_000;
                let place = (n * 104_729 % 100_000) << 14;
                reads_ns += wait(&mut device, begun_ns, read(place)) - begun_ns;
            }
        }
        reads_ns as f64 / 3e6
    };
    let [tenth, most, full] = [0.1, 0.9, 1.0].map(read_us);
    assert!(most > tenth * 1.05 && full > most * 1.2, "{tenth} {most} {full}");
}

#[test]
fn logs_are_sequential_between_random_writes() {
    // Random pages and a log that goes on block by block, rewriting the last: the log costs next to
    // nothing.
    let profile = builtin("sata-ssd-enterprise").unwrap();
    let time_ns = |log: bool| {
        let mut device = Device::new(&profile, 1);
        device.precondition();
        // All at once: then the drain decides, not the latency.
        let mut last_ns = 0;
        for n in 0..20_000_u64 {
            last_ns = wait(&mut device, 1_000_000, write((n * 7919 % 60_000) << 20));
            if log {
                let block = write((500 << 30) + n / 2 * 4096);
                last_ns = wait(&mut device, 1_000_000, block);
            }
        }
        last_ns
    };
    let share = time_ns(true) as f64 / time_ns(false) as f64;
    assert!(share < 1.5, "{share}");
}

#[test]
fn an_idle_drive_recovers_its_peak() {
    let profile = builtin("sata-850pro").unwrap();
    let burst_iops = |device: &mut Device, from_ns: u64| {
        let mut now_ns = from_ns;
        for n in 0..20_000_u64 {
            now_ns = wait(device, now_ns, write((n * 7919 % 60_000) << 20));
        }
        20_000.0 / ((now_ns - from_ns) as f64 / 1e9)
    };
    let mut device = Device::new(&profile, 1);
    device.precondition();
    let worn = burst_iops(&mut device, 1_000_000_000);
    let rested = burst_iops(&mut device, 200_000_000_000);
    assert!(worn < 10_500.0 && rested > 25_000.0, "{worn} {rested}");
}

#[test]
fn limits_hold_for_reads_and_writes_together() {
    let profile = builtin("cloud-gp3").unwrap();
    let mut device = Device::new(&profile, 1);
    let mut last_ns = 0;
    for n in 0..3000_u64 {
        let access = if n % 2 == 0 { read(n << 20) } else { write(n << 20) };
        let RequestState::Decided(done) = device.submit(1_000_000_000, access).unwrap() else {
            panic!("a volume decides at once");
        };
        last_ns = last_ns.max(done.due_ns);
    }
    let seconds = (last_ns - 1_000_000_000) as f64 / 1e9;
    assert!((0.99..1.02).contains(&seconds), "{seconds}");
}

/// A server's cleaner submits hundreds of pages at once: hosts send reads first, so that one waits
/// for what the device holds alone. What it takes of the link, the writes get later.
#[test]
fn reads_overtake_writes_that_wait_for_the_device() {
    const PAGES: u64 = 1_000;
    let page = |kind, n: u64| Access { kind, address: n << 24, bytes: 16 << 10 };
    let played = |reads: u64| {
        let mut device = Device::new(&builtin("sata-850pro").unwrap(), 1);
        let at_ns = 1_000_000_000;
        let writes = (0..PAGES).map(|n| (at_ns, page(AccessKind::Write, n)));
        let reads = (0..reads).map(|n| (at_ns, page(AccessKind::Read, PAGES + n)));
        let last = (at_ns, page(AccessKind::Write, 2 * PAGES));
        let all: Vec<(u64, Access)> = writes.chain(reads).chain([last]).collect();
        let done = run(&mut device, &all).into_iter().map(|done| (done.due_ns - at_ns) as f64);
        done.map(|ns| ns / 1e6).collect::<Vec<f64>>()
    };
    let (alone, beside) = (played(0), played(50));
    let last_ms = |all: &[f64]| all[all.len() - 1];
    // 16 MB at 560 MB/s.
    assert!(last_ms(&alone) > 29.0, "{}", last_ms(&alone));
    let slowest_ms = beside[PAGES as usize..][..50].iter().fold(0.0_f64, |a, b| a.max(*b));
    assert!(slowest_ms < 4.0, "{slowest_ms}");
    assert!(last_ms(&beside) > last_ms(&alone) + 1.0, "{} {}", last_ms(&beside), last_ms(&alone));
}
