//! What samplers could have seen beside a fixture's load.

use store::MetricKind::{Counter, Gauge};
use store::MetricSource::{Host, Process, Server, Shim};
use store::{MetricIds, MetricKind, MetricSource, Moment, RepeatId, Results, SampleBatch};

/// The run that is observed.
pub struct Beside {
    pub total_s: u64,
    pub connections: u32,
    /// Of an emulated device, whose redo log is what is busy; else of the machine's disk and its
    /// cores.
    pub has_shim: bool,
}

/// A metric: of a counter what it rises by in a second, of a gauge what it is. A part goes with the
/// load.
struct Metered {
    source: MetricSource,
    kind: MetricKind,
    name: &'static str,
    label: &'static str,
    steady: f64,
    with_load: f64,
}

/// The server answers nothing in these seconds.
const GAP_S: std::ops::RangeInclusive<u64> = 26..=31;

/// Stores samples of each second, and the server's status.
pub fn observe(results: &Results, repeat: RepeatId, of: &Beside) {
    let all = metrics(of);
    let mut counted = vec![1_000_000.0; all.len()];
    let mut batches = Vec::new();
    for s in 0..=of.total_s {
        let load = if s % 45 < 4 { 0.62 } else { 1.0 };
        for (source, late_ns) in [(Host, 0), (Process, 1), (Server, 3_000_000), (Shim, 400_000)] {
            let mut values = Vec::new();
            let of_source = all.iter().zip(&mut counted).filter(|(of, _)| of.source == source);
            for (of, counted) in of_source {
                let now = of.steady + of.with_load * load;
                *counted += now;
                let value = if of.kind == Counter { *counted } else { now };
                let metric = testkit::metric((of.source, of.kind), of.name, of.label);
                values.push((metric, value as i64));
            }
            if source != Server || !GAP_S.contains(&s) {
                batches.push(SampleBatch { at_offset_ns: s * 1_000_000_000 + late_ns, values });
            }
        }
    }
    results.append_samples(repeat, &mut MetricIds::default(), &batches).unwrap();
    for (moment, commits) in [(Moment::Start, "1200"), (Moment::End, "61200")] {
        let status = [
            ("Com_commit", commits),
            ("Innodb_buffer_pool_dump_status", "not started"),
            ("Uptime_since_flush_status", "10"),
        ];
        let owned = status.map(|(name, value)| (name.to_owned(), value.to_owned()));
        results.record_server(repeat, moment, &[], &owned).unwrap();
    }
}

fn metrics(of: &Beside) -> Vec<Metered> {
    let mut all = host(of);
    all.extend(processes(of));
    all.extend(server(of));
    if of.has_shim {
        all.extend(shim());
        all.extend(sessions(of));
    }
    all
}

fn counter(
    source: MetricSource,
    (name, label): (&'static str, &'static str),
    (steady, with_load): (f64, f64),
) -> Metered {
    Metered { source, kind: Counter, name, label, steady, with_load }
}

fn gauge(
    source: MetricSource,
    (name, label): (&'static str, &'static str),
    values: (f64, f64),
) -> Metered {
    Metered { kind: Gauge, ..counter(source, (name, label), values) }
}

/// Two cores without a known frequency.
fn host(of: &Beside) -> Vec<Metered> {
    let (user, system) = if of.has_shim { (5e8, 3e8) } else { (1.2e9, 6e8) };
    let soft = 5e7;
    let mut all = vec![
        gauge(Host, ("cpu_cores", ""), (2.0, 0.0)),
        counter(Host, ("cpu_user_ns", ""), (0.0, user)),
        counter(Host, ("cpu_system_ns", ""), (0.0, system)),
        counter(Host, ("cpu_irq_ns", ""), (0.0, 0.0)),
        counter(Host, ("cpu_softirq_ns", ""), (0.0, soft)),
        counter(Host, ("cpu_iowait_ns", ""), (2e7, 0.0)),
        counter(Host, ("cpu_steal_ns", ""), (1e7, 0.0)),
        counter(Host, ("cpu_idle_ns", ""), (2e9 - 3e7, -user - system - soft)),
        counter(Host, ("cpu_idle_ns", "cpu0"), (9e8, -user / 2.0)),
        counter(Host, ("context_switches", ""), (900.0, 60_000.0)),
        counter(Host, ("pressure_cpu_some_us", ""), (0.0, 400_000.0)),
        counter(Host, ("pressure_io_some_us", ""), (0.0, 30_000.0)),
        gauge(Host, ("memory_available_bytes", ""), (3.1e9, 0.0)),
        counter(Host, ("network_received_bytes", "lo"), (0.0, 9.1e6)),
        counter(Host, ("network_sent_bytes", "lo"), (0.0, 9.1e6)),
    ];
    for (name, per_s) in [
        ("disk_reads", 310.0),
        ("disk_read_bytes", 5.1e6),
        ("disk_read_ns", 8e7),
        ("disk_writes", 1_450.0),
        ("disk_write_bytes", 3.2e7),
        ("disk_write_ns", 3e8),
        ("disk_flushes", 480.0),
        ("disk_queue_ns", 4e8),
        ("disk_busy_ns", 3.5e8),
    ] {
        all.push(counter(Host, (name, "vda"), (0.0, per_s)));
    }
    all
}

/// With more than a hundred connections mydyno's thread is what is busy.
fn processes(of: &Beside) -> Vec<Metered> {
    let of_thread = if of.connections > 100 { 9.5e8 } else { 1.4e8 };
    // Where there is no emulated device, the cores are what is busy.
    let waited_share = if of.has_shim { 0.02 } else { 0.7 };
    let waited = waited_share * f64::from(of.connections) * 1e9;
    vec![
        counter(Process, ("cpu_user_ns", "server"), (0.0, 6e8)),
        counter(Process, ("cpu_system_ns", "server"), (0.0, 2.5e8)),
        gauge(Process, ("resident_bytes", "server"), (4.4e9, 0.0)),
        gauge(Process, ("threads", "server"), (61.0, 0.0)),
        counter(Process, ("run_wait_ns", "server"), (0.0, waited)),
        counter(Process, ("cpu_user_ns", "mydyno"), (of_thread * 0.4, 1e7)),
        counter(Process, ("cpu_system_ns", "mydyno"), (of_thread * 0.6, 0.0)),
        gauge(Process, ("resident_bytes", "mydyno"), (2.1e7, 0.0)),
        counter(Process, ("cpu_ns", "worker-0"), (of_thread * 0.7, 0.0)),
        counter(Process, ("cpu_ns", "worker-1"), (of_thread, 0.0)),
        counter(Process, ("run_wait_ns", "worker-1"), (2e7, 0.0)),
    ]
}

fn server(of: &Beside) -> Vec<Metered> {
    let connections = f64::from(of.connections);
    vec![
        counter(Server, ("questions", ""), (2.0, 31_000.0)),
        gauge(Server, ("threads_running", ""), (1.0, connections * 0.6)),
        counter(Server, ("buffer_pool_read_requests", ""), (0.0, 900_000.0)),
        counter(Server, ("buffer_pool_reads", ""), (0.0, 1_100.0)),
        gauge(Server, ("buffer_pool_pages_total", ""), (65_528.0, 0.0)),
        gauge(Server, ("buffer_pool_pages_dirty", ""), (0.0, 21_000.0)),
        counter(Server, ("pages_read", ""), (0.0, 1_100.0)),
        counter(Server, ("pages_written", ""), (0.0, 820.0)),
        counter(Server, ("buffer_pool_pages_flushed", ""), (0.0, 790.0)),
        counter(Server, ("doublewrite_pages", ""), (0.0, 790.0)),
        counter(Server, ("data_reads", ""), (0.0, 1_100.0)),
        counter(Server, ("data_writes", ""), (0.0, 1_700.0)),
        counter(Server, ("data_fsyncs", ""), (0.0, 510.0)),
        counter(Server, ("log_writes", ""), (0.0, 600.0)),
        counter(Server, ("log_fsyncs", ""), (0.0, 460.0)),
        counter(Server, ("log_written_bytes", ""), (0.0, 4.4e6)),
        gauge(Server, ("checkpoint_age_bytes", ""), (4e8, 3.1e8)),
        counter(Server, ("row_lock_waits", ""), (0.0, 55.0)),
        counter(Server, ("row_lock_time_ms", ""), (0.0, connections * 120.0)),
        counter(Server, ("deadlocks", ""), (0.4, 0.0)),
        gauge(Server, ("history_list_entries", ""), (120.0, 900.0)),
        counter(Server, ("data_file_waits", ""), (0.0, 3_300.0)),
        counter(Server, ("data_file_wait_ns", ""), (0.0, 2.6e9)),
        counter(Server, ("log_file_waits", ""), (0.0, 1_100.0)),
        counter(Server, ("log_file_wait_ns", ""), (0.0, 8e8)),
    ]
}

/// What threads that serve clients did: most of their time they waited for the redo log.
fn sessions(of: &Beside) -> Vec<Metered> {
    let of_time = |share: f64| (0.0, share * f64::from(of.connections) * 1e9);
    let mut all = vec![
        counter(Shim, ("session_active_ns", ""), of_time(0.95)),
        counter(Shim, ("session_sleep_ns", ""), of_time(0.0)),
        counter(Shim, ("session_spin_ns", ""), of_time(0.0)),
        counter(Process, ("session_cpu_ns", "server"), of_time(0.06)),
        counter(Process, ("session_run_wait_ns", "server"), of_time(0.02)),
    ];
    for (role, read, write, flush) in
        [("data", 0.05, 0.01, 0.0), ("redo", 0.0, 0.05, 0.6), ("binlog", 0.0, 0.0, 0.0)]
    {
        for (name, share) in
            [("session_read_ns", read), ("session_write_ns", write), ("session_flush_ns", flush)]
        {
            all.push(counter(Shim, (name, role), of_time(share)));
        }
    }
    all
}

fn shim() -> Vec<Metered> {
    let mut all = Vec::new();
    for (role, reads, writes, flushes, busy_ns) in [
        ("data", 1_100.0, 830.0, 14.0, 6e8),
        ("redo", 0.0, 610.0, 460.0, 9e8),
        ("doublewrite", 0.0, 35.0, 12.0, 1e8),
    ] {
        for (name, steady, with_load) in [
            ("reads", 0.0, reads),
            ("read_bytes", 0.0, reads * 16_384.0),
            ("read_response_ns", 0.0, reads * 1e6),
            ("writes", 0.0, writes),
            ("write_bytes", 0.0, writes * 14_000.0),
            ("flushes", 0.0, flushes),
            ("busy_ns", busy_ns, 0.0),
        ] {
            all.push(counter(Shim, (name, role), (steady, with_load)));
        }
    }
    all
}
