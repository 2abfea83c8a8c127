//! Curves over a number: throughput, response time of new orders and retries by connections, or by
//! a variable, a line for each of what else differs.

use crate::format::in_words_of;
use crate::model::{CellView, LabView};
use crate::series::rounded;
use crate::stats::Repeated;
use maud::{Markup, html};
use serde::Serialize;
use std::collections::BTreeMap;
use store::{TransactionTotals, WindowTotals};

/// What the charts of one set of curves draw.
#[derive(Serialize)]
pub struct Curves {
    /// What stands at the axis.
    x_name: String,
    x: Vec<f64>,
    /// The same as it is in the plan.
    x_text: Vec<String>,
    lines: Vec<CurveLine>,
}

#[derive(Serialize)]
struct CurveLine {
    name: String,
    /// Does the line have a cell there, with or without a result?
    cells: Vec<bool>,
    nopm: CurveBand,
    p95_ms: CurveBand,
    max_ms: CurveBand,
    /// Of all types, for each 1,000 transactions of them that were committed.
    retries: CurveBand,
}

/// One for each x; `None` where there is none.
#[derive(Serialize)]
struct CurveBand {
    mean: Vec<Option<f64>>,
    low: Vec<Option<f64>>,
    high: Vec<Option<f64>>,
}

/// A cell with its place.
pub struct CurveCell<'a> {
    pub x: f64,
    pub x_text: String,
    pub cell: &'a CellView,
}

/// The curves of lines of cells, each with its name.
pub fn curves(x_name: &str, lines: &[(String, Vec<CurveCell<'_>>)]) -> Curves {
    let mut places: Vec<&CurveCell<'_>> = lines.iter().flat_map(|(_, cells)| cells).collect();
    places.sort_by(|one, other| one.x.total_cmp(&other.x));
    places.dedup_by(|one, other| one.x == other.x);
    let x: Vec<f64> = places.iter().map(|at| at.x).collect();
    let line = |(name, cells): &(String, Vec<CurveCell<'_>>)| {
        let find = |x: &f64| Some(cells.iter().find(|at| at.x == *x)?.cell);
        let at: Vec<Option<&CellView>> = x.iter().map(find).collect();
        CurveLine {
            name: name.clone(),
            cells: at.iter().map(Option::is_some).collect(),
            nopm: numbers(&at, CellView::nopm),
            p95_ms: numbers(&at, |cell| cell.primary_ns(0.95).map(|r| r.per(1e6))),
            max_ms: numbers(&at, |cell| {
                let ms = cell.primary_max_ns()? as f64 / 1e6;
                Repeated::of(&[ms])
            }),
            retries: numbers(&at, |cell| {
                cell.repeated(|repeat| retries_per_1000_committed(&repeat.totals))
            }),
        }
    };
    Curves {
        x_name: x_name.to_owned(),
        x_text: places.iter().map(|at| at.x_text.clone()).collect(),
        lines: lines.iter().map(line).collect(),
        x,
    }
}

/// Tries of a window that were made again; `None` where nothing was committed.
fn retries_per_1000_committed(totals: &WindowTotals) -> Option<f64> {
    let sum = |number: fn(&TransactionTotals) -> u64| {
        totals.iter().map(|(_, of)| number(of)).sum::<u64>()
    };
    let committed = sum(|of| of.committed);
    (committed > 0).then(|| sum(TransactionTotals::retries) as f64 * 1e3 / committed as f64)
}

impl Curves {
    /// Is there a curve of retries to see? A single point is none, and neither are zeros.
    fn has_retries(&self) -> bool {
        let known = || self.lines.iter().flat_map(|line| line.retries.mean.iter().flatten());
        known().count() > 1 && known().any(|retries| *retries > 0.0)
    }
}

fn numbers(at: &[Option<&CellView>], number: impl Fn(&CellView) -> Option<Repeated>) -> CurveBand {
    let all: Vec<Option<Repeated>> = at.iter().map(|cell| number((*cell)?)).collect();
    let edge = |sign: f64| {
        let end = |r: &Option<Repeated>| {
            let number = r.as_ref()?;
            Some(rounded(number.mean + sign * number.half_width?))
        };
        all.iter().map(end).collect()
    };
    let mean = |r: &Option<Repeated>| r.as_ref().map(|number| rounded(number.mean));
    CurveBand { mean: all.iter().map(mean).collect(), low: edge(-1.0), high: edge(1.0) }
}

/// By connections, a line for each group; `None` where the lab has one number of connections only,
/// or no result.
pub fn by_connections(view: &LabView) -> Option<Curves> {
    let mut order: Vec<&str> = Vec::new();
    let mut groups: BTreeMap<&str, Vec<CurveCell<'_>>> = BTreeMap::new();
    for cell in view.cells.iter().filter(|cell| !cell.repeats.is_empty()) {
        if !order.contains(&cell.group.as_str()) {
            order.push(&cell.group);
        }
        groups.entry(&cell.group).or_default().push(CurveCell {
            x: f64::from(cell.cell.what.connections),
            x_text: cell.cell.what.connections.to_string(),
            cell,
        });
    }
    let lines: Vec<(String, Vec<CurveCell<'_>>)> = order
        .iter()
        .map(|name| ((*name).to_owned(), groups.remove(name).unwrap_or_default()))
        .collect();
    let curves = curves("connections", &lines);
    (curves.x.len() > 1 && view.best().is_some()).then_some(curves)
}

/// A chart of the curves that the page's data has by the name `of`. `what`: `nopm`, `p95_ms`,
/// `max_ms`, `retries`, or `latency` for `p95_ms` and `max_ms`.
pub fn chart(of: &str, what: &str, title: &str) -> Markup {
    html! {
        figure data-chart="curves" data-curves=(of) data-what=(what) {
            figcaption { b { (title) } }
            div.plot role="img" aria-label={ (title) "; the data table below holds its numbers" } {}
            div.legend {}
        }
    }
}

/// The charts by connections, and what stands below them.
pub fn connection_charts(view: &LabView, curves: &Curves, below: &Markup) -> Markup {
    let title = |title| in_words_of(view.metric(), title);
    html! {
        section id="connections" {
            h2 { "By connections" }
            p.soft.small {
                "Whiskers: 95 % confidence interval over repeats; a point without them is of one \
                 repeat; a maximum is the longest of all repeats. A cell without a result breaks \
                 its line."
                @if curves.has_retries() {
                    " Retries are tries made again after a deadlock, a lock wait timeout or \
                     another error that may pass, of all transaction types in the window."
                }
            }
            div.charts {
                (chart("connections", "nopm", "Throughput by connections"))
                @if curves.lines.len() > 1 {
                    (chart("connections", "p95_ms", &title("New-order p95 by connections")))
                    (chart("connections", "max_ms", &title("New-order maximum by connections")))
                } @else {
                    (chart("connections", "latency", &title("New-order response time by connections")))
                }
                @if curves.has_retries() {
                    (chart("connections", "retries", "Retries by connections"))
                }
            }
            (below)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::CellTransaction;

    fn of_type(
        name: &str,
        committed: u64,
        totals: TransactionTotals,
    ) -> (CellTransaction, TransactionTotals) {
        let of = CellTransaction { name: name.to_owned(), ..CellTransaction::default() };
        (of, TransactionTotals { committed, ..totals })
    }

    #[test]
    fn retries_of_all_types_and_causes_count() {
        let deadlocks = TransactionTotals {
            deadlocks: 3,
            lock_wait_timeouts: 1,
            ..TransactionTotals::default()
        };
        let others =
            TransactionTotals { other_retries: 2, rolled_back: 90, ..TransactionTotals::default() };
        let types = [of_type("new_order", 400, deadlocks), of_type("payment", 100, others)];
        assert_eq!(retries_per_1000_committed(&types.into_iter().collect()), Some(12.0));
    }

    #[test]
    fn without_commits_there_is_no_number() {
        let failed = TransactionTotals { deadlocks: 3, ..TransactionTotals::default() };
        let types = [of_type("new_order", 0, failed)];
        assert_eq!(retries_per_1000_committed(&types.into_iter().collect()), None);
        assert_eq!(retries_per_1000_committed(&WindowTotals::default()), None);
    }

    /// Lines with these means of retries.
    fn with_retries(lines: &[&[Option<f64>]]) -> Curves {
        let none = || CurveBand { mean: Vec::new(), low: Vec::new(), high: Vec::new() };
        let line = |retries: &&[Option<f64>]| CurveLine {
            name: String::new(),
            cells: vec![true; retries.len()],
            nopm: none(),
            p95_ms: none(),
            max_ms: none(),
            retries: CurveBand { mean: retries.to_vec(), ..none() },
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
        assert!(with_retries(&[&[Some(0.0), Some(0.5)]]).has_retries());
        assert!(with_retries(&[&[Some(0.5), None], &[None, Some(0.0)]]).has_retries());
        assert!(!with_retries(&[&[Some(0.0), Some(0.0)], &[Some(0.0), None]]).has_retries());
        assert!(!with_retries(&[&[Some(0.5), None]]).has_retries());
        assert!(!with_retries(&[&[None, None]]).has_retries());
    }
}
