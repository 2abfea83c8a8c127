//! `mydyno ramp`.

use super::report::write_report;
use super::run_request::too_short;
use super::{PRIVATE_WAREHOUSES, begin_lab, print_json, settings, start_private};
use crate::console::{Console, print, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::ramp_arguments::RampArguments;
use crate::words;
use ::server::Home;
use analyse::{RampOutcome, ramps};
use base::{Exit, Warehouses};
use lab::{
    LOCK_WAIT_TIMEOUTS_MAX_SHARE, Meters, PrivateSpec, RampPlace, RampSpec, RunSpec, Subject,
    Workload, ramp, reach, record_load, with_room,
};
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use store::{LabId, LabStatus, Load, Results};
use tpcc::Style;

/// The JSON document of the command.
#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    results_file: String,
    lab_id: i64,
    ramp: &'a RampOutcome,
    report: &'a Path,
}

/// Runs the command.
pub fn run(arguments: &RampArguments) -> Outcome {
    validate(arguments)?;
    let stop = stop_flag();
    let meters = Meters {
        power_command: arguments.power_command.clone(),
        host_metrics: arguments.host_metrics.clone(),
    };
    lab::check_meters(&meters, &stop)?;
    let home = Home::from_env()?;
    let results = Results::create_or_open(&arguments.results.results)?;
    let mut console = Console::new()?;
    let (subject, load) = subject(arguments, &home, &stop, &mut console)?;
    // A target that cannot be reached is an error of the command and no lab.
    reach(&subject)?;
    let lab = begin_lab(&results, "ramp", subject.data_directory())?;
    if let Some(load) = &load {
        record_load(&results, Some(lab), load)?;
    }
    let place = RampPlace {
        results: &results,
        lab,
        ordinal: 1,
        repeat: 1,
        planned_cells: 0,
        notes: &[],
    };
    let spec = RampSpec {
        limits: arguments.limits(),
        run: run_spec(arguments, meters),
    };
    let ended = ramp(place, &subject, &spec, &stop, &mut |p| console.show(p));
    let (status, reason) = match &ended {
        Ok(Exit::Ok) => (LabStatus::Done, None),
        Ok(Exit::Interrupted) => (LabStatus::Interrupted, None),
        Ok(_) => (LabStatus::Failed, None),
        Err(error) => (LabStatus::Failed, Some(error.to_string())),
    };
    results.finish_lab(lab, status, reason.as_deref())?;
    console.done();
    let exit = ended?;
    show(arguments, &results, lab)?;
    Ok(exit)
}

fn show(arguments: &RampArguments, results: &Results, lab: LabId) -> Result<(), Failure> {
    write_report(results, lab, &arguments.output)?;
    for ramp in &ramps(results, lab)? {
        if arguments.json {
            print_json(&Document {
                schema_version: 1,
                results_file: results.path().display().to_string(),
                lab_id: lab.0,
                ramp,
                report: &arguments.output,
            })?;
        } else {
            print(words::ramp(ramp))?;
            print(format!("report: {}\n", arguments.output.display()))?;
        }
    }
    Ok(())
}

/// Refuses what cannot be raised as it is asked for.
fn validate(arguments: &RampArguments) -> Result<(), Failure> {
    arguments.target.refuse_private_schemas(arguments.schemas)?;
    arguments.places.validate(&arguments.target)?;
    arguments.preset.validate(&arguments.target)?;
    arguments.schema.validate(&arguments.target)?;
    arguments
        .limits()
        .check()
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    if let Some(words) = too_short([arguments.warmup, arguments.window], arguments.interval) {
        return Err(Failure::new(Exit::Usage, words));
    }
    let is_tpcc_mysql = arguments.workload == Workload::TpccMysql;
    if is_tpcc_mysql && (arguments.style != Style::Statements || arguments.home) {
        let words = "--workload tpcc-mysql is a sequence of statements over any warehouse; leave out --style and --home, or use \
                     --workload tpcc";
        return Err(Failure::new(Exit::Usage, words));
    }
    Ok(())
}

/// The server that is asked for, with the load of its image where one was made.
fn subject(
    arguments: &RampArguments,
    home: &Home,
    stop: &AtomicBool,
    console: &mut Console,
) -> Result<(Subject, Option<Load>), Failure> {
    let warehouses = arguments.warehouses.unwrap_or(PRIVATE_WAREHOUSES);
    let target = &arguments.target;
    match target.private(warehouses, arguments.seed, arguments.schema) {
        Some(spec) => {
            let spec = with_room(spec, &arguments.limits());
            let spec = PrivateSpec {
                preset: arguments.preset.for_warehouses(spec.warehouses),
                placement: arguments.places.placement(),
                ..spec
            };
            start_private(home, &spec, stop, console)
        }
        None => Ok((target.external(home, arguments.schemas, console)?, None)),
    }
}

fn run_spec(arguments: &RampArguments, meters: Meters) -> RunSpec {
    RunSpec {
        workload: arguments.workload,
        style: arguments.style,
        connections: None,
        rate: None,
        warmup: arguments.warmup,
        window: arguments.window,
        precision_share: plan::PRECISION_DEFAULT,
        interval: arguments.interval,
        seed: arguments.seed,
        warehouses: arguments.warehouses.map(Warehouses),
        inactive_warehouses: 0,
        home: arguments.home,
        checks: arguments.check,
        lock_wait_timeouts_max_share: Some(LOCK_WAIT_TIMEOUTS_MAX_SHARE),
        meters,
        settings: settings(&arguments.target, &arguments.places),
    }
}
