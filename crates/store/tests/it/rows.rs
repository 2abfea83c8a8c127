//! What is written is what is read, and the summary is computed from it alone.

use crate::common::{self, cell, interval, result, running, running_as};
use store::{
    InputCounter, InstanceResult, JudgedNumber, JudgedUnit, LoadMethod, Moment, NewCell, NewRepeat,
    Phase, RepeatFailure, RepeatId, Results, StoreError, StoredBand, StoredCheck, StoredFailure,
    StoredLoad, StoredLoadTable,
};
use testkit::fail;

fn measured() -> (tempfile::TempDir, Results, RepeatId) {
    let directory = tempfile::tempdir().unwrap();
    let (results, _, _, repeat) = running(&directory.path().join("mydyno.db"));
    let rows = [
        interval(0, Phase::Warmup, &[90_000, 90_000]),
        interval(1, Phase::Window, &(1..=100).map(|n| n * 100).collect::<Vec<_>>()),
        interval(2, Phase::Window, &(101..=200).map(|n| n * 100).collect::<Vec<_>>()),
        interval(3, Phase::Drain, &[500_000, 500_000]),
    ];
    results.put(repeat, &rows[..2]).unwrap();
    results.put(repeat, &rows[2..]).unwrap();
    (directory, results, repeat)
}

fn counter() -> InputCounter {
    let (allowed, chance) = (StoredBand::between(0.009..=0.011), StoredBand::between(0.0..=0.03));
    InputCounter {
        name: "rollbacks".to_owned(),
        title: "New orders rolled back".to_owned(),
        hits: 4,
        trials: 200,
        judged: JudgedNumber::of(JudgedUnit::Share, Some(0.02), allowed, chance),
    }
}

fn check() -> StoredCheck {
    StoredCheck {
        name: "condition_1".to_owned(),
        title: "w_ytd is the sum of d_ytd".to_owned(),
        clause: "3.3.2.1".to_owned(),
        passed: true,
        offending_rows: 0,
        examples: Vec::new(),
        duration_ns: 12_000_000,
    }
}

#[test]
fn summary_of_a_finished_repeat() {
    let (_directory, results, repeat) = measured();
    results.put(repeat, &[counter()]).unwrap();
    results.record_checks(repeat, &[check()]).unwrap();
    let failure = StoredFailure {
        transaction: "new_order".to_owned(),
        error_code: "1213".to_owned(),
        occurrences: 4,
        first_message: "Deadlock found".to_owned(),
    };
    results.put(repeat, &[failure]).unwrap();
    results.record_note(repeat, "one note").unwrap();
    results.finish_repeat(repeat, &result()).unwrap();
    let mut summary = results.summary(repeat).unwrap();
    summary.results_file = "mydyno.db".to_owned();
    insta::assert_snapshot!(serde_json::to_string_pretty(&summary).unwrap());
}

#[test]
fn a_failed_repeat_has_counts_and_no_result() {
    let (_directory, results, repeat) = measured();
    results.finish_repeat(repeat, &result()).unwrap();
    let why = RepeatFailure {
        reason_code: "check_failed".to_owned(),
        reason: "condition 3 found 2 rows".to_owned(),
        log_tail: None,
    };
    results.fail_repeat(repeat, &why).unwrap();
    fail(&results, repeat, "server_died");
    let summary = results.summary(repeat).unwrap();
    assert_eq!(
        (summary.status.as_str(), summary.reason_code.as_deref()),
        ("failed", Some("check_failed"))
    );
    assert_eq!(
        (summary.rates.nopm, summary.rates.tpm_total, summary.rates.client_cpu_s),
        (None, None, None)
    );
    assert_eq!(summary.transactions.get("new_order").unwrap().p50_us, None);
    assert_eq!(summary.transactions.get("new_order").unwrap().committed, 198);
    assert_eq!(summary.notes, ["also server_died: "]);
    assert!(matches!(
        results.finish_repeat(repeat, &result()),
        Err(StoreError::WrongStatus { .. })
    ));
}

#[test]
fn rows_come_back_as_they_were_given() {
    let (_directory, results, repeat) = measured();
    let mut phases = Vec::new();
    results
        .for_each_interval(repeat, |row| {
            phases.push((row.phase, row.latency.count(), row.latency.histogram.max() / 100_000));
        })
        .unwrap();
    let expected = [
        (Phase::Warmup, 2, 900),
        (Phase::Window, 100, 100),
        (Phase::Window, 100, 200),
        (Phase::Drain, 2, 5_002),
    ];
    assert_eq!(phases[..3], expected[..3]);
    assert_eq!(results.interval_count(repeat).unwrap(), 4);
    let variables = [("b".to_owned(), "1".to_owned()), ("a".to_owned(), String::new())];
    results.record_server(repeat, Moment::Start, &variables, &[]).unwrap();
    results.record_server(repeat, Moment::Start, &variables, &[]).unwrap();
    let names: Vec<String> =
        results.variables(repeat, Moment::Start).unwrap().into_iter().map(|v| v.0).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(results.variables(repeat, Moment::End).unwrap().is_empty());
    let stored = results.repeat(repeat).unwrap();
    assert_eq!(stored.my_cnf.as_deref(), Some("[client]\npassword = ***\n"));
    let stored = results.cell(stored.cell).unwrap();
    assert_eq!(stored.what.seed, u64::MAX);
    assert_eq!(stored.what.target, "mysql://u:***@h:3306/d");
    assert!(matches!(results.repeat(RepeatId(99)), Err(StoreError::NotFound { .. })));
}

#[test]
fn loads_come_back_with_their_tables_and_checks() {
    let (_directory, results, _) = measured();
    let load = StoredLoad {
        lab: None,
        target: "mysql://u@h/d".to_owned(),
        engine: "mysql-5.7".to_owned(),
        server_version: "5.7.22".to_owned(),
        warehouses: Some(10),
        seed: 1,
        threads: 2,
        method: LoadMethod::Inserts,
        foreign_keys: Some(false),
        partitions: 8,
        history_key: Some(true),
        started_utc_ns: 1,
        finished_utc_ns: 2,
        duration_ns: 1,
        total_bytes: 100,
        client_cpu_ns: 1,
        client_peak_rss_bytes: None,
        tables: vec![StoredLoadTable {
            name: "item".to_owned(),
            rows: 100_000,
            checksum: "00ff".to_owned(),
        }],
    };
    let id = results.record_load(&load).unwrap();
    results.record_checks(id, &[check()]).unwrap();
    assert_eq!(results.loads().unwrap(), [(id, load)]);
    assert_eq!(results.get::<StoredCheck>(id).unwrap(), [check()]);
}

#[test]
fn a_preset_comes_back_with_its_cell() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mydyno.db");
    let with_preset = store::NewCell { preset: Some(common::preset()), ..cell() };
    let (results, lab, id, repeat) = common::running_as(&path, with_preset);
    assert_eq!(results.cell(id).unwrap().what.preset, Some(common::preset()));
    let cells = results.cells(lab).unwrap();
    assert_eq!(cells[0].what.preset, Some(common::preset()));
    let summary = results.summary(repeat).unwrap();
    assert_eq!(summary.preset, Some(common::preset()));
}

#[test]
fn a_planned_cell_becomes_the_one_that_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let results = Results::create_or_open(&directory.path().join("mydyno.db")).unwrap();
    let lab = common::lab(&results);
    let planned = store::NewCell { connections: 1, settings: Vec::new(), ..cell() };
    let id = results.begin_planned_cell(lab, &planned).unwrap();
    assert_eq!(results.cell(id).unwrap().what.server_version, "");
    let met = store::NewCell { preset: Some(common::preset()), ..common::paced_cell() };
    assert_eq!(results.begin_cell(lab, &met).unwrap(), id);
    assert_eq!(results.begin_planned_cell(lab, &planned).unwrap(), id);
    let stored = results.cell(id).unwrap().what;
    assert!(!stored.target.contains("geheim"));
    let target = stored.target.clone();
    assert_eq!(stored, store::NewCell { target, ..met });
}

#[test]
fn a_resumed_lab_must_be_the_same() {
    let (_directory, results, repeat) = measured();
    let stored = results.cell(results.repeat(repeat).unwrap().cell).unwrap();
    assert_eq!(results.begin_cell(stored.lab, &cell()).unwrap(), stored.id);
    let other = store::NewCell { connections: 9, ..cell() };
    let refused = results.begin_cell(stored.lab, &other).unwrap_err();
    assert_eq!(refused.exit(), base::Exit::PlanInvalid);
    assert!(refused.to_string().contains("with connections 8, which is 9 now"), "{refused}");
}

#[test]
fn quantiles_count_what_was_out_of_bounds() {
    let mut row = interval(0, Phase::Window, &[1_000; 98]);
    row.latency.out_of_bounds = 2;
    row.latency.max_ns = 7_000_000_000_000;
    row.latency.sum_ns += 14_000_000_000_000;
    let mut totals = store::TransactionTotals::default();
    assert_eq!((totals.mean_ns(), totals.quantile_ns(0.5), totals.max_ns()), (None, None, None));
    totals.add(&row);
    assert_eq!(totals.quantile_ns(0.99), Some(7_000_000_000_000));
    let p95 = totals.quantile_ns(0.95).unwrap();
    assert!((999_000..=1_001_000).contains(&p95), "{p95}");
    assert_eq!(totals.mean_ns(), Some((98.0 * 1e6 + 14e12) / 100.0));
}

/// The file may be written by another thread than the one that measures.
#[test]
fn results_may_move_to_another_thread() {
    fn sends<T: Send>(value: T) -> T {
        value
    }
    let (_directory, results, repeat) = measured();
    let results = sends(results);
    let written = std::thread::spawn(move || results.finish_repeat(repeat, &result()));
    written.join().unwrap().unwrap();
}

#[test]
fn cores_and_what_was_set_of_them_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let kept = NewCell { cores: Some(2), ..testkit::cell() };
    let (results, lab, cell, first) = running_as(&directory.path().join("mydyno.db"), kept.clone());
    let none = results.summary(first).unwrap();
    assert_eq!((none.cores, none.server_cpus, none.driver_cpus), (Some(2), None, None));
    let repeat = NewRepeat {
        server_cpus: Some("0,4".to_owned()),
        driver_cpus: Some("1-3,5-7".to_owned()),
        ..NewRepeat::not_driven(cell, 2)
    };
    let repeat = results.begin_repeat(&repeat).unwrap();
    let stored = results.repeat(repeat).unwrap();
    assert_eq!(stored.server_cpus.as_deref(), Some("0,4"));
    assert_eq!(stored.driver_cpus.as_deref(), Some("1-3,5-7"));
    let other = NewCell { cores: Some(1), ..kept };
    let error = results.begin_cell(lab, &other).unwrap_err().to_string();
    assert!(error.contains("with cores 2, which is 1 now"), "{error}");
}

#[test]
fn what_each_of_several_servers_did_comes_back() {
    let (_directory, results, repeat) = measured();
    let did = |transactions: [u64; 2]| {
        [(1, transactions[0]), (2, transactions[1])].map(|(instance, primary_transactions)| {
            InstanceResult { instance, primary_transactions }
        })
    };
    assert!(results.get::<InstanceResult>(repeat).unwrap().is_empty());
    results.put(repeat, &did([30, 10])).unwrap();
    results.put(repeat, &did([30, 0])).unwrap();
    assert_eq!(results.get::<InstanceResult>(repeat).unwrap(), did([30, 0]));
    let stored = |results: &Results| results.repeat(repeat).unwrap();
    // What is not done has no rate.
    let rates = results.throughput_by_instance(&stored(&results)).unwrap();
    assert_eq!(rates, Vec::<f64>::new());
    let minute = testkit::result(60_000_000_000);
    results.finish_repeat(repeat, &minute).unwrap();
    let rates = results.throughput_by_instance(&stored(&results)).unwrap();
    assert_eq!(rates, [30.0, 0.0]);
}
