//! `mydyno ramp`.

use super::measuring::{Begun, ending};
use super::print_json;
use super::report::write_report;
use super::run_request::too_short;
use crate::console::{print, stop_flag};
use crate::failure::{Failure, Outcome};
use crate::ramp_arguments::RampArguments;
use crate::words;
use analyse::{RampOutcome, ramps};
use base::{Exit, Warehouses};
use lab::{LOCK_WAIT_TIMEOUTS_MAX_SHARE, RampPlace, RampSpec, RunSpec, Workload, ramp, with_room};
use serde::Serialize;
use std::path::Path;
use store::{LabId, Results};
use tpcc::Style;

/// The JSON document of the command.
#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    results_file: String,
    lab_id: i64,
    seed: u64,
    ramp: &'a RampOutcome,
    report: &'a Path,
}

/// Runs the command.
pub fn run(arguments: &RampArguments) -> Outcome {
    validate(arguments)?;
    let stop = stop_flag();
    let measuring = &arguments.measuring;
    let limits = arguments.limits();
    let private = measuring.private(arguments.warehouses.map(Warehouses));
    let private = private.map(|spec| with_room(spec, limits.connections_max));
    let mut begun = Begun::of(measuring, private, &arguments.results, &stop)?;
    let lab = begun.lab("ramp")?;
    let Begun {
        subject,
        console,
        results,
        ..
    } = &mut begun;
    let notes = std::mem::take(&mut console.notes);
    let place = RampPlace {
        results,
        lab,
        ordinal: 1,
        repeat: 1,
        seed: measuring.seed,
        planned_cells: 0,
        notes: &notes,
    };
    let spec = RampSpec {
        limits,
        run: run_spec(arguments),
    };
    let ended = ramp(place, subject, &spec, &stop, &mut |p| console.show(p));
    let ended = ended.map_err(Failure::from);
    let (status, reason) = ending(ended.as_ref().copied());
    results.finish_lab(lab, status, reason.as_deref())?;
    console.done();
    let ramps = ramps(results, lab)?;
    // Whatever ended it, what it has measured is shown.
    if ended.is_ok() || ramps.iter().any(|ramp| !ramp.points.is_empty()) {
        show(arguments, results, lab, &ramps)?;
    }
    ended
}

fn show(
    arguments: &RampArguments,
    results: &Results,
    lab: LabId,
    ramps: &[RampOutcome],
) -> Result<(), Failure> {
    write_report(results, lab, &arguments.output)?;
    for ramp in ramps {
        if arguments.json {
            print_json(&Document {
                schema_version: 2,
                results_file: results.path().display().to_string(),
                lab_id: lab.0,
                seed: arguments.measuring.seed,
                ramp,
                report: &arguments.output,
            })?;
        } else {
            print(words::ramp(ramp))?;
            print(format!(
                "seed: {}\nreport: {}\n",
                arguments.measuring.seed,
                arguments.output.display()
            ))?;
        }
    }
    Ok(())
}

/// Refuses what cannot be raised as it is asked for.
fn validate(arguments: &RampArguments) -> Result<(), Failure> {
    arguments.measuring.validate()?;
    arguments
        .limits()
        .check()
        .map_err(|error| Failure::new(Exit::Usage, error))?;
    let lengths = [arguments.warmup, arguments.window];
    if let Some(words) = too_short(lengths, arguments.measuring.interval) {
        return Err(Failure::new(Exit::Usage, words));
    }
    let is_tpcc_mysql = arguments.workload == Workload::TpccMysql;
    if is_tpcc_mysql && (arguments.style != Style::Statements || arguments.measuring.home) {
        let words = "--workload tpcc-mysql is a sequence of statements over any warehouse; leave out --style and --home, or use \
                     --workload tpcc";
        return Err(Failure::new(Exit::Usage, words));
    }
    Ok(())
}

fn run_spec(arguments: &RampArguments) -> RunSpec {
    let measuring = &arguments.measuring;
    RunSpec {
        workload: arguments.workload,
        style: arguments.style,
        isolation: measuring.isolation,
        connections: None,
        threads: measuring.threads,
        rate: None,
        warmup: arguments.warmup,
        window: arguments.window,
        precision_share: plan::PRECISION_DEFAULT,
        interval: measuring.interval,
        seed: measuring.seed,
        warehouses: arguments.warehouses.map(Warehouses),
        inactive_warehouses: 0,
        terminals: None,
        home: measuring.home,
        checks: arguments.check,
        lock_wait_timeouts_max_share: Some(LOCK_WAIT_TIMEOUTS_MAX_SHARE),
        meters: measuring.meters(),
        engine: None,
        settings: measuring.settings(),
    }
}
