//! Where the time of transactions goes, as it is stored.

use crate::common::{result, running};
use store::{StoredStatementTime, TimeTotals, TransactionTime};
use testkit::statement;

#[test]
fn times_of_statements_come_back_longest_first() {
    let directory = tempfile::tempdir().unwrap();
    let (results, _, _, repeat) = running(&directory.path().join("mydyno.db"));
    assert!(results.get::<StoredStatementTime>(repeat).unwrap().is_empty());
    let payment = TransactionTime {
        transaction: "payment".to_owned(),
        transactions: 2,
        response_ns: 12_000_000,
        queued_ns: 1_000_000,
        paused_ns: 500_000,
    };
    let statements = [
        statement("payment", "commit", &[4_000, 500]),
        statement("payment", "pay_warehouse", &[1_000; 5]),
        statement("new_order", "commit", &[700]),
    ];
    // Whoever stores twice replaces.
    for _ in 0..2 {
        results.put(repeat, std::slice::from_ref(&payment)).unwrap();
        results.put(repeat, &statements).unwrap();
    }
    results.finish_repeat(repeat, &result()).unwrap();
    assert_eq!(results.get::<TransactionTime>(repeat).unwrap(), [payment]);
    let stored: Vec<StoredStatementTime> = results.get(repeat).unwrap();
    let seen: Vec<_> =
        stored.iter().map(|s| (s.transaction.as_str(), s.kind.as_str(), s.executions())).collect();
    let wanted =
        [("new_order", "commit", 1), ("payment", "pay_warehouse", 5), ("payment", "commit", 2)];
    assert_eq!(seen, wanted);
    let commit = &stored[2].times;
    assert_eq!((commit.sum_ns, commit.max_ns), (4_500_000, 4_000_000));
    let p50_us = commit.quantile_ns(0.5).unwrap() as f64 / 1e3;
    assert!((495.0..505.0).contains(&p50_us), "{p50_us}");
    // What is no statement follows, and the driver has what remains of 12 ms.
    let summary = results.summary(repeat).unwrap();
    let spent = &summary.transactions.get("payment").unwrap().time_spent;
    let seen: Vec<_> = spent
        .iter()
        .map(|s| (s.what.as_str(), s.per_transaction, s.mean_us, s.is_statement()))
        .collect();
    let wanted = [
        ("pay_warehouse", 2.5, 1_000.0, true),
        ("commit", 1.0, 2_250.0, true),
        (store::QUEUED, 1.0, 500.0, false),
        (store::PAUSED, 1.0, 250.0, false),
        (store::DRIVER, 1.0, 500.0, false),
    ];
    assert_eq!(seen, wanted);
    let share: f64 = spent.iter().map(|s| s.share).sum();
    assert!((share - 1.0).abs() < 1e-9, "{share}");
    // Histograms of two digits merge, with each other and with those of three.
    let mut all = TimeTotals::default();
    stored.iter().for_each(|s| all.add(&s.times));
    assert_eq!(all.count(), 8);
}
