//! `mydyno demo`: the main job on a private server, small enough to wait for.

use crate::error::LabError;
use crate::measure::{Place, measure};
use crate::populate::record_load;
use crate::private::{PrivateSpec, build_of, image_for, start_on};
use crate::progress::{OnProgress, Progress};
use crate::spec::{RunSpec, Workload};
use base::{Exit, Warehouses};
use server::{Home, ServerError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::{LabId, RepeatId, Results};
use tpcc::Style;

/// The demo's size.
#[derive(Clone, Debug)]
pub struct DemoSpec {
    pub engine: String,
    pub warehouses: Warehouses,
    pub connections: Vec<u32>,
    pub warmup: Duration,
    pub window: Duration,
    pub seed: u64,
}

impl Default for DemoSpec {
    /// 4 warehouses, 1, 8 and 32 connections, windows of 20 s.
    fn default() -> Self {
        DemoSpec {
            engine: "mysql-5.7".to_owned(),
            warehouses: Warehouses(4),
            connections: vec![1, 8, 32],
            warmup: Duration::from_secs(5),
            window: Duration::from_secs(20),
            seed: 1,
        }
    }
}

/// What the demo measured.
#[derive(Clone, Debug)]
pub struct DemoReport {
    pub repeats: Vec<RepeatId>,
    /// The first that is not Ok.
    pub exit: Exit,
}

/// Installs the engine where it is missing, populates an image where there is none, and measures each cell on a clone of
/// its own.
///
/// # Errors
/// Where it cannot begin, or the results file cannot be written.
pub fn demo(
    home: &Home,
    results: &Results,
    lab: LabId,
    spec: &DemoSpec,
    stop: &AtomicBool,
    on_progress: &mut OnProgress<'_>,
) -> Result<DemoReport, LabError> {
    let private = PrivateSpec {
        engine: spec.engine.clone(),
        binary: None,
        set: Vec::new(),
        warehouses: spec.warehouses,
        seed: spec.seed,
        foreign_keys: true,
    };
    let build = match build_of(home, &private) {
        Err(LabError::Server(ServerError::NotInstalled { .. })) => {
            on_progress(Progress::Step(&format!("installing {}", spec.engine)));
            server::install(home, &spec.engine, None, &mut |what| {
                on_progress(Progress::Step(what));
            })?
        }
        other => other?,
    };
    let (image, load) = image_for(home, &build, &private, stop, on_progress)?;
    if let Some(load) = load {
        record_load(results, Some(lab), &load)?;
    }
    let mut report = DemoReport {
        repeats: Vec::new(),
        exit: Exit::Ok,
    };
    for (index, &connections) in spec.connections.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            if report.exit == Exit::Ok {
                report.exit = Exit::Interrupted;
            }
            break;
        }
        on_progress(Progress::Step(&format!(
            "{connections} connections: cloning the image and starting {}",
            spec.engine
        )));
        let subject = start_on(home, &build, image.clone(), &[])?;
        let run = RunSpec {
            workload: Workload::Tpcc,
            style: Style::Statements,
            connections: Some(connections),
            rate: None,
            inactive_warehouses: 0,
            warmup: spec.warmup,
            window: spec.window,
            interval: Duration::from_secs(1),
            seed: spec.seed,
            warehouses: None,
            home: false,
            checks: true,
            settings: Vec::new(),
        };
        let place = Place {
            results,
            lab,
            ordinal: index as u32 + 1,
        };
        let measured = measure(place, &subject, &run, stop, on_progress)?;
        report.repeats.push(measured.repeat);
        // The first failure is the cause.
        if report.exit == Exit::Ok {
            report.exit = measured.exit;
        }
    }
    Ok(report)
}
