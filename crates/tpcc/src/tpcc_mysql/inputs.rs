//! Inputs as tpcc-mysql draws them.
//!
//! A random warehouse for every transaction of every connection, a random district for Stock-Level too, a deck of 23
//! cards and nothing bound to a terminal: so does [`crate::InputSource`] without a home. What differs is the amount of
//! a Payment.

use crate::input::{Input, InputSource, Transaction};
use crate::random::RunConstants;
use base::{Cents, Random, Warehouses};

/// Draws the inputs of one connection.
#[derive(Clone, Debug)]
pub struct Inputs {
    source: InputSource,
    /// A stream of its own, so that the other inputs are those of workload `tpcc` with the same seed.
    amounts: Random,
}

impl Inputs {
    /// Inputs over `warehouses` warehouses. `random` and `amounts` are the connection's own streams; `constants` are
    /// the same for all connections of a run, which they are not in tpcc-mysql.
    #[must_use]
    pub fn new(
        random: Random,
        amounts: Random,
        constants: RunConstants,
        warehouses: Warehouses,
    ) -> Inputs {
        Inputs {
            source: InputSource::new(random, constants, warehouses, None),
            amounts,
        }
    }

    /// The type of the next transaction.
    pub fn deal(&mut self) -> Transaction {
        self.source.deal()
    }

    /// Fresh input for a transaction of this type.
    pub fn input_of(&mut self, transaction: Transaction) -> Input {
        match self.source.input_of(transaction) {
            Input::Payment(mut payment) => {
                let units = self.amounts.between(1, 5_000);
                payment.amount = Cents(i64::from(units) * 100);
                Input::Payment(payment)
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn amounts_are_whole_and_nothing_is_bound() {
        let constants = RunConstants::for_run(None, 1);
        let random = |stream| Random::new(3, &[stream]);
        let mut inputs = Inputs::new(random(1), random(2), constants, Warehouses(3));
        let mut amounts = BTreeSet::new();
        let mut places = BTreeSet::new();
        for _ in 0..200_000 {
            let transaction = inputs.deal();
            match inputs.input_of(transaction) {
                Input::Payment(payment) => {
                    assert_eq!(payment.amount.0 % 100, 0);
                    amounts.insert(payment.amount.0 / 100);
                }
                Input::StockLevel(level) => {
                    places.insert((level.warehouse, level.district));
                }
                _ => {}
            }
        }
        assert_eq!(amounts.first(), Some(&1));
        assert_eq!(amounts.last(), Some(&5_000));
        assert_eq!(places.len(), 30, "every district of every warehouse");
    }
}
