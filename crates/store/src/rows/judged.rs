//! What is judged: inputs and requirements of the standard, checks; and failed tries.

use crate::document::seconds;
use crate::row::{Json, Nested, Redacted, row};
use crate::values::word;
use serde::Serialize;
use std::ops::RangeInclusive;

word!(
    /// What a judged number is.
    JudgedUnit {
        Seconds = "s",
        /// 0..=1.
        Share = "share",
        /// Any size: lines per order.
        Average = "average",
        /// New orders per minute and warehouse.
        NopmPerWarehouse = "nopm_per_warehouse",
    }
);

word!(
    /// What a judged number says of the run.
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
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct StoredFailure in "failure" by "occurrences DESC, transaction_type, error_code" {
        /// The type of transactions.
        pub transaction: String = "transaction_type",
        /// The server's number as text (`1213`), or `lost`, `lost_in_commit`, `unexpected_answer`,
        /// `missing_row` (1644 from a stored procedure), `connect`, `queue_full` or `never_begun`.
        #[serde(rename = "code")]
        pub error_code: String,
        /// Failed tries.
        #[serde(rename = "count")]
        pub occurrences: u64,
        /// The words of the first.
        pub first_message: String as Redacted,
    }

    /// A number of a run, and what it is to be.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct JudgedNumber {
        /// `s`, `share` (0 to 1), `average` or `nopm_per_warehouse`.
        pub unit: JudgedUnit,
        /// `None` where nothing was counted, or nothing of the kind ended in the window.
        pub value: Option<f64>,
        /// The band that the clause allows; `None` is open.
        pub allowed_low: Option<f64>,
        pub allowed_high: Option<f64>,
        /// Where a right run of this length, or a right generator, lands with 99.9 % probability.
        pub chance_low: Option<f64>,
        pub chance_high: Option<f64>,
        /// `within` the allowed band, `chance` (outside it, and the run is too short to tell),
        /// `outside` both, `no_data`.
        pub verdict: Verdict,
        /// True for `within` and `chance`, false for `outside`, `None` where there is no value.
        pub passed: Option<bool>,
    }

    /// A clause-5 counter of the inputs that were generated, with the band that the clause allows.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct InputCounter in "input_counter" by "ordinal" {
        /// The name, for programs.
        pub name: String,
        /// The title, for people: `remote order lines`.
        pub title: String,
        /// What was counted, and of how many; the value is the first by the second.
        pub hits: u64,
        pub trials: u64,
        #[serde(flatten)]
        pub judged: JudgedNumber as Nested = "",
    }

    /// A requirement of the standard, with what came of it.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct StoredRequirement in "verdict" by "ordinal" {
        /// The name, for programs.
        pub name: String,
        /// The title, for people.
        pub title: String,
        /// The clause of TPC-C.
        pub clause: String,
        #[serde(flatten)]
        pub judged: JudgedNumber as Nested = "",
    }

    /// One consistency condition or invariant, tried.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub struct StoredCheck in "check_result" by "id" {
        /// The name, for programs.
        pub name: String,
        /// The title, for people.
        pub title: String,
        /// The clause of TPC-C, or of mydyno's METHODOLOGY.
        pub clause: String,
        /// Whether it holds.
        pub passed: bool,
        /// Rows that say that it does not; a check may count some of them as one.
        pub offending_rows: u64,
        /// A few of them, as a JSON array of texts.
        pub examples: Vec<String> as Json = "examples_json",
        /// Time of its statements; a scan that serves several checks counts equally for each.
        #[serde(rename = "duration_s", serialize_with = "seconds")]
        pub duration_ns: u64,
    }
}

/// A range; a missing end is open.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StoredBand {
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl StoredBand {
    /// Open on neither side.
    pub fn between(range: RangeInclusive<f64>) -> StoredBand {
        let (low, high) = range.into_inner();
        StoredBand { low: Some(low), high: Some(high) }
    }

    /// Is it in the band?
    pub fn contains(self, value: f64) -> bool {
        self.low.is_none_or(|low| value >= low) && self.high.is_none_or(|high| value <= high)
    }

    /// In words; empty where it is open on both sides.
    pub fn words(self, show: impl Fn(f64) -> String) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{} to {}", show(low), show(high)),
            (None, Some(high)) => format!("up to {}", show(high)),
            (Some(low), None) => format!("from {}", show(low)),
            (None, None) => String::new(),
        }
    }
}

impl StoredCheck {
    /// The examples as a JSON array.
    pub fn examples_json(&self) -> String {
        serde_json::Value::from(self.examples.as_slice()).to_string()
    }
}

impl JudgedNumber {
    /// Judges a value by what is allowed, and by what chance gives in a run as short as this.
    pub fn of(
        unit: JudgedUnit,
        value: Option<f64>,
        allowed: StoredBand,
        chance: StoredBand,
    ) -> JudgedNumber {
        let verdict = match value {
            None => Verdict::NoData,
            Some(value) if allowed.contains(value) => Verdict::Within,
            Some(value) if chance.contains(value) => Verdict::Chance,
            Some(_) => Verdict::Outside,
        };
        JudgedNumber {
            unit,
            value,
            allowed_low: allowed.low,
            allowed_high: allowed.high,
            chance_low: chance.low,
            chance_high: chance.high,
            verdict,
            passed: value.map(|_| verdict != Verdict::Outside),
        }
    }

    /// The band that the clause allows.
    pub fn allowed(&self) -> StoredBand {
        StoredBand { low: self.allowed_low, high: self.allowed_high }
    }

    /// Where chance lands.
    pub fn chance(&self) -> StoredBand {
        StoredBand { low: self.chance_low, high: self.chance_high }
    }
}
