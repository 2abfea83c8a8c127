//! The JSON document of one measurement: what the store says, and what follows from its samples.

use crate::account::host_shortfall::dilation_missed;
use crate::run::nodes::{NodeFigures, nodes_of};
use crate::run::remarks::{is_too_short, longest_silence_s, remarks};
use crate::run::repeat_resources::used_by;
use crate::run::resources::Resources;
use crate::run::samples::{ReadRepeat, Samples};
use base::{Dilation, document};
use store::{NewCell, RepeatId, Results, StoreResult, Summary, WindowSummary};

document! {
    /// What `mydyno run --json` prints. `docs/json.md` describes its keys.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RunDocument from (
        summary: Summary,
        resources: Option<Resources>,
        nodes: Vec<NodeFigures>,
        window: &WindowSummary,
        cell: &NewCell
    );
    let missed = resources.as_ref().and_then(|of| dilation_missed(&summary, of));
    {
        #[serde(flatten)]
        pub summary: Summary = summary,
        /// `None` where the repeat failed or was not sampled.
        pub resources: Option<Resources> = resources,
        /// The servers of one database, by what they say of themselves in the window; empty where
        /// there was one, or each had a database of its own.
        pub nodes: Vec<NodeFigures> = nodes,
        /// Where less than 90 % of the requests to emulated devices were in time: the dilation
        /// (`--dilate`) at which this host would have been fast enough, as far as the run tells.
        pub dilation_needed: Option<f64> = missed.map(Dilation::factor),
        /// What is to be known of the window, in sentences: times in which nothing ended,
        /// connections whose time is in no response time, a window that is too short.
        pub remarks: Vec<String> = remarks(window, cell),
        #[serde(skip)]
        pub longest_silence_s: Option<f64> = longest_silence_s(window),
        #[serde(skip)]
        pub is_too_short: bool = is_too_short(window, cell),
    }
}

/// The document of one repeat.
///
/// # Errors
/// There is no such repeat, or the file cannot be read.
pub fn measurement(results: &Results, id: RepeatId) -> StoreResult<RunDocument> {
    let repeat = results.repeat(id)?;
    let cell = results.cell(repeat.cell)?;
    let (totals, samples) = (&results.window_totals(id)?, &Samples::read(results, id)?);
    document_of(ReadRepeat { results, repeat: &repeat, cell: &cell, totals, samples })
}

/// The same of a repeat that was read already.
///
/// # Errors
/// The file cannot be read.
pub fn document_of(of: ReadRepeat<'_>) -> StoreResult<RunDocument> {
    let ReadRepeat { results, repeat, cell, totals, .. } = of;
    let summary = Summary::of(results, (repeat, cell), totals)?;
    let resources = used_by(of)?;
    let nodes = nodes_of(of)?;
    let window = results.window_summary(repeat, &cell.what, totals)?;
    Ok(RunDocument::of(summary, resources, nodes, &window, &cell.what))
}
