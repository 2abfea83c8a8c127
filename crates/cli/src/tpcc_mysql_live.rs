//! Prints the tpcc-mysql format while a run goes on.

use crate::outlet::Outlet;
use crate::tpcc_mysql_format::{
    Asked, MEASURING, STOPPING, beginning, header, interval, parameters, results, stopped,
};
use lab::{Phase, Progress};
use std::time::Duration;
use store::{RepeatId, Results, StoreError};

/// How far the output is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OutputStage {
    Before,
    Warmup,
    Window,
    Stopping,
}

/// The output under way.
pub struct TpccMysqlLive<'a> {
    outlet: Outlet<String>,
    asked: Asked<'a>,
    stage: OutputStage,
}

impl<'a> TpccMysqlLive<'a> {
    /// The server answers: prints what comes before everything else.
    pub fn begin(outlet: Outlet<String>, asked: Asked<'a>) -> TpccMysqlLive<'a> {
        let live = TpccMysqlLive { outlet, asked, stage: OutputStage::Before };
        live.print(header(&live.asked.cell.load.workload));
        live.print(beginning(&live.asked));
        live
    }

    /// Each piece leaves at once.
    fn print(&self, text: impl Into<String>) {
        self.outlet.push(text.into());
    }

    /// Takes what the run tells.
    pub fn show(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::RunStarts { warehouses, .. } => {
                self.print(parameters(&self.asked, warehouses.0));
                self.stage = OutputStage::Warmup;
            }
            // So far the capacity is looked for.
            Progress::Run(_) | Progress::Interval(_) if self.stage == OutputStage::Before => {}
            Progress::Run(run) if !run.in_warmup => self.reach(OutputStage::Window),
            Progress::Interval(of) => match of.phase {
                Phase::Warmup => {}
                Phase::Window => {
                    self.reach(OutputStage::Window);
                    self.print(interval(of, self.asked.cell.lengths.warmup.most));
                }
                Phase::Drain => self.reach(OutputStage::Stopping),
            },
            _ => {}
        }
    }

    /// Announces the window, and what follows it, once each.
    fn reach(&mut self, stage: OutputStage) {
        if self.stage < OutputStage::Window {
            self.print(MEASURING);
        }
        if self.stage < OutputStage::Stopping && stage == OutputStage::Stopping {
            self.print(STOPPING);
        }
        self.stage = self.stage.max(stage);
    }

    /// Prints the results; none where the run failed, whose numbers are not to be shown.
    pub fn finish(&mut self, stored: &Results, repeat: RepeatId) -> Result<(), StoreError> {
        if self.stage == OutputStage::Before {
            return Ok(());
        }
        self.reach(OutputStage::Stopping);
        self.print(stopped(self.asked.connections()));
        let summary = stored.summary(repeat)?;
        match (summary.status.as_str(), summary.rates.window_s) {
            ("done", Some(window_s)) => {
                self.print(results(&stored.window_totals(repeat)?, window_s));
            }
            _ => self.print("\n# no results: the run failed\n"),
        }
        self.outlet.settle(Duration::MAX);
        Ok(())
    }
}
