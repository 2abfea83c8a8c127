//! What a replica may lack: orders that this driver has seen committed. A customer's last order
//! must not vanish for who reads it from a replica, and where it does the read is stale.
//!
//! Known are the orders of this process alone, so a read that misses only orders of others is not
//! found to be stale.

use crate::schema::DISTRICTS;
use crate::transactions::Outcome;
use crate::{Input, NewOrder};
use base::{Instant, lock};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use store::StoredReplica;

/// So long an order is kept.
const KEPT_FOR: Duration = Duration::from_secs(60);
/// Orders that are kept of a district, or of a customer, at most: those of a minute at 163,000 NOPM
/// on one warehouse.
const KEPT_MAX: usize = 16_384;

/// An order, and since when it is known to be committed, from the begin of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Acknowledged {
    order: u32,
    at: Duration,
}

/// The orders of a customer or a district of the last minute, and the last one before it, by their
/// numbers. Times rise with numbers: who takes a number keeps others from the next one until it is
/// committed, so an order is there when a later one is, whichever answer came first.
#[derive(Debug, Default)]
struct RecentOrders(VecDeque<Acknowledged>);

impl RecentOrders {
    /// Adds an order, of which none came later. Returns whether one of the last minute had to make
    /// room for it.
    fn add(&mut self, new: Acknowledged) -> bool {
        let held = &mut self.0;
        let place = match held.back() {
            Some(last) if last.order > new.order => {
                held.partition_point(|held| held.order < new.order)
            }
            _ => held.len(),
        };
        let at = held.get(place).map_or(new.at, |later| later.at);
        held.insert(place, Acknowledged { at, ..new });
        while held.get(1).is_some_and(|second| second.at + KEPT_FOR < new.at) {
            held.pop_front();
        }
        held.len() > KEPT_MAX && held.pop_front().is_some()
    }

    /// How long before its begin the oldest order was there that a read has not seen; it saw all up
    /// to `seen`.
    fn missed_for(&self, seen: u32, begin: Duration) -> Option<Duration> {
        let first = self.0.partition_point(|held| held.order <= seen);
        begin.checked_sub(self.0.get(first)?.at)
    }
}

#[derive(Default)]
struct District {
    orders: RecentOrders,
    /// Only those that have ordered in this run.
    customers: HashMap<u32, RecentOrders>,
}

/// The last orders that the connections of a run have committed, and what replicas made of them.
pub(crate) struct FreshOrders {
    begun: Instant,
    /// Of warehouse 1, then of warehouse 2 and so on.
    districts: Vec<Mutex<District>>,
    /// Orders of the last minute for which there was no room.
    crowded_out: AtomicU64,
    /// By the number of the server, from 0.
    replicas: Vec<Mutex<StoredReplica>>,
}

impl FreshOrders {
    pub(crate) fn new(warehouses: u32, servers: usize) -> FreshOrders {
        let replica = |node| Mutex::new(StoredReplica { node, ..StoredReplica::default() });
        let districts = warehouses as usize * DISTRICTS as usize;
        FreshOrders {
            begun: Instant::now(),
            districts: std::iter::repeat_with(Mutex::default).take(districts).collect(),
            crowded_out: AtomicU64::new(0),
            replicas: (1..=servers as u32).map(replica).collect(),
        }
    }

    /// The time from the begin of the run.
    pub(crate) fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// By warehouse and district, both from 1.
    fn district(&self, (w, d): (u32, u32)) -> Option<MutexGuard<'_, District>> {
        let at = (w.checked_sub(1)? * DISTRICTS + d.checked_sub(1)?) as usize;
        self.districts.get(at).map(lock)
    }

    /// An order has been committed.
    pub(crate) fn committed(&self, order: &NewOrder, number: u32) {
        if let Some(mut district) = self.district((order.warehouse, order.district)) {
            // The time is taken here, where no other order comes between.
            let new = Acknowledged { order: number, at: self.now() };
            let is_crowded = district.orders.add(new);
            district.customers.entry(order.customer).or_default().add(new);
            self.crowded_out.fetch_add(u64::from(is_crowded), Ordering::Relaxed);
        }
    }

    /// Server `server` has answered a read that began at `begin`.
    pub(crate) fn read(&self, server: usize, input: &Input, outcome: Outcome, begin: Duration) {
        let missed = match (input, outcome) {
            (Input::OrderStatus(of), Outcome::LastOrder { customer, order }) => {
                let district = self.district((of.warehouse, of.district));
                district.and_then(|held| held.customers.get(&customer)?.missed_for(order, begin))
            }
            (Input::StockLevel(of), Outcome::OrdersBelow(next)) => {
                let district = self.district((of.warehouse, of.district));
                district.and_then(|held| held.orders.missed_for(next.saturating_sub(1), begin))
            }
            _ => return,
        };
        if let Some(mut replica) = self.replicas.get(server).map(lock) {
            replica.reads += 1;
            replica.stale_reads += u64::from(missed.is_some());
            let missed_ns = missed.map_or(0, |missed| missed.as_nanos() as u64);
            replica.stale_max_ns = replica.stale_max_ns.max(missed_ns);
        }
    }

    /// What people should know where not all orders of a minute had room.
    pub(crate) fn note(&self) -> Option<String> {
        let count = self.crowded_out.load(Ordering::Relaxed);
        (count > 0).then(|| {
            format!(
                "{count} orders were forgotten within a minute ({KEPT_MAX} are kept of a \
                 district), so reads may have been stale for longer than is told"
            )
        })
    }

    /// By the number of the server, from 0.
    pub(crate) fn replica_reads(&self) -> Vec<StoredReplica> {
        self.replicas.iter().map(|replica| lock(replica).clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{CustomerKey, OrderStatus, StockLevel};
    use crate::{InputSource, RunConstants, Transaction};
    use base::{Random, Warehouses};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn recent(orders: &[(u32, u64)]) -> RecentOrders {
        let mut recent = RecentOrders::default();
        for (order, at_ms) in orders {
            recent.add(Acknowledged { order: *order, at: ms(*at_ms) });
        }
        recent
    }

    #[test]
    fn a_read_is_stale_by_what_was_committed_before_it_began() {
        let held = recent(&[(3001, 10), (3002, 20), (3003, 30)]);
        assert_eq!(held.missed_for(3003, ms(100)), None);
        assert_eq!(held.missed_for(3002, ms(100)), Some(ms(70)));
        assert_eq!(held.missed_for(3000, ms(100)), Some(ms(90)), "the oldest that it missed");
        assert_eq!(held.missed_for(3001, ms(15)), None, "3002 came while it read");
        assert_eq!(held.missed_for(3000, ms(15)), Some(ms(5)));
        assert_eq!(held.missed_for(3004, ms(100)), None, "it saw more than this driver knows");
    }

    /// A district with 13 orders a second, as one of a warehouse with 8,000 NOPM, for two minutes.
    #[test]
    fn the_orders_of_a_minute_are_known() {
        let mut held = RecentOrders::default();
        let at = |order: u32| ms(u64::from(order) * 1000 / 13);
        let last = 13 * 120;
        for order in 1..=last {
            assert!(!held.add(Acknowledged { order, at: at(order) }));
        }
        let now = at(last);
        // A replica that is so many seconds behind.
        for behind in [1, 10, 59] {
            let seen = last - 13 * behind;
            assert_eq!(held.missed_for(seen, now), Some(now - at(seen + 1)), "{behind} s");
        }
        // Of what is older, the last one is known; and what is older goes.
        let oldest = held.missed_for(0, now).unwrap();
        assert!(oldest >= KEPT_FOR && oldest < KEPT_FOR + ms(200), "{oldest:?}");
        assert!((780..790).contains(&held.0.len()), "{}", held.0.len());
    }

    #[test]
    fn a_customer_who_has_not_ordered_for_long_is_not_forgotten() {
        let held = recent(&[(3001, 10), (3007, 500)]);
        assert_eq!(held.missed_for(3000, ms(200_000)), Some(ms(199_990)));
        let held = recent(&[(3001, 10), (3007, 500), (3100, 100_000)]);
        assert_eq!(held.missed_for(3001, ms(200_000)), Some(ms(199_500)));
        assert_eq!(held.missed_for(3000, ms(200_000)), Some(ms(199_500)), "3001 is forgotten");
    }

    #[test]
    fn answers_may_come_in_any_order() {
        let held = recent(&[(3002, 20), (3001, 21), (3005, 30), (3004, 31), (3003, 32)]);
        let known: Vec<(u32, u64)> =
            held.0.iter().map(|held| (held.order, held.at.as_millis() as u64)).collect();
        // Each was there when a later one was.
        assert_eq!(known, [(3001, 20), (3002, 20), (3003, 30), (3004, 30), (3005, 30)]);
        assert_eq!(recent(&[]).missed_for(0, ms(1)), None);
    }

    #[test]
    fn orders_that_have_no_room_are_told() {
        let fresh = FreshOrders::new(1, 2);
        let order = new_order();
        for number in 0..KEPT_MAX as u32 {
            fresh.committed(&order, 3001 + number);
        }
        assert_eq!(fresh.note(), None);
        fresh.committed(&order, 3001 + KEPT_MAX as u32);
        let note = fresh.note().unwrap();
        assert!(note.starts_with("1 orders were forgotten"), "{note}");
        assert_eq!(fresh.district((1, order.district)).unwrap().orders.0.len(), KEPT_MAX);
    }

    fn new_order() -> NewOrder {
        let constants = RunConstants::for_run(None, 1);
        let mut source = InputSource::new(Random::new(1, &[1]), constants, Warehouses(1), None);
        match source.input_of(Transaction::NewOrder) {
            Input::NewOrder(order) => order,
            other => panic!("it was asked for a New-Order, not {other:?}"),
        }
    }

    #[test]
    fn reads_are_counted_for_the_replica_that_answered() {
        let fresh = FreshOrders::new(2, 3);
        let order = new_order();
        let NewOrder { warehouse, district, customer, .. } = order;
        fresh.committed(&order, 3001);
        let begin = fresh.now() + ms(5);
        let level =
            |warehouse| Input::StockLevel(StockLevel { warehouse, district, threshold: 15 });
        fresh.read(1, &level(warehouse), Outcome::OrdersBelow(3002), begin);
        fresh.read(2, &level(warehouse), Outcome::OrdersBelow(3001), begin);
        fresh.read(2, &level(3 - warehouse), Outcome::OrdersBelow(1), begin);
        let key = CustomerKey::Number(customer);
        let status = Input::OrderStatus(OrderStatus { warehouse, district, customer: key });
        let last = |order| Outcome::LastOrder { customer, order };
        fresh.read(2, &status, last(3000), begin);
        fresh.read(2, &status, last(3001), begin);
        fresh.read(2, &status, Outcome::LastOrder { customer: customer + 1, order: 1 }, begin);
        let counted: Vec<(u64, u64)> =
            fresh.replica_reads().iter().map(|of| (of.reads, of.stale_reads)).collect();
        assert_eq!(counted, [(0, 0), (1, 0), (5, 2)]);
        assert!(fresh.replica_reads()[2].stale_max_ns >= 5_000_000);
    }
}
