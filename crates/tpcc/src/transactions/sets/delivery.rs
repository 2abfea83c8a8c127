//! Delivery (clause 2.7), all ten districts in one database transaction and four round trips.

use super::Sets;
use crate::input::Delivery;
use crate::schema::DISTRICTS;
use crate::transactions::rules::{ByDistrict, oldest_orders};
use crate::transactions::{Outcome, TransactionError, commit};
use base::{Answer, Cents, Param, Session};

const DISTRICT_COUNT: usize = DISTRICTS as usize;
/// Parameters that name a pair for each district.
const PAIRS: usize = 2 * DISTRICT_COUNT;

/// District and value, for each district; a district without value has one that matches nothing.
fn pairs<'a>(values: &ByDistrict<i64>) -> [Param<'a>; PAIRS] {
    let mut params = [Param::Int(0); PAIRS];
    for ((pair, value), district) in params.chunks_exact_mut(2).zip(values).zip(1..) {
        pair.copy_from_slice(&[Param::Int(district), Param::Int(value.unwrap_or(0))]);
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

impl Sets {
    pub(in crate::transactions) async fn delivery<S: Session>(
        &self,
        session: &mut S,
        delivery: &Delivery,
    ) -> Result<Outcome, TransactionError> {
        let oldest = self.statements.lock_oldest_order;
        let orders = oldest_orders(session, oldest, delivery.warehouse).await?;
        let delivered = orders.iter().flatten().count();
        if delivered > 0 {
            self.deliver(session, delivery, &orders, delivered as u64).await?;
        }
        commit(session).await?;
        let skipped_districts = DISTRICTS - delivered as u32;
        Ok(Outcome::Delivered { skipped_districts })
    }

    async fn deliver<S: Session>(
        &self,
        session: &mut S,
        delivery: &Delivery,
        orders: &ByDistrict<i64>,
        delivered: u64,
    ) -> Result<(), TransactionError> {
        let w = Param::from(delivery.warehouse);
        let orders = pairs(orders);
        let key: [_; PAIRS + 1] = concat(&[w], &orders);
        let carriers: [_; PAIRS + 2] = concat(&[delivery.carrier.into(), w], &orders);
        let dates: [_; PAIRS + 2] = concat(&[Param::Time(delivery.delivered), w], &orders);
        session.queue(self.statements.delete_new_orders, &key)?;
        session.queue(self.statements.lock_orders, &key)?;
        session.queue(self.statements.update_carriers, &carriers)?;
        session.queue(self.statements.update_order_lines, &dates)?;
        session.queue(self.statements.select_amounts, &key)?;
        all_rows(&session.answer().await?, delivered, "the open orders")?;
        let owners = by_district(&session.answer().await?, 0)?;
        all_rows(&session.answer().await?, delivered, "the delivered orders")?;
        if session.answer().await?.affected_rows < delivered {
            return Err(TransactionError::MissingRow("the lines of the delivered orders"));
        }
        let amounts = by_district(&session.answer().await?, 2)?;
        let known = |values: &ByDistrict<i64>| values.iter().flatten().count() as u64;
        if known(&owners) != delivered || known(&amounts) != delivered {
            return Err(TransactionError::MissingRow("the delivered orders and their lines"));
        }
        self.credit(session, w, &amounts, &owners)?;
        let what = "the customers of the delivered orders";
        all_rows(&session.answer().await?, delivered, what)
    }

    fn credit<'a, S: Session>(
        &self,
        session: &mut S,
        warehouse: Param<'a>,
        amounts: &ByDistrict<i64>,
        owners: &ByDistrict<i64>,
    ) -> Result<(), TransactionError> {
        let mut credits = pairs(amounts);
        for amount in credits.iter_mut().skip(1).step_by(2) {
            if let Param::Int(cents) = *amount {
                *amount = Param::Cents(Cents(cents));
            }
        }
        let rest: [_; PAIRS + 1] = concat(&[warehouse], &pairs(owners));
        let params: [_; 2 * PAIRS + 1] = concat(&credits, &rest);
        session.queue(self.statements.update_balances, &params)?;
        Ok(())
    }
}

fn all_rows(
    answer: &Answer<'_>,
    expected: u64,
    what: &'static str,
) -> Result<(), TransactionError> {
    match answer.affected_rows == expected {
        true => Ok(()),
        false => Err(TransactionError::MissingRow(what)),
    }
}

/// Reads rows of a district and a number of `scale` decimals.
fn by_district(answer: &Answer<'_>, scale: u32) -> Result<ByDistrict<i64>, TransactionError> {
    let mut values = [None; DISTRICT_COUNT];
    for row in answer.rows() {
        let index = usize::try_from(row.int(0)? - 1).ok();
        let place = index.and_then(|index| values.get_mut(index));
        *place.ok_or(TransactionError::MissingRow("a district from 1 to 10"))? =
            Some(row.decimal(1, scale)?);
    }
    Ok(values)
}
