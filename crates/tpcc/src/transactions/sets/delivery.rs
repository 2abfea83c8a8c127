//! Delivery (clause 2.7), all ten districts in one database transaction and four round trips.

use super::Sets;
use crate::input::Delivery;
use crate::schema::DISTRICTS;
use crate::transactions::on_session::OnSession;
use crate::transactions::outcome::{Outcome, StepResult, TransactionError};
use crate::transactions::rules::{ByDistrict, oldest_orders, require};
use base::{Answer, Cents, Param, Session};

const DISTRICT_COUNT: usize = DISTRICTS as usize;
/// Parameters that name a pair for each district.
const PAIRS: usize = 2 * DISTRICT_COUNT;

/// District and value, for each district; a district without value has one that matches nothing.
fn pairs<'a>(values: &ByDistrict<i64>, param: fn(i64) -> Param<'a>) -> [Param<'a>; PAIRS] {
    let mut params = [Param::Int(0); PAIRS];
    for ((pair, value), district) in params.chunks_exact_mut(2).zip(values).zip(1..) {
        pair.copy_from_slice(&[Param::Int(district), param(value.unwrap_or(0))]);
    }
    params
}

/// `first` and then `rest`.
fn concat<'a, const N: usize>(first: &[Param<'a>], rest: &[Param<'a>]) -> [Param<'a>; N] {
    let mut all = [Param::Null; N];
    for (place, param) in all.iter_mut().zip(first.iter().chain(rest)) {
        *place = *param;
    }
    all
}

impl<S: Session> OnSession<'_, S, Sets> {
    pub(crate) async fn delivery(&mut self, delivery: &Delivery) -> StepResult<Outcome> {
        let oldest = self.set.statements.lock_oldest_order;
        let orders = oldest_orders(self.session, oldest, delivery.warehouse).await?;
        let delivered = orders.iter().flatten().count();
        if delivered > 0 {
            self.deliver(delivery, &orders, delivered as u64).await?;
        }
        let skipped_districts = DISTRICTS - delivered as u32;
        self.end(Outcome::Delivered { skipped_districts }).await
    }

    async fn deliver(
        &mut self,
        delivery: &Delivery,
        orders: &ByDistrict<i64>,
        delivered: u64,
    ) -> StepResult {
        let w = Param::from(delivery.warehouse);
        let orders = pairs(orders, Param::Int);
        let key: [_; PAIRS + 1] = concat(&[w], &orders);
        let carriers: [_; PAIRS + 2] = concat(&[delivery.carrier.into(), w], &orders);
        let dates: [_; PAIRS + 2] = concat(&[Param::Time(delivery.delivered), w], &orders);
        self.ask(self.set.statements.delete_new_orders, &key)?;
        self.ask(self.set.statements.lock_orders, &key)?;
        self.ask(self.set.statements.update_carriers, &carriers)?;
        self.ask(self.set.statements.update_order_lines, &dates)?;
        self.ask(self.set.statements.select_amounts, &key)?;
        self.changed_rows(delivered, "the open orders").await?;
        let owners = by_district(&self.session.answer().await?, 0)?;
        self.changed_rows(delivered, "the delivered orders").await?;
        let lines = self.session.answer().await?.affected_rows;
        require(lines >= delivered, "the lines of the delivered orders")?;
        let amounts = by_district(&self.session.answer().await?, 2)?;
        let known = |values: &ByDistrict<i64>| values.iter().flatten().count() as u64;
        let all_known = known(&owners) == delivered && known(&amounts) == delivered;
        require(all_known, "the delivered orders and their lines")?;
        self.credit(w, &amounts, &owners)?;
        self.changed_rows(delivered, "the customers of the delivered orders").await
    }

    fn credit(
        &mut self,
        warehouse: Param<'_>,
        amounts: &ByDistrict<i64>,
        owners: &ByDistrict<i64>,
    ) -> StepResult {
        let credits = pairs(amounts, |cents| Param::Cents(Cents(cents)));
        let rest: [_; PAIRS + 1] = concat(&[warehouse], &pairs(owners, Param::Int));
        let params: [_; 2 * PAIRS + 1] = concat(&credits, &rest);
        self.ask(self.set.statements.update_balances, &params)
    }
}

/// Reads rows of a district and a number of `scale` decimals.
fn by_district(answer: &Answer<'_>, scale: u32) -> StepResult<ByDistrict<i64>> {
    let mut values = [None; DISTRICT_COUNT];
    for row in answer.rows() {
        let index = usize::try_from(row.int(0)? - 1).ok();
        let place = index.and_then(|index| values.get_mut(index));
        *place.ok_or(TransactionError::MissingRow("a district from 1 to 10"))? =
            Some(row.decimal(1, scale)?);
    }
    Ok(values)
}
