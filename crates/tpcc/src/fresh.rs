//! What a replica may lack: orders that this driver has seen committed. A customer's last order
//! must not vanish for who reads it from a replica, and where it does the read is stale.
//!
//! Known are the orders of this process alone, so a read that misses only orders of others is not
//! found to be stale.

use crate::schema::DISTRICTS;
use crate::transactions::Outcome;
use crate::{Input, NewOrder};
use base::Instant;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Reads from one replica, those before the window included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplicaReads {
    /// Order-Statuses and Stock-Levels that committed.
    pub reads: u64,
    /// Those of them that did not see an order which had been committed before they began.
    pub stale_reads: u64,
    /// The longest time between the commit of an order and the begin of a read that did not see
    /// it; 0 where there is none.
    pub stale_max_ns: u64,
}

/// An order, and when its commit was answered, from the begin of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Acknowledged {
    order: u32,
    at: Duration,
}

/// The newest orders of a customer or a district, the newest first. A read is compared with those
/// that were there before it began, and more than so many do not come while it lasts.
#[derive(Clone, Copy, Debug, Default)]
struct Newest([Option<Acknowledged>; 4]);

impl Newest {
    /// Answers to commits come in any order.
    fn add(&mut self, new: Acknowledged) {
        let older = |held: &Option<Acknowledged>| held.is_none_or(|held| held.order < new.order);
        if let Some(at) = self.0.iter().position(older) {
            self.0[at..].rotate_right(1);
            self.0[at] = Some(new);
        }
    }

    /// How long before its begin an order was there that a read has not seen; it saw all up to
    /// `seen`.
    fn missed_for(&self, seen: u32, begin: Duration) -> Option<Duration> {
        let held = self.0.iter().flatten();
        let missed = held.filter(|held| held.order > seen && held.at <= begin);
        missed.map(|held| begin - held.at).max()
    }
}

#[derive(Default)]
struct District {
    orders: Newest,
    /// Only those that have ordered in this run.
    customers: HashMap<u32, Newest>,
}

/// The newest orders that the connections of a run have committed, and what replicas made of them.
pub(crate) struct FreshOrders {
    begun: Instant,
    /// Of warehouse 1, then of warehouse 2 and so on.
    districts: Vec<Mutex<District>>,
    /// By the number of the server, from 0.
    replicas: Vec<Mutex<ReplicaReads>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that holds it panics, and what it holds is whole after each step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FreshOrders {
    pub(crate) fn new(warehouses: u32, servers: usize) -> FreshOrders {
        let districts = warehouses as usize * DISTRICTS as usize;
        FreshOrders {
            begun: Instant::now(),
            districts: std::iter::repeat_with(Mutex::default).take(districts).collect(),
            replicas: std::iter::repeat_with(Mutex::default).take(servers).collect(),
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
        let new = Acknowledged { order: number, at: self.now() };
        if let Some(mut district) = self.district((order.warehouse, order.district)) {
            district.orders.add(new);
            district.customers.entry(order.customer).or_default().add(new);
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

    /// By the number of the server, from 0.
    pub(crate) fn replica_reads(&self) -> Vec<ReplicaReads> {
        self.replicas.iter().map(|replica| *lock(replica)).collect()
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

    fn newest(orders: &[(u32, u64)]) -> Newest {
        let mut newest = Newest::default();
        for (order, at_ms) in orders {
            newest.add(Acknowledged { order: *order, at: ms(*at_ms) });
        }
        newest
    }

    #[test]
    fn a_read_is_stale_by_what_was_committed_before_it_began() {
        let held = newest(&[(3001, 10), (3002, 20), (3003, 30)]);
        assert_eq!(held.missed_for(3003, ms(100)), None);
        assert_eq!(held.missed_for(3002, ms(100)), Some(ms(70)));
        assert_eq!(held.missed_for(3000, ms(100)), Some(ms(90)), "the oldest that it missed");
        assert_eq!(held.missed_for(3001, ms(15)), None, "3002 came while it read");
        assert_eq!(held.missed_for(3000, ms(15)), Some(ms(5)));
        assert_eq!(held.missed_for(3004, ms(100)), None, "it saw more than this driver knows");
    }

    #[test]
    fn answers_may_come_in_any_order() {
        let held = newest(&[(3002, 20), (3001, 21), (3005, 30), (3004, 31), (3003, 32)]);
        let orders: Vec<u32> = held.0.iter().flatten().map(|held| held.order).collect();
        assert_eq!(orders, [3005, 3004, 3003, 3002]);
        assert_eq!(newest(&[]).missed_for(0, ms(1)), None);
    }

    #[test]
    fn reads_are_counted_for_the_replica_that_answered() {
        let fresh = FreshOrders::new(2, 3);
        let constants = RunConstants::for_run(None, 1);
        let mut source = InputSource::new(Random::new(1, &[1]), constants, Warehouses(2), None);
        let Input::NewOrder(order) = source.input_of(Transaction::NewOrder) else {
            panic!("it was asked for one");
        };
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
