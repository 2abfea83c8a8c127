//! The rows that tests are about, and the sessions and inputs for them.

use super::actor::{Actor, Onlooker};
use super::finding::AcidResult;
use crate::input::{CustomerKey, Delivery, NewOrder, OrderStatus, Payment, UNUSED_ITEM};
use crate::schema::{CUSTOMERS, DISTRICTS, ITEMS};
use crate::{CustomerId, Input};
use base::{Cents, Connect, DateTime, Random, WarehouseRange};
use spec::Isolation;

/// Lines of the orders of tests: the fewest that clause 2.4.1.3 has.
const LINES: u32 = 5;
/// The amount of the payments of tests: one that no sum of prices is mistaken for.
pub(super) const PAID: Cents = Cents(123_457);

/// A database under test.
pub(super) struct Fixture<'a, C: Connect> {
    connect: &'a C,
    isolation: Isolation,
    pub(super) warehouse: u32,
    random: Random,
    pub(super) onlooker: Onlooker<C::Session>,
}

impl<'a, C: Connect> Fixture<'a, C> {
    pub(super) async fn open(
        connect: &'a C,
        (range, mut random): (WarehouseRange, Random),
        isolation: Isolation,
    ) -> AcidResult<Fixture<'a, C>> {
        let warehouse = random.between(range.first()..=range.last());
        let onlooker = Onlooker::open(connect).await?;
        Ok(Fixture { connect, isolation, warehouse, random, onlooker })
    }

    /// The session of T1 or T2.
    pub(super) async fn actor(&self) -> AcidResult<Actor<C::Session>> {
        Actor::open(self.connect, self.isolation).await
    }

    /// Ends sessions.
    pub(super) async fn leave<const N: usize>(&self, actors: [Actor<C::Session>; N]) {
        for actor in actors {
            C::close(actor.into_session()).await;
        }
    }

    /// Any customer of the warehouse.
    pub(super) fn customer(&mut self) -> CustomerId {
        let district = self.random.between(1..=DISTRICTS);
        self.customer_of(district)
    }

    /// Any customer of a district.
    pub(super) fn customer_of(&mut self, district: u32) -> CustomerId {
        let number = self.random.between(1..=CUSTOMERS);
        CustomerId { warehouse: self.warehouse, district, number }
    }

    /// Items in a row, as many as an order has lines.
    pub(super) fn items(&mut self) -> [u32; LINES as usize] {
        let first = self.random.between(1..=ITEMS - LINES);
        std::array::from_fn(|n| first + n as u32)
    }

    pub(super) fn new_order(&mut self, customer: CustomerId) -> Input {
        Input::NewOrder(NewOrder::of_items(customer, &self.items()))
    }

    /// An order that rolls itself back (clause 2.4.1.4).
    pub(super) fn invalid_order(&mut self, customer: CustomerId) -> Input {
        let mut items = self.items();
        items[LINES as usize - 1] = UNUSED_ITEM;
        Input::NewOrder(NewOrder::of_items(customer, &items))
    }

    /// A Delivery for the warehouse.
    pub(super) fn delivery(&self) -> Input {
        let delivered = DateTime::now();
        Input::Delivery(Delivery { warehouse: self.warehouse, carrier: 7, delivered })
    }
}

/// The last order of a customer.
pub(super) fn order_status(customer: CustomerId) -> Input {
    let CustomerId { warehouse, district, number } = customer;
    Input::OrderStatus(OrderStatus { warehouse, district, customer: CustomerKey::Number(number) })
}

/// A payment of [`PAID`], entered at home.
pub(super) fn payment(customer: CustomerId) -> Input {
    let CustomerId { warehouse, district, number } = customer;
    Input::Payment(Payment {
        warehouse,
        district,
        customer_warehouse: warehouse,
        customer_district: district,
        customer: CustomerKey::Number(number),
        amount: PAID,
        entered: DateTime::now(),
    })
}

/// SQL with these numbers in place of its parameters.
pub(super) fn filled(sql: &str, numbers: &[u32]) -> String {
    let mut text = sql.to_owned();
    for number in numbers {
        text = text.replacen('?', &number.to_string(), 1);
    }
    text
}
