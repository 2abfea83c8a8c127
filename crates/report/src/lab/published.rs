//! A lab's devices beside what the white papers measured of them.

use crate::format::{in_words, or_na, significant};
use crate::model::{LabView, RepeatView};
use crate::table::shown;
use analyse::{CellComparison, PublishedRatio, Table};
use itertools::Itertools;
use maud::{Markup, html};
use store::ThroughputMetric;

/// The ratios of devices that the white papers published, beside those of the lab, and what each
/// device had to write for an order; nothing where the lab has not two of these devices.
pub(super) fn beside_published(view: &LabView, all: &[&CellComparison]) -> Markup {
    let rows = PublishedRatio::ALL
        .iter()
        .cartesian_product(all)
        .filter_map(|(published, of)| Some((published, published.measured(of)?, *of)))
        .collect_vec();
    if view.metric() != ThroughputMetric::Nopm || rows.is_empty() {
        return html! {};
    }
    let writes = |(published, _, of): &(&PublishedRatio, f64, &CellComparison)| {
        let [faster, slower] = [published.faster, published.slower]
            .map(|device| or_na(writes_per_order(view, of, device), significant));
        format!("{faster} : {slower}")
    };
    let table = Table::of(rows)
        .words("Devices", |(of, ..)| format!("{} : {}", of.faster, of.slower))
        .when(all.len() > 1, |table| table.words("With", |(.., of)| in_words(&of.others)))
        .numbers("Measured", |(_, measured, _)| significant(*measured))
        .numbers("Published", |(of, ..)| significant(of.ratio))
        .numbers_in(("Writes of data", "for an order, on each"), writes)
        .words("Source", |(of, ..)| of.source);
    shown(
        "Beside the white papers: how many times the throughput of the slower device the faster \
         one has. Their machines had 56 cores, their databases 500 and 1,000 warehouses. A smaller \
         database has a smaller pool and redo log, which the same throughput turns over faster: \
         then more pages are written for an order, and a device that is slow to write pays for it.",
        table,
    )
}

/// Requests to write data, for each new order of the cell with that device.
fn writes_per_order(view: &LabView, comparison: &CellComparison, device: &str) -> Option<f64> {
    let row = comparison.rows.iter().find(|row| row.value == device)?;
    let of_data = |repeat: &RepeatView| {
        let orders_per_s = repeat.rates().nopm.filter(|nopm| *nopm > 0.0)? / 60.0;
        Some(repeat.device("data")?.write.as_ref()?.per_s? / orders_per_s)
    };
    view.by_ordinal(row.ordinal)?.repeated(of_data).mean
}
