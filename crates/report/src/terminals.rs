//! Terminals and schedules of one repeat: what they did, and what the clauses say of it.

use crate::format::{integer, ms, or_na, percent, significant, transaction, trimmed};
use crate::model::RepeatView;
use crate::table::shown;
use crate::tables::judged;
use analyse::Table;
use maud::{Markup, html};
use store::{
    ByTransaction, DurationsSummary, JudgedNumber, JudgedUnit, OpenLoopSummary, StoredRequirement,
    TerminalsSummary, Verdict,
};

/// What a repeat with terminals or a schedule shows besides its transactions.
pub fn terminals_section(repeat: &RepeatView) -> Markup {
    html! {
        @if let Some(open_loop) = &repeat.pacing.open_loop {
            h3 { "Open loop" }
            (schedule(open_loop))
        }
        @if let Some(terminals) = &repeat.pacing.terminals {
            h3 { "Terminals" }
            (users(terminals))
        }
        @if !repeat.requirements.is_empty() {
            h3 { "What the clauses ask" }
            (requirements_table(&repeat.requirements))
        }
    }
}

fn schedule(of: &OpenLoopSummary) -> Markup {
    let ms = |us: Option<f64>| or_na(us.map(|us| us * 1e3), ms);
    html! {
        p {
            (or_na(of.rate_per_s, significant)) " transactions per second were to come ("
            (of.rate_asked) ", " (of.arrivals) " arrivals"
            @if let Some(capacity) = of.capacity_per_s {
                "; a closed loop did " (significant(capacity))
                @if let Some(share) = of.capacity_precision_share {
                    " ± " (base::percent_at_most(share))
                }
                " per second before" }
            "): " (integer(of.offered)) " in the window, of which " (integer(of.late))
                " began more than 1 ms late and "
            @if of.skipped > 0 { span.tag.bad { (integer(of.skipped)) " never began" } }
            @else { "none was skipped" }
            "."
        }
        div.scroll { table {
            caption { "Response times above count from the intended start. Lag is the part of them \
                before the first try, service time the rest." }
            thead {
                tr {
                    th scope="col" { "" }
                    @for name in ["p50", "p90", "p99", "Max"] {
                        th.num scope="col" { (name) span.unit { "ms" } }
                    }
                }
            }
            tbody {
                tr {
                    th scope="row" { "Schedule lag" } td.num { (ms(of.lag_p50_us)) } td.num { "" }
                    td.num { (ms(of.lag_p99_us)) } td.num { (ms(of.lag_max_us)) }
                }
                tr {
                    th scope="row" { "Service time" } td.num { (ms(of.service_p50_us)) }
                    td.num { (ms(of.service_p90_us)) } td.num { (ms(of.service_p99_us)) }
                    td.num { (ms(of.service_max_us)) }
                }
            }
        } }
    }
}

fn users(of: &TerminalsSummary) -> Markup {
    let nopm = |value: Option<f64>| or_na(value, |value| trimmed(value, 1));
    html! {
        p {
            (integer(u64::from(of.count))) " terminals at "
            (integer(u64::from(of.paced_warehouses))) " warehouses"
            @if let Some(inactive @ 1..) = of.inactive_warehouses {
                ", beside " (integer(u64::from(inactive))) " inactive ones" }
            ". " (nopm(of.nopm_within_window)) " NOPM began and ended in the window"
            @if let Some(efficiency) = of.efficiency {
                ", an efficiency of " b { (percent(efficiency)) }
                " of 12.86 NOPM per active warehouse"
            }
            "; terminals that wait for nothing but their users would do "
            (nopm(of.ceiling_nopm)) " NOPM, with a standard deviation of "
            (nopm(of.ceiling_deviation_nopm)) " in such a window."
        }
        div.scroll { table {
            caption { "Means of the times that terminals waited by themselves." }
            thead {
                tr {
                    th scope="col" { "" }
                    @for (name, _) in of.keying_mean_s.iter() {
                        th.num scope="col" { (transaction(name)) span.unit { "s" } }
                    }
                }
            }
            tbody { (means("Keying", &of.keying_mean_s)) (means("Thinking", &of.think_mean_s)) }
        } }
        (deliveries(&of.deferred_deliveries))
    }
}

fn means(title: &str, of: &ByTransaction<Option<f64>>) -> Markup {
    html! {
        tr {
            th scope="row" { (title) }
            @for (_, mean) in of.iter() { td.num { (or_na(*mean, |s| trimmed(s, 3))) } }
        }
    }
}

fn deliveries(of: &DurationsSummary) -> Markup {
    html! {
        p.small {
            (integer(of.count)) " deliveries were done after they had been queued: p90 "
            (or_na(of.p90_s, significant))
            " s, longest " (or_na(of.max_s, significant)) " s."
        }
    }
}

fn requirements_table(requirements: &[StoredRequirement]) -> Markup {
    let outside = |r: &&StoredRequirement| r.judged.verdict == Verdict::Outside;
    let show = |judged: &JudgedNumber, value: f64| match judged.unit {
        JudgedUnit::Share => percent(value),
        JudgedUnit::Seconds => format!("{} s", significant(value)),
        JudgedUnit::Average | JudgedUnit::NopmPerWarehouse => trimmed(value, 2),
    };
    let table = Table::of(requirements)
        .words("Requirement", |of| &of.title)
        .words("Clause", |of| &of.clause);
    html! {
        @if requirements.iter().filter(outside).count() == 0 {
            p { span.tag.good { "all met" } " as far as a window of this length can tell." }
        }
        (shown(
            "Green: what the clause allows. Grey: where a right run of this length lands; short \
                runs miss by chance.",
            judged(table, |of| &of.judged, show, false)
        ))
    }
}
