//! A lab's devices beside what the white papers measured of them.

use crate::format::{in_words, or_na, significant};
use crate::model::{CellView, LabView, RepeatView};
use crate::table::shown;
use analyse::{CellComparison, PublishedRatio, Table};
use itertools::Itertools;
use maud::{Markup, html};
use store::ThroughputMetric;

/// The ratios of devices that the white papers published, beside those of the lab, and what each
/// device had to read and write for an order; nothing where the lab has not two of these devices.
pub(super) fn beside_published(view: &LabView, all: &[&CellComparison]) -> Markup {
    let rows = PublishedRatio::ALL
        .iter()
        .cartesian_product(all)
        .filter_map(|(published, of)| Some((published, published.measured(of)?, *of)))
        .collect_vec();
    if view.metric() != ThroughputMetric::Nopm || rows.is_empty() {
        return html! {};
    }
    let others = rows.iter().filter(|(published, measured, _)| !published.is_alike(*measured));
    let sentences = others.map(|(published, measured, of)| {
        let bound = |device| {
            let bound = cell_with(view, of, device)?.whole().find_map(|repeat| repeat.bound());
            Some(format!("{device}: {}", bound?.by.title()))
        };
        let bounds = [published.faster, published.slower].into_iter().filter_map(bound).join(", ");
        let with = if all.len() > 1 { in_words(&of.others) } else { String::new() };
        format!(
            "{} : {} {with} is {} times {} than published: {}.",
            published.faster,
            published.slower,
            significant(published.factor(*measured)),
            if *measured > published.ratio { "more" } else { "less" },
            if bounds.is_empty() { "what bound them is not known" } else { &bounds },
        )
    });
    let sentences = sentences.collect_vec();
    let on_each = |(published, _, of): &Beside, number: fn(&RepeatView) -> Option<f64>| {
        let [faster, slower] = [published.faster, published.slower].map(|device| {
            let mean = cell_with(view, of, device).and_then(|cell| cell.repeated(number).mean);
            or_na(mean, significant)
        });
        format!("{faster} : {slower}")
    };
    let table = Table::of(rows)
        .words("Devices", |(of, ..)| format!("{} : {}", of.faster, of.slower))
        .when(all.len() > 1, |table| table.words("With", |(.., of)| in_words(&of.others)))
        .numbers("Measured", |(_, measured, _)| significant(*measured))
        .numbers("Published", |(of, ..)| significant(of.ratio))
        .numbers("Factor", |(of, measured, _)| significant(of.factor(*measured)))
        .numbers_in(("Reads of data", "for an order, on each"), |row| on_each(row, reads))
        .numbers_in(("Writes of data", "for an order, on each"), |row| on_each(row, writes))
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

type Beside<'a> = (&'a PublishedRatio, f64, &'a CellComparison);

fn cell_with<'a>(view: &'a LabView, of: &CellComparison, device: &str) -> Option<&'a CellView> {
    let row = of.rows.iter().find(|row| row.value == device)?;
    view.by_ordinal(row.ordinal)
}

fn reads(repeat: &RepeatView) -> Option<f64> {
    Some(repeat.device("data")?.read.as_ref()?.per_s? / orders_per_s(repeat)?)
}

fn writes(repeat: &RepeatView) -> Option<f64> {
    Some(repeat.device("data")?.write.as_ref()?.per_s? / orders_per_s(repeat)?)
}

fn orders_per_s(repeat: &RepeatView) -> Option<f64> {
    Some(repeat.rates().nopm.filter(|nopm| *nopm > 0.0)? / 60.0)
}
