//! What each setting does by itself, from all cells of a lab at once.

use crate::format::{integer, significant};
use analyse::{DimensionEffects, LabOutcome, ValueEffect};
use maud::{Markup, html};

/// Bars of all settings; nothing where fewer than two things vary.
pub fn effects(outcome: &LabOutcome) -> Markup {
    let all = &outcome.effects;
    let logs = all.iter().flat_map(|of| &of.values).filter_map(|value| value.ratio.value);
    let largest = logs.map(|ratio| ratio.ln().abs()).fold(0.0, f64::max);
    html! {
        @if largest > 0.0 {
            section id="effects" {
                h2 { "Each setting by itself" }
                p.soft.small {
                    "Throughput with a value by that with the first value of its setting, from all \
                     cells at once: the logarithm of throughput as a sum of what "
                    "blocks and settings do (least squares, 95 % intervals). What settings do only \
                     together is noise here; the comparisons show it."
                }
                div.scroll { table {
                    thead { tr {
                        th scope="col" { "Setting" } th scope="col" { "Instead of" }
                        th scope="col" { "Value" }
                        th.num scope="col" { "Throughput" span.unit { "%" } } th scope="col" { }
                        th.num scope="col" { "95 % interval" span.unit { "%" } }
                        th.num scope="col" { "Repeats" }
                    } }
                    tbody {
                        @for of in all { @for value in &of.values { (row(of, value, largest)) } }
                    }
                } }
            }
        }
    }
}

fn row(of: &DimensionEffects, value: &ValueEffect, largest: f64) -> Markup {
    let percent = |ratio: f64| {
        let text = significant((ratio - 1.0) * 100.0);
        if ratio > 1.0 { format!("+{text}") } else { text }
    };
    let length = value.ratio.value.map_or(0.0, |ratio| ratio.ln().abs() / largest * 100.0);
    html! {
        tr {
            th scope="row" { (of.dimension) }
            td { (of.baseline) }
            td { (value.value) }
            @match value.ratio.value {
                Some(ratio) => { td.num { (percent(ratio)) } }
                None => { td.soft { "cannot be told from another setting" } }
            }
            td { span.bar { i style={ "width:" (format!("{length:.0}")) "%" } {} } }
            td.num {
                @if let Some((low, high)) = value.ratio.interval() {
                    (percent(low)) " to " (percent(high))
                }
            }
            td.num { (integer(value.repeats as u64)) }
        }
    }
}
