//! A lab beside what was published of its devices and of its cells.

use super::missing::{footnotes, to_cell};
use super::numbers::{READS, Requests, WRITES};
use crate::format::{in_words, or_na, significant, trimmed};
use crate::model::{CellView, LabView, RepeatView};
use crate::table::shown;
use analyse::{BesidePublished, CellComparison, PublishedCell, PublishedRatio, Table};
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
    let sentence = |(published, beside, of): &Beside| {
        let bound = |device| Some(format!("{device}: {}", bound_of(cell_with(view, of, device)?)?));
        let bounds = [published.faster, published.slower].into_iter().filter_map(bound).join(", ");
        let with = if all.len() > 1 { in_words(&of.others) } else { String::new() };
        apart(&format!("{} : {} {with}", published.faster, published.slower), *beside, &bounds)
    };
    let on_each = |(published, _, of): &Beside, kind: Requests| {
        let [faster, slower] = [published.faster, published.slower].map(|device| {
            let mean = cell_with(view, of, device)
                .and_then(|cell| for_a_transaction(cell, |device| device.role == "data", kind));
            or_na(mean, significant)
        });
        format!("{faster} : {slower}")
    };
    let table = Table::of(&rows)
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
        @for sentence in rows.iter().filter_map(sentence) { p { (sentence) } }
    }
}

type Beside<'a> = (&'a PublishedRatio, BesidePublished, &'a CellComparison);

fn cell_with<'a>(view: &'a LabView, of: &CellComparison, device: &str) -> Option<&'a CellView> {
    let row = of.rows.iter().find(|row| row.value == device)?;
    view.by_ordinal(row.ordinal)
}

/// What bound the first repeat of which it is known.
fn bound_of(cell: &CellView) -> Option<&'static str> {
    Some(cell.counted().find_map(|repeat| repeat.bound())?.by.title())
}

/// How far a figure is from the published one, and what bound it; `None` where they are alike.
fn apart(what: &str, beside: BesidePublished, bounds: &str) -> Option<String> {
    (!beside.is_alike()).then(|| {
        format!(
            "{what} is {} times {} than published: {}.",
            significant(beside.factor()),
            if beside.measured > beside.published { "more" } else { "less" },
            if bounds.is_empty() { "what bounds it is not known" } else { bounds },
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

/// A cell with its counterpart.
type Studied<'a> = (&'a CellView, PublishedCell);

/// A figure of a cell and its unit.
type StudyFigure = (&'static str, &'static str, fn(&CellView) -> Option<f64>);

/// In the order of [`PublishedCell::figures`].
const STUDY_FIGURES: [StudyFigure; 4] = [
    ("Transactions", "1/s", |cell| Some(cell.nopm().mean? / 60.0)),
    ("Reads", "for a transaction", |cell| for_a_transaction(cell, is_on_drive, READS)),
    ("Writes", "for a transaction", |cell| for_a_transaction(cell, is_on_drive, WRITES)),
    ("p95", "ms", |cell| Some(cell.primary_ns(0.95)? / 1e6)),
];

fn is_on_drive(device: &DeviceSummary) -> bool {
    device.device == PublishedCell::DRIVE
}

/// One of these figures, by its place; `None` where the cell lacks it.
fn beside(place: usize, (cell, of): &Studied) -> Option<BesidePublished> {
    let (.., measured) = STUDY_FIGURES[place];
    let measured = measured(cell).filter(|measured| *measured > 0.0)?;
    Some(BesidePublished { measured, published: of.figures[place] })
}

/// The cells that Percona Lab's report of 2026 has too, each beside its counterpart; nothing where
/// the lab has none.
pub fn beside_study(view: &LabView) -> Markup {
    let cells = view.cells.iter();
    let rows: Vec<Studied> =
        cells.filter_map(|cell| Some((cell, PublishedCell::of(&cell.cell.what)?))).collect();
    if rows.is_empty() {
        return html! {};
    }
    let sentence = |row: &Studied| {
        let what = format!("The throughput of {}", row.1.in_words());
        apart(&what, beside(0, row)?, bound_of(row.0).unwrap_or_default())
    };
    let larger = rows.iter().map(|(_, of)| trimmed(of.times_larger, 1)).unique().join(" and ");
    let caption = format!(
        "sysbench's oltp_read_write with --rand-type=uniform. The published database and its pools \
         were {larger} times as large as here, its windows 900 s long, and its host had 80 \
         hardware threads; the cores of this one act as ones that are K times as fast. Reads and \
         writes are those of all files on the drive; the published ones were counted by iostat, \
         with those of its file system."
    );
    let k = |cell: &CellView| cell.repeated(|repeat| Some(repeat.repeat.dilation)).mean;
    let mut table = Table::of(&rows)
        .words("Cell", |(cell, of)| to_cell(cell, &of.in_words()))
        .numbers("K", |(cell, _)| or_na(k(cell), |k| trimmed(k, 2)));
    for (place, (title, unit, _)) in STUDY_FIGURES.into_iter().enumerate() {
        let beside = |row: &Studied| beside(place, row);
        table = table
            .numbers_in((title, unit), |row| or_na(beside(row), |of| significant(of.measured)))
            .numbers("published", |(_, of)| significant(of.figures[place]))
            .numbers("factor", |row| or_na(beside(row), |of| significant(of.factor())));
    }
    html! {
        (shown(&caption, table))
        (footnotes(rows.iter().map(|(cell, _)| *cell)))
        @for sentence in rows.iter().filter_map(sentence) { p { (sentence) } }
    }
}
