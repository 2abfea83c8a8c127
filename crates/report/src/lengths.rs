//! How long warm-up and window were to be.

use crate::format::duration;
use crate::model::CellView;
use base::percent;

/// The window and its surroundings as planned, in words.
pub fn times(cell: &CellView) -> String {
    let what = &cell.cell.what;
    let planned = |ns: u64, is_auto: bool| {
        let time = duration(ns);
        if is_auto { format!("automatic ({time} at most)") } else { time }
    };
    let precision = what.precision_share.map(|share| format!(" to ± {}", percent(share)));
    let precision = precision.unwrap_or_default();
    format!(
        "warm-up {}, window {}{precision}, intervals of {}, seed {}",
        planned(what.warmup_ns, what.warmup_auto),
        planned(what.window_ns, what.window_auto),
        duration(what.interval_ns),
        what.seed
    )
}
