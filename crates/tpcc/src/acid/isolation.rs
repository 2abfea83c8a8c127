//! The isolation tests 1 to 9 of clause 3.4.2.
//!
//! The clause has locking in mind. InnoDB reads old versions of rows where a transaction only
//! reads, so that T2 need not wait where the clause makes it: such a test passes if T2 reads what
//! was committed before, which is what its comment on other schemes allows. Where T2 writes, it
//! waits. What is read again is read by the statement of the transaction, which is still open.

use super::actor::{Actor, End, until_halted};
use super::finding::{AcidResult, Phenomenon, Seen};
use super::fixture::{Fixture, PAID, filled, order_status, payment};
use crate::input::NewOrder;
use crate::transactions::sql::{LAST_ORDER, OLDEST_OPEN_ORDER};
use crate::transactions::{Outcome, TransactionError};
use crate::{CustomerId, Input};
use base::{Cents, Connect, Session};
use std::pin::pin;
use std::rc::Rc;

/// The order of a New-Order or an Order-Status.
fn order_of(outcome: Outcome) -> AcidResult<u32> {
    match outcome {
        Outcome::Ordered(order) | Outcome::LastOrder { order, .. } => Ok(order),
        _ => Err(TransactionError::MissingRow("the order that a test asks for").into()),
    }
}

/// A number that a test has read, which is none below 0.
fn small(number: i64, what: &'static str) -> AcidResult<u32> {
    u32::try_from(number).map_err(|_| TransactionError::MissingRow(what).into())
}

/// T2 beside T1: whether it waited until T1 ended, and how it came out.
struct BesideOpen {
    waited: bool,
    outcome: Outcome,
    /// What T1 read again before it ended, where it did.
    again: Option<i64>,
}

impl BesideOpen {
    fn how(&self) -> &'static str {
        if self.waited { "waited for a lock until T1 ended" } else { "did not wait" }
    }
}

/// The sessions of a test, T1 and T2, and what was seen.
struct Pair<'p, 'f, C: Connect> {
    fixture: &'p mut Fixture<'f, C>,
    one: Actor<C::Session>,
    two: Actor<C::Session>,
    seen: Seen,
}

impl<'p, 'f, C: Connect> Pair<'p, 'f, C> {
    async fn open(fixture: &'p mut Fixture<'f, C>) -> AcidResult<Pair<'p, 'f, C>> {
        let (one, two) = (fixture.actor().await?, fixture.actor().await?);
        Ok(Pair { fixture, one, two, seen: Seen::default() })
    }

    /// Runs T2 while the transaction of T1 is open. When T2 waits or is done, T1 reads again, where
    /// there is SQL for it, and ends in some way.
    async fn beside(
        &mut self,
        input: &Input,
        (again, how): (Option<&str>, End),
    ) -> AcidResult<BesideOpen> {
        let connection = self.two.connection;
        let mut running = pin!(self.two.run(input));
        let ended = self.fixture.onlooker.until_waits(connection, running.as_mut()).await?;
        let again = match again {
            Some(sql) => self.one.read(sql).await?,
            None => None,
        };
        self.one.end(how).await?;
        let (waited, outcome) = match ended {
            Some(outcome) => (false, outcome?),
            None => (true, running.await?),
        };
        Ok(BesideOpen { waited, outcome, again })
    }

    /// Ends the sessions, and tells what was seen.
    async fn leave(self) -> AcidResult<Seen> {
        let mut seen = self.seen;
        saw_retries(&mut seen, &self.two);
        self.fixture.leave([self.one, self.two]).await;
        Ok(seen)
    }

    /// The end of tests 8 and 9: T2 is a New-Order, and T1, which it may block, reads again what it
    /// read first.
    async fn read_again(
        mut self,
        (sql, first): (&str, Option<i64>),
        (customer, shown): (CustomerId, &str),
    ) -> AcidResult<Seen> {
        let order = self.fixture.new_order(customer);
        let read = self.beside(&order, (Some(sql), End::Commit)).await?;
        let ordered = order_of(read.outcome)?;
        self.seen.saw(format!("T2, New-Order of {shown}, {} and has order {ordered}", read.how()));
        self.seen.saw(format!("T1 read again, before it ended, and found {}", found(read.again)));
        self.seen.forbid(read.again != first, Phenomenon::Phantom);
        self.leave().await
    }
}

/// Adds that the server rolled a transaction back to let another one through.
fn saw_retries<S>(seen: &mut Seen, two: &Actor<S>) {
    for error in &two.tried_again {
        seen.saw(format!("T2 was rolled back by the server and tried again ({error})"));
    }
}

impl<C: Connect> Fixture<'_, C> {
    async fn next_order(&mut self, customer: CustomerId) -> AcidResult<u32> {
        let CustomerId { warehouse: w, district: d, .. } = customer;
        let sql = format!("SELECT d_next_o_id FROM district WHERE d_w_id={w} AND d_id={d}");
        small(self.onlooker.number(&sql).await?, "a d_next_o_id above 0")
    }

    /// I1 and I2: an Order-Status beside a New-Order that ends in some way.
    pub(super) async fn read_beside_an_order(&mut self, how: End) -> AcidResult<Seen> {
        let customer = self.customer();
        let mut pair = Pair::open(self).await?;
        let status = order_status(customer);
        let before = order_of(pair.two.run(&status).await?)?;
        pair.seen.saw(format!("T0, Order-Status, found {before} as the last order of {customer}"));
        let ordered = order_of(pair.one.run_open(&pair.fixture.new_order(customer)).await?)?;
        pair.seen.saw(format!("T1, New-Order, stopped before COMMIT with order {ordered}"));
        let read = pair.beside(&status, (None, how)).await?;
        let found = order_of(read.outcome)?;
        pair.seen.saw(format!("T2, Order-Status, {} and found order {found}", read.how()));
        let (last, unlike) = match how {
            End::Commit => (ordered, Phenomenon::LostUpdate),
            End::Rollback => (before, Phenomenon::Part),
        };
        let expected = if read.waited { last } else { before };
        pair.seen.forbid(found != expected, Phenomenon::DirtyRead);
        let after = order_of(pair.two.run(&status).await?)?;
        pair.seen.saw(format!("after {} of T1 an Order-Status found order {after}", how.sql()));
        pair.seen.forbid(after != last, unlike);
        pair.leave().await
    }

    pub(super) async fn two_orders(&mut self) -> AcidResult<Seen> {
        let customer = self.customer();
        let mut pair = Pair::open(self).await?;
        let before = pair.fixture.next_order(customer).await?;
        let first = order_of(pair.one.run_open(&pair.fixture.new_order(customer)).await?)?;
        pair.seen
            .saw(format!("T1, New-Order of {customer}, stopped before COMMIT with order {first}"));
        let order = pair.fixture.new_order(customer);
        let ran = pair.beside(&order, (None, End::Commit)).await?;
        let second = order_of(ran.outcome)?;
        pair.seen.saw(format!("T2, New-Order of the same, {} and has order {second}", ran.how()));
        let after = pair.fixture.next_order(customer).await?;
        pair.seen.saw(format!("d_next_o_id was {before} and is {after}"));
        let in_sequence = first == before && second == first + 1 && after == second + 1;
        pair.seen.forbid(!in_sequence, Phenomenon::LostUpdate);
        pair.leave().await
    }

    pub(super) async fn order_beside_a_rollback(&mut self) -> AcidResult<Seen> {
        let customer = self.customer();
        let mut pair = Pair::open(self).await?;
        let before = pair.fixture.next_order(customer).await?;
        pair.one.run_open(&pair.fixture.invalid_order(customer)).await?;
        pair.seen.saw(format!(
            "T1, New-Order of {customer} with an unused item, stopped before ROLLBACK; d_next_o_id \
             was {before}"
        ));
        let order = pair.fixture.new_order(customer);
        let ran = pair.beside(&order, (None, End::Rollback)).await?;
        let second = order_of(ran.outcome)?;
        pair.seen.saw(format!("T2, New-Order of the same, {} and has order {second}", ran.how()));
        let after = pair.fixture.next_order(customer).await?;
        pair.seen.saw(format!("d_next_o_id is {after}"));
        pair.seen.forbid(second != before, Phenomenon::DirtyRead);
        pair.seen.forbid(after != before + 1, Phenomenon::LostUpdate);
        pair.leave().await
    }

    /// The customer of the oldest open order of a district, and what the order costs; one is made
    /// first, so that there is one.
    async fn open_order(&mut self, one: &mut Actor<C::Session>) -> AcidResult<(CustomerId, Cents)> {
        let any = self.customer();
        one.run(&self.new_order(any)).await?;
        let CustomerId { warehouse: w, district: d, .. } = any;
        let oldest = format!(
            "FROM orders WHERE o_w_id={w} AND o_d_id={d} AND o_id=(SELECT MIN(no_o_id) FROM \
             new_orders WHERE no_w_id={w} AND no_d_id={d})"
        );
        let customer = self.onlooker.number(&format!("SELECT o_c_id {oldest}")).await?;
        let order = self.onlooker.number(&format!("SELECT o_id {oldest}")).await?;
        let cost = format!(
            "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id={w} AND ol_d_id={d} \
             AND ol_o_id={order}"
        );
        let cost = Cents(self.onlooker.cents(&cost).await?);
        let number = small(customer, "the customer of an open order")?;
        Ok((CustomerId { number, ..any }, cost))
    }

    /// Tests 5 and 6: the Delivery ends as `how` says.
    pub(super) async fn pay_beside_a_delivery(&mut self, how: End) -> AcidResult<Seen> {
        let mut pair = Pair::open(self).await?;
        let (customer, cost) = pair.fixture.open_order(&mut pair.one).await?;
        let CustomerId { warehouse: w, district: d, number: c } = customer;
        let balance =
            format!("SELECT c_balance FROM customer WHERE c_w_id={w} AND c_d_id={d} AND c_id={c}");
        let before = pair.fixture.onlooker.cents(&balance).await?;
        pair.one.run_open(&pair.fixture.delivery()).await?;
        pair.seen.saw(format!(
            "T1, Delivery of an order of {customer} for {cost}, stopped before {}; c_balance was \
             {}",
            how.sql(),
            Cents(before)
        ));
        let paid = pair.beside(&payment(customer), (None, how)).await?;
        pair.seen.saw(format!("T2, Payment of {PAID} of the same, {}", paid.how()));
        let after = pair.fixture.onlooker.cents(&balance).await?;
        pair.seen.saw(format!("c_balance is {}", Cents(after)));
        let (delivered, wrong) = match how {
            End::Commit => (cost.0, Phenomenon::LostUpdate),
            End::Rollback => (0, Phenomenon::DirtyRead),
        };
        pair.seen.forbid(after != before + delivered - PAID.0, wrong);
        pair.leave().await
    }
}

/// What test 7 reads: two items, and the prices that they have at first.
struct Priced {
    items: [u32; 2],
    prices: [Cents; 2],
}

impl Priced {
    fn text(&self) -> String {
        format!("{} and {}", self.prices[0], self.prices[1])
    }
}

/// T3 of test 7: raises prices by 10 % and commits.
async fn raise<S: Session>(three: &mut Actor<S>, [first, second]: [u32; 2]) -> AcidResult<()> {
    let sql = format!("UPDATE item SET i_price=i_price*1.1 WHERE i_id IN ({first},{second})");
    three.sql(&sql).await?;
    three.end(End::Commit).await
}

/// The session of the statement that reads an item: T2 of test 7 stops after the first one.
const READS_AN_ITEM: &str = "select_item";

impl<C: Connect> Fixture<'_, C> {
    async fn priced(&mut self, items: [u32; 2]) -> AcidResult<Priced> {
        let mut prices = [Cents(0); 2];
        for (price, item) in prices.iter_mut().zip(items) {
            let sql = format!("SELECT i_price FROM item WHERE i_id={item}");
            *price = Cents(self.onlooker.cents(&sql).await?);
        }
        Ok(Priced { items, prices })
    }

    async fn set_back(&mut self, old: &Priced) -> AcidResult<()> {
        for (item, price) in old.items.into_iter().zip(old.prices) {
            let sql = format!("UPDATE item SET i_price={price} WHERE i_id={item}");
            self.onlooker.change_row(&sql).await?;
        }
        Ok(())
    }

    pub(super) async fn prices_twice(&mut self) -> AcidResult<Seen> {
        let customer = self.customer();
        let [x, y, others @ ..] = self.items();
        let old = self.priced([x, y]).await?;
        let (mut two, mut three) = (self.actor().await?, self.actor().await?);
        let [third, fourth, _] = others;
        let order = NewOrder::of_items(customer, &[x, x, y, third, fourth]);
        let mut result = self.order_beside_a_raise((&mut two, &order), (&mut three, &old)).await;
        match &mut result {
            Ok(seen) => {
                saw_retries(seen, &two);
                self.leave([two, three]).await;
            }
            // Their locks go with them.
            Err(_) => drop((two, three)),
        }
        // Prices are for ever as the load has made them, so also here.
        self.set_back(&old).await?;
        result
    }

    async fn order_beside_a_raise(
        &mut self,
        (two, order): (&mut Actor<C::Session>, &NewOrder),
        (three, old): (&mut Actor<C::Session>, &Priced),
    ) -> AcidResult<Seen> {
        let mut seen = Seen::default();
        let [x, y] = old.items;
        seen.saw(format!("T1 read {} as the prices of items {x} and {y}", old.text()));
        let halt = Rc::clone(&two.halt);
        let connection = three.connection;
        halt.after.set(Some(READS_AN_ITEM));
        let input = Input::NewOrder(*order);
        let mut ordering = pin!(two.run(&input));
        until_halted(&halt, ordering.as_mut()).await?;
        seen.saw(format!("T2, New-Order of items {x}, {x} and {y}, stopped when it had read {x}"));
        let mut raising = pin!(raise(three, old.items));
        let raised = self.onlooker.until_waits(connection, raising.as_mut()).await?;
        let how = match raised {
            Some(_) => "committed at once (case D)",
            None => "waits for T2 (case A)",
        };
        seen.saw(format!("T3, which raises both prices by 10 %, {how}"));
        halt.halted.set(false);
        let ordered = ordering.await?;
        match raised {
            Some(raised) => raised?,
            None => raising.await?,
        }
        let ordered = order_of(ordered)?;
        let NewOrder { warehouse, district, .. } = order;
        let lines = format!(
            "SELECT ol_amount FROM order_line WHERE ol_w_id={warehouse} AND ol_d_id={district} \
             AND ol_o_id={ordered} AND ol_number<=3 ORDER BY ol_number"
        );
        let amounts = self.onlooker.rows(&lines).await?;
        seen.saw(format!("T2 went on, and its lines cost {}", amounts.join(", ")));
        let wanted = [old.prices[0], old.prices[0], old.prices[1]].map(|price| price.to_string());
        seen.forbid(amounts != wanted, Phenomenon::NonRepeatableRead);
        let new = self.priced(old.items).await?;
        seen.saw(format!("T4 read {}", new.text()));
        seen.forbid(new.prices == old.prices, Phenomenon::LostUpdate);
        Ok(seen)
    }

    /// Delivers all open orders of the district of the warehouse that has fewest, in one
    /// transaction that leaves the database consistent. Returns the district.
    async fn emptied_district(&mut self) -> AcidResult<u32> {
        let w = self.warehouse;
        let fewest = format!(
            "SELECT d_id FROM district LEFT JOIN new_orders ON no_w_id=d_w_id AND no_d_id=d_id \
             WHERE d_w_id={w} GROUP BY d_id ORDER BY COUNT(no_o_id), d_id LIMIT 1"
        );
        let d = self.onlooker.number(&fewest).await?;
        let open = format!("o_w_id={w} AND o_d_id={d} AND o_carrier_id IS NULL");
        let lines = "ol_w_id=o_w_id AND ol_d_id=o_d_id AND ol_o_id=o_id";
        let statements = [
            format!(
                "UPDATE customer JOIN (SELECT o_c_id, COUNT(DISTINCT o_id) AS orders, \
                 SUM(ol_amount) AS cost FROM orders JOIN order_line ON {lines} WHERE {open} \
                 GROUP BY o_c_id) o ON c_id=o_c_id \
                 SET c_balance=c_balance+cost, c_delivery_cnt=c_delivery_cnt+orders \
                 WHERE c_w_id={w} AND c_d_id={d}"
            ),
            format!(
                "UPDATE order_line JOIN orders ON {lines} SET ol_delivery_d=NOW() WHERE {open}"
            ),
            format!("UPDATE orders SET o_carrier_id=7 WHERE {open}"),
            format!("DELETE FROM new_orders WHERE no_w_id={w} AND no_d_id={d}"),
        ];
        self.onlooker.change(&statements).await?;
        small(d, "a district")
    }

    pub(super) async fn open_orders_twice(&mut self) -> AcidResult<Seen> {
        let district = self.emptied_district().await?;
        let mut pair = Pair::open(self).await?;
        let warehouse = pair.fixture.warehouse;
        pair.one.run_open(&pair.fixture.delivery()).await?;
        let sql = filled(OLDEST_OPEN_ORDER, &[warehouse, district]);
        let first = pair.one.read(&sql).await?;
        pair.seen.saw(format!(
            "T1, Delivery for warehouse {warehouse}, stopped before COMMIT and found {} in \
             district {district}",
            found(first)
        ));
        let customer = pair.fixture.customer_of(district);
        pair.read_again((&sql, first), (customer, &customer.to_string())).await
    }

    pub(super) async fn last_order_twice(&mut self) -> AcidResult<Seen> {
        let customer = self.customer();
        let mut pair = Pair::open(self).await?;
        let first = order_of(pair.one.run_open(&order_status(customer)).await?)?;
        pair.seen.saw(format!(
            "T1, Order-Status of {customer}, stopped before COMMIT and found order {first}"
        ));
        let CustomerId { warehouse, district, number } = customer;
        let sql = filled(LAST_ORDER, &[warehouse, district, number]);
        pair.read_again((&sql, Some(first.into())), (customer, "the same")).await
    }
}

fn found(order: Option<i64>) -> String {
    order.map_or_else(|| "no open order".to_owned(), |order| format!("order {order}"))
}
