//! C10, X1 and X4 where several shards have the rows that they compare: a customer's history is
//! where the payment was entered, and the lines that took from a stock where the order was.
//!
//! `screens` finds the warehouses of which sums over all shards differ. Here their rows are named:
//! what a row holds is compared with what all shards have entered for its key, one warehouse at a
//! time.

use crate::shards::ShardSession;
use base::limits::OFFENDING_ROWS_MAX;
use base::{Cents, Session, SessionResult};
use std::collections::BTreeMap;

/// A value of a row and what it has to be, for people.
#[derive(Debug, PartialEq, Eq)]
struct ComparedValue {
    held: &'static str,
    entered: &'static str,
    /// In hundredths.
    is_money: bool,
}

/// What a check compares of which the sides may lie on several shards: statements of one warehouse
/// `{w}`, which give a key of so many columns and then the values.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Comparison {
    keys: &'static [&'static str],
    values: &'static [ComparedValue],
    /// On the shard of the warehouse: what its rows hold.
    held: &'static str,
    /// On the shard of the warehouse: a part of what they have to.
    of_home: Option<&'static str>,
    /// On each shard: the other part.
    of_each: &'static str,
}

const fn count(held: &'static str, entered: &'static str) -> ComparedValue {
    ComparedValue { held, entered, is_money: false }
}

const fn money(held: &'static str, entered: &'static str) -> ComparedValue {
    ComparedValue { held, entered, is_money: true }
}

/// Balances of customers with what they bought and paid.
pub(super) const BALANCES: &Comparison = &Comparison {
    keys: &["d_id", "c_id"],
    values: &[money("c_balance", "sum(ol_amount) - sum(h_amount)")],
    held: "SELECT c_d_id, c_id, CAST(c_balance*100 AS SIGNED) AS balance FROM customer \
           WHERE c_w_id={w}",
    of_home: Some(
        "SELECT STRAIGHT_JOIN o.o_d_id, o.o_c_id, CAST(SUM(l.ol_amount)*100 AS SIGNED) AS a \
         FROM orders o JOIN order_line l ON l.ol_w_id=o.o_w_id AND l.ol_d_id=o.o_d_id \
         AND l.ol_o_id=o.o_id WHERE o.o_w_id={w} AND l.ol_delivery_d IS NOT NULL \
         GROUP BY o.o_d_id, o.o_c_id",
    ),
    of_each: "SELECT h_c_d_id, h_c_id, CAST(SUM(h_amount)*-100 AS SIGNED) AS a FROM history \
              WHERE h_c_w_id={w} GROUP BY h_c_d_id, h_c_id",
};

/// Stock with what lines took from it.
pub(super) const STOCK: &Comparison = &Comparison {
    keys: &["i_id"],
    values: &[
        count("s_ytd", "sum(ol_quantity)"),
        count("s_order_cnt", "lines"),
        count("s_remote_cnt", "remote lines"),
    ],
    held: "SELECT s_i_id, s_ytd, s_order_cnt, s_remote_cnt FROM stock WHERE s_w_id={w}",
    of_home: None,
    of_each: "SELECT ol_i_id, SUM(ol_quantity) AS a, COUNT(*) AS b, SUM(ol_w_id<>{w}) AS c \
              FROM order_line WHERE ol_supply_w_id={w} AND ol_o_id>3000 GROUP BY ol_i_id",
};

/// Counts and sums of customers' payments with the history.
pub(super) const PAYMENTS: &Comparison = &Comparison {
    keys: &["d_id", "c_id"],
    values: &[count("c_payment_cnt", "payments"), money("c_ytd_payment", "sum(h_amount)")],
    held: "SELECT c_d_id, c_id, c_payment_cnt, CAST(c_ytd_payment*100 AS SIGNED) AS paid \
           FROM customer WHERE c_w_id={w}",
    of_home: None,
    of_each: "SELECT h_c_d_id, h_c_id, COUNT(*) AS n, \
              CAST(SUM(h_amount)*100 AS SIGNED) AS paid FROM history \
              WHERE h_c_w_id={w} GROUP BY h_c_d_id, h_c_id",
};

const KEYS_MAX: usize = 2;
const VALUES_MAX: usize = 3;

/// What a row holds and what was entered for it.
#[derive(Clone, Copy, Default)]
struct Sides {
    held: [i64; VALUES_MAX],
    entered: [i64; VALUES_MAX],
}

type Rows = BTreeMap<[i64; KEYS_MAX], Sides>;

/// What offends in one warehouse.
#[derive(Default)]
pub(super) struct Offending {
    pub(super) rows: u64,
    pub(super) examples: Vec<String>,
}

impl Offending {
    /// Adds rows, and as many of their examples as there is room for.
    pub(super) fn add(&mut self, rows: u64, examples: impl IntoIterator<Item = String>) {
        self.rows += rows;
        let room = OFFENDING_ROWS_MAX.saturating_sub(self.examples.len());
        self.examples.extend(examples.into_iter().take(room));
    }
}

impl Comparison {
    /// Compares the rows of a warehouse that the shard `home` has.
    pub(super) async fn compare<S: Session>(
        &self,
        parts: &mut [ShardSession<'_, S>],
        home: usize,
        warehouse: u32,
    ) -> SessionResult<Offending> {
        let mut rows = Rows::new();
        let session = &mut *parts[home].session;
        self.read(session, self.held, warehouse, &mut rows, |sides| &mut sides.held).await?;
        if let Some(sql) = self.of_home {
            self.read(session, sql, warehouse, &mut rows, |sides| &mut sides.entered).await?;
        }
        for part in parts.iter_mut() {
            let (session, sql) = (&mut *part.session, self.of_each);
            self.read(session, sql, warehouse, &mut rows, |sides| &mut sides.entered).await?;
        }
        let mut offending = Offending::default();
        for (key, sides) in rows.iter().filter(|(_, sides)| sides.held != sides.entered) {
            offending.add(1, std::iter::once_with(|| self.example(warehouse, key, sides)));
        }
        Ok(offending)
    }

    async fn read<S: Session>(
        &self,
        session: &mut S,
        sql: &str,
        warehouse: u32,
        rows: &mut Rows,
        side: impl Fn(&mut Sides) -> &mut [i64; VALUES_MAX],
    ) -> SessionResult<()> {
        let answer = session.query(&sql.replace("{w}", &warehouse.to_string())).await?;
        for row in answer.rows() {
            let mut key = [0; KEYS_MAX];
            for (at, part) in key.iter_mut().enumerate().take(self.keys.len()) {
                *part = row.int(at)?;
            }
            let sums = side(rows.entry(key).or_default());
            for (at, sum) in sums.iter_mut().enumerate().take(self.values.len()) {
                *sum += row.int(self.keys.len() + at)?;
            }
        }
        Ok(())
    }

    /// A row as text, each value behind its name.
    fn example(&self, warehouse: u32, key: &[i64; KEYS_MAX], sides: &Sides) -> String {
        let mut parts = vec![format!("w_id {warehouse}")];
        parts.extend(self.keys.iter().zip(key).map(|(name, value)| format!("{name} {value}")));
        for (at, of) in self.values.iter().enumerate() {
            for (name, value) in [(of.held, sides.held[at]), (of.entered, sides.entered[at])] {
                parts.push(match of.is_money {
                    true => format!("{name} {}", Cents(value)),
                    false => format!("{name} {value}"),
                });
            }
        }
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::{BALANCES, KEYS_MAX, PAYMENTS, STOCK, Sides, VALUES_MAX};

    #[test]
    fn each_statement_gives_keys_and_values() {
        for of in [BALANCES, STOCK, PAYMENTS] {
            assert!(of.keys.len() <= KEYS_MAX && of.values.len() <= VALUES_MAX);
            for sql in [Some(of.held), of.of_home, Some(of.of_each)].into_iter().flatten() {
                assert!(sql.contains("{w}") && !sql.contains("  "), "{sql}");
                let list = sql.split(" FROM ").next().unwrap();
                assert_eq!(
                    list.matches(',').count() + 1,
                    of.keys.len() + of.values.len(),
                    "{list}"
                );
            }
        }
    }

    #[test]
    fn what_offends_is_named() {
        let sides = Sides { held: [3, 150, 0], entered: [2, -50, 0] };
        assert_eq!(
            PAYMENTS.example(7, &[1, 42], &sides),
            "w_id 7, d_id 1, c_id 42, c_payment_cnt 3, payments 2, c_ytd_payment 1.50, \
             sum(h_amount) -0.50"
        );
        assert!(STOCK.example(7, &[9, 0], &sides).starts_with("w_id 7, i_id 9, s_ytd 3, "));
        assert!(BALANCES.example(1, &[1, 2], &sides).contains("c_balance 0.03"));
    }
}
