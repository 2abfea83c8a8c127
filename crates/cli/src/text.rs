//! Results as text for people.

pub mod format;
mod lab;
mod lengths;

use ::lab::{FailedTries, FailuresByCode, Silence};
use analyse::{
    Account, JudgedCondition, OtherWait, Part, PowerMeter, Resources, ResponseTime, RunDocument,
    Table, nodes_table, ranks_table, sentences,
};
use base::Dilation;
use format::{count, lines, ms, optional, or_dash, percent, throughput};
pub use lab::{answer, lab, ramp, repeat};
pub use lengths::how_far;
use std::cmp::Reverse;
use store::{
    DeviceSummary, JudgedUnit, RequestSummary, StoredRequirement, Summary, ThroughputMetric,
    Verdict,
};

/// The summary of a run.
pub fn summary(measurement: &RunDocument) -> String {
    let summary = &measurement.summary;
    let mut out = what_ran(summary) + "\n";
    let dilated = Dilation::new(summary.dilation).and_then(Dilation::in_words);
    let dilated = dilated.map_or_else(String::new, |words| format!(" {words}"));
    if summary.status != "done" {
        let reason = summary.reason.as_deref().unwrap_or("no reason was stored");
        let code = summary.reason_code.as_deref().unwrap_or("failed");
        out += &format!("NA ({code}): {reason}\n");
        // What a failover cost is known, whatever was lost in it.
        if let Some(recovery_s) = summary.recovery_s {
            out += &format!("recovery took {recovery_s:.1} s\n");
        }
        return out;
    }
    out += &format!(
        "{} {}, {} transactions/min over {} s{dilated}{} (one repeat: no statement about its \
         spread)\n",
        throughput(summary.rates.nopm),
        summary.throughput_metric.title(),
        optional(summary.rates.tpm_total, 0),
        optional(summary.rates.window_s, 1),
        if summary.interrupted { ", interrupted" } else { "" }
    );
    let each = summary.nopm_by_instance.iter();
    let each: Vec<String> = each.map(|nopm| throughput(Some(*nopm))).collect();
    if !each.is_empty() {
        let title = summary.throughput_metric.title();
        out += &format!("{title} of each server: {}\n", each.join(", "));
    }
    if let Some(nodes) = nodes_table(&measurement.nodes) {
        out += &format!("\n{}", nodes.text());
    }
    out += &lines(sentences::lengths(summary));
    transactions(&mut out, summary);
    out += &lines(sentences::in_flight(summary));
    out += &lines(&measurement.remarks);
    io_by_role(&mut out, summary);
    if let Some(resources) = &measurement.resources {
        add_resources(&mut out, resources, summary.throughput_metric);
    }
    pacing(&mut out, summary);
    if let Some(ranks) = ranks_table(summary) {
        out += &format!("\n{}", ranks.text());
    }
    out.push('\n');
    inputs(&mut out, summary);
    totals(&mut out, summary);
    out
}

/// Each condition of `--fail-if` with what was measured; nothing where there is none.
pub fn conditions(judged: &[JudgedCondition]) -> String {
    let mut out = String::new();
    for of in judged {
        let verdict = if of.failed { "FAILED" } else { "ok" };
        out += &format!("{verdict:<8}{:<24} {}\n", format!("fail if {of}:"), of.found());
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}

/// That nothing has ended well for some time, while transactions are in flight or fail.
pub fn silent(silence: &Silence) -> String {
    let lasts_s = silence.busy_ns() as f64 / 1e9;
    let counted = |count: u64, one, many| base::counted(count as usize, one, many);
    match silence.failures.count {
        0 => {
            let in_flight = counted(silence.in_flight, "transaction", "transactions");
            format!("nothing has ended for {lasts_s:.1} s, {in_flight} in flight")
        }
        failures => {
            let failed =
                counted(failures, "transaction or reconnect", "transactions or reconnects");
            format!("nothing has been committed for {lasts_s:.1} s, {failed} failed")
        }
    }
}

/// What failed, the most frequent kind first: `12 x 1290 in new_order, 4 x connect in reconnect`.
pub fn failures(failures: &FailuresByCode) -> String {
    let mut by_count: Vec<_> = failures.iter().collect();
    by_count.sort_by_key(|(_, of)| Reverse(of.occurrences));
    let words = |((what, code), of): &(&(&str, String), &FailedTries)| {
        format!("{} x {code} in {what}", of.occurrences)
    };
    by_count.iter().map(words).collect::<Vec<_>>().join(", ")
}

/// Servers and workload, in one line.
fn what_ran(summary: &Summary) -> String {
    let counted = |number: u32, one, several| base::counted(number as usize, one, several);
    let servers = match summary.instances {
        1 => String::new(),
        instances => format!("{instances} x "),
    };
    let cores = summary.cores.map(|cores| format!(" on {}", counted(cores, "core", "cores")));
    let in_each = match summary.schemas {
        1 if summary.instances > 1 && summary.topology.is_none() => "in each".to_owned(),
        1 => String::new(),
        schemas => format!("in each of {schemas} schemas"),
    };
    let warehouses = summary.warehouses.map(|count| counted(count, "warehouse", "warehouses"));
    let threads = summary.driver_threads;
    let parts = [
        format!(
            "{servers}{} {}{} ({})",
            summary.engine,
            summary.server_version,
            cores.unwrap_or_default(),
            summary.transport
        ),
        summary.topology.clone().unwrap_or_default(),
        format!("{} {in_each}", warehouses.unwrap_or_default()).trim().to_owned(),
        counted(summary.connections, "connection", "connections"),
        format!("workload {}", summary.workload),
        format!("style {}", summary.style),
        format!("seed {}", summary.seed),
        threads.map_or_else(String::new, |of| counted(of, "driver thread", "driver threads")),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn totals(out: &mut String, summary: &Summary) {
    let reconnects = count(summary.reconnects);
    let orders = sentences::orders(summary).map(|words| format!("{words}; "));
    *out += &format!("{}{reconnects} reconnects\n", orders.unwrap_or_default());
    if !summary.checks.is_empty() {
        let passed = summary.checks.iter().filter(|check| check.passed).count();
        *out += &format!("checks: {passed} of {} passed\n", summary.checks.len());
    }
    for error in &summary.errors {
        *out += &format!(
            "failed tries: {} x {} in {}: {}\n",
            error.occurrences, error.error_code, error.transaction, error.first_message
        );
    }
}

/// Counts and response times of each type in the window.
fn transactions(out: &mut String, summary: &Summary) {
    let mut table = Table::of(summary.transactions.iter())
        .words("transaction", |(name, _)| (*name).to_owned())
        .numbers("committed", |(_, of)| of.committed.to_string())
        .numbers("rollback", |(_, of)| of.rolled_back.to_string())
        .numbers("retries", |(_, of)| of.retries.to_string())
        .numbers("errors", |(_, of)| of.errors.to_string());
    for time in ResponseTime::ALL.iter().filter(|time| time.title != "p99.9") {
        let unit = if time.title == "Mean" { "ms" } else { "" };
        table = table.numbers_in((&time.title.to_lowercase(), unit), |(_, of)| {
            time.shown(of, |us| ms(Some(us)))
        });
    }
    out.push('\n');
    *out += &table.text();
}

/// What the workload's inputs came to, in a line, and those that chance does not explain.
fn inputs(out: &mut String, summary: &Summary) {
    let outside: Vec<String> = summary
        .inputs
        .iter()
        .filter(|input| input.judged.verdict == Verdict::Outside)
        .map(|input| format!("{} {}", input.title, optional(input.judged.value, 4)))
        .collect();
    *out += &match (summary.inputs.len(), outside.as_slice()) {
        (0, _) => String::new(),
        (count, []) => format!(
            "inputs: {count} of {count} within clause 5.5.1.5, or outside by chance (a short run)\n"
        ),
        (_, outside) => format!("inputs outside clause 5.5.1.5: {}\n", outside.join(", ")),
    };
}

/// Devices by role, with how true they were where they are emulated; nothing where nothing was
/// placed or counted.
fn io_by_role(out: &mut String, summary: &Summary) {
    if summary.devices.is_empty() {
        return;
    }
    out.push('\n');
    let counted: Vec<_> = summary.devices.iter().filter(|device| requests(device) > 0).collect();
    if !counted.is_empty() {
        *out += &table(&counted);
    }
    *out += &lines(sentences::storage(summary));
}

fn requests(device: &DeviceSummary) -> u64 {
    let kinds = [&device.read, &device.write, &device.flush];
    kinds.into_iter().flatten().map(|kind| kind.requests).sum()
}

fn table(devices: &[&DeviceSummary]) -> String {
    type Number = fn(&RequestSummary) -> Option<f64>;
    let of = |kind: &Option<RequestSummary>, number: Number, decimals| {
        optional(kind.as_ref().and_then(number), decimals)
    };
    let p95 = |kind: &Option<RequestSummary>| {
        or_dash(kind.as_ref().and_then(|of| of.response_p95_us), |us| ms(Some(us)))
    };
    let share = |share: Option<f64>, decimals| or_dash(share, |share| percent(share, decimals));
    Table::of(devices)
        .words("storage", |device| device.role.clone())
        .words("device", |device| device.device.clone())
        .numbers("reads/s", |device| of(&device.read, |kind| kind.per_s, 0))
        .numbers("MB/s", |device| of(&device.read, |kind| kind.mb_per_s, 1))
        .numbers("p95 ms", |device| p95(&device.read))
        .numbers("writes/s", |device| of(&device.write, |kind| kind.per_s, 0))
        .numbers("MB/s", |device| of(&device.write, |kind| kind.mb_per_s, 1))
        .numbers("p95 ms", |device| p95(&device.write))
        .numbers("flush/s", |device| of(&device.flush, |kind| kind.per_s, 0))
        .numbers("p95 ms", |device| p95(&device.flush))
        .numbers("queue", |device| optional(device.queue_depth_mean, 1))
        .numbers("busy", |device| share(device.busy_share, 0))
        .numbers("fidelity", |device| share(device.fidelity, 2))
        .text()
}

/// What a run shows of its pace, where it had one.
fn pacing(out: &mut String, summary: &Summary) {
    let told = sentences::pacing(summary);
    // A blank line comes first.
    *out += &lines(told.first().map(|_| "").into_iter().chain(told.iter().map(String::as_str)));
    if summary.terminals.is_some() {
        verdicts(out, &summary.verdicts);
    }
}

fn verdicts(out: &mut String, verdicts: &[StoredRequirement]) {
    let with = |verdict| verdicts.iter().filter(move |of| of.judged.verdict == verdict);
    *out += &format!(
        "clauses: {} within what is allowed, {} outside by chance (short run), {} outside, {} \
         without data\n",
        with(Verdict::Within).count(),
        with(Verdict::Chance).count(),
        with(Verdict::Outside).count(),
        with(Verdict::NoData).count()
    );
    for StoredRequirement { clause, title, judged, .. } in with(Verdict::Outside) {
        *out += &format!(
            "  outside clause {clause}: {title} is {} {}, allowed is {}\n",
            optional(judged.value, 4),
            if judged.unit == JudgedUnit::Seconds { "s" } else { "" },
            judged.allowed().words(|end| end.to_string())
        );
    }
}

/// What bound it and what a transaction cost, in a few lines; what is not known is left out.
fn add_resources(out: &mut String, resources: &Resources, metric: ThroughputMetric) {
    out.push('\n');
    if let Some(bound) = &resources.bound {
        *out += &format!("{}: {}\n", bound.by.title(), bound.because);
    }
    if let Some(account) = &resources.account {
        of_account(out, account);
        let is_told = |wait: &&OtherWait| wait.time_us >= OTHER_WAIT_SHARE_MIN * account.time_us;
        let waits = resources.other_waits.iter().filter(is_told);
        let waits: Vec<_> =
            waits.map(|wait| (number(Some(wait.time_us), 1e-3, 2), wait.name.as_str())).collect();
        line(out, "other waits (ms)", &waits);
    }
    let (power, price) = (&resources.power, &resources.price);
    let watts = match power.measured_by {
        Some(PowerMeter::Rapl) => "W of the processor packages",
        Some(PowerMeter::Meter) | None => "W",
    };
    let unit = metric.title();
    line(
        out,
        "per watt and dollar",
        &[
            (number(power.watts_mean, 1.0, 1), watts),
            (number(power.nopm_per_watt, 1.0, 1), &format!("{unit}/W")),
            (number(price.nopm_per_usd, 1.0, 2), &format!("{unit} per dollar of devices")),
        ],
    );
    let each = &resources.per_transaction;
    line(
        out,
        "per transaction",
        &[
            (number(each.path_length_cycles, 1e-3, 0), "thousand cycles"),
            (number(each.cycles, 1e-3, 0), "thousand by the processors' counters"),
            (number(each.instructions, 1e-3, 0), "thousand instructions"),
            (number(each.read_bytes, 1e-3, 1), "kB read"),
            (number(each.written_bytes, 1e-3, 1), "kB written"),
            (number(each.flushes, 1.0, 2), "flushes"),
            (number(each.write_amplification, 1.0, 1), "x write amplification"),
        ],
    );
}

/// Waits that are a smaller share of a transaction are in the JSON document alone.
const OTHER_WAIT_SHARE_MIN: f64 = 0.005;

/// The parts of a transaction's time, the largest first.
fn of_account(out: &mut String, account: &Account) {
    let known = |part: Part| {
        let us = account.parts[part]?;
        part.is_told(us).then_some((part, us))
    };
    let mut parts: Vec<(Part, f64)> = Part::ALL.into_iter().filter_map(known).collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let told: Vec<String> = parts
        .iter()
        .map(|(part, us)| {
            let share = percent(us / account.time_us, 0);
            format!("{} {:.2} ms ({share})", part.title(), us / 1e3)
        })
        .collect();
    *out += &format!("a transaction took {:.2} ms: {}\n", account.time_us / 1e3, told.join(", "));
    if account.excess_share > 0.01 {
        let excess = percent(account.excess_share, 0);
        *out += &format!(
            "the window was too short for this account: its parts were {excess} more than the \
             whole, and are shown reduced\n"
        );
    }
}

fn line(out: &mut String, what: &str, parts: &[(Option<String>, &str)]) {
    let known: Vec<String> = parts
        .iter()
        .filter_map(|(value, unit)| value.as_ref().map(|value| format!("{value} {unit}")))
        .collect();
    if !known.is_empty() {
        *out += &format!("{what}: {}\n", known.join(", "));
    }
}

fn number(value: Option<f64>, scale: f64, decimals: usize) -> Option<String> {
    value.map(|value| optional(Some(value * scale), decimals))
}
