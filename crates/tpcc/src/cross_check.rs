//! Does the database have what the driver committed? Read before and after a run, as rises of sums.

use crate::database::Sums;
use crate::schema::DISTRICTS;
use crate::{InputCounters, Transaction};
use base::Cents;
use drive::RunReport;

/// Largest amount of a payment (clause 2.5.1.3).
const PAYMENT_CENTS_MAX: i64 = 500_000;

/// What is known of a run besides its report and the sums.
#[derive(Clone, Copy, Debug)]
pub struct RunConditions {
    /// Numbers of open orders have no gaps: so mydyno loads a database, and all transactions leave
    /// it.
    pub open_orders_have_no_gaps: bool,
    /// Each district of a delivery is committed by itself, as tpcc-mysql does: one that was given
    /// up may have delivered some.
    pub commits_each_district: bool,
}

/// What is wrong where the database does not have what the driver committed.
pub fn mismatch(
    report: &RunReport,
    before: &Sums,
    after: &Sums,
    known: RunConditions,
) -> Option<String> {
    let totals = &report.totals;
    let counted = InputCounters::from(totals.counters);
    let in_doubt = |transaction: Transaction| totals.in_doubt[transaction.index()] as i64;
    let committed = totals.committed[Transaction::NewOrder.index()] as i64;
    let rise = after.next_orders - before.next_orders;
    let orders = [committed, in_doubt(Transaction::NewOrder), rise];
    // The amounts of those that were cut off are not known.
    let cut_off = in_doubt(Transaction::Payment).min(report.abandoned as i64) * PAYMENT_CENTS_MAX;
    let cents_in_doubt = InputCounters::from(totals.in_doubt_counters).payment_cents as i64;
    let rise = after.payment_cents - before.payment_cents;
    let payments = [counted.payment_cents as i64, cents_in_doubt + cut_off, rise];
    let given_up = if known.commits_each_district { totals.errors as i64 } else { 0 };
    let orders_in_doubt = (in_doubt(Transaction::Delivery) + given_up) * i64::from(DISTRICTS);
    let rise = after.oldest_open_orders - before.oldest_open_orders;
    let delivered = [counted.delivered_orders as i64, orders_in_doubt, rise];
    let delivered = known.open_orders_have_no_gaps.then_some(delivered);
    let count = |count: i64| count.to_string();
    wrong("new orders", orders, count)
        .or_else(|| wrong("of payments", payments, |cents| Cents(cents).to_string()))
        .or_else(|| wrong("deliveries of orders", delivered?, count))
}

/// What is wrong with the rise of a sum, where it is not that of what was committed or in doubt.
fn wrong(
    what: &str,
    [committed, in_doubt, rise]: [i64; 3],
    show: impl Fn(i64) -> String,
) -> Option<String> {
    let is_right = (committed..=committed + in_doubt).contains(&rise);
    (!is_right).then(|| {
        format!(
            "the driver committed {} {what} ({} in doubt), but the database has {} more",
            show(committed),
            show(in_doubt),
            show(rise)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{RunConditions, mismatch};
    use crate::InputCounters;
    use crate::database::Sums;
    use drive::{RunReport, Totals, per_type};

    const KNOWN: RunConditions =
        RunConditions { open_orders_have_no_gaps: true, commits_each_district: false };

    /// 3 orders, 2 payments of 7.50 together, and 2 deliveries of 19 orders.
    fn report() -> RunReport {
        let counted =
            InputCounters { payment_cents: 750, delivered_orders: 19, ..InputCounters::default() };
        let totals = Totals {
            committed: per_type([3, 2, 0, 2, 0]),
            counters: counted.into(),
            ..Totals::default()
        };
        RunReport { totals, ..RunReport::default() }
    }

    fn after(next_orders: i64, payment_cents: i64, oldest_open_orders: i64) -> Sums {
        Sums {
            next_orders: 3_001 + next_orders,
            payment_cents: 3_000_000 + payment_cents,
            oldest_open_orders: 2_101 + oldest_open_orders,
        }
    }

    fn wrong(report: &RunReport, sums: (i64, i64, i64), known: RunConditions) -> Option<String> {
        let (orders, cents, delivered) = sums;
        let after = after(orders, cents, delivered);
        mismatch(report, &self::after(0, 0, 0), &after, known)
    }

    #[test]
    fn what_was_committed_is_in_the_database() {
        assert_eq!(wrong(&report(), (3, 750, 19), KNOWN), None);
        for (sums, words) in [
            ((4, 750, 19), "committed 3 new orders (0 in doubt), but the database has 4 more"),
            (
                (3, 500, 19),
                "committed 7.50 of payments (0.00 in doubt), but the database has 5.00 more",
            ),
            (
                (3, 750, 18),
                "committed 19 deliveries of orders (0 in doubt), but the database has 18 more",
            ),
        ] {
            let wrong = wrong(&report(), sums, KNOWN).unwrap();
            assert!(wrong.contains(words), "{wrong}");
        }
    }

    #[test]
    fn what_is_in_doubt_may_be_there() {
        let mut lost = report();
        lost.totals.in_doubt = per_type([1, 1, 0, 1, 0]);
        let in_doubt = InputCounters { payment_cents: 250, ..InputCounters::default() };
        lost.totals.in_doubt_counters = in_doubt.into();
        for sums in [(3, 750, 19), (4, 1_000, 29), (4, 750, 24)] {
            assert_eq!(wrong(&lost, sums, KNOWN), None);
        }
        assert!(wrong(&lost, (3, 1_001, 19), KNOWN).is_some());
        assert!(wrong(&lost, (3, 750, 30), KNOWN).is_some());
        // Of a payment that was cut off no amount is known.
        lost.abandoned = 1;
        assert_eq!(wrong(&lost, (3, 501_000, 19), KNOWN), None);
    }

    #[test]
    fn deliveries_are_judged_where_the_sum_is_theirs() {
        let foreign = RunConditions { open_orders_have_no_gaps: false, ..KNOWN };
        assert_eq!(wrong(&report(), (3, 750, 40), foreign), None);
        let by_district = RunConditions { commits_each_district: true, ..KNOWN };
        let mut given_up = report();
        given_up.totals.errors = 1;
        assert_eq!(wrong(&given_up, (3, 750, 28), by_district), None);
        assert!(wrong(&given_up, (3, 750, 28), KNOWN).is_some());
    }
}
