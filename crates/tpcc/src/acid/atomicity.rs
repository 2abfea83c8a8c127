//! Clause 3.2.2: a Payment happens as a whole, or not at all.

use super::actor::End;
use super::finding::{AcidResult, Phenomenon, Seen};
use super::fixture::{Fixture, PAID, payment};
use crate::CustomerId;
use base::{Cents, Connect};

impl<C: Connect> Fixture<'_, C> {
    /// The numbers that a Payment changes, in cents and rows.
    async fn sums(&mut self, customer: CustomerId) -> AcidResult<[i64; 6]> {
        let [warehouse, district, customer, history] = paid_rows(customer);
        let onlooker = &mut self.onlooker;
        Ok([
            onlooker.cents(&format!("SELECT w_ytd {warehouse}")).await?,
            onlooker.cents(&format!("SELECT d_ytd {district}")).await?,
            onlooker.cents(&format!("SELECT c_balance {customer}")).await?,
            onlooker.cents(&format!("SELECT c_ytd_payment {customer}")).await?,
            onlooker.number(&format!("SELECT c_payment_cnt {customer}")).await?,
            onlooker.number(&format!("SELECT COUNT(*) {history}")).await?,
        ])
    }

    /// 3.2.2.1.
    pub(super) async fn committed(&mut self) -> AcidResult<Seen> {
        let customer = self.customer();
        let mut one = self.actor().await?;
        let before = self.sums(customer).await?;
        one.run(&payment(customer)).await?;
        let after = self.sums(customer).await?;
        let mut seen = Seen::default();
        seen.saw(format!("T1 paid {PAID} of {} and committed", customer));
        let rises = [PAID.0, PAID.0, -PAID.0, PAID.0, 1, 1];
        for (index, name) in NAMES.iter().enumerate() {
            let rise = after[index] - before[index];
            seen.saw(match index {
                0..=3 => format!("{name} rose by {}", Cents(rise)),
                _ => format!("{name} rose by {rise}"),
            });
            seen.forbid(rise != rises[index], Phenomenon::Part);
        }
        self.leave([one]).await;
        Ok(seen)
    }

    /// The rows that a Payment changes, as text.
    async fn rows(&mut self, customer: CustomerId) -> AcidResult<Vec<String>> {
        let mut rows = Vec::new();
        for from in paid_rows(customer) {
            rows.extend(self.onlooker.rows(&format!("SELECT * {from}")).await?);
        }
        Ok(rows)
    }

    /// 3.2.2.2.
    pub(super) async fn rolled_back(&mut self) -> AcidResult<Seen> {
        let customer = self.customer();
        let mut one = self.actor().await?;
        let before = self.rows(customer).await?;
        one.run_open(&payment(customer)).await?;
        one.end(End::Rollback).await?;
        let after = self.rows(customer).await?;
        let mut seen = Seen::default();
        seen.saw(format!("T1 paid {PAID} of {}, and ROLLBACK came in place of COMMIT", customer));
        let rows = "rows of warehouse, district, customer and history";
        seen.saw(match before == after {
            true => format!("the {} {rows} are the same", before.len()),
            false => format!("before: {}; after: {}", before.join("; "), after.join("; ")),
        });
        seen.forbid(before != after, Phenomenon::Part);
        self.leave([one]).await;
        Ok(seen)
    }
}

/// Where the rows are that a customer's Payment changes: of warehouse, district, customer and
/// history.
fn paid_rows(customer: CustomerId) -> [String; 4] {
    let CustomerId { warehouse: w, district: d, number: c } = customer;
    [
        format!("FROM warehouse WHERE w_id={w}"),
        format!("FROM district WHERE d_w_id={w} AND d_id={d}"),
        format!("FROM customer WHERE c_w_id={w} AND c_d_id={d} AND c_id={c}"),
        format!("FROM history WHERE h_c_w_id={w} AND h_c_d_id={d} AND h_c_id={c}"),
    ]
}

/// What [`sums`] are called.
const NAMES: [&str; 6] =
    ["w_ytd", "d_ytd", "c_balance", "c_ytd_payment", "c_payment_cnt", "rows of history"];
