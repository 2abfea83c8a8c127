//! What was entered: the counters of clauses 5.5.1.5 and 9.2.2.5, by which an interval is valid.

use crate::input::{CustomerKey, Input};
use crate::schema::DISTRICTS;
use crate::transactions::Outcome;
use base::Warehouses;
use drive::{Merge, WorkloadCounters};
use std::ops::RangeInclusive;
use store::{InputCounter, JudgedNumber, JudgedUnit, StoredBand};

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
    pub fn shares(&self, warehouses: Warehouses) -> Vec<InputCounter> {
        let rollbacks = [self.rolled_back, self.new_orders];
        let payments = [self.payments_by_name, self.payments];
        let statuses = [self.order_statuses_by_name, self.order_statuses];
        let mut shares = vec![
            share(("rollback_share", "new orders rolled back"), rollbacks, 0.009..=0.011),
            self.lines_per_order(),
            share(("payment_by_name_share", "payments by last name"), payments, 0.57..=0.63),
            share(
                ("order_status_by_name_share", "order status by last name"),
                statuses,
                0.57..=0.63,
            ),
            self.skipped_deliveries(),
        ];
        if warehouses.0 > 1 {
            let lines = [self.remote_lines, self.lines];
            shares.push(share(("remote_line_share", "remote order lines"), lines, 0.0095..=0.0105));
            let payments = [self.remote_payments, self.payments];
            shares.push(share(("remote_payment_share", "remote payments"), payments, 0.14..=0.16));
        }
        shares
    }

    /// Uniform over 5..=15: mean 10, variance 10.
    fn lines_per_order(&self) -> InputCounter {
        let spread = SPREAD * (10.0 / self.new_orders.max(1) as f64).sqrt();
        let words = ("lines_per_order", "lines per order");
        let bands = [9.5..=10.5, 10.0 - spread..=10.0 + spread];
        counter(words, [self.lines, self.new_orders], JudgedUnit::Average, bands)
    }

    /// Clause 5.5.1.6: at most 1 % of the Deliveries, or one. Chance plays no part: the queue of
    /// open orders does.
    fn skipped_deliveries(&self) -> InputCounter {
        let most = (1.0 / self.deliveries.max(1) as f64).max(0.01);
        let words = (SKIPPED_DELIVERIES, "deliveries with skipped districts");
        let counts = [self.skipping_deliveries, self.deliveries];
        counter(words, counts, JudgedUnit::Share, [0.0..=most, 0.0..=most])
    }
}

/// The counter that is not of clause 5.5.1.5.
pub(crate) const SKIPPED_DELIVERIES: &str = "skipped_delivery_share";

/// A share that is by the clause in the middle of what is allowed.
fn share(
    words: (&str, &str),
    [hits, trials]: [u64; 2],
    allowed: RangeInclusive<f64>,
) -> InputCounter {
    let expected = f64::midpoint(*allowed.start(), *allowed.end());
    let spread = SPREAD * (expected * (1.0 - expected) / trials.max(1) as f64).sqrt();
    let chance = (expected - spread).max(0.0)..=(expected + spread).min(1.0);
    counter(words, [hits, trials], JudgedUnit::Share, [allowed, chance])
}

/// A counter, by its name and for people: what the clause allows, and where a right generator
/// lands with 99.9 % probability, of so many trials.
fn counter(
    (name, title): (&str, &str),
    [hits, trials]: [u64; 2],
    unit: JudgedUnit,
    bands: [RangeInclusive<f64>; 2],
) -> InputCounter {
    let value = (trials > 0).then(|| hits as f64 / trials as f64);
    let [allowed, chance] = bands.map(StoredBand::between);
    let judged = JudgedNumber::of(unit, value, allowed, chance);
    InputCounter { name: name.to_owned(), title: title.to_owned(), hits, trials, judged }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{Delivery, InputSource, Payment};
    use crate::random::RunConstants;
    use base::{Cents, DateTime, Random};

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
    fn a_delivery_that_skips_districts_delivers_the_others() {
        let mut counters = InputCounters::default();
        let delivery = Delivery { warehouse: 1, carrier: 4, delivered: DateTime::now() };
        for skipped_districts in [0, 3, 10] {
            counters.add(&Input::Delivery(delivery), Outcome::Delivered { skipped_districts });
        }
        let InputCounters { deliveries, skipping_deliveries, delivered_orders, .. } = counters;
        assert_eq!([deliveries, skipping_deliveries, delivered_orders], [3, 2, 17]);
    }

    #[test]
    fn a_long_run_lies_in_every_band() {
        let counters = counted(10, 2_000_000);
        for share in counters.shares(Warehouses(10)) {
            let value = share.judged.value.unwrap();
            assert!(share.judged.allowed().contains(value), "{share:?}");
            assert!(share.judged.chance().contains(value), "{share:?}");
        }
    }

    #[test]
    fn short_runs_lie_in_the_chance_spread() {
        let shares = counted(10, 2_000).shares(Warehouses(10));
        let lies = |of: &JudgedNumber| of.value.is_some_and(|value| of.chance().contains(value));
        assert!(shares.iter().all(|share| lies(&share.judged)));
        let rollbacks = shares.iter().find(|share| share.name == "rollback_share").unwrap();
        let JudgedNumber { chance_high, allowed_high, .. } = rollbacks.judged;
        assert!(chance_high > allowed_high, "the band is narrower than chance");
    }

    /// As wide as 3.29 standard deviations on each side.
    #[test]
    fn chance_is_narrower_the_more_was_counted() {
        let counters = InputCounters {
            new_orders: 40_000,
            lines: 400_000,
            deliveries: 50,
            skipping_deliveries: 1,
            ..InputCounters::default()
        };
        let shares = counters.shares(Warehouses(2));
        let band = |name: &str| {
            let judged = &shares.iter().find(|share| share.name == name).unwrap().judged;
            [judged.chance_low, judged.chance_high].map(Option::unwrap)
        };
        let assert_near = |band: [f64; 2], middle: f64, spread: f64| {
            let is_near = |a: f64, b: f64| (a - b).abs() < 1e-6;
            assert!(is_near(band[0], middle - spread) && is_near(band[1], middle + spread));
        };
        assert_near(band("rollback_share"), 0.01, SPREAD * (0.01f64 * 0.99 / 40_000.0).sqrt());
        assert_near(band("lines_per_order"), 10.0, SPREAD * (10.0f64 / 40_000.0).sqrt());
        assert_near(band("remote_line_share"), 0.01, SPREAD * (0.01f64 * 0.99 / 400_000.0).sqrt());
        // Of none that were counted, no share is impossible.
        assert_eq!(band("remote_payment_share"), [0.0, 1.0]);
        // One delivery may skip, however few there are; else one of a hundred.
        assert_eq!(band("skipped_delivery_share"), [0.0, 0.02]);
        let many = InputCounters { deliveries: 1_000, ..counters }.shares(Warehouses(2));
        let most = many.iter().find(|share| share.name == SKIPPED_DELIVERIES).unwrap();
        assert_eq!(most.judged.allowed_high, Some(0.01));
    }

    #[test]
    fn a_payment_of_another_warehouses_customer_is_remote() {
        let payment = |customer_warehouse, customer| {
            Input::Payment(Payment {
                warehouse: 1,
                district: 2,
                customer_warehouse,
                customer_district: 3,
                customer,
                amount: Cents(1_250),
                entered: DateTime::now(),
            })
        };
        let mut counters = InputCounters::default();
        for payment in [payment(1, CustomerKey::Number(7)), payment(2, CustomerKey::LastName(7))] {
            counters.add(&payment, Outcome::Committed);
        }
        let wanted = InputCounters {
            payments: 2,
            remote_payments: 1,
            payments_by_name: 1,
            payment_cents: 2_500,
            ..InputCounters::default()
        };
        assert_eq!(counters, wanted);
    }

    #[test]
    fn one_warehouse_has_no_remote_counters() {
        let shares = counted(1, 400).shares(Warehouses(1));
        let names: Vec<_> = shares.iter().map(|share| &share.name).collect();
        assert!(!names.iter().any(|name| name.starts_with("remote")), "{names:?}");
        let of_two = counted(2, 400).shares(Warehouses(2));
        let remote = of_two.iter().filter(|share| share.name.starts_with("remote"));
        assert_eq!(remote.count(), 2);
        let nothing = InputCounters::default().shares(Warehouses(1));
        assert_eq!(nothing[0].judged.value, None);
    }
}
