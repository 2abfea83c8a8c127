//! Workloads that are not TPC-C: types of transactions and throughput are what the cell says.

use store::{CellTransaction, NewCell, Rates, RepeatResult, ThroughputMetric};
use testkit::{SECOND_NS, Scratch};

fn transaction(name: &str, is_primary: bool, row_bytes: Option<u64>) -> CellTransaction {
    CellTransaction { name: name.to_owned(), is_primary, row_bytes }
}

/// Two types that count and one that is done beside them.
fn cell() -> NewCell {
    NewCell {
        workload: "custom".to_owned(),
        throughput_metric: ThroughputMetric::Tpm,
        transactions: vec![
            transaction("write", true, None),
            transaction("read", true, Some(0)),
            transaction("clean", false, Some(100)),
        ],
        warehouses: None,
        home: None,
        foreign_keys: None,
        ..testkit::cell()
    }
}

#[test]
fn throughput_counts_the_primary_types() {
    let scratch = Scratch::default();
    let repeat = scratch.begin(&cell());
    let rows = [("write", 10), ("read", 20), ("clean", 5)];
    let rows = rows.map(|(name, count)| testkit::window(2 * SECOND_NS, name, count));
    scratch.put(repeat, &rows).unwrap();
    let result = RepeatResult { committed_new_orders: None, ..testkit::result(2 * SECOND_NS) };
    scratch.finish_repeat(repeat, &result).unwrap();

    let totals = scratch.window_totals(repeat).unwrap();
    assert_eq!((totals.completed(), totals.primary().completed()), (35, 30));
    let changes = ["write", "read", "clean"].map(|name| totals.changes_rows(name));
    assert_eq!(changes, [true, false, true]);
    let stored = scratch.repeat(repeat).unwrap();
    assert_eq!(Rates::of(&stored, &totals).nopm, Some(900.0));

    let summary = scratch.summary(repeat).unwrap();
    assert_eq!(summary.new_orders_committed_by_driver, None);
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["warehouses"], serde_json::Value::Null);
    assert_eq!(json["transactions"]["read"]["committed"], 20);
    let text = serde_json::to_string(&summary.transactions).unwrap();
    let place = |name: &str| text.find(&format!("\"{name}\":{{")).unwrap();
    assert!(place("write") < place("read") && place("read") < place("clean"));
    let stored = scratch.cell(stored.cell).unwrap().what;
    assert_eq!((stored.transactions, stored.warehouses), (cell().transactions, None));
}

#[test]
fn documents_say_what_throughput_counts() {
    let tpm = ThroughputMetric::Tpm;
    assert_eq!(tpm.key("nopm_by_instance"), "tpm_by_instance");
    assert_eq!(tpm.key("new_order_p95_us"), "transaction_p95_us");
    // A type of transactions may have any name.
    assert_eq!(tpm.key("new_order"), "new_order");
    assert_eq!(ThroughputMetric::Nopm.key("nopm"), "nopm");
}
