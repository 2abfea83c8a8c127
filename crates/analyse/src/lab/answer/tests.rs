use super::{CellEvidence, LabAnswer};
use crate::account::bound::BoundBy;
use crate::lab::cells::{CellOutcome, matrix, tests::cell};
use crate::lab::comparisons::comparisons;
use crate::lab::drills::DrillFigures;
use crate::lab::outcomes::LabOutcome;
use crate::lab::reversals::reversals;
use crate::lab::sweep::sweeps;
use crate::stats::noise::Noise;

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
    assert!(said("For up to 5.0 s nothing ended well in windows of "), "{:#?}", answer.limits);
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
            "The highest mean is 60,000 NOPM (95 %: 59,764 to 60,235): nvme-pm1725, 64 \
             connections.",
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
            "The highest mean is 9,500 NOPM (95 %: 9,462 to 9,537): nvme-pm1725, 64 connections.",
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
        ["nvme-pm1725, 64 connections gave 698 NOPM, 1.17 times sas-pm1633, 1.40 times \
             sata-850pro, 1.74 times hdd-15k; 1.16 times 16 connections, 1.40 times 4 connections, \
             1.74 times 1 connection; one run each, so chance is not excluded."]
    );
    assert_eq!(
        answer.limits,
        ["Fewer than 3 repeats, so that no difference is claimed: all cells. `repeats = 3` in \
             a plan, or more, tells what is beyond chance."]
    );
}

#[test]
fn one_repeat_still_says_what_was_measured() {
    let on = |ordinal, device, nopm| cell(ordinal, (device, "200"), 8, &[nopm]);
    let mut cells = vec![
        on(1, "hdd-15k", 310.0),
        on(2, "sata-850pro", 2_385.0),
        on(3, "sas-pm1633", 9_118.0),
        on(4, "nvme-pm1725", 31_000.0),
    ];
    let told = |cells: &[CellOutcome]| LabAnswer::of(&lab(cells.to_vec()), &[]).shown.remove(0);
    assert_eq!(
        told(&cells),
        "nvme-pm1725 gave 31,000 NOPM, 3.4 times sas-pm1633, 13 times sata-850pro, 100 times \
         hdd-15k; one run each, so chance is not excluded."
    );
    // What was not measured is beside nothing.
    (cells[1], cells[2]) = (failing(&cells[1], 1), failing(&cells[2], 1));
    assert_eq!(
        told(&cells),
        "nvme-pm1725 gave 31,000 NOPM, 100 times hdd-15k; one run each, so chance is not excluded."
    );
}

/// A cell of which the first repeats have failed.
fn failing(cell: &CellOutcome, count: usize) -> CellOutcome {
    let mut of = cell.clone();
    for repeat in of.repeats.iter_mut().take(count) {
        (repeat.nopm, repeat.new_order_p95_us, repeat.has_failed) = (None, None, true);
        repeat.reason_code = Some("server_failed".to_owned());
    }
    let left: Vec<f64> = of.repeats.iter().filter_map(|repeat| repeat.nopm).collect();
    of.nopm = crate::MeanValue::of_repeats(&left);
    of
}

#[test]
fn who_failed_more_often_is_named_and_not_claimed_to_be_better() {
    let nopm = |_: usize, at: usize| [2_000.0, 8_000.0, 9_500.0, 9_500.0][at];
    let mut cells = grid(10, |device, at| nopm(device, at) * (device + 1) as f64);
    // Of the fastest device, those that did not fail are the highest of all.
    for cell in cells.iter_mut().filter(|cell| cell.settings["data"] == "nvme-pm1725") {
        *cell = failing(cell, 6);
    }
    let answer = LabAnswer::of(&lab(cells.clone()), &[]);
    assert_eq!(
        answer.limits,
        ["6 of 10 repeats have no result (server_failed), so that nothing is claimed against \
          cells that failed less often: nvme-pm1725."]
    );
    let shown = answer.shown.join("\n");
    assert!(!shown.contains("nvme-pm1725 gives"), "{shown}");
    assert!(
        shown.starts_with(
            "The highest mean of the cells that failed least often is 28,500 NOPM (95 %: "
        ),
        "{shown}"
    );
    assert!(shown.contains("sas-pm1633 gives 3.0"), "{shown}");
    // All lines over connections have failed alike inside, so that they may be told.
    assert!(shown.contains("More than 16 connections gain 5 % at most."), "{shown}");
    // Against a base that failed more often, only what its best repeats say is not overtaken.
    let mut cells = grid(10, |device, _| [4_000.0, 2_000.0, 8_000.0, 4_000.0][device]);
    for cell in cells.iter_mut().filter(|cell| cell.settings["data"] == "hdd-15k") {
        *cell = failing(cell, 6);
    }
    let shown = LabAnswer::of(&lab(cells), &[]).shown.join("\n");
    assert!(shown.contains("sas-pm1633 gives 2.0"), "{shown}");
    assert!(!shown.contains("sata-850pro gives"), "{shown}");
}

#[test]
fn one_cell_whose_repeats_failed_says_how_many() {
    let cell = cell(1, ("hdd-15k", "200"), 8, &[204.0, 205.0, 203.0, 204.0]);
    let answer = LabAnswer::of(&lab(vec![failing(&cell, 1)]), &[]);
    assert_eq!(answer.limits, ["1 of 4 repeats have no result: server_failed."]);
}

#[test]
fn nothing_is_claimed_beyond_the_last_number() {
    // By connections, what 1 to 128 give; with 256 the server fails, always or mostly.
    let rising = [1_000.0, 3_000.0, 6_000.0, 9_000.0, 12_000.0];
    let level = [1_000.0, 3_000.0, 6_000.0, 6_010.0, 6_000.0];
    let falling = [1_000.0, 3_000.0, 6_000.0, 4_000.0, 3_000.0];
    let told = |nopm: [f64; 5], failed: usize| {
        let mut cells = Vec::new();
        for (at, connections) in [1, 16, 64, 128, 256].into_iter().enumerate() {
            let scatter = [1.0, 1.001, 0.999, 1.0005, 0.9995];
            let noise = (0..5).map(|of| scatter[(of * (at + 1)) % 5]);
            let each: Vec<f64> = noise.map(|noise| nopm[at] * noise).collect();
            cells.push(cell(at as u32 + 1, ("hdd-15k", "200"), connections, &each));
        }
        cells[4] = failing(&cells[4], failed);
        let answer = LabAnswer::of(&lab(cells), &[]);
        assert!(answer.limits[0].contains("256 connections"), "{:?}", answer.limits);
        answer.shown.last().unwrap().clone()
    };
    for failed in [5, 1] {
        assert_eq!(
            told(rising, failed),
            "Throughput rises up to 128 connections; nothing is claimed of 256."
        );
        assert_eq!(
            told(level, failed),
            "From 64 to 128 connections, throughput rises by 5 % at most; nothing is claimed of \
             256."
        );
        assert_eq!(
            told(falling, failed),
            "From 64 to 128 connections, more hurt; nothing is claimed of 256."
        );
    }
}

#[test]
fn nothing_was_lost_only_where_nothing_is_unexplained() {
    let drilled = |unexplained| {
        let mut lab = lab(vec![cell(1, ("hdd-15k", "200"), 8, &[204.0])]);
        let orders = store::StoredWitness { unexplained, ..store::StoredWitness::default() };
        let witnessed = vec![orders, store::StoredWitness::default()];
        let figures =
            DrillFigures { drills: 5, recovered: 5, witnessed, ..DrillFigures::default() };
        // By this `mydyno crash` decides whether it ends with 6.
        assert_eq!(figures.is_kept(), unexplained == 0);
        lab.drills = vec![figures];
        LabAnswer::of(&lab, &[]).shown.pop().unwrap()
    };
    assert_eq!(
        drilled(0),
        "In 5 drills nothing was lost that was acknowledged, and nothing damaged."
    );
    assert_eq!(
        drilled(12),
        "Rows were there that no transaction explains, neither acknowledged nor in doubt: 12 after \
         5 drills."
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
