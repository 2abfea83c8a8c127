//! The least dilation at which this host is no limit, found by short runs of the cell itself.

use crate::error::{LabError, LabResult, unfit};
use crate::measure::measurement::{RepeatPlace, measure};
use crate::progress::{Job, Progress};
use crate::target::populate::reach;
use crate::target::resolved::Resolved;
use analyse::{DILATION_STEPS, HostShortfall};
use base::{Dilation, Exit};
use plan::PlannedCell;
use server::Image;
use spec::{Cell, Connections, Length, Lengths, Rate, Server};
use std::time::Duration;
use store::{NewLab, Results};

/// Real time of a pilot's warm-up and window. A host shows within seconds what it cannot do; where
/// it lives faster, these are many of the server's.
const WARMUP: Duration = Duration::from_secs(3);
const WINDOW: Duration = Duration::from_secs(4);
const INTERVALS: u32 = 4;
/// Dilated time of the pilot that has the last word: a server writes pages once in a second of its
/// own, and what waits for that runs all at once behind it.
const LAST_WARMUP: Duration = Duration::from_millis(500);
const LAST_WINDOW: Duration = Duration::from_millis(1500);
/// Connections of a pilot for a ramp, which does not know how many it will need.
const CONNECTIONS_OF_RAMP: u32 = 32;

/// A cell whose dilation is to be found.
pub(crate) struct Pilots<'a> {
    pub(crate) server: Resolved<'a>,
    pub(crate) images: &'a [Image],
    pub(crate) cell: &'a PlannedCell,
    pub(crate) seed: u64,
}

impl Pilots<'_> {
    /// Finds the least dilation, `most` at the most, and says why it is that. Where the host is a
    /// limit even then, that is taken.
    ///
    /// # Errors
    /// Where a pilot cannot be measured.
    pub(crate) fn find(&self, most: Dilation, job: &Job<'_>) -> LabResult<Dilation> {
        let mut pilots = 0;
        let mut pilot = |dilation: Dilation, [warmup, window]: [Duration; 2]| {
            pilots += 1;
            let real = (warmup + window).mul_f64(dilation.factor());
            job.step(&format!(
                "looking for the least dilation at which this host is no limit: K = {dilation}, \
                 some {} s",
                real.as_secs() + 5
            ));
            self.pilot(dilation, [warmup, window], job)
        };
        let short =
            |dilation: Dilation| [WARMUP, WINDOW].map(|real| real.div_f64(dilation.factor()));
        let (mut dilation, mut limit) =
            least(most, &mut |dilation| pilot(dilation, short(dilation)))?;
        while limit.reasons.is_empty() && short(dilation)[1] < LAST_WINDOW {
            limit = pilot(dilation, [LAST_WARMUP, LAST_WINDOW])?;
            let mut steps = DILATION_STEPS.into_iter().filter_map(Dilation::new);
            let next = steps.find(|step| *step > dilation && *step <= most);
            let Some(next) = next.filter(|_| !limit.reasons.is_empty()) else { break };
            (dilation, limit) = (next, HostShortfall::default());
        }
        let of_pilots = base::counted(pilots, "pilot", "pilots");
        let why = match limit.reasons.as_slice() {
            [] => format!(
                "dilate auto: K = {dilation} is the least of {of_pilots} at which this host is no \
                 limit"
            ),
            reasons => format!(
                "dilate auto: this host is a limit even at K = {dilation}, the most that is \
                 allowed: {}",
                reasons.join(", ")
            ),
        };
        let Lengths { warmup, window, .. } = &self.cell.what.lengths;
        let takes = (warmup.most + window.most).mul_f64(dilation.factor()).as_secs_f64() / 60.0;
        job.note(&format!("{why}; warm-up and window take up to {takes:.1} min of real time"));
        Ok(dilation)
    }

    /// Measures the cell for some seconds, into a results file that goes away.
    fn pilot(
        &self,
        dilation: Dilation,
        dilated: [Duration; 2],
        job: &Job<'_>,
    ) -> LabResult<HostShortfall> {
        // Nobody wants to know of each.
        let mut silent = |_: Progress<'_>| {};
        let job = &job.telling(&mut silent);
        let failed =
            |error: std::io::Error| unfit(format!("cannot make a directory for a pilot: {error}"));
        let directory = tempfile::tempdir().map_err(failed)?;
        let results = Results::create_or_open(&directory.path().join("pilot.db"))?;
        let lab = results.begin_lab(&NewLab::default())?;
        let subject = self.server.start(self.images, dilation, job)?;
        reach(&subject)?;
        let place = RepeatPlace {
            results: &results,
            lab,
            planned: self.cell,
            ordinal: self.cell.ordinal,
            repeat: 1,
            notes: &[],
            seed: self.seed,
            ramp: None,
            planned_cells: 0,
            fleet: None,
        };
        let cell = cell_of_pilot(&self.cell.what, dilated);
        let (repeat, exit) = measure(place, &subject, &cell, job)?;
        if exit == Exit::Interrupted || job.is_stopped() {
            return Err(LabError::Interrupted);
        }
        let measured = analyse::measurement(&results, repeat)?;
        match (&measured.resources, exit) {
            (Some(resources), Exit::Ok) => Ok(HostShortfall::of(&measured.summary, resources)),
            _ => {
                let reason = measured.summary.reason.unwrap_or_else(|| format!("{exit:?}"));
                Err(unfit(format!(
                    "the dilation cannot be found, as a pilot at K = {dilation} failed: {reason}; \
                     name it (--dilate {dilation})"
                )))
            }
        }
    }
}

/// The cell for as long as a pilot is, warm-up and window; of an open loop whose rate is a share of
/// what a closed one does, that; and of a drill, the load without its fault.
fn cell_of_pilot(cell: &Cell, [warmup, window]: [Duration; 2]) -> Cell {
    let mut cell = cell.clone();
    if let Connections::Ramp(limits) = &cell.load.connections {
        let connections = limits.connections_max.min(CONNECTIONS_OF_RAMP);
        cell.load.connections = Connections::Fixed(connections);
    }
    if matches!(&cell.load.rate, Some(open) if matches!(open.rate, Rate::OfCapacity(_))) {
        cell.load.rate = None;
    }
    if let Server::Private(private) = &mut cell.server {
        private.fault = None;
    }
    cell.lengths = Lengths {
        warmup: Length::fixed(warmup),
        window: Length::fixed(window),
        precision_share: None,
        interval: window / INTERVALS,
    };
    cell.checks = false;
    cell.lock_wait_timeouts_max_share = None;
    cell
}

/// The least of the steps at which `judge` finds no limit, or the greatest with what limits there.
/// Real time is judged first. A step that is too small says how large one has to be, as far as it
/// can tell; the answer is between the greatest that is too small and the least that is not.
fn least<E>(
    most: Dilation,
    judge: &mut dyn FnMut(Dilation) -> Result<HostShortfall, E>,
) -> Result<(Dilation, HostShortfall), E> {
    let steps: Vec<Dilation> =
        DILATION_STEPS.into_iter().filter_map(Dilation::new).filter(|step| *step <= most).collect();
    let last = steps.len() - 1;
    let real = steps.iter().position(|step| *step >= Dilation::NONE);
    let (mut low, mut at) = (0, real.unwrap_or(last));
    let mut limit = judge(steps[at])?;
    while !limit.reasons.is_empty() && at < last {
        low = at + 1;
        let enough = limit
            .needed
            .map(|needed| steps.iter().position(|step| *step >= needed).unwrap_or(last));
        // A run that cannot tell is followed by one at twice its dilation.
        at = enough.unwrap_or(at + 2).clamp(low, last);
        limit = judge(steps[at])?;
    }
    while low < at && limit.reasons.is_empty() {
        let middle = low + (at - low) / 2;
        let found = judge(steps[middle])?;
        if found.reasons.is_empty() {
            (at, limit) = (middle, found);
        } else {
            low = middle + 1;
        }
    }
    Ok((steps[at], limit))
}

#[cfg(test)]
mod tests {
    use super::least;
    use analyse::HostShortfall;
    use base::Dilation;
    use std::convert::Infallible;

    /// What is found, and which were tried, where a host needs `needed` and says `says`.
    fn found(needed: f64, says: Option<f64>, most: u8) -> (f64, bool, Vec<f64>) {
        let mut tried = Vec::new();
        let judged = least(Dilation::whole(most), &mut |dilation| {
            tried.push(dilation.factor());
            let is_limit = dilation.factor() < needed;
            Ok::<_, Infallible>(HostShortfall {
                reasons: is_limit.then(|| "busy".to_owned()).into_iter().collect(),
                needed: says.and_then(Dilation::new).filter(|_| is_limit),
            })
        });
        let Ok((dilation, limit)) = judged;
        (dilation.factor(), limit.reasons.is_empty(), tried)
    }

    #[test]
    fn the_least_that_is_enough() {
        assert_eq!(found(1.0, None, 16), (1.0, true, vec![1.0, 0.125, 0.5]));
        assert_eq!(found(5.0, None, 16), (6.0, true, vec![1.0, 2.0, 4.0, 8.0, 6.0]));
        assert_eq!(found(5.0, Some(6.0), 16).0, 6.0);
        assert_eq!(found(7.0, Some(12.0), 16).2, [1.0, 12.0, 4.0, 8.0, 6.0]);
        for needed in [1.2, 2.0, 2.5, 3.0, 9.0, 11.0, 16.0] {
            for says in [None, Some(1.5), Some(16.0)] {
                let (dilation, enough, _) = found(needed, says, 16);
                assert!(enough && dilation >= needed && dilation < needed * 1.67, "{needed}");
            }
        }
    }

    #[test]
    fn an_idle_host_lives_faster() {
        assert_eq!(found(0.1, None, 16), (0.125, true, vec![1.0, 0.125, 0.0625]));
        assert_eq!(found(0.3, Some(0.5), 1), (0.5, true, vec![1.0, 0.125, 0.5, 0.25]));
        assert_eq!(found(0.0, None, 16), (0.03125, true, vec![1.0, 0.125, 0.0625, 0.03125]));
    }

    #[test]
    fn the_most_is_never_passed() {
        let (dilation, enough, tried) = found(50.0, Some(64.0), 16);
        assert_eq!((dilation, enough), (16.0, false));
        assert_eq!(tried, [1.0, 16.0]);
        assert_eq!(found(50.0, None, 1).2, [1.0]);
    }
}
