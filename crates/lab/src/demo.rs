//! `mydyno demo`: the main job on private servers, small enough to wait for: four emulated devices at two loads.

use crate::error::LabError;
use crate::measure::{self, measure};
use crate::populate::record_load;
use crate::private::{PrivateSpec, image_for, installed_build, start_on};
use crate::progress::{OnProgress, Progress};
use crate::seeds::{POPULATION_SEED, new_seed};
use crate::spec::{Meters, RunSpec, Workload};
use base::{Exit, Warehouses, counted};
use device::Role;
use plan::{Length, PRECISION_DEFAULT};
use server::{Home, Image, ServerBuild};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use storage::{Place, Placement};
use store::{LabId, RepeatId, Results};
use tpcc::Style;
use tpcc::population::database_bytes_estimate;

/// The demo's size.
#[derive(Clone, Debug)]
pub struct DemoSpec {
    pub engine: String,
    pub warehouses: Warehouses,
    /// Profiles of emulated devices. All at the first number of connections come first, so that an early look shows the
    /// whole difference.
    pub devices: Vec<&'static str>,
    pub connections: Vec<u32>,
    pub warmup: Duration,
    pub window: Duration,
    /// What the inputs derive from, in all cells.
    pub seed: u64,
}

/// The white papers' four classes. The two that differ most come first.
const DEVICES: [&str; 4] = ["nvme-pm1725", "hdd-15k", "sata-850pro", "sas-pm1633"];
/// The papers' buffer pools (3 and 12 GB) were a few percent of their databases (50 to 100 GB): storage decides.
const POOL_PERCENT: u64 = 5;
/// The papers' settings that matter for storage, with redo in proportion to the pool.
const SETTINGS: [(&str, &str); 3] = [
    ("innodb_flush_method", "O_DIRECT"),
    ("innodb_adaptive_hash_index", "OFF"),
    ("innodb_log_file_size", "64M"),
];

impl Default for DemoSpec {
    /// 4 warehouses, 8 and 32 connections on each of four devices, windows of 10 s, a new seed.
    fn default() -> Self {
        DemoSpec {
            engine: "mysql-5.7".to_owned(),
            warehouses: Warehouses(4),
            devices: DEVICES.to_vec(),
            connections: vec![8, 32],
            warmup: Duration::from_secs(4),
            window: Duration::from_secs(10),
            seed: new_seed(),
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
    let cells = cells_of(spec)?;
    let private = private_of(spec);
    let build = installed(home, &private, on_progress)?;
    let (image, load) = image_for(home, &build, &private, &[], stop, on_progress)?;
    if let Some(load) = load {
        record_load(results, Some(lab), &load)?;
    }
    let mut report = DemoReport {
        repeats: Vec::new(),
        exit: Exit::Ok,
    };
    let servers = Servers {
        home,
        build: &build,
        image: &image,
    };
    for (index, cell) in cells.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            if report.exit == Exit::Ok {
                report.exit = Exit::Interrupted;
            }
            break;
        }
        on_progress(Progress::Step(&format!(
            "cell {} of {}: {}, {}",
            index + 1,
            cells.len(),
            cell.device,
            counted(cell.connections as usize, "connection", "connections")
        )));
        let place = measure::Place {
            results,
            lab,
            ordinal: index as u32 + 1,
            repeat: 1,
            notes: &[],
            seed: spec.seed,
            ramp: None,
        };
        let measured = servers.measure(place, spec, cell, stop, on_progress)?;
        report.repeats.push(measured.repeat);
        // The first failure is the cause.
        if report.exit == Exit::Ok {
            report.exit = measured.exit;
        }
    }
    Ok(report)
}

/// A device at a load.
struct Cell {
    device: &'static str,
    place: Place,
    connections: u32,
}

fn cells_of(spec: &DemoSpec) -> Result<Vec<Cell>, LabError> {
    let mut cells = Vec::new();
    for &connections in &spec.connections {
        for &device in &spec.devices {
            cells.push(Cell {
                device,
                place: Place::parse(device)?,
                connections,
            });
        }
    }
    Ok(cells)
}

/// A server without a place for its data: what an image is made with, too.
fn private_of(spec: &DemoSpec) -> PrivateSpec {
    let mut set: Vec<(String, String)> = SETTINGS
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let pool_bytes = database_bytes_estimate(spec.warehouses, true, 0) / 100 * POOL_PERCENT;
    // A whole number of the megabytes that the server rounds to anyway.
    let pool = format!("{}M", (pool_bytes >> 20).max(5));
    set.push(("innodb_buffer_pool_size".to_owned(), pool));
    PrivateSpec {
        engine: spec.engine.clone(),
        binary: None,
        preset: None,
        set,
        placement: Placement::default(),
        warehouses: spec.warehouses,
        seed: POPULATION_SEED,
        foreign_keys: true,
        partitions: 0,
        instances: 1,
    }
}

fn installed(
    home: &Home,
    private: &PrivateSpec,
    on_progress: &mut OnProgress<'_>,
) -> Result<ServerBuild, LabError> {
    if let Some(build) = installed_build(home, private)? {
        return Ok(build);
    }
    let engine = &private.engine;
    on_progress(Progress::Step(&format!("installing {engine}")));
    Ok(server::install(home, engine, None, &mut |what| {
        on_progress(Progress::Step(what));
    })?)
}

/// What all servers of the demo are started from.
struct Servers<'a> {
    home: &'a Home,
    build: &'a ServerBuild,
    image: &'a Image,
}

impl Servers<'_> {
    fn measure(
        &self,
        place: measure::Place<'_>,
        spec: &DemoSpec,
        cell: &Cell,
        stop: &AtomicBool,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<measure::Measured, LabError> {
        let mut private = private_of(spec);
        let places = &mut private.placement.places;
        places.insert(Role::Data, cell.place.clone());
        let subject = start_on(self.home, self.build, self.image.clone(), &private, stop)?;
        let run = RunSpec {
            workload: Workload::Tpcc,
            style: Style::Statements,
            isolation: None,
            connections: Some(cell.connections),
            threads: None,
            rate: None,
            inactive_warehouses: 0,
            terminals: None,
            warmup: Length::fixed(spec.warmup),
            window: Length::fixed(spec.window),
            precision_share: PRECISION_DEFAULT,
            interval: Duration::from_secs(1),
            seed: spec.seed,
            warehouses: None,
            home: false,
            checks: true,
            lock_wait_timeouts_max_share: None,
            meters: Meters::default(),
            engine: None,
            // The same for all: nothing that tells one cell from another.
            settings: Vec::new(),
        };
        measure(place, &subject, &run, stop, on_progress)
    }
}
