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

/// How much a sum may have risen.
struct Allowed {
    committed: i64,
    in_doubt: i64,
}

impl Allowed {
    fn holds(&self, rise: i64) -> bool {
        (self.committed..=self.committed + self.in_doubt).contains(&rise)
    }
}

/// What is wrong where the database does not have what the driver committed.
pub fn mismatch(
    report: &RunReport,
    before: &Sums,
    after: &Sums,
    known: RunConditions,
) -> Option<String> {
    let committed = InputCounters::from(report.totals.counters);
    let of_in_doubt = InputCounters::from(report.totals.in_doubt_counters);
    let in_doubt = |transaction: Transaction| report.totals.in_doubt[transaction.index()] as i64;
    let orders = Allowed {
        committed: report.totals.committed[Transaction::NewOrder.index()] as i64,
        in_doubt: in_doubt(Transaction::NewOrder),
    };
    let rise = after.next_orders - before.next_orders;
    if !orders.holds(rise) {
        return Some(told("new orders", &orders, rise, |count| count.to_string()));
    }
    let payments = Allowed {
        committed: committed.payment_cents as i64,
        // The amounts of those that were cut off are not known.
        in_doubt: of_in_doubt.payment_cents as i64
            + in_doubt(Transaction::Payment).min(report.abandoned as i64) * PAYMENT_CENTS_MAX,
    };
    let rise = after.payment_cents - before.payment_cents;
    if !payments.holds(rise) {
        return Some(told("of payments", &payments, rise, |cents| Cents(cents).to_string()));
    }
    let given_up = if known.commits_each_district { report.totals.errors as i64 } else { 0 };
    let delivered = Allowed {
        committed: committed.delivered_orders as i64,
        in_doubt: (in_doubt(Transaction::Delivery) + given_up) * i64::from(DISTRICTS),
    };
    let rise = after.oldest_open_orders - before.oldest_open_orders;
    if known.open_orders_have_no_gaps && !delivered.holds(rise) {
        return Some(told("deliveries of orders", &delivered, rise, |count| count.to_string()));
    }
    None
}

fn told(what: &str, allowed: &Allowed, rise: i64, show: impl Fn(i64) -> String) -> String {
    format!(
        "the driver committed {} {what} ({} in doubt), but the database has {} more; does somebody \
         else use it?",
        show(allowed.committed),
        show(allowed.in_doubt),
        show(rise)
    )
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
