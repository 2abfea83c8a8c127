//! Samples beside a run: what is observed of this subject, and how it gets into the results file.

use crate::progress::{Job, Progress};
use crate::target::subject::Subject;
use base::Instant;
use drive::WORKER_THREAD;
use observe::{
    ExporterSource, HostSource, InstrumentSource, MeterSource, NodeSource, PerfSource,
    ProcessSource, RaplSource, SampleSource, Sampled, Sampler, ServerSource, ShimSource,
    ThreadSource, summed,
};
use spec::{AccountFrom, Cell};
use std::time::Duration;
use store::{MetricIds, RepeatId, Results, SampleBatch, StoreError};

/// How often each source is read: once a second, and several times in a window that is shorter.
const PERIOD: Duration = Duration::from_secs(1);
const PER_WINDOW_MIN: u32 = 4;

/// The observers of one run.
pub(crate) struct Observer<'a> {
    results: &'a Results,
    repeat: RepeatId,
    sampler: Sampler,
    ids: MetricIds,
}

impl<'a> Observer<'a> {
    /// Begins to sample a run that starts now.
    ///
    /// # Errors
    /// Where a thread cannot be made.
    pub(crate) fn start(
        results: &'a Results,
        repeat: RepeatId,
        subject: &Subject,
        cell: &Cell,
    ) -> std::io::Result<Observer<'a>> {
        let period = PERIOD.min(cell.lengths.window.most / PER_WINDOW_MIN);
        Ok(Observer {
            results,
            repeat,
            sampler: Sampler::start(sources(subject, cell), Instant::now(), period)?,
            ids: MetricIds::default(),
        })
    }

    /// Stores what has come and tells it, with what cannot be observed any more.
    pub(crate) fn store(&mut self, job: &Job<'_>) -> Result<(), StoreError> {
        let sampled = self.sampler.take();
        self.keep(sampled, job)
    }

    /// Ends the observers and stores what is left.
    ///
    /// # Errors
    /// As [`Observer::store`].
    pub(crate) fn stop(mut self, job: &Job<'_>) -> Result<(), StoreError> {
        let sampled = self.sampler.stop();
        self.keep(sampled, job)
    }

    fn keep(&mut self, sampled: Vec<Sampled>, job: &Job<'_>) -> Result<(), StoreError> {
        let mut batches: Vec<SampleBatch> = Vec::new();
        for sampled in sampled {
            match sampled {
                Sampled::Batch(batch) => batches.push(batch),
                loss => job.notes(note_of(&loss)),
            }
        }
        if !batches.is_empty() {
            self.results.append_samples(self.repeat, &mut self.ids, &batches)?;
            job.tell(Progress::Samples(&batches));
        }
        Ok(())
    }
}

/// What people are told of a loss.
fn note_of(sampled: &Sampled) -> Option<String> {
    let seconds = |ns: &u64| *ns as f64 / 1e9;
    Some(match sampled {
        Sampled::Batch(_) => return None,
        Sampled::Lost { source, at_offset_ns, reason } => format!(
            "{source} could not be observed from {:.0} s on, which is a gap in the results: \
             {reason}",
            seconds(at_offset_ns)
        ),
        Sampled::Back { source, at_offset_ns, lost_ns } => format!(
            "{source} can be observed again from {:.0} s on, after a gap of {:.0} s; further gaps \
             are summed up at the end",
            seconds(at_offset_ns),
            seconds(lost_ns)
        ),
        Sampled::LostInAll { source, times, lost_ns } => format!(
            "{source} could not be observed for {:.0} s in all, in {times} {}",
            seconds(lost_ns),
            if *times == 1 { "gap" } else { "gaps" }
        ),
    })
}

/// What can be observed of a subject.
fn sources(subject: &Subject, cell: &Cell) -> Vec<Box<dyn SampleSource>> {
    let meters = &cell.meters;
    let mut sources: Vec<Box<dyn SampleSource>> = vec![
        Box::new(ProcessSource::new("mydyno", std::process::id())),
        Box::new(ThreadSource::new(WORKER_THREAD)),
    ];
    let status = |server: &Subject| ServerSource::new(server.connect.clone());
    sources.extend(summed(subject.each().map(status)));
    if cell.load.account_from == Some(AccountFrom::PerformanceSchema) {
        let instruments = |server: &Subject| {
            InstrumentSource::new(server.connect.clone(), server.driven.clone(), server.pid())
        };
        sources.extend(summed(subject.each().map(instruments)));
    }
    if subject.topology.is_one_database() {
        for (server, number) in subject.each().zip(1..) {
            sources.push(Box::new(NodeSource::new(server.connect.clone(), number)));
        }
    }
    // This machine's cores and disks say nothing of a server on another.
    let local = subject.is_local();
    if let Some(url) = &meters.host_metrics {
        sources.push(Box::new(ExporterSource::new(url)));
    } else if local {
        sources.push(Box::new(HostSource::default()));
    }
    if local {
        sources.push(Box::new(PerfSource::default()));
    }
    if let Some(command) = &meters.power_command {
        sources.push(Box::new(MeterSource::new(command)));
    } else if let Some(rapl) = RaplSource::find().filter(|_| local) {
        sources.push(Box::new(rapl));
    }
    let pids = subject.each().filter_map(Subject::pid);
    sources.extend(summed(pids.map(|pid| ProcessSource::new("server", pid))));
    sources.extend(summed(subject.pages().map(|page| ShimSource::new(page.clone()))));
    sources
}

#[cfg(test)]
mod tests {
    use super::note_of;
    use observe::Sampled;
    use store::SampleBatch;

    #[test]
    fn losses_are_told_in_words() {
        let source = "the power meter";
        let batch = SampleBatch { at_offset_ns: 0, values: Vec::new() };
        assert_eq!(note_of(&Sampled::Batch(batch)), None);
        for (sampled, expected) in [
            (
                Sampled::Lost {
                    source,
                    at_offset_ns: 3_000_000_000,
                    reason: "it is off; switch it on".to_owned(),
                },
                "the power meter could not be observed from 3 s on, which is a gap in the results: \
                 it is off; switch it on",
            ),
            (
                Sampled::Back { source, at_offset_ns: 8_000_000_000, lost_ns: 5_000_000_000 },
                "the power meter can be observed again from 8 s on, after a gap of 5 s; further \
                 gaps are summed up at the end",
            ),
            (
                Sampled::LostInAll { source, times: 1, lost_ns: 5_000_000_000 },
                "the power meter could not be observed for 5 s in all, in 1 gap",
            ),
            (
                Sampled::LostInAll { source, times: 30, lost_ns: 90_000_000_000 },
                "the power meter could not be observed for 90 s in all, in 30 gaps",
            ),
        ] {
            assert_eq!(note_of(&sampled).as_deref(), Some(expected));
        }
    }
}
