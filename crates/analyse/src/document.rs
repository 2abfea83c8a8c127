//! The JSON document of one measurement: what the store says, and what follows from its samples.

use crate::host_shortfall::EmulatedRun;
use crate::nodes::{NodeFigures, nodes_of};
use crate::remarks::{is_too_short, longest_silence_s, remarks};
use crate::repeat_resources::used_by;
use crate::resources::Resources;
use crate::samples::Samples;
use base::Dilation;
use serde::Serialize;
use store::{RepeatId, Results, StoreError, Summary};

/// What `mydyno run --json` prints. `docs/json.md` describes its keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunDocument {
    #[serde(flatten)]
    pub summary: Summary,
    /// `None` where the repeat failed or was not sampled.
    pub resources: Option<Resources>,
    /// The servers of one database, by what they say of themselves in the window; empty where there
    /// was one, or each had a database of its own.
    pub nodes: Vec<NodeFigures>,
    /// Where less than 90 % of the requests to emulated devices were in time: the dilation
    /// (`--dilate`) at which this host would have been fast enough, as far as the run tells.
    pub dilation_needed: Option<f64>,
    /// What is to be known of the window, in sentences: times in which nothing ended, connections
    /// whose time is in no response time, a window that is too short.
    pub remarks: Vec<String>,
    #[serde(skip)]
    pub longest_silence_s: Option<f64>,
    #[serde(skip)]
    pub is_too_short: bool,
}

/// The document of one repeat.
///
/// # Errors
/// There is no such repeat, or the file cannot be read.
pub fn measurement(results: &Results, id: RepeatId) -> Result<RunDocument, StoreError> {
    let repeat = results.repeat(id)?;
    let cell = results.cell(repeat.cell)?;
    let totals = results.window_totals(id)?;
    let samples = Samples::read(results, id)?;
    let summary = results.summary(id)?;
    let resources = used_by(results, (&repeat, &cell), &totals, &samples)?;
    let run = EmulatedRun::of(&summary);
    let missed = resources.as_ref().and_then(|of| run.dilation_missed(of));
    let nodes = nodes_of(results, (&repeat, &cell), &samples)?;
    let window = results.window_summary(&repeat, &cell.what, &totals)?;
    Ok(RunDocument {
        summary,
        resources,
        nodes,
        dilation_needed: missed.map(Dilation::factor),
        remarks: remarks(&window, &cell.what),
        longest_silence_s: longest_silence_s(&window),
        is_too_short: is_too_short(&window, &cell.what),
    })
}
