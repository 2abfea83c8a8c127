//! What a run used, from samples in a results file: each number by hand.

use analyse::{
    BoundBy, CellAccount, HostMachine, IoCountedBy, KnownBy, Part, PowerMeter, Resources,
    measurement,
};
use serde_json::Value;
use std::collections::BTreeSet;
use store::{
    IntervalRow, MetricIds, MetricKind, MetricSource, NewCell, NewRepeat, PacedInterval, Phase,
    RepeatId, RepeatResult, Results, SampleBatch, StoredStatementTime, TimeKind, TimeRow,
    TimeTotals, TransactionTime,
};
use testkit::{SECOND_NS as S, Scratch, fail};

/// A lab on an emulated disk: a warm-up of 1 s, a window of 2 s with 400 new orders and 200
/// payments of 40 ms each, so that 12 were under way in the mean.
fn running() -> (Scratch, RepeatId) {
    running_with(testkit::cell())
}

/// The same with what is special of a cell.
fn running_with(special: NewCell) -> (Scratch, RepeatId) {
    let results = Scratch::default();
    let cell = NewCell {
        // The most of an automatic one.
        warmup_ns: if special.warmup_auto { 60 * S } else { S },
        connections: 16,
        places: vec![testkit::place("data", "hdd-15k")],
        ..special
    };
    let repeat = results.begin(&cell);
    let rows = [interval(Phase::Window, "new_order", 400), interval(Phase::Window, "payment", 200)];
    results.put(repeat, &rows).unwrap();
    (results, repeat)
}

/// So many transactions of 40 ms each.
fn interval(phase: Phase, transaction: &str, committed: u64) -> IntervalRow {
    let (start_offset_ns, end_offset_ns) = match phase {
        Phase::Drain => (3 * S, 4 * S),
        Phase::Warmup | Phase::Window => (S, 3 * S),
    };
    IntervalRow {
        phase,
        start_offset_ns,
        end_offset_ns,
        ..testkit::window(2 * S, transaction, committed)
    }
}

/// Samples at 0, 1, 2 and 3 s: a counter that rises by so much a second, or a gauge that stays.
fn sample(results: &Results, repeat: RepeatId, metrics: &[MetricOf]) {
    let batch = |second: u64| SampleBatch {
        at_offset_ns: second * S,
        values: metrics
            .iter()
            .map(|(source, kind, name, label, value)| {
                let metric = testkit::metric((*source, *kind), name, label);
                let value = match kind {
                    // What was before the window does not count.
                    MetricKind::Counter if second == 0 => -value * 7,
                    MetricKind::Counter => value * second as i64,
                    MetricKind::Gauge => *value,
                };
                (metric, value)
            })
            .collect(),
    };
    let batches: Vec<SampleBatch> = (0..4).map(batch).collect();
    results.append_samples(repeat, &mut MetricIds::default(), &batches).unwrap();
}

fn finish(results: &Results, repeat: RepeatId) {
    let result = testkit::result(2 * S);
    results.finish_repeat(repeat, &result).unwrap();
}

use MetricKind::{Counter, Gauge};
use MetricSource::{Host, Power, Process, Server, Shim};

type MetricOf = (MetricSource, MetricKind, &'static str, &'static str, i64);

const METRICS: [MetricOf; 65] = [
    (Host, Gauge, "cpu_cores", "", 2),
    (Host, Gauge, "cpu_frequency_hz", "", 3_000_000_000),
    (Host, Counter, "cpu_user_ns", "", 400_000_000),
    (Host, Counter, "cpu_system_ns", "", 150_000_000),
    (Host, Counter, "cpu_irq_ns", "", 0),
    (Host, Counter, "cpu_softirq_ns", "", 50_000_000),
    (Host, Counter, "cpu_steal_ns", "", 100_000_000),
    (Host, Counter, "cpu_iowait_ns", "", 100_000_000),
    (Host, Counter, "cpu_idle_ns", "", 1_200_000_000),
    (Host, Counter, "cpu_idle_ns", "cpu0", 600_000_000),
    (Host, Counter, "cycles", "", 1_200_000_000),
    (Host, Counter, "instructions", "", 900_000_000),
    (Host, Counter, "disk_reads", "vda", 100),
    (Host, Counter, "disk_read_ns", "vda", 200_000_000),
    (Host, Counter, "network_sent_bytes", "lo", 1_000),
    (Host, Counter, "network_sent_bytes", "eth0", 500),
    (Process, Counter, "cpu_user_ns", "server", 300_000_000),
    (Process, Counter, "cpu_system_ns", "server", 100_000_000),
    (Process, Counter, "cpu_ns", "driver-0", 200_000_000),
    (Process, Counter, "run_wait_ns", "driver-0", 10_000_000),
    (Server, Counter, "buffer_pool_read_requests", "", 10_000),
    (Server, Counter, "buffer_pool_reads", "", 250),
    (Server, Counter, "data_fsyncs", "", 170),
    (Server, Counter, "row_lock_waits", "", 5),
    (Server, Counter, "row_lock_time_ms", "", 2_000),
    (Shim, Counter, "busy_ns", "data", 900_000_000),
    (Shim, Counter, "read_response_ns", "data", 8_000_000_000),
    (Shim, Counter, "write_bytes", "data", 3_000_000),
    (Shim, Counter, "write_bytes", "redo", 600_000),
    (Shim, Counter, "flushes", "redo", 150),
    (Shim, Counter, "flushes", "binlog", 0),
    (Shim, Counter, "reads", "data", 880),
    (Shim, Counter, "reads", "undo", 20),
    (Shim, Counter, "reads", "doublewrite", 0),
    (Shim, Counter, "read_response_ns", "undo", 0),
    (Shim, Counter, "read_response_ns", "doublewrite", 0),
    (Shim, Counter, "writes", "data", 270),
    (Shim, Counter, "writes", "undo", 10),
    (Shim, Counter, "writes", "doublewrite", 20),
    (Shim, Counter, "write_response_ns", "data", 1_200_000_000),
    (Shim, Counter, "write_response_ns", "undo", 100_000_000),
    (Shim, Counter, "write_response_ns", "doublewrite", 200_000_000),
    (Shim, Counter, "flush_response_ns", "data", 400_000_000),
    (Shim, Counter, "flush_response_ns", "undo", 0),
    (Shim, Counter, "flush_response_ns", "doublewrite", 0),
    (Shim, Counter, "write_response_ns", "redo", 200_000_000),
    (Shim, Counter, "write_response_ns", "binlog", 0),
    (Shim, Counter, "flush_response_ns", "redo", 300_000_000),
    (Shim, Counter, "flush_response_ns", "binlog", 0),
    (Shim, Counter, "cache_hits", "", 600),
    (Shim, Counter, "session_active_ns", "", 11_000_000_000),
    (Shim, Counter, "session_sleep_ns", "", 100_000_000),
    (Shim, Counter, "session_spin_ns", "", 100_000_000),
    (Shim, Counter, "session_wait_ns", "Item_func::val_int", 100_000_000),
    (Shim, Counter, "session_read_ns", "data", 7_400_000_000),
    (Shim, Counter, "session_read_ns", "undo", 100_000_000),
    (Shim, Counter, "session_write_ns", "data", 200_000_000),
    (Shim, Counter, "session_flush_ns", "data", 0),
    (Shim, Counter, "session_write_ns", "redo", 0),
    (Shim, Counter, "session_flush_ns", "redo", 300_000_000),
    (Shim, Counter, "session_write_ns", "binlog", 0),
    (Shim, Counter, "session_flush_ns", "binlog", 0),
    (Process, Counter, "session_cpu_ns", "server", 400_000_000),
    (Process, Counter, "session_run_wait_ns", "server", 100_000_000),
    (Power, Gauge, "power_mw", "meter", 200_000),
];

fn close(actual: Option<f64>, expected: f64) {
    let actual = actual.unwrap();
    assert!((actual - expected).abs() <= 1e-9 * expected.abs(), "{actual} {expected}");
}

#[test]
fn means_and_costs_are_those_of_the_window() {
    let (results, repeat) = running();
    sample(&results, repeat, &METRICS);
    finish(&results, repeat);
    let resources = measurement(&results, repeat).unwrap().resources.unwrap();
    let host = &resources.host;
    close(host.cpu.user, 0.2);
    close(host.cpu_busy_share, 0.35);
    close(host.cpu.idle, 0.6);
    close(host.emulated_iowait_share, 0.6 * 0.9);
    assert_eq!(host.machine, Some(HostMachine::Driver));
    close(host.network_sent_bytes_per_s, 1_500.0);
    assert_eq!(host.context_switches_per_s, None);
    let disk = &resources.disks[0];
    assert_eq!((disk.disk.as_str(), disk.write_per_s), ("vda", None));
    close(disk.read_await_us, 2_000.0);
    close(resources.server_process.cpu_cores_used, 0.4);
    close(resources.driver.busiest_thread_cpu_share, 0.2);
    close(resources.server.buffer_pool_hit_share, 0.975);
    close(resources.server.row_lock_wait_mean_us, 400_000.0);
    close(resources.server.row_lock_waiting_mean, 2.0);
    // 300 transactions a second, 600 ms of CPU a second without what was stolen.
    let each = &resources.per_transaction;
    close(each.data_reads, 3.0);
    close(each.data_writes, 1.0);
    close(each.log_flushes, 0.5);
    close(each.page_cache_hits, 2.0);
    close(each.path_length_cycles, 3e9 * 0.6 / 300.0);
    close(each.host_cpu_us, 2_000.0);
    close(each.written_bytes, 12_000.0);
    close(each.flushes, 0.5);
    close(each.cycles, 4e6);
    close(each.instructions, 3e6);
    assert_eq!(each.io_counted_by, Some(IoCountedBy::Shim));
    let row_bytes = (400.0 * 3727.0 + 200.0 * 885.0) / 600.0;
    close(each.row_bytes, row_bytes);
    close(each.write_amplification, 12_000.0 / row_bytes);
    close(resources.power.watts_mean, 200.0);
    assert_eq!(resources.power.measured_by, Some(PowerMeter::Meter));
    // 200 new orders a second.
    close(resources.power.nopm_per_watt, 12_000.0 / 200.0);
}

#[test]
fn the_account_adds_up_to_a_transaction() {
    let (results, repeat) = running();
    let resources = used((&results, repeat), |_| true, &[]);
    let account = resources.account.unwrap();
    assert_eq!(account.known_by, KnownBy::Sessions);
    // 12 under way, 11 of them in the server; 2 behind locks.
    close(Some(account.time_us), 40_000.0);
    close(account.parts[Part::Running], 0.3e6 / 300.0);
    close(account.parts[Part::CoreWait], 0.1e6 / 300.0);
    close(account.parts[Part::Reads], 7.5e6 / 300.0);
    close(account.parts[Part::PageWrites], 0.3e6 / 300.0);
    // 2.5 are blocked: 2 by row locks, and as many by the flushes of others as the rule of group
    // commit adds to 0.3 that flush: 1.25 in all. Together they are more, as both have waits for
    // cores in them.
    close(account.parts[Part::RowLocks], 2.0 * 2.5 / 2.95 * 1e6 / 300.0);
    close(account.parts[Part::Log], (0.3 + 0.95 * 2.5 / 2.95) * 1e6 / 300.0);
    close(account.parts[Part::NetworkAndDriver], 1e6 / 300.0);
    assert!(account.parts[Part::Remainder].unwrap().abs() < 1e-6, "{account:?}");
    let bound = resources.bound.clone().unwrap();
    assert_eq!(bound.by, BoundBy::ReadIo);
    assert!(bound.because.contains("62 %"), "{}", bound.because);
    // Two repeats that are not alike.
    let mut other = resources.clone();
    let mut longer = account;
    longer.time_us = 60_000.0;
    other.account = Some(longer);
    other.bound = None;
    let of_cell = CellAccount::of(&[&resources, &other]).unwrap();
    assert_eq!((of_cell.time_us, of_cell.bound_by), (50_000.0, None));
    close(of_cell.spent(Part::Log).unwrap().requests, 0.5);
    let of_cell = CellAccount::of(&[&resources]).unwrap();
    assert_eq!(of_cell.bound_by, Some(BoundBy::ReadIo));
}

#[test]
fn a_window_begins_where_an_automatic_warm_up_ended() {
    let (results, repeat) = running_with(NewCell { warmup_auto: true, ..testkit::cell() });
    sample(&results, repeat, &METRICS);
    let result = RepeatResult { warmup_measured_ns: Some(S), ..testkit::result(2 * S) };
    results.finish_repeat(repeat, &result).unwrap();
    let resources = measurement(&results, repeat).unwrap().resources.unwrap();
    close(resources.host.cpu.user, 0.2);
}

#[test]
fn what_failed_or_was_not_sampled_has_no_resources() {
    let (results, repeat) = running();
    finish(&results, repeat);
    assert_eq!(measurement(&results, repeat).unwrap().resources, None);
    sample(&results, repeat, &METRICS);
    assert!(measurement(&results, repeat).unwrap().resources.is_some());
    fail(&results, repeat, "check_failed");
    assert_eq!(measurement(&results, repeat).unwrap().resources, None);
}

/// What a repeat with these metrics besides those that `keep` leaves used.
fn used(
    (results, repeat): (&Results, RepeatId),
    keep: fn(&MetricOf) -> bool,
    more: &[MetricOf],
) -> Resources {
    let kept = METRICS.iter().filter(|of| keep(of)).chain(more);
    let all: Vec<MetricOf> = kept.copied().collect();
    sample(results, repeat, &all);
    finish(results, repeat);
    measurement(results, repeat).unwrap().resources.unwrap()
}

/// As many began before the window and ended in it as the other way round: those that ended in it
/// are counted, and what is behind it changes nothing.
#[test]
fn what_ended_behind_the_window_costs_nothing() {
    let (results, repeat) = running();
    let drain = [interval(Phase::Drain, "new_order", 200)];
    results.put(repeat, &drain).unwrap();
    let resources = used((&results, repeat), |_| true, &[]);
    close(resources.per_transaction.host_cpu_us, 2_000.0);
    close(resources.per_transaction.written_bytes, 12_000.0);
    close(resources.account.map(|of| of.time_us), 40_000.0);
}

/// 1,200 transactions waited 1 s for a connection and were served in 20 ms.
#[test]
fn the_backlog_of_a_schedule_is_not_under_way() {
    let (results, repeat) =
        running_with(NewCell { rate_asked: Some("400/s".to_owned()), ..testkit::cell() });
    let mut late = interval(Phase::Window, "order_status", 600);
    late.latency.sum_ns = 600 * S;
    results.put(repeat, &[late]).unwrap();
    let service = TimeRow {
        kind: TimeKind::Service,
        transaction: None,
        times: TimeTotals {
            sum_ns: 1_200 * 20_000_000,
            max_ns: 20_000_000,
            out_of_bounds: 1_200,
            ..TimeTotals::default()
        },
    };
    let paced = PacedInterval {
        phase: Phase::Window,
        start_offset_ns: S,
        end_offset_ns: 3 * S,
        schedule: None,
        times: vec![service],
    };
    results.append_paced(repeat, &paced).unwrap();
    let resources = used((&results, repeat), |_| true, &[]);
    close(resources.account.map(|of| of.time_us), 20_000.0);
}

/// Terminals share connections, and their response times have waits for one in them.
#[test]
fn terminals_have_an_account_where_the_driver_tells_their_service() {
    let (results, repeat) = running_with(NewCell { terminals: Some(1_000), ..testkit::cell() });
    let mut queued = interval(Phase::Window, "delivery", 60);
    queued.latency.sum_ns = 600 * S;
    results.put(repeat, &[queued]).unwrap();
    let resources = used((&results, repeat), |_| true, &[]);
    assert_eq!((resources.account, resources.bound), (None, None));
    let transactions = [TransactionTime {
        transaction: "delivery".to_owned(),
        transactions: 60,
        response_ns: 60 * S,
        queued_ns: 58 * S,
        paused_ns: 0,
    }];
    let commit = StoredStatementTime {
        transaction: "delivery".to_owned(),
        kind: "commit".to_owned(),
        times: TimeTotals { sum_ns: S, ..TimeTotals::default() },
    };
    results.put(repeat, &transactions).unwrap();
    results.put(repeat, &[commit]).unwrap();
    let again = measurement(&results, repeat).unwrap().resources.unwrap();
    let account = again.account.unwrap();
    close(Some(account.time_us), 2e6 / 60.0);
    close(account.queued_us, 58e6 / 60.0);
}

#[test]
fn who_counts_where_the_shim_does_not() {
    let no_shim = |of: &MetricOf| of.0 != Shim;
    let of_process = (Process, Counter, "written_bytes", "server", 1_800_000);
    let of_server = [
        (Server, Counter, "data_read_bytes", "", 60_000),
        (Server, Counter, "data_written_bytes", "", 1_500_000),
        (Server, Gauge, "data_pending_reads", "", 7),
        of_process,
    ];
    let (results, repeat) = running();
    let resources = used((&results, repeat), no_shim, &of_server);
    let each = &resources.per_transaction;
    assert_eq!(each.io_counted_by, Some(IoCountedBy::Server));
    close(each.read_bytes, 200.0);
    close(each.written_bytes, 5_000.0);
    close(each.flushes, 170.0 / 300.0);
    let bound = resources.bound.unwrap();
    assert_eq!(bound.by, BoundBy::ReadIo);
    assert!(bound.because.contains("are 58 %"), "{bound:?}");
    assert_eq!(resources.account.unwrap().known_by, KnownBy::Server);
    let (results, repeat) = running();
    let resources = used((&results, repeat), no_shim, &[of_process]);
    let each = &resources.per_transaction;
    assert_eq!(each.io_counted_by, Some(IoCountedBy::Process));
    assert_eq!(each.read_bytes, None);
    close(each.written_bytes, 6_000.0);
    close(each.flushes, 170.0 / 300.0);
    // Nobody knows what most of the time went to.
    assert_eq!(resources.bound, None);
}

#[test]
fn an_exporters_cores_are_not_the_drivers() {
    let no_core = |of: &MetricOf| of.3 != "cpu0" && of.3 != "driver-0" && of.0 != Shim;
    let starved = [
        (Process, Counter, "cpu_ns", "driver-0", 300_000_000),
        (Process, Counter, "run_wait_ns", "driver-0", 10_000_000),
        (Process, Counter, "cpu_ns", "driver-1", 100_000_000),
        (Process, Counter, "run_wait_ns", "driver-1", 850_000_000),
    ];
    let (results, repeat) = running();
    let resources = used((&results, repeat), no_core, &starved);
    assert_eq!(resources.host.machine, Some(HostMachine::Exporter));
    close(resources.driver.busiest_thread_run_wait_share, 0.01);
    assert_eq!(resources.bound, None);
    let (results, repeat) = running();
    let mut on_this_machine = starved.to_vec();
    on_this_machine.push((Host, Counter, "cpu_idle_ns", "cpu1", 1));
    let resources = used((&results, repeat), no_core, &on_this_machine);
    assert_eq!(resources.bound.unwrap().by, BoundBy::Driver);
}

/// The same run of a server that was kept to the second of two cores, which is busy, while the
/// driver's is idle.
#[test]
fn a_server_with_few_cores_is_bound_by_them_though_the_host_is_idle() {
    let results = Scratch::default();
    let cell = NewCell { warmup_ns: S, connections: 16, ..testkit::cell() };
    let cell = results.begin_cell(results.lab, &cell).unwrap();
    let begin = |ordinal: u32, driver_cpus: Option<&str>| {
        let repeat = NewRepeat {
            server_cpus: driver_cpus.map(|_| "1".to_owned()),
            driver_cpus: driver_cpus.map(str::to_owned),
            ..NewRepeat::not_driven(cell, ordinal)
        };
        let repeat = results.begin_repeat(&repeat).unwrap();
        let rows = [interval(Phase::Window, "new_order", 400)];
        results.put(repeat, &rows).unwrap();
        repeat
    };
    let others = |of: &MetricOf| of.0 != Shim && of.3 != "server" && of.2 != "row_lock_time_ms";
    let of_cores = [
        (Process, Counter, "cpu_user_ns", "server", 780_000_000),
        (Process, Counter, "cpu_system_ns", "server", 130_000_000),
        (Host, Counter, "cpu_user_ns", "cpu1", 800_000_000),
        (Host, Counter, "cpu_system_ns", "cpu1", 130_000_000),
        (Host, Counter, "cpu_irq_ns", "cpu1", 0),
        (Host, Counter, "cpu_softirq_ns", "cpu1", 20_000_000),
        (Host, Counter, "cpu_steal_ns", "cpu1", 0),
        (Host, Counter, "cpu_idle_ns", "cpu1", 50_000_000),
        (Process, Counter, "run_wait_ns", "server", 6_000_000_000),
    ];
    let judged = |repeat| used((&results, repeat), others, &of_cores).bound;
    let bound = judged(begin(1, Some("0"))).unwrap();
    assert_eq!(bound.by, BoundBy::Cpu);
    let words = "the server's core was busy for 95 % of the time";
    assert!(bound.because.contains(words), "{bound:?}");
    // On all cores there is more to have.
    assert_ne!(judged(begin(2, None)).unwrap().by, BoundBy::Cpu);
}

/// The keys of each table of `resources` in the page.
fn described(page: &str, table: &str) -> BTreeSet<String> {
    let of_resources = page.split_once("`resources` is one key more").unwrap().1;
    let begins = |line: &&str| {
        let line: &str = line;
        let line = line.strip_prefix("Each of ").unwrap_or(line);
        let rest = line.strip_prefix(&format!("`{table}`"));
        rest.is_some_and(|rest| rest.ends_with(':'))
    };
    let mut lines = of_resources.lines();
    if table != "resources" {
        lines.find(begins).unwrap_or_else(|| panic!("no {table}"));
    }
    let rows = lines.skip_while(|line| !line.starts_with('|'));
    rows.take_while(|line| line.starts_with('|'))
        .flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect()
}

#[test]
fn each_table_describes_the_keys_that_there_are() {
    let (results, repeat) = running();
    sample(&results, repeat, &METRICS);
    finish(&results, repeat);
    let document = serde_json::to_value(measurement(&results, repeat).unwrap()).unwrap();
    let resources = &document["resources"];
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let page = std::fs::read_to_string(path).unwrap();
    let keys =
        |of: &Value| -> BTreeSet<String> { of.as_object().unwrap().keys().cloned().collect() };
    let tables = keys(resources);
    assert_eq!(described(&page, "resources"), tables);
    for table in &tables {
        let of = match &resources[table] {
            Value::Array(all) => &all[0],
            of => of,
        };
        assert_eq!(described(&page, table), keys(of), "{table}");
    }
}
