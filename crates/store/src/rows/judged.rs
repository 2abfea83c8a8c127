//! What is judged: inputs and requirements of the standard, checks; and failed tries.

use crate::row::{Nested, Redacted, row};
use crate::values::{LabId, LoadId, RepeatId, word};
use std::ops::RangeInclusive;

word!(
    /// What the value of an input counter is.
    CounterUnit {
        /// hits / trials, 0..=1.
        Share = "share",
        /// hits / trials, any size (lines per order).
        Average = "average",
    }
);

word!(
    /// What the value of a requirement is.
    RequirementUnit {
        Seconds = "s",
        /// 0..=1.
        Share = "share",
        Average = "average",
        /// New orders per minute and warehouse.
        NopmPerWarehouse = "nopm_per_warehouse",
    }
);

word!(
    /// What an input counter says of the run.
    Verdict {
        /// In the band that the clause allows.
        Within = "within",
        /// Outside the band, but a right generator gives such a value in a run as short as this.
        Chance = "chance",
        /// Outside both.
        Outside = "outside",
        /// Nothing was counted.
        NoData = "no_data",
    }
);

row! {
    /// Failed tries of one transaction type by error, over the whole run.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StoredFailure in "failure" by "occurrences DESC, transaction_type, error_code" {
        pub transaction: String = "transaction_type",
        /// The server's number (`1213`), or `lost` for a lost connection.
        pub error_code: String,
        pub occurrences: u64,
        pub first_message: String as Redacted,
    }

    /// A clause-5 counter of the inputs that were generated, with the band that the clause allows.
    #[derive(Clone, Debug, PartialEq)]
    pub struct InputCounter in "input_counter" by "ordinal" {
        /// The name, for programs.
        pub name: String,
        /// The title, for people: `remote order lines`.
        pub title: String,
        /// `share` (0 to 1) or `average`.
        pub unit: CounterUnit,
        pub hits: u64,
        pub trials: u64,
        /// Hits / trials; `None` where there were no trials.
        pub value: Option<f64>,
        /// The band that the clause allows; `None` is open.
        pub allowed: StoredBand as Nested,
        /// Where a right generator lands with 99.9 % probability in a run of so many trials.
        pub chance: StoredBand as Nested,
        /// `within` the allowed band, `chance` (outside it, and the run is too short to tell),
        /// `outside` both, `no_data`.
        pub verdict: Verdict,
    }

    /// A requirement of the standard, with what came of it.
    #[derive(Clone, Debug, PartialEq)]
    pub struct StoredRequirement in "verdict" by "ordinal" {
        /// The name, for programs.
        pub name: String,
        /// The title, for people.
        pub title: String,
        /// The clause of TPC-C.
        pub clause: String,
        /// `s`, `share` (0 to 1), `average` or `nopm_per_warehouse`.
        pub unit: RequirementUnit,
        /// `None` where nothing of the kind ended in the window.
        pub value: Option<f64>,
        /// What the clause allows; `None` is open.
        pub allowed: StoredBand as Nested,
        /// Where a right run of this length lands with 99.9 % probability.
        pub chance: StoredBand as Nested,
        /// As in `input_counter`.
        pub verdict: Verdict,
    }

    /// A range; a missing end is open.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct StoredBand {
        pub low: Option<f64>,
        pub high: Option<f64>,
    }

    /// One consistency condition or invariant, tried.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct StoredCheck in "check_result" by "id" {
        /// The name, for programs.
        pub name: String,
        /// The title, for people.
        pub title: String,
        /// The clause of TPC-C, or of mydyno's METHODOLOGY.
        pub clause: String,
        pub passed: bool,
        pub offending_rows: u64,
        /// A JSON array of a few offending rows.
        pub examples_json: String,
        pub duration_ns: u64,
    }
}

impl StoredRequirement {
    /// Is it met, as far as a run of this length can tell? `None` where there was nothing to judge.
    pub fn passed(&self) -> Option<bool> {
        match self.verdict {
            Verdict::NoData => None,
            Verdict::Within | Verdict::Chance => Some(true),
            Verdict::Outside => Some(false),
        }
    }
}

impl StoredBand {
    /// Open on neither side.
    pub fn between(range: RangeInclusive<f64>) -> StoredBand {
        let (low, high) = range.into_inner();
        StoredBand { low: Some(low), high: Some(high) }
    }

    /// Does `value` lie inside?
    pub fn contains(self, value: f64) -> bool {
        self.low.is_none_or(|low| value >= low) && self.high.is_none_or(|high| value <= high)
    }
}

impl Verdict {
    /// The verdict on a counter's value.
    pub fn of(value: Option<f64>, allowed: StoredBand, chance: StoredBand) -> Verdict {
        match value {
            None => Verdict::NoData,
            Some(value) if allowed.contains(value) => Verdict::Within,
            Some(value) if chance.contains(value) => Verdict::Chance,
            Some(_) => Verdict::Outside,
        }
    }
}
