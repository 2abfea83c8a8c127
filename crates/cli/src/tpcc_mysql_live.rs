//! Prints the tpcc-mysql format while a run goes on.

use crate::console::Piece;
use crate::outlet::Outlet;
use crate::tpcc_mysql_format::{
    Asked, InInterval, MEASURING, STOPPING, ServerAddress, TypeInInterval, beginning, header,
    interval, parameters, results, stopped,
};
use lab::{Interval, Phase, Progress, Subject};
use plan::{CellOptions, Given};
use spec::{Cell, defaults};
use std::time::Duration;
use store::{RepeatId, Results, StoreError};
use wire::Address;

const NS_PER_S: f64 = 1e9;

/// How far the output is.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum OutputStage {
    Before,
    Warmup,
    Window,
    Stopping,
}

/// The output under way.
pub struct TpccMysqlLive {
    outlet: Outlet<Piece>,
    asked: Asked,
    stage: OutputStage,
}

impl TpccMysqlLive {
    /// The server answers: prints what comes before everything else.
    pub fn begin(
        outlet: Outlet<Piece>,
        (options, cell): (&CellOptions, &Cell),
        subject: &Subject,
    ) -> TpccMysqlLive {
        let connect = &subject.connect;
        let asked = Asked {
            workload: cell.load.workload.clone(),
            server: match &connect.address {
                Address::Tcp { host, port } => {
                    ServerAddress::Tcp { host: host.clone(), port: *port }
                }
                Address::Unix(path) => ServerAddress::Socket(path.display().to_string()),
            },
            schema: connect.schema.clone().unwrap_or_default(),
            user: connect.user.clone(),
            warehouses: options.database.warehouses.as_ref().map(|Given(count)| *count),
            connections: cell.load.connections.first().unwrap_or(defaults::CONNECTIONS),
            warmup_s: cell.lengths.warmup.most.as_secs(),
            window_s: cell.lengths.window.most.as_secs(),
            interval_s: cell.lengths.interval.as_secs(),
            schemas: options.target.schemas.as_ref().map(|Given(count)| *count),
        };
        let live = TpccMysqlLive { outlet, asked, stage: OutputStage::Before };
        live.print(header(&live.asked));
        live.print(beginning(&live.asked));
        live
    }

    /// Each piece leaves at once.
    fn print(&self, text: impl Into<String>) {
        self.outlet.push(Piece(text.into()));
    }

    /// Takes what the run tells.
    pub fn show(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::RunStarts { warehouses, .. } => {
                self.print(parameters(&self.asked, warehouses.0));
                self.stage = OutputStage::Warmup;
            }
            Progress::Run(run) if !run.in_warmup => self.reach(OutputStage::Window),
            Progress::Interval(of) => match of.phase {
                Phase::Warmup => {}
                Phase::Window => {
                    self.reach(OutputStage::Window);
                    self.print(interval(&in_interval(of, self.asked.warmup_s)));
                }
                Phase::Drain => self.reach(OutputStage::Stopping),
            },
            _ => {}
        }
    }

    /// Announces what begins, once.
    fn reach(&mut self, stage: OutputStage) {
        if self.stage < OutputStage::Window && stage >= OutputStage::Window {
            self.print(MEASURING);
        }
        if self.stage < OutputStage::Stopping && stage == OutputStage::Stopping {
            self.print(STOPPING);
        }
        if self.stage < stage {
            self.stage = stage;
        }
    }

    /// Prints the results; none where the run failed, whose numbers are not to be shown.
    pub fn finish(&mut self, stored: &Results, repeat: RepeatId) -> Result<(), StoreError> {
        if self.stage == OutputStage::Before {
            return Ok(());
        }
        self.reach(OutputStage::Stopping);
        self.print(stopped(self.asked.connections));
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

fn in_interval(of: &Interval, warmup_s: u64) -> InInterval {
    let warmup = Duration::from_secs(warmup_s);
    let end = Duration::from_nanos(of.end_offset_ns).saturating_sub(warmup);
    let [new_order, ..] = &of.transactions;
    InInterval {
        end_s: (end.as_nanos() as f64 / NS_PER_S).round() as u64,
        new_order_p95_ns: new_order.latency.at_quantile_ns(0.95),
        new_order_p99_ns: new_order.latency.at_quantile_ns(0.99),
        types: std::array::from_fn(|index| TypeInInterval {
            completed: of.transactions[index].completed(),
            max_ns: of.transactions[index].latency.max_ns,
        }),
    }
}
