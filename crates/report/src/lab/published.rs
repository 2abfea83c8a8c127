//! A lab's devices beside what the white papers measured of them.

use super::numbers::{READS, Requests, WRITES};
use crate::format::{in_words, or_na, significant};
use crate::model::{CellView, LabView, RepeatView};
use crate::table::shown;
use analyse::{BesidePublished, CellComparison, PublishedRatio, Table};
use itertools::Itertools;
use maud::{Markup, html};
use store::{DeviceSummary, ThroughputMetric};

/// The ratios of devices that the white papers published, beside those of the lab, and what each
/// device had to read and write for an order; nothing where the lab has not two of these devices.
pub(super) fn beside_published(view: &LabView, all: &[&CellComparison]) -> Markup {
    let rows = PublishedRatio::ALL
        .iter()
        .cartesian_product(all)
        .filter_map(|(published, of)| Some((published, published.beside(of)?, *of)))
        .collect_vec();
    if view.metric() != ThroughputMetric::Nopm || rows.is_empty() {
        return html! {};
    }
    let sentences = rows.iter().filter_map(|(published, beside, of)| {
        let bound = |device| Some(format!("{device}: {}", bound_of(cell_with(view, of, device)?)?));
        let bounds = [published.faster, published.slower].into_iter().filter_map(bound).join(", ");
        let with = if all.len() > 1 { in_words(&of.others) } else { String::new() };
        apart(&format!("{} : {} {with}", published.faster, published.slower), *beside, &bounds)
    });
    let sentences = sentences.collect_vec();
    let on_each = |(published, _, of): &Beside, kind: Requests| {
        let [faster, slower] = [published.faster, published.slower].map(|device| {
            let mean = cell_with(view, of, device)
                .and_then(|cell| for_a_transaction(cell, |device| device.role == "data", kind));
            or_na(mean, significant)
        });
        format!("{faster} : {slower}")
    };
    let table = Table::of(rows)
        .words("Devices", |(of, ..)| format!("{} : {}", of.faster, of.slower))
        .when(all.len() > 1, |table| table.words("With", |(.., of)| in_words(&of.others)))
        .numbers("Measured", |(_, beside, _)| significant(beside.measured))
        .numbers("Published", |(of, ..)| significant(of.ratio))
        .numbers("Factor", |(_, beside, _)| significant(beside.factor()))
        .numbers_in(("Reads of data", "for an order, on each"), |row| on_each(row, READS))
        .numbers_in(("Writes of data", "for an order, on each"), |row| on_each(row, WRITES))
        .words("Source", |(of, ..)| of.source);
    let caption = format!(
        "Beside the white papers: how many times the throughput of the slower device the faster \
         one has. Their machines had 56 cores, their databases 500 and 1,000 warehouses. MySQL \
         with config-3 read {} pages for an order and wrote {} (S1, figure 7).",
        PublishedRatio::READS_PER_ORDER,
        PublishedRatio::WRITES_PER_ORDER
    );
    html! {
        (shown(&caption, table))
        @for sentence in sentences { p { (sentence) } }
    }
}

type Beside<'a> = (&'a PublishedRatio, BesidePublished, &'a CellComparison);

fn cell_with<'a>(view: &'a LabView, of: &CellComparison, device: &str) -> Option<&'a CellView> {
    let row = of.rows.iter().find(|row| row.value == device)?;
    view.by_ordinal(row.ordinal)
}

/// What bound the first repeat of which it is known.
fn bound_of(cell: &CellView) -> Option<&'static str> {
    Some(cell.whole().find_map(|repeat| repeat.bound())?.by.title())
}

/// How far a figure is from the published one, and what bound it; `None` where they are alike.
fn apart(what: &str, beside: BesidePublished, bounds: &str) -> Option<String> {
    (!beside.is_alike()).then(|| {
        format!(
            "{what} is {} times {} than published: {}.",
            significant(beside.factor()),
            if beside.measured > beside.published { "more" } else { "less" },
            if bounds.is_empty() { "what bound it is not known" } else { bounds },
        )
    })
}

/// Requests that the roles in question made for each transaction that throughput counts.
fn for_a_transaction(
    cell: &CellView,
    is_asked: fn(&DeviceSummary) -> bool,
    (.., per_s): Requests,
) -> Option<f64> {
    let of_repeat = |repeat: &RepeatView| {
        let nopm = repeat.rates().nopm.filter(|nopm| *nopm > 0.0)?;
        let devices = repeat.summary().devices.iter().filter(|device| is_asked(device));
        Some(devices.filter_map(per_s).reduce(|sum, of| sum + of)? * 60.0 / nopm)
    };
    cell.repeated(of_repeat).mean
}
