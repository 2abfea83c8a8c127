use super::{AtDriver, COMMIT, host_cpu};
use crate::run::resources::{HostMachine, Resources};
use crate::run::samples::{Samples, Window};
use crate::run::usage::CpuShares;
use store::{StoredStatementTime, TimeTotals, TransactionTime, WindowTotals};

fn transaction(name: &str, transactions: u64, response_ms: u64) -> TransactionTime {
    TransactionTime {
        transaction: name.to_owned(),
        transactions,
        response_ns: transactions * response_ms * 1_000_000,
        queued_ns: transactions * 2_000_000,
        paused_ns: 0,
    }
}

/// One of a kind in each of so many transactions, of so many milliseconds.
fn statement(name: &str, kind: &str, executions: u64, each_ms: u64) -> StoredStatementTime {
    let mut times = TimeTotals::default();
    let each_ns = each_ms * 1_000_000;
    for _ in 0..executions {
        times.histogram.record(each_ns).unwrap();
    }
    times.sum_ns = executions * each_ns;
    StoredStatementTime { transaction: name.to_owned(), kind: kind.to_owned(), times }
}

#[test]
fn a_commit_that_changed_nothing_tells_what_one_takes_without_the_log() {
    let transactions = [transaction("new_order", 90, 22), transaction("order_status", 10, 12)];
    let types = WindowTotals::of_types(testkit::transactions());
    let statements = [
        statement("new_order", "insert_order", 90, 11),
        statement("new_order", COMMIT, 90, 7),
        statement("order_status", "select_customer", 10, 6),
        statement("order_status", COMMIT, 10, 2),
    ];
    let seen = AtDriver::of(&transactions, &statements, &types).unwrap();
    let close = |actual: f64, expected_ms: f64| {
        assert!((actual * 1e3 - expected_ms).abs() < 1e-9, "{actual}");
    };
    close(seen.service_s, 19.0);
    close(seen.queued_s, 2.0);
    // 20 and 10 ms, of which 18 and 8 are in statements.
    close(seen.driver_s, 2.0);
    close(seen.committing_s.unwrap(), 0.9 * 5.0);
    // Of CALLs nobody knows.
    let calls = [statement("new_order", "call_new_order", 90, 18)];
    let seen = AtDriver::of(&transactions, &calls, &types).unwrap();
    assert_eq!(seen.committing_s, None);
    assert_eq!(AtDriver::of(&transactions, &[], &types), None);
}

/// A kernel that does not tell how many cores there are still tells how busy they were.
#[test]
fn cores_are_busy_whatever_their_number() {
    let window = Window { start_ns: 0, end_ns: 1 };
    let mut used = Resources::of(&Samples::default().within(window));
    assert!(host_cpu(&used).is_none());
    used.host.machine = Some(HostMachine::Driver);
    used.server_process.cpu_cores_used = Some(1.0);
    used.driver.cpu_cores_used = Some(0.5);
    let part = Some(0.2);
    used.host.cpu =
        CpuShares { user: part, system: part, interrupt: part, steal: part, ..used.host.cpu };
    let found = host_cpu(&used).unwrap();
    assert!((found.busy_share - 0.8).abs() < 1e-9 && found.own_share.is_none());
    used.host.cpu_cores = Some(2.0);
    assert_eq!(host_cpu(&used).unwrap().own_share, Some(0.75));
}
