use super::{CellEvidence, LabAnswer};
use crate::bound::BoundBy;
use crate::cells::{CellOutcome, matrix, tests::cell};
use crate::comparisons::comparisons;
use crate::noise::Noise;
use crate::outcomes::LabOutcome;
use crate::reversals::reversals;
use crate::sweep::sweeps;

/// A lab that is done, of these cells.
fn lab(cells: Vec<CellOutcome>) -> LabOutcome {
    let matrix = matrix(&cells);
    let comparisons = comparisons(&cells, &matrix);
    LabOutcome {
        schema_version: 2,
        results_file: String::new(),
        lab_id: 1,
        name: "lab".to_owned(),
        status: "done".to_owned(),
        reason: None,
        adaptive: false,
        effects: Vec::new(),
        device_effects: Vec::new(),
        reversals: reversals(&comparisons),
        comparisons,
        sweeps: sweeps(&cells, &matrix),
        cells,
        drills: Vec::new(),
        ramps: Vec::new(),
        blocks: Vec::new(),
        machines: Vec::new(),
    }
}

const CONNECTIONS: [u32; 4] = [1, 4, 16, 64];
const DEVICES: [&str; 4] = ["hdd-15k", "sata-850pro", "sas-pm1633", "nvme-pm1725"];

/// Four devices with four numbers of connections; `nopm` by the places of both.
fn grid(repeats: usize, nopm: impl Fn(usize, usize) -> f64) -> Vec<CellOutcome> {
    let scatter = [1.0, 1.004, 0.996, 1.002, 0.998];
    let mut cells = Vec::new();
    for (device, name) in DEVICES.iter().enumerate() {
        for (at, connections) in CONNECTIONS.iter().enumerate() {
            // Noise that is no block's.
            let noise = (0..repeats).map(|of| scatter[(of + device * 2 + at) % scatter.len()]);
            let each: Vec<f64> = noise.map(|noise| nopm(device, at) * noise).collect();
            cells.push(cell(cells.len() as u32 + 1, (name, "200"), *connections, &each));
        }
    }
    cells
}

fn evidence(
    lab: &LabOutcome,
    of: impl Fn(&CellOutcome) -> (BoundBy, Option<f64>),
) -> Vec<CellEvidence> {
    let one = |cell: &CellOutcome| {
        let (bound_by, fidelity) = of(cell);
        CellEvidence {
            ordinal: cell.ordinal,
            bound_by: Some(bound_by),
            fidelity,
            dilation_needed: fidelity.map(|_| 16.0),
            silence_s: None,
            is_too_short: false,
        }
    };
    lab.cells.iter().map(one).collect()
}

#[test]
fn servers_that_stood_still_are_named() {
    let lab = lab(grid(5, |_, _| 1_000.0));
    let mut evidence = evidence(&lab, |_| (BoundBy::ReadIo, Some(0.99)));
    (evidence[2].silence_s, evidence[2].is_too_short) = (Some(4.96), true);
    let answer = LabAnswer::of(&lab, &evidence);
    let said = |words: &str| answer.limits.iter().any(|limit| limit.starts_with(words));
    assert!(said("For up to 5.0 s nothing ended in windows of "), "{:#?}", answer.limits);
    assert!(said("Windows of "), "{:#?}", answer.limits);
}

#[test]
fn devices_bound_a_lab() {
    // Each device has its own limit, which a disk has reached with four connections.
    let limit = [200.0, 3_000.0, 12_000.0, 60_000.0];
    let nopm = |device: usize, at: usize| {
        f64::min(limit[device], 150.0 * 4f64.powi(at as i32 + device as i32))
    };
    let lab = lab(grid(5, nopm));
    let evidence = evidence(&lab, |cell| match cell.settings["data"].as_str() {
        "nvme-pm1725" if cell.connections == 64 => (BoundBy::Cpu, Some(0.99)),
        _ => (BoundBy::ReadIo, Some(0.99)),
    });
    let answer = LabAnswer::of(&lab, &evidence);
    assert_eq!(
        answer.question,
        "How does throughput depend on data (hdd-15k, sata-850pro, sas-pm1633, nvme-pm1725) and \
         connections (1, 4, 16, 64)?"
    );
    assert_eq!(
        answer.shown,
        [
            "The highest mean is 60000 NOPM (95 %: 59764 to 60236): nvme-pm1725, 64 connections.",
            "sata-850pro gives 4.0 to 15 times the NOPM of hdd-15k: the least with 1 connection, \
             the most with 16 connections.",
            "sas-pm1633 gives 16 to 60 times the NOPM of hdd-15k: the least with 1 connection, the \
             most with 16 connections.",
            "nvme-pm1725 gives 64 to 300 times the NOPM of hdd-15k: the least with 1 connection, \
             the most with 16 connections.",
            "More than 4 connections gain 5 % at most: hdd-15k.",
            "More than 16 connections gain 5 % at most: sata-850pro, sas-pm1633 and nvme-pm1725.",
            "Bound by reads: hdd-15k; sata-850pro; sas-pm1633; nvme-pm1725 with 1, 4 and 16 \
             connections.",
            "CPU bound: nvme-pm1725 with 64 connections.",
        ]
    );
    assert!(answer.limits.is_empty(), "{:?}", answer.limits);
}

#[test]
fn cores_bound_a_lab() {
    // From 16 connections on all devices give the same.
    let nopm = |_: usize, at: usize| [2_000.0, 8_000.0, 9_500.0, 9_500.0][at];
    let lab = lab(grid(5, nopm));
    let evidence = evidence(&lab, |cell| match cell.connections {
        16.. => (BoundBy::Cpu, Some(0.08)),
        _ => (BoundBy::ReadIo, Some(0.95)),
    });
    let answer = LabAnswer::of(&lab, &evidence);
    assert_eq!(
        answer.shown,
        [
            "The highest mean is 9500 NOPM (95 %: 9463 to 9537): nvme-pm1725, 64 connections.",
            "No difference from hdd-15k is shown for sata-850pro (95 %: 1.00 to 1.00 times), \
             sas-pm1633 (95 %: 1.00 to 1.00 times) and nvme-pm1725 (95 %: 1.00 to 1.00 times).",
            "More than 16 connections gain 5 % at most.",
            "Bound by reads: all up to 4 connections.",
            "CPU bound: all from 16 connections on.",
        ]
    );
    assert_eq!(
        answer.limits,
        ["Only 8 % of the requests to emulated devices were in time, so that the results of all \
          from 16 connections on tell of this host as much as of the device: `--dilate 16` would \
          have been enough."]
    );
}

#[test]
fn a_setting_helps_one_device_and_hurts_another() {
    let cells = vec![
        cell(1, ("hdd-15k", "200"), 8, &[10.0, 10.2, 9.9]),
        cell(2, ("hdd-15k", "2000"), 8, &[5.0, 5.1, 5.05]),
        cell(3, ("nvme-pm1725", "200"), 8, &[100.0, 101.0, 99.0]),
        cell(4, ("nvme-pm1725", "2000"), 8, &[150.0, 152.0, 149.0]),
    ];
    let answer = LabAnswer::of(&lab(cells), &[]);
    let told = answer.shown.iter().find(|of| of.starts_with("What is best")).unwrap();
    assert!(
        told.starts_with(
            "What is best depends on what else is set: innodb_io_capacity=2000 gives 1.50 times \
             (95 %: "
        ),
        "{told}"
    );
    assert!(
        told.contains(
            " the NOPM of innodb_io_capacity=200 with nvme-pm1725 and 0.50 times (95 %: "
        )
    );
    assert!(told.ends_with(" with hdd-15k."), "{told}");
}

#[test]
fn one_repeat_supports_no_claim() {
    let lab = lab(grid(1, |device, at| 100.0 * (device + at + 1) as f64));
    let answer = LabAnswer::of(&lab, &[]);
    assert_eq!(
        answer.shown,
        ["The highest mean is 699 NOPM (one repeat): nvme-pm1725, 64 connections."]
    );
    assert_eq!(
        answer.limits,
        ["Fewer than 3 repeats, so that no difference is claimed: all cells. `repeats = 3` in \
             a plan, or more, tells what is beyond chance."]
    );
}

#[test]
fn one_cell_is_told_as_it_is() {
    let lab = lab(vec![cell(1, ("hdd-15k", "200"), 8, &[204.0])]);
    let evidence = evidence(&lab, |_| (BoundBy::Driver, Some(0.5)));
    let answer = LabAnswer::of(&lab, &evidence);
    assert_eq!(answer.question, "What throughput does mysql-5.7 give, and what bounds it?");
    assert_eq!(answer.shown, ["mysql-5.7 gives 204 NOPM (one repeat).", "It is driver bound."]);
    assert_eq!(
        answer.limits,
        [
            "Only 50 % of the requests to emulated devices were in time, so that the results tell \
             of this host as much as of the device: `--dilate 16` would have been enough.",
            "The results are mydyno's own limit and not the server's: give it more threads \
             (`--driver-threads`) or cores.",
            "It has fewer than 3 repeats: how another would differ is not known."
        ]
    );
}

#[test]
fn what_is_missing_is_told() {
    let mut cells = grid(3, |device, _| 100.0 * (device + 1) as f64);
    for cell in cells.iter_mut().filter(|cell| cell.connections == 64) {
        cell.nopm = crate::MeanValue::of_repeats(&[]);
        for repeat in &mut cell.repeats {
            (repeat.nopm, repeat.new_order_p95_us) = (None, None);
            repeat.reason_code = Some("server_failed".to_owned());
        }
    }
    let mut lab = lab(cells);
    lab.status = "interrupted".to_owned();
    lab.reason = Some("2 repeats are missing\nof the last block".to_owned());
    let answer = LabAnswer::of(&lab, &[]);
    assert_eq!(
        answer.limits,
        [
            "The lab is interrupted: 2 repeats are missing.",
            "There is no result of all with 64 connections: server_failed."
        ]
    );
    assert!(!answer.shown.iter().any(|of| of.contains("64 connections")), "{:?}", answer.shown);
}

#[test]
fn chance_alone_is_no_answer() {
    let mut noise = Noise::new(20);
    let labs = 200;
    let mut claimed = 0;
    for _ in 0..labs {
        let mut cells = Vec::new();
        for device in DEVICES {
            for connections in CONNECTIONS {
                let nopm: Vec<f64> =
                    (0..4).map(|_| 1_000.0 * (0.03 * noise.normal()).exp()).collect();
                cells.push(cell(cells.len() as u32 + 1, (device, "200"), connections, &nopm));
            }
        }
        let answer = LabAnswer::of(&lab(cells), &[]);
        claimed += u32::from(answer.shown.iter().any(|of| of.contains(" gives ")));
    }
    // One in twenty labs by design; what is above is three standard deviations of 200.
    assert!(claimed <= labs / 20 + 10, "{claimed} of {labs} labs claim a difference");
}
