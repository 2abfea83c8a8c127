//! What survived the end of a repeat's server.

use crate::ids::RepeatId;
use crate::results::Durable;
use crate::row::{Keys, insert, row};
use crate::{Results, StoreError};

row! {
    /// The end of a repeat's server by a fault, and what came of it.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct StoredDrill {
        /// As `--fault` names it: `power-cut`, `io-error:redo`.
        pub fault: String,
        /// What the server did of a fault of its devices: `kept running`, `stopped` or `hung`;
        /// NULL where the fault was its end.
        pub reaction: Option<String>,
        /// Transactions that clients gave up.
        pub client_errors: Option<u64>,
        /// What its error log said until it was ended; NULL where nothing.
        pub said: Option<String>,
        /// Time from the start of the server until it took connections; NULL where it did not.
        pub recovery_ns: Option<u64>,
        /// What is damaged: why the server did not recover or could not read its data, which
        /// tables are corrupt, which checks do not hold; NULL where nothing is.
        pub damage: Option<String>,
        /// From the first acknowledgement of what was lost to the last of all; NULL where the
        /// database could not be asked.
        pub lost_span_ns: Option<u64>,
        /// Writes that the devices had not promised to keep; NULL where no power was cut.
        pub unstable_writes: Option<u64>,
        /// Of these, writes of which nothing is kept.
        pub lost_writes: Option<u64>,
        /// Of these, writes of which a part is kept.
        pub torn_writes: Option<u64>,
        /// Changes of names and lengths of files that are lost.
        pub lost_names: Option<u64>,
        /// Writes that count as kept because what they replaced was no longer known.
        pub forced_writes: Option<u64>,
        /// Pages of tablespaces that were not whole before the recovery, by their own checksums.
        pub torn_pages: Option<u64>,
        /// The same at the end: after a shutdown in good order, or as a server that did not recover
        /// left them; NULL where it did not shut down.
        pub corrupt_pages: Option<u64>,
    }
}

row! {
    /// Transactions of a drill, in rows.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct StoredWitness {
        /// `new_order`, `payment` or `delivered_orders`.
        pub name: String,
        /// Rows of transactions that the server acknowledged.
        pub acknowledged: u64,
        /// Rows of transactions whose connection was lost while they were committed.
        pub in_doubt: u64,
        /// Acknowledged, and not there after the recovery.
        pub lost: u64,
        /// There, and neither acknowledged nor in doubt.
        pub unexplained: u64,
    }
}

impl Results {
    /// Stores the drill of a repeat, and what was held against the database; none where it could
    /// not be asked.
    pub fn record_drill(
        &self,
        repeat: RepeatId,
        drill: &StoredDrill,
        witnessed: &[StoredWitness],
    ) -> Result<(), StoreError> {
        self.step(Durable::Written, |transaction| {
            insert(transaction, "INSERT INTO drill", &[("repeat_id", &repeat)], drill)?;
            for (ordinal, of_kind) in (1_u32..).zip(witnessed) {
                let key: Keys<'_> = &[("repeat_id", &repeat), ("ordinal", &ordinal)];
                insert(transaction, "INSERT INTO drill_witness", key, of_kind)?;
            }
            Ok(())
        })
    }

    /// The drill of a repeat, where it was one.
    pub fn drill(&self, repeat: RepeatId) -> Result<Option<StoredDrill>, StoreError> {
        let found = self.rows("SELECT * FROM drill WHERE repeat_id = ?1", [repeat])?;
        Ok(found.into_iter().next())
    }

    /// What was held against the database of a drill, in order.
    pub fn witnessed(&self, repeat: RepeatId) -> Result<Vec<StoredWitness>, StoreError> {
        self.rows("SELECT * FROM drill_witness WHERE repeat_id = ?1 ORDER BY ordinal", [repeat])
    }
}
