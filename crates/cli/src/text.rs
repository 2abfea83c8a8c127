//! Results as text for people.

pub mod acid;
pub mod advice;
pub mod device;
mod drills;
pub mod format;
pub mod found;
mod io_by_role;
mod lab;
mod lengths;
mod pacing;
pub mod proof;
mod ramp;
mod resources;

use analyse::{
    JudgedCondition, ResponseTime, RunDocument, Table, nodes_table, ranks_table, sentences,
};
use base::Dilation;
pub use drills::drills;
use format::{count, lines, ms, optional, throughput};
pub use lab::{answer, lab, repeat};
pub use lengths::how_far;
pub use ramp::ramp;
use std::time::Duration;
use store::{Summary, Verdict};

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
    each_server(&mut out, summary);
    if let Some(nodes) = nodes_table(&measurement.nodes) {
        out += &format!("\n{}", nodes.text());
    }
    out += &lines(sentences::lengths(summary));
    transactions(&mut out, summary);
    out += &lines(sentences::in_flight(summary));
    out += &lines(&measurement.remarks);
    io_by_role::io_by_role(&mut out, summary);
    if let Some(resources) = &measurement.resources {
        resources::resources(&mut out, resources, summary.throughput_metric);
    }
    pacing::pacing(&mut out, summary);
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

/// That nothing has ended for some time, while so many transactions are in flight.
pub fn silent((lasts, in_flight): (Duration, u64)) -> String {
    let in_flight = base::counted(in_flight as usize, "transaction", "transactions");
    format!("nothing has ended for {:.1} s, {in_flight} in flight", lasts.as_secs_f64())
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
    let told: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    told.join(", ")
}

/// What each of several servers did.
fn each_server(out: &mut String, summary: &Summary) {
    if !summary.nopm_by_instance.is_empty() {
        let each = summary.nopm_by_instance.iter();
        let each: Vec<String> = each.map(|nopm| throughput(Some(*nopm))).collect();
        let title = summary.throughput_metric.title();
        *out += &format!("{title} of each server: {}\n", each.join(", "));
    }
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
