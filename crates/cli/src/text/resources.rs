//! What a run used and what bound it, as text for people.

use super::format::{optional, percent};
use analyse::{Account, Part, PowerMeter, Resources};
use store::ThroughputMetric;

/// What bound it and what a transaction cost, in a few lines; what is not known is left out.
pub fn resources(out: &mut String, resources: &Resources, metric: ThroughputMetric) {
    out.push('\n');
    if let Some(bound) = &resources.bound {
        *out += &format!("{}: {}\n", bound.by.title(), bound.because);
    }
    if let Some(account) = &resources.account {
        of_account(out, account);
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
