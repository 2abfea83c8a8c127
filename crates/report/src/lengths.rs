//! How long warm-up and window were to be, and what those of automatic length came to.

use crate::format::duration;
use crate::model::{CellView, RepeatView};
use base::{percent, percent_at_most};
use maud::{Markup, html};

/// The window and its surroundings as planned, in words.
pub fn times(cell: &CellView) -> String {
    let what = &cell.cell.what;
    let planned = |ns: u64, is_auto: bool| {
        let time = duration(ns);
        if is_auto { format!("automatic ({time} at most)") } else { time }
    };
    let precision = match what.precision_share {
        Some(share) => format!(" to ± {}", percent(share)),
        None => String::new(),
    };
    format!(
        "warm-up {}, window {}{precision}, intervals of {}, seed {}",
        planned(what.warmup_ns, what.warmup_auto),
        planned(what.window_ns, what.window_auto),
        duration(what.interval_ns),
        what.seed
    )
}

/// What the automatic ones of a repeat came to; nothing where none is.
pub fn lengths(cell: &CellView, repeat: &RepeatView) -> Markup {
    let what = &cell.cell.what;
    let Some(result) = &repeat.repeat.result else {
        return html! {};
    };
    let window = match result.window_precision_share {
        Some(share) => format!("its mean throughput is known to ± {}", percent_at_most(share)),
        None => "it was too short to tell how well its mean is known".to_owned(),
    };
    let warmup_ns = repeat.repeat.warmup_ns(what);
    html! {
        @if what.warmup_auto || what.window_auto {
            p.soft.small {
                @if what.warmup_auto {
                    "The warm-up took " (duration(warmup_ns))
                    @if result.warmup_steady == Some(true) { ", until the server was steady. " }
                    @else if warmup_ns >= what.warmup_ns { ", the most that it might take; the \
                        server was not steady. " }
                    @else { "; the server was not steady. " }
                }
                @if what.window_auto {
                    "The window took " (duration(result.measured_window_ns)) "; " (window) "."
                }
            }
        }
    }
}
