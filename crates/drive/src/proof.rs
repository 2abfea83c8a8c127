//! What a workload proves of its database.

use crate::client::Workload;
use crate::run::RunReport;
use base::{Session, SessionError};
use std::future::Future;

/// A workload that can be proven.
pub trait Proof: Workload {
    /// What the rows of a database add up to, read before and after a run.
    ///
    /// # Errors
    /// Where the server refuses.
    fn facts<S: Session>(
        &self,
        session: &mut S,
    ) -> impl Future<Output = Result<Facts, SessionError>>;

    /// Why the facts are not what they have to be after what the driver committed; of several
    /// databases, the sums of their facts.
    fn mismatch(&self, report: &RunReport, before: &Facts, after: &Facts) -> Option<String>;
}

/// Numbers that the rows of a database add up to. Only the workload knows what each means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts(pub Vec<i64>);

impl Facts {
    /// Adds those of another database.
    pub fn add(&mut self, other: &Facts) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine += theirs;
        }
    }
}

/// What became of one check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckResult {
    pub name: String,
    pub title: String,
    /// Of a standard, where the check is from one.
    pub clause: String,
    pub passed: bool,
    /// Rows that offend; a check may count some of them as one.
    pub offending_rows: u64,
    /// Some of them, [`base::limits::OFFENDING_ROWS_MAX`] at most:
    /// `w_id 1, d_id 2, sum(o_ol_cnt) 30013, order lines 30012`.
    pub examples: Vec<String>,
    /// Time of its statements; a scan that serves several checks counts equally for each.
    pub duration_ns: u64,
}
