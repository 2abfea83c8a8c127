//! Curves over a number: what cells delivered and used by connections, or by a variable, a line for
//! each of what else differs; bars where the lab has one number of connections only.

use super::grid::{Axes, table};
use super::missing::footnotes;
use super::numbers::{CellNumber, DELIVERED, MAXIMUM, P95, RETRIES, used_of_machine};
use crate::bars::{Bar, bar_row, end_of};
use crate::format::in_words_of;
use crate::model::{CellView, LabView};
use crate::plot::plot;
use crate::series::rounded;
use analyse::MeanValue;
use base::by_key;
use maud::{Markup, html};
use serde::Serialize;
use std::collections::BTreeMap;

/// What the charts of one set of curves draw.
#[derive(Serialize)]
pub struct Curves {
    /// What stands at the axis.
    pub x_name: String,
    x: Vec<f64>,
    /// The same as it is in the plan.
    pub x_text: Vec<String>,
    lines: Vec<CurveLine>,
}

#[derive(Serialize)]
struct CurveLine {
    name: String,
    /// Does the line have a cell there, with or without a result?
    cells: Vec<bool>,
    /// By the key of the number.
    bands: BTreeMap<String, CurveBand>,
}

/// One for each x; `None` where there is none.
#[derive(Serialize)]
pub struct CurveBand {
    pub mean: Vec<Option<f64>>,
    pub low: Vec<Option<f64>>,
    pub high: Vec<Option<f64>>,
}

/// A cell with its place.
pub struct CurveCell<'a> {
    pub x: f64,
    pub x_text: String,
    pub cell: &'a CellView,
}

/// A line, with its name.
pub type CurveCells<'a> = (String, Vec<CurveCell<'a>>);

/// These numbers along lines of cells.
pub fn curves(
    view: &LabView,
    x_name: &str,
    lines: &[CurveCells<'_>],
    numbers: &[&CellNumber],
) -> Curves {
    let mut places: Vec<&CurveCell<'_>> = lines.iter().flat_map(|(_, cells)| cells).collect();
    places.sort_by(|one, other| one.x.total_cmp(&other.x));
    places.dedup_by(|one, other| one.x == other.x);
    let x: Vec<f64> = places.iter().map(|at| at.x).collect();
    let line = |(name, cells): &CurveCells<'_>| {
        let find = |x: &f64| Some(cells.iter().find(|at| at.x == *x)?.cell);
        let at: Vec<Option<&CellView>> = x.iter().map(find).collect();
        CurveLine {
            name: name.clone(),
            cells: at.iter().map(Option::is_some).collect(),
            bands: numbers.iter().map(|number| (number.key(view), band(&at, number))).collect(),
        }
    };
    Curves {
        x_name: x_name.to_owned(),
        x_text: places.iter().map(|at| at.x_text.clone()).collect(),
        lines: lines.iter().map(line).collect(),
        x,
    }
}

fn band(at: &[Option<&CellView>], number: &CellNumber) -> CurveBand {
    let along = |of: fn(&MeanValue) -> Option<f64>| {
        let known = at.iter().map(|cell| of(&number.of((*cell)?)));
        known.map(|value| value.map(rounded)).collect()
    };
    CurveBand { mean: along(|of| of.mean), low: along(|of| of.low), high: along(|of| of.high) }
}

impl Curves {
    /// The numbers that it has.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().take(1).flat_map(|line| line.bands.keys().map(String::as_str))
    }

    /// One of its numbers along each line, with the line's name.
    pub fn bands<'a>(&'a self, key: &'a str) -> impl Iterator<Item = (&'a str, &'a CurveBand)> {
        let of = move |line: &'a CurveLine| Some((line.name.as_str(), line.bands.get(key)?));
        self.lines.iter().filter_map(of)
    }

    /// Is there a curve of it to see? A single point is none, and neither are zeros.
    fn is_seen(&self, key: &str) -> bool {
        let bands = self.lines.iter().filter_map(|line| line.bands.get(key));
        let known: Vec<f64> = bands.flat_map(|band| band.mean.iter().flatten()).copied().collect();
        known.len() > 1 && known.iter().any(|value| *value > 0.0)
    }
}

/// By connections, a line for each group; `None` where the lab has one number of connections only,
/// or no result.
pub fn by_connections(view: &LabView) -> Option<Curves> {
    let cells = view.cells.iter().filter(|cell| !cell.repeats.is_empty());
    let lines = by_key(cells.map(|cell| {
        let connections = cell.cell.what.connections;
        let (x, x_text) = (f64::from(connections), connections.to_string());
        (cell.group.clone(), CurveCell { x, x_text, cell })
    }));
    let mut numbers: Vec<&CellNumber> = DELIVERED.to_vec();
    numbers.push(&RETRIES);
    numbers.extend(used_of_machine(view));
    let curves = curves(view, "connections", &lines, &numbers);
    (curves.x.len() > 1 && view.best().is_some()).then_some(curves)
}

/// A chart of the curves that the page's data has by the name `of`: each of these numbers, which
/// have one unit. `table` has the same numbers, where the chart makes none itself.
pub fn chart(
    view: &LabView,
    of: &str,
    numbers: &[&CellNumber],
    (title, table): (&str, Option<Markup>),
) -> Markup {
    let keys: Vec<String> = numbers.iter().map(|number| number.key(view)).collect();
    let unit = numbers.first().map(|number| number.unit(view));
    let is_logarithmic = numbers.iter().any(|number| number.is_logarithmic);
    html! {
        figure data-chart="curves" data-curves=(of) data-what=(keys.join("|")) data-unit=[unit]
            data-log[is_logarithmic] {
            (plot(title, ""))
            @if let Some(table) = table { details.small { summary { "Data table" } (table) } }
        }
    }
}

/// A chart of one number by connections, with its table where that is a grid.
pub fn number_by_connections(view: &LabView, number: &CellNumber, title: &str) -> Markup {
    let axes = Axes::of(view);
    let table = axes.is_grid().then(|| axes.grid(number));
    chart(view, "connections", &[number], (title, table))
}

/// The charts by connections, but for throughput; nothing where there are no such curves.
pub fn connection_charts(view: &LabView, curves: Option<&Curves>) -> Markup {
    let Some(curves) = curves else { return html! {} };
    let has_retries = curves.is_seen(&RETRIES.key(view));
    let axes = Axes::of(view);
    let of = |number: &CellNumber| {
        let title = format!("{} by connections, {}", number.title(view), number.unit(view));
        number_by_connections(view, number, &title)
    };
    let response = in_words_of(view.metric(), "New-order response time by connections, ms");
    html! {
        p.soft.small {
            "Whiskers and ±: 95 % confidence interval over repeats; a point without them is of one \
             repeat; a maximum is the longest of all repeats. A cell without a result breaks its \
             line."
            @if has_retries {
                " Retries are tries made again after a deadlock, a lock wait timeout or another \
                 error that may pass, of all transaction types in the window."
            }
        }
        div.charts {
            @if axes.is_grid() { @for number in &DELIVERED[1..] { (of(number)) } }
            @else {
                @let table = Some(table(view, &DELIVERED));
                (chart(view, "connections", &[&P95, &MAXIMUM], (&response, table)))
            }
            @if has_retries { (of(&RETRIES)) }
        }
        (footnotes(&view.cells))
    }
}

/// What the cells used of the machine, side by side; nothing where nothing was sampled, and of a
/// single cell. Charts draw curves where the page `has_curves` by connections.
pub fn resources(view: &LabView, has_curves: bool) -> Markup {
    let numbers = used_of_machine(view);
    let axes = Axes::of(view);
    let curve = |number: &CellNumber| number_by_connections(view, number, &number.key(view));
    html! {
        @if view.cells.len() > 1 && !numbers.is_empty() {
            p.soft.small {
                "Means of the windows; whiskers and ± are the 95 % confidence interval over \
                 repeats, and a number without it is of one repeat. -: not measured. \
                 docs/metrics.md describes what is sampled."
            }
            div.multiples {
                @if has_curves { div.legend {} @for number in &numbers { (curve(number)) } }
                @else { @for number in &numbers { (cell_bars(view, number)) } }
            }
            @if !(has_curves && axes.is_grid()) {
                details.small { summary { "Data table" } (table(view, &numbers)) }
            }
            (footnotes(&view.cells))
        }
    }
}

fn cell_bars(view: &LabView, number: &CellNumber) -> Markup {
    let bar = |cell| {
        let of = number.of(cell);
        let (mean, half_width) = (of.mean, of.half_width());
        Bar { name: &cell.label, cell: Some(cell), mean, half_width, color: 1 }
    };
    let all: Vec<Bar<'_>> = view.cells.iter().map(bar).collect();
    let (title, unit) = (number.key(view), number.unit(view));
    let top = end_of(&all);
    html! {
        figure.bars {
            figcaption { b { (title) } }
            @for bar in &all { (bar_row(bar, top, (&unit, number.shown))) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines with these means of a number.
    fn with_means(lines: &[&[Option<f64>]]) -> Curves {
        let line = |mean: &&[Option<f64>]| {
            let band = CurveBand { mean: mean.to_vec(), low: Vec::new(), high: Vec::new() };
            CurveLine {
                name: String::new(),
                cells: vec![true; mean.len()],
                bands: BTreeMap::from([("retries".to_owned(), band)]),
            }
        };
        Curves {
            x_name: "connections".to_owned(),
            x: Vec::new(),
            x_text: Vec::new(),
            lines: lines.iter().map(line).collect(),
        }
    }

    #[test]
    fn retries_are_drawn_where_some_point_of_several_has_any() {
        let is_seen = |lines: &[&[Option<f64>]]| with_means(lines).is_seen("retries");
        assert!(is_seen(&[&[Some(0.0), Some(0.5)]]));
        assert!(is_seen(&[&[Some(0.5), None], &[None, Some(0.0)]]));
        assert!(!is_seen(&[&[Some(0.0), Some(0.0)], &[Some(0.0), None]]));
        assert!(!is_seen(&[&[Some(0.5), None]]));
        assert!(!is_seen(&[&[None, None]]));
    }
}
