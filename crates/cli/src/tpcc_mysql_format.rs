//! The output of tpcc-mysql's `tpcc_start` (commit 1ec1c5e), for scripts that read it: pure text,
//! line by line the same words and widths.
//!
//! The one place where "TpmC" is printed. What the numbers mean, where that is not what they mean
//! there, stands in lines before the banner that begin with `#`: readers of this format begin at
//! `MEASURING START.` or look for words that those lines do not have.

use spec::WorkloadKind;
use std::fmt::Write;
use store::{TransactionTotals, WindowTotals};
use tpcc::tpcc_mysql::{DEVIATIONS, Decision};

/// Transaction types in the numbering of tpcc-mysql, with their response-time limits.
const TYPES: [(&str, &str, u64); 5] = [
    ("new_order", "New-Order", 5_000),
    ("payment", "Payment", 5_000),
    ("order_status", "Order-Status", 5_000),
    ("delivery", "Delivery", 80_000),
    ("stock_level", "Stock-Level", 20_000),
];

const NS_PER_MS: u64 = 1_000_000;

/// How the numbers of this format come about, where tpcc-mysql has them otherwise.
const MEANINGS: [&str; 7] = [
    "TpmC is the name of this format's field. It is no audited tpmC and not comparable with \
     published TPC-C results.",
    "It counts transactions that ended inside the measured time, of all of it; deliberate \
     rollbacks included.",
    "Counters are exact, so Raw Results and Raw Results2 are equal. rt counts new tries, fl \
     transactions given up.",
    "Limits are 5, 5, 5, 80 and 20 seconds and printed in ms; lt counts what took as long or \
     longer.",
    "avg_rt is of the measured time alone: no warm-up. Response times include retries and the \
     pauses between them.",
    "95% and 99% are of New-Order in the interval, exact to three digits and not raised to 1 ms; \
     no interval has warm-up in it.",
    "max_rt is the exact maximum of the interval. A last interval that is shorter than the others \
     is printed too.",
];

/// What was asked for, in this tool's terms.
#[derive(Clone, Debug)]
pub struct Asked {
    pub workload: WorkloadKind,
    /// Host and port, or the socket.
    pub server: ServerAddress,
    pub schema: String,
    pub user: String,
    pub warehouses: Option<u32>,
    pub connections: u32,
    pub warmup_s: u64,
    pub window_s: u64,
    pub interval_s: u64,
    pub schemas: Option<u32>,
}

/// Where the server is.
#[derive(Clone, Debug)]
pub enum ServerAddress {
    Tcp { host: String, port: u16 },
    Socket(String),
}

/// One transaction type in one interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct TypeInInterval {
    pub completed: u64,
    pub max_ns: u64,
}

/// One interval of the measured time.
#[derive(Clone, Debug)]
pub struct InInterval {
    /// Its end, from the start of the measured time.
    pub end_s: u64,
    pub new_order_p95_ns: u64,
    pub new_order_p99_ns: u64,
    /// In the order of the types.
    pub types: [TypeInInterval; 5],
}

/// The lines before the banner.
pub fn header(asked: &Asked) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(out, "# mydyno, workload {}", asked.workload);
    for meaning in MEANINGS {
        let _ = writeln!(out, "# {meaning}");
    }
    if asked.workload == WorkloadKind::TpccMysql {
        for deviation in DEVIATIONS {
            let decision = match deviation.decision {
                Decision::Kept => "as tpcc-mysql",
                Decision::Fixed => "not as tpcc-mysql",
            };
            let _ = writeln!(out, "# {decision}: {}", deviation.text);
        }
    } else {
        let _ = writeln!(
            out,
            "# These are not tpcc-mysql's statements: --workload tpcc-mysql sends those."
        );
    }
    out
}

/// Banner, options and parameters, to the announcement of the warm-up.
pub fn beginning(asked: &Asked) -> String {
    let mut out = String::new();
    let stars = "***************************************";
    let _ = writeln!(out, "{stars}\n*** ###easy### TPC-C Load Generator ***\n{stars}");
    let mut option = |letter: &str, value: &dyn std::fmt::Display| {
        let _ = writeln!(out, "option {letter} with value '{value}'");
    };
    match &asked.server {
        ServerAddress::Tcp { host, port } => {
            option("h", host);
            option("P", port);
        }
        ServerAddress::Socket(path) => option("S (socket)", path),
    }
    option("d", &asked.schema);
    option("u", &asked.user);
    option("p", &"***");
    if let Some(warehouses) = asked.warehouses {
        option("w", &warehouses);
    }
    option("c", &asked.connections);
    option("r", &asked.warmup_s);
    option("l", &asked.window_s);
    if let Some(schemas) = asked.schemas {
        option("m (multiple schemas)", &schemas);
    }
    option("i", &asked.interval_s);
    out
}

/// The parameters; `warehouses` are those that are used.
pub fn parameters(asked: &Asked, warehouses: u32) -> String {
    let (host, port) = match &asked.server {
        ServerAddress::Tcp { host, port } => (host.as_str(), *port),
        ServerAddress::Socket(_) => ("localhost", 0),
    };
    format!(
        "<Parameters>\n     [server]: {host}\n     [port]: {port}\n     [DBname]: {}\n       \
         [user]: {}\n       [pass]: ***\n  [warehouse]: {warehouses}\n [connection]: {}\n     \
         [rampup]: {} (sec.)\n    [measure]: {} (sec.)\n\nRAMP-UP TIME.({} sec.)\n",
        asked.schema, asked.user, asked.connections, asked.warmup_s, asked.window_s, asked.warmup_s
    )
}

/// When the measured time begins.
pub const MEASURING: &str = "\nMEASURING START.\n\n";

/// One line for each interval.
pub fn interval(of: &InInterval) -> String {
    let ms = |ns: u64| ns as f64 / NS_PER_MS as f64;
    let [new_order, others @ ..] = &of.types;
    let mut out = format!(
        "{:4}, trx: {}, 95%: {:.3}, 99%: {:.3}, max_rt: {:.3}",
        of.end_s,
        new_order.completed,
        ms(of.new_order_p95_ns),
        ms(of.new_order_p99_ns),
        ms(new_order.max_ns)
    );
    for other in others {
        let _ = write!(out, ", {}|{:.3}", other.completed, ms(other.max_ns));
    }
    out.push('\n');
    out
}

/// When the measured time is over.
pub const STOPPING: &str = "\nSTOPPING THREADS";

/// One dot for each connection.
pub fn stopped(connections: u32) -> String {
    ".".repeat(connections as usize) + "\n"
}

/// What a type did in the measured time.
struct Counts {
    success: u64,
    late: u64,
    retries: u64,
    failures: u64,
    mean_ms: f64,
}

impl Counts {
    fn of(totals: &TransactionTotals, limit_ms: u64) -> Counts {
        let late = totals.not_within(limit_ms * NS_PER_MS);
        Counts {
            success: totals.completed().saturating_sub(late),
            late,
            retries: totals.retries(),
            failures: totals.errors,
            mean_ms: totals.mean_ns().unwrap_or(0.0) / NS_PER_MS as f64,
        }
    }

    fn completed(&self) -> u64 {
        self.success + self.late
    }
}

fn verdict(is_ok: bool) -> &'static str {
    if is_ok { "[OK]" } else { "[NG] *" }
}

/// Results, constraint check and the last line.
pub fn results(totals: &WindowTotals, measured_s: f64) -> String {
    let nothing = TransactionTotals::default();
    let counts =
        TYPES.map(|(name, _, limit_ms)| Counts::of(totals.get(name).unwrap_or(&nothing), limit_ms));
    let mut out = "\n<Raw Results>\n".to_owned();
    for (i, (of, (_, _, limit_ms))) in counts.iter().zip(TYPES).enumerate() {
        let _ = writeln!(
            out,
            "  [{i}] sc:{} lt:{}  rt:{}  fl:{} avg_rt: {:.1} ({limit_ms})",
            of.success, of.late, of.retries, of.failures, of.mean_ms
        );
    }
    let _ = writeln!(out, " in {measured_s:.0} sec.\n\n<Raw Results2(sum ver.)>");
    for (i, of) in counts.iter().enumerate() {
        let _ = writeln!(
            out,
            "  [{i}] sc:{}  lt:{}  rt:{}  fl:{} ",
            of.success, of.late, of.retries, of.failures
        );
    }
    out.push_str("\n<Constraint Check> (all must be [OK])\n [transaction percentage]\n");
    let all: u64 = counts.iter().map(Counts::completed).sum();
    for (of, (_, title, _)) in counts.iter().zip(TYPES).skip(1) {
        let (wanted, shown) = match title {
            "Payment" => (43.0, "(>=43.0%)"),
            _ => (4.0, "(>= 4.0%)"),
        };
        let share = 100.0 * of.completed() as f64 / all.max(1) as f64;
        let verdict = verdict(share >= wanted);
        let _ = writeln!(out, "{title:>15}: {share:3.2}% {shown} {verdict}");
    }
    out.push_str(" [response time (at least 90% passed)]\n");
    for (of, (_, title, _)) in counts.iter().zip(TYPES) {
        let share = 100.0 * of.success as f64 / of.completed().max(1) as f64;
        let _ = writeln!(out, "{title:>15}: {share:3.2}%  {}", verdict(share >= 90.0));
    }
    let tpmc =
        if measured_s > 0.0 { counts[0].completed() as f64 * 60.0 / measured_s } else { 0.0 };
    let _ = writeln!(out, "\n<TpmC>\n                 {tpmc:.3} TpmC");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Asked {
        Asked {
            workload: WorkloadKind::TpccMysql,
            server: ServerAddress::Tcp { host: "127.0.0.1".to_owned(), port: 3306 },
            schema: "shop".to_owned(),
            user: "me".to_owned(),
            warehouses: Some(10),
            connections: 4,
            warmup_s: 10,
            window_s: 20,
            interval_s: 10,
            schemas: Some(2),
        }
    }

    fn totals(times_ms: &[u64]) -> TransactionTotals {
        let mut totals = TransactionTotals {
            committed: times_ms.len() as u64,
            deadlocks: 2,
            errors: 1,
            ..TransactionTotals::default()
        };
        totals.response.sum_ns = times_ms.iter().sum::<u64>() * NS_PER_MS;
        for ms in times_ms {
            totals.response.histogram.record(ms * NS_PER_MS).unwrap();
        }
        totals
    }

    #[test]
    fn a_run_reads_as_tpcc_start_prints_it() {
        let asked = asked();
        let of = |completed, max_us: u64| TypeInInterval { completed, max_ns: max_us * 1_000 };
        let in_interval = InInterval {
            end_s: 10,
            new_order_p95_ns: 49_392_000,
            new_order_p99_ns: 400_000,
            types: [of(433, 114_708), of(431, 90_279), of(43, 73_783), of(44, 197_811), of(0, 0)],
        };
        let times_ms: [&[u64]; 4] = [&[10, 30, 4_000, 6_000], &[5, 6, 7, 8], &[2], &[79_000]];
        let types = testkit::transactions().into_iter().zip(times_ms);
        let window: WindowTotals = types.map(|(of, times_ms)| (of, totals(times_ms))).collect();
        let text = [
            beginning(&asked),
            parameters(&asked, 10),
            MEASURING.to_owned(),
            interval(&in_interval),
            STOPPING.to_owned(),
            stopped(4),
            results(&window, 20.0),
        ];
        insta::assert_snapshot!(text.concat());
    }

    /// Scripts look for these words; a line of the header must not be taken for one of theirs.
    #[test]
    fn the_header_is_not_taken_for_output() {
        for workload in [WorkloadKind::Tpcc, WorkloadKind::TpccMysql] {
            let asked = Asked { workload, ..asked() };
            let header = header(&asked);
            assert!(header.lines().all(|line| line.starts_with("# ")), "{header}");
            for word in ["MEASURING START", "STOPPING THREADS", "trx:", " TpmC\n", "<", "[OK]"] {
                assert!(!header.contains(word), "{word}: {header}");
            }
        }
    }

    #[test]
    fn nothing_measured_is_no_division() {
        let text = results(&WindowTotals::default(), 0.0);
        assert!(text.contains("0.000 TpmC") && !text.contains("NaN"), "{text}");
    }
}
