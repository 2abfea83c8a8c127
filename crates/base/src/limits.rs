//! A limit on everything. Reaching one is an error or an event that is counted, never a silent cut.

use std::time::Duration;

/// Most warehouses that a request may name: a sanity bound (about 100 TB), far above any machine
/// this drives.
pub const WAREHOUSES_MAX: u32 = 1_000_000;
/// Most schemas that one command loads, drives or checks.
pub const SCHEMAS_MAX: u32 = 1_000;
/// Most connections of one run.
pub const CONNECTIONS_MAX: u32 = 100_000;
/// Most transactions that are kept to be held against a database that was recovered: 150 MB.
pub const WITNESSED_MAX: usize = 2_000_000;
/// Most threads of the driver of one run.
pub const DRIVER_THREADS_MAX: u32 = 256;
/// Servers that are driven together on one machine.
pub const INSTANCES_MAX: u32 = 64;
/// Most cores that private servers are kept to: the size of the system's own set of them.
pub const CORES_MAX: u32 = 1024;
/// Largest page cache of emulated devices: the shim keeps about 32 bytes for each page of 4 KiB, so
/// this is half a gigabyte of real memory.
pub const PAGE_CACHE_BYTES_MAX: u64 = 64 << 30;
/// Longest wait for a connection to be accepted and logged in.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest wait for what a server answers at once: its settings, counters and kinds of tables.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// How long after the end of the window a transaction may still run before its connection is given
/// up as in doubt. Above InnoDB's default lock wait timeout of 50 s, so that a waiting transaction
/// ends by the server's own rule.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(60);
/// The same where a stop is asked for, in real time: who ends a job waits for 10 to 30 s before he
/// kills it.
pub const STOPPED_DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// Most tries of one transaction (first one included) before it counts as an error; tpcc-mysql has
/// 2,000 with no pause.
pub const TRIES_MAX: u32 = 100;
/// Longest pause between two tries of a transaction or of a login.
pub const RETRY_PAUSE_MAX: Duration = Duration::from_millis(RETRY_PAUSE_MAX_MS);
pub const RETRY_PAUSE_MAX_MS: u64 = 1000;
/// Most transactions that wait for a connection on one worker: of an open loop's schedule, or
/// deferred ones of terminals. Ten seconds of a stalled server at 10,000 transactions per second.
pub const QUEUE_MAX: usize = 100_000;
/// Longest time that a deferred Delivery lets other transactions go before it: the standard wants
/// nine of ten done after 80 s (clause 2.7.2.2). Without a bound a saturated server would do none,
/// and so less work for each of the others.
pub const DEFERRED_MAX: Duration = Duration::from_secs(5);
/// A scheduled transaction that begins later than this after its intended start is late: above what
/// timers and task switches of an idle machine take, below what a person or a client program would
/// notice.
pub const LATE_AFTER: Duration = Duration::from_millis(1);
/// A time in which nothing ended well is a silence from this length on, where it is also longer
/// than [`SILENCE_MEDIANS`] response times: shorter ones are seen as response times.
pub const SILENCE_MIN: Duration = Duration::from_secs(1);
/// The same where transactions or connections failed in it: failovers behind a proxy are short.
pub const FAILED_SILENCE_MIN: Duration = Duration::from_millis(100);
/// Median response times that a silence is longer than.
pub const SILENCE_MEDIANS: u64 = 10;
/// Silences of a run that are kept, the longest ones.
pub const SILENCES_MAX: usize = 100;
/// Highest rate of an open loop, in transactions per second: far above what a server of one machine
/// does.
pub const RATE_MAX_PER_S: f64 = 10_000_000.0;
/// Most types of transactions of one workload: reports and screens have a row for each.
pub const TRANSACTION_TYPES_MAX: usize = 16;
/// Most things that a workload counts of its own, beside what is counted of every workload.
pub const WORKLOAD_COUNTERS_MAX: usize = 16;
/// Most terminals of one run.
pub const TERMINALS_MAX: u32 = 10_000_000;
/// Most bytes of commands that wait together to be sent. Below what the sockets of both sides
/// buffer, so that client and server never wait for each other to read.
pub const PIPELINE_BYTES_MAX: usize = 32 << 10;
/// Largest answer that a session buffers, in bytes.
pub const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Most values of an answer, 128 MiB as they are kept: a row of NULLs has eight in a byte.
pub const ANSWER_CELLS_MAX: usize = 8 << 20;
/// Offending rows that a check keeps as examples.
pub const OFFENDING_ROWS_MAX: usize = 10;
/// Bytes of the server's error log kept with a result or shown in an error.
pub const LOG_TAIL_BYTES: usize = 16 << 10;
/// Largest latency that histograms hold; anything above is counted apart.
pub const LATENCY_MAX: Duration = Duration::from_secs(3600);
/// Intervals that a phase of automatic length has at least: fewer say nothing of a trend or of the
/// error of a mean.
pub const AUTO_INTERVALS_MIN: u32 = 30;
/// An automatic window ends by what it shows after so many intervals at the earliest: a machine
/// that others share wanders for minutes, and a shorter window takes a level of the wander for its
/// mean.
pub const AUTO_WINDOW_INTERVALS_MIN: u32 = 180;
/// An automatic warm-up ends after so long at the earliest, however short its intervals: caches and
/// flushing take time, not intervals.
pub const AUTO_WARMUP_MIN: Duration = Duration::from_secs(30);
/// Shortest interval of a time series: a shorter one would cost the driver more than it shows.
pub const INTERVAL_MIN_MS: u64 = 100;
