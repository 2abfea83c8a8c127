//! What was entered: the counters of clauses 5.5.1.5 and 9.2.2.5, by which an interval is valid.

use crate::input::{CustomerKey, Input};
use crate::schema::DISTRICTS;
use crate::transactions::Outcome;
use base::Warehouses;
use drive::{Merge, WorkloadCounters};
use std::ops::RangeInclusive;

/// Standard deviations on each side that hold 99.9 % of what a right generator gives.
pub(crate) const SPREAD: f64 = 3.29;

/// `InputCounters`, and its ways into the driver's counters and out of them, in one order.
macro_rules! input_counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts over the transactions of a window.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct InputCounters {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl From<InputCounters> for WorkloadCounters {
            fn from(of: InputCounters) -> WorkloadCounters {
                let first = [$(of.$name),*];
                let mut counters = WorkloadCounters::default();
                counters.0[..first.len()].copy_from_slice(&first);
                counters
            }
        }

        impl From<WorkloadCounters> for InputCounters {
            fn from(counters: WorkloadCounters) -> InputCounters {
                let mut counters = counters.0.into_iter();
                InputCounters {
                    $($name: counters.next().unwrap_or_default(),)*
                }
            }
        }
    };
}

input_counters! {
    new_orders,
    rolled_back,
    lines,
    remote_lines,
    payments,
    remote_payments,
    payments_by_name,
    order_statuses,
    order_statuses_by_name,
    deliveries,
    /// Deliveries with at least one district without an open order.
    skipping_deliveries,
    /// Amounts of the payments.
    payment_cents,
    /// Orders that the deliveries delivered.
    delivered_orders,
}

/// One counter with what the clause allows and what chance gives.
#[derive(Clone, Debug, PartialEq)]
pub struct InputShare {
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    pub is_average: bool,
    pub hits: u64,
    pub trials: u64,
    /// Bounds of the clause; an open end is infinite.
    pub allowed: RangeInclusive<f64>,
    /// Where a right generator lands with 99.9 % probability, of so many trials.
    pub chance: RangeInclusive<f64>,
}

impl InputShare {
    /// hits / trials, where there was a trial.
    pub fn value(&self) -> Option<f64> {
        (self.trials > 0).then(|| self.hits as f64 / self.trials as f64)
    }
}

impl InputCounters {
    /// Counts a transaction that ended well.
    pub fn add(&mut self, input: &Input, outcome: Outcome) {
        let by_name = |key: CustomerKey| u64::from(matches!(key, CustomerKey::LastName(_)));
        match input {
            Input::NewOrder(order) => {
                self.new_orders += 1;
                self.rolled_back += u64::from(order.rolls_back);
                self.lines += order.lines().len() as u64;
                self.remote_lines += u64::from(order.remote_lines());
            }
            Input::Payment(payment) => {
                self.payments += 1;
                let remote = payment.customer_warehouse != payment.warehouse;
                self.remote_payments += u64::from(remote);
                self.payments_by_name += by_name(payment.customer);
                self.payment_cents += payment.amount.0.unsigned_abs();
            }
            Input::OrderStatus(status) => {
                self.order_statuses += 1;
                self.order_statuses_by_name += by_name(status.customer);
            }
            Input::Delivery(_) => {
                let skipped = match outcome {
                    Outcome::Delivered { skipped_districts } => skipped_districts,
                    _ => 0,
                };
                self.deliveries += 1;
                self.skipping_deliveries += u64::from(skipped > 0);
                self.delivered_orders += u64::from(DISTRICTS.saturating_sub(skipped));
            }
            Input::StockLevel(_) => {}
        }
    }

    /// Counts it among what the driver keeps for the workload.
    pub(crate) fn count(input: &Input, outcome: Outcome, counters: &mut WorkloadCounters) {
        let mut counted = InputCounters::default();
        counted.add(input, outcome);
        counters.merge(&counted.into());
    }

    /// The counters of clause 5.5.1.5 with their bands. With one warehouse nothing can be remote,
    /// so those are left out.
    pub fn shares(&self, warehouses: Warehouses) -> Vec<InputShare> {
        let mut shares = vec![
            share(
                "rollback_share",
                "new orders rolled back",
                self.rolled_back,
                0.009..=0.011,
                self.new_orders,
            ),
            self.lines_per_order(),
            share(
                "payment_by_name_share",
                "payments by last name",
                self.payments_by_name,
                0.57..=0.63,
                self.payments,
            ),
            share(
                "order_status_by_name_share",
                "order status by last name",
                self.order_statuses_by_name,
                0.57..=0.63,
                self.order_statuses,
            ),
            self.skipped_deliveries(),
        ];
        if warehouses.0 > 1 {
            shares.push(share(
                "remote_line_share",
                "remote order lines",
                self.remote_lines,
                0.0095..=0.0105,
                self.lines,
            ));
            shares.push(share(
                "remote_payment_share",
                "remote payments",
                self.remote_payments,
                0.14..=0.16,
                self.payments,
            ));
        }
        shares
    }

    /// Uniform over 5..=15: mean 10, variance 10.
    fn lines_per_order(&self) -> InputShare {
        let spread = SPREAD * (10.0 / self.new_orders.max(1) as f64).sqrt();
        InputShare {
            name: "lines_per_order",
            title: "lines per order",
            is_average: true,
            hits: self.lines,
            trials: self.new_orders,
            allowed: 9.5..=10.5,
            chance: 10.0 - spread..=10.0 + spread,
        }
    }

    /// Clause 5.5.1.6: at most 1 % of the Deliveries, or one. Chance plays no part: the queue of
    /// open orders does.
    fn skipped_deliveries(&self) -> InputShare {
        let trials = self.deliveries;
        let most = (1.0 / trials.max(1) as f64).max(0.01);
        InputShare {
            name: "skipped_delivery_share",
            title: "deliveries with skipped districts",
            is_average: false,
            hits: self.skipping_deliveries,
            trials,
            allowed: 0.0..=most,
            chance: 0.0..=most,
        }
    }
}

/// A share that is by the clause in the middle of what is allowed.
fn share(
    name: &'static str,
    title: &'static str,
    hits: u64,
    allowed: RangeInclusive<f64>,
    trials: u64,
) -> InputShare {
    let expected = f64::midpoint(*allowed.start(), *allowed.end());
    let spread = SPREAD * (expected * (1.0 - expected) / trials.max(1) as f64).sqrt();
    InputShare {
        name,
        title,
        is_average: false,
        hits,
        trials,
        allowed,
        chance: (expected - spread).max(0.0)..=(expected + spread).min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::InputSource;
    use crate::random::RunConstants;
    use base::Random;

    fn counted(warehouses: u32, transactions: u32) -> InputCounters {
        let mut counters = WorkloadCounters::default();
        for connection in 0..4 {
            let random = Random::new(11, &[connection]);
            let constants = RunConstants::for_run(Some(7), 11);
            let mut source = InputSource::new(random, constants, Warehouses(warehouses), None);
            for _ in 0..transactions / 4 {
                InputCounters::count(&source.next_input(), Outcome::Committed, &mut counters);
            }
        }
        counters.into()
    }

    #[test]
    fn a_long_run_lies_in_every_band() {
        let counters = counted(10, 2_000_000);
        for share in counters.shares(Warehouses(10)) {
            let value = share.value().unwrap();
            assert!(share.allowed.contains(&value), "{share:?}");
            assert!(share.chance.contains(&value), "{share:?}");
        }
    }

    #[test]
    fn short_runs_lie_in_the_chance_spread() {
        let shares = counted(10, 2_000).shares(Warehouses(10));
        assert!(
            shares
                .iter()
                .all(|share| { share.value().is_some_and(|value| share.chance.contains(&value)) })
        );
        let rollbacks = shares.iter().find(|share| share.name == "rollback_share").unwrap();
        assert!(
            rollbacks.chance.end() > rollbacks.allowed.end(),
            "the band is narrower than chance"
        );
    }

    #[test]
    fn one_warehouse_has_no_remote_counters() {
        let names: Vec<_> = counted(1, 400).shares(Warehouses(1)).iter().map(|s| s.name).collect();
        assert!(!names.iter().any(|name| name.starts_with("remote")), "{names:?}");
        assert_eq!(InputCounters::default().shares(Warehouses(1))[0].value(), None);
    }
}
