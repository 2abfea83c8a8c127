//! The output of tpcc-mysql's `tpcc_start` (commit 1ec1c5e), for scripts that read it: pure text,
//! line by line the same words and widths.
//!
//! The one place where "TpmC" is printed. What the numbers mean, where that is not what they mean
//! there, stands in lines before the banner that begin with `#`: readers of this format begin at
//! `MEASURING START.` or look for words that those lines do not have.

use lab::Interval;
use plan::{CellOptions, Given};
use spec::{Cell, WorkloadKind, defaults};
use std::time::Duration;
use store::{TransactionTotals, WindowTotals};
use tpcc::tpcc_mysql::{DEVIATIONS, Decision};
use wire::{Address, ConnectOptions};

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

/// What was asked for, and the server that answers.
pub struct Asked<'a> {
    pub options: &'a CellOptions,
    pub cell: &'a Cell,
    pub connect: ConnectOptions,
}

impl Asked<'_> {
    fn schema(&self) -> &str {
        self.connect.schema.as_deref().unwrap_or_default()
    }

    pub fn connections(&self) -> u32 {
        self.cell.load.connections.first().unwrap_or(defaults::CONNECTIONS)
    }
}

/// The lines before the banner.
pub fn header(workload: &WorkloadKind) -> String {
    let mut out = format!("# mydyno, workload {workload}\n");
    for meaning in MEANINGS {
        out += &format!("# {meaning}\n");
    }
    if *workload == WorkloadKind::TpccMysql {
        for deviation in DEVIATIONS {
            let decision = match deviation.decision {
                Decision::Kept => "as tpcc-mysql",
                Decision::Fixed => "not as tpcc-mysql",
            };
            out += &format!("# {decision}: {}\n", deviation.text);
        }
    } else {
        out.push_str(
            "# These are not tpcc-mysql's statements: --workload tpcc-mysql sends those.\n",
        );
    }
    out
}

/// Banner, options and parameters, to the announcement of the warm-up.
pub fn beginning(asked: &Asked<'_>) -> String {
    let stars = "***************************************";
    let mut out = format!("{stars}\n*** ###easy### TPC-C Load Generator ***\n{stars}\n");
    let mut option = |letter: &str, value: &dyn std::fmt::Display| {
        out += &format!("option {letter} with value '{value}'\n");
    };
    match &asked.connect.address {
        Address::Tcp { host, port } => {
            option("h", host);
            option("P", port);
        }
        Address::Unix(path) => option("S (socket)", &path.display()),
    }
    option("d", &asked.schema());
    option("u", &asked.connect.user);
    option("p", &"***");
    if let Some(Given(warehouses)) = &asked.options.database.warehouses {
        option("w", warehouses);
    }
    let lengths = &asked.cell.lengths;
    option("c", &asked.connections());
    option("r", &lengths.warmup.most.as_secs());
    option("l", &lengths.window.most.as_secs());
    if let Some(Given(schemas)) = &asked.options.target.schemas {
        option("m (multiple schemas)", schemas);
    }
    option("i", &lengths.interval.as_secs());
    out
}

/// The parameters; `warehouses` are those that are used.
pub fn parameters(asked: &Asked<'_>, warehouses: u32) -> String {
    let (host, port) = match &asked.connect.address {
        Address::Tcp { host, port } => (host.as_str(), *port),
        Address::Unix(_) => ("localhost", 0),
    };
    let (schema, user, connections) = (asked.schema(), &asked.connect.user, asked.connections());
    let lengths = &asked.cell.lengths;
    let [warmup_s, window_s] = [&lengths.warmup, &lengths.window].map(|of| of.most.as_secs());
    format!(
        "<Parameters>\n     [server]: {host}\n     [port]: {port}\n     [DBname]: {schema}\n       \
         [user]: {user}\n       [pass]: ***\n  [warehouse]: {warehouses}\n [connection]: \
         {connections}\n     [rampup]: {warmup_s} (sec.)\n    [measure]: {window_s} (sec.)\n\n\
         RAMP-UP TIME.({warmup_s} sec.)\n"
    )
}

/// When the measured time begins.
pub const MEASURING: &str = "\nMEASURING START.\n\n";

/// One line for each interval; the measured time begins after `warmup`.
pub fn interval(of: &Interval, warmup: Duration) -> String {
    let ms = |ns: u64| ns as f64 / NS_PER_MS as f64;
    let end = Duration::from_nanos(of.end_offset_ns).saturating_sub(warmup);
    let mut types = of.transactions.iter().take(TYPES.len());
    let new_order = types.next().cloned().unwrap_or_default();
    let mut out = format!(
        "{:4}, trx: {}, 95%: {:.3}, 99%: {:.3}, max_rt: {:.3}",
        end.as_secs_f64().round(),
        new_order.completed(),
        ms(new_order.latency.at_quantile_ns(0.95)),
        ms(new_order.latency.at_quantile_ns(0.99)),
        ms(new_order.latency.max_ns)
    );
    for other in types {
        out += &format!(", {}|{:.3}", other.completed(), ms(other.latency.max_ns));
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

fn verdict(is_ok: bool) -> &'static str {
    if is_ok { "[OK]" } else { "[NG] *" }
}

/// Results, constraint check and the last line.
pub fn results(totals: &WindowTotals, measured_s: f64) -> String {
    let nothing = TransactionTotals::default();
    let types = TYPES.map(|(name, title, limit_ms)| {
        let of = totals.get(name).unwrap_or(&nothing);
        let late = of.not_within(limit_ms * NS_PER_MS);
        (title, limit_ms, of, (of.completed().saturating_sub(late), late))
    });
    let (mut out, mut sums) = ("\n<Raw Results>\n".to_owned(), String::new());
    for (i, (_, limit_ms, of, (success, late))) in types.iter().enumerate() {
        let (retries, failures) = (of.retries(), of.errors);
        let mean_ms = of.mean_ns().unwrap_or(0.0) / NS_PER_MS as f64;
        out += &format!(
            "  [{i}] sc:{success} lt:{late}  rt:{retries}  fl:{failures} avg_rt: {mean_ms:.1} \
             ({limit_ms})\n"
        );
        sums += &format!("  [{i}] sc:{success}  lt:{late}  rt:{retries}  fl:{failures} \n");
    }
    out += &format!(" in {measured_s:.0} sec.\n\n<Raw Results2(sum ver.)>\n{sums}");
    out.push_str("\n<Constraint Check> (all must be [OK])\n [transaction percentage]\n");
    let all: u64 = types.iter().map(|(_, _, of, _)| of.completed()).sum();
    for (title, _, of, _) in types.iter().skip(1) {
        let (wanted, shown) = match *title {
            "Payment" => (43.0, "(>=43.0%)"),
            _ => (4.0, "(>= 4.0%)"),
        };
        let share = 100.0 * of.completed() as f64 / all.max(1) as f64;
        let verdict = verdict(share >= wanted);
        out += &format!("{title:>15}: {share:3.2}% {shown} {verdict}\n");
    }
    out.push_str(" [response time (at least 90% passed)]\n");
    for (title, _, of, (success, _)) in &types {
        let share = 100.0 * *success as f64 / of.completed().max(1) as f64;
        out += &format!("{title:>15}: {share:3.2}%  {}\n", verdict(share >= 90.0));
    }
    let new_orders = types[0].2.completed() as f64;
    let tpmc = if measured_s > 0.0 { new_orders * 60.0 / measured_s } else { 0.0 };
    out += &format!("\n<TpmC>\n                 {tpmc:.3} TpmC\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arguments, Command};
    use clap::Parser;
    use lab::Phase;
    use live::testkit;

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
        let asked = "mydyno run --dsn mysql://me@127.0.0.1:3306/shop --workload tpcc-mysql -w 10 \
                     -c 4 --warmup 10s --window 20s --interval 10s --schemas 2";
        let command = Arguments::try_parse_from(asked.split_whitespace()).unwrap().command;
        let Command::Run(arguments) = command else { panic!("it is `run`") };
        let cell = arguments.measuring.cell(|_| ()).ok().unwrap();
        let dsn = Some("mysql://me@127.0.0.1:3306/shop".to_owned());
        let request = server::TargetRequest { dsn, ..server::TargetRequest::default() };
        let connect = server::Target::resolve(&request).unwrap().connect;
        let asked = Asked { options: &arguments.measuring.options, cell: &cell, connect };
        let mut in_interval = testkit::interval(Phase::Window, 10.0..20.0, 0);
        let new_orders_us = [&[20_000_u64; 18][..], &[49_392, 114_708]].concat();
        let us: [&[u64]; 4] = [&new_orders_us, &[90_279], &[73_783, 400, 30], &[197_811]];
        for (of, us) in in_interval.transactions.iter_mut().zip(us) {
            of.committed = us.len() as u64;
            us.iter().for_each(|us| of.latency.record(us * 1_000));
        }
        let times_ms: [&[u64]; 4] = [&[10, 30, 4_000, 6_000], &[5, 6, 7, 8], &[2], &[79_000]];
        let types = ::testkit::transactions().into_iter().zip(times_ms);
        let window: WindowTotals = types.map(|(of, times_ms)| (of, totals(times_ms))).collect();
        let text = [
            beginning(&asked),
            parameters(&asked, 10),
            MEASURING.to_owned(),
            interval(&in_interval, Duration::from_secs(10)),
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
            let header = header(&workload);
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
