//! Where the response time of the window's transactions goes: to which statements, and what passes
//! without one.

use crate::merge::Merge;
use crate::names::KnownName;
use crate::timed::StatementTimes;
use crate::times::{EncodedTimes, Times};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Statements of one type of transaction that another process may tell the times of.
const STATEMENTS_MAX: usize = 256;

/// What of a response time passed without a statement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waits {
    /// Before the first try: since the intended start or the submission.
    pub(crate) queued_ns: u64,
    /// Pauses before further tries.
    pub(crate) paused_ns: u64,
}

/// The transactions of one type that the window counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Breakdown {
    pub transactions: u64,
    pub response_ns: u64,
    /// Of it, before the first try: since the intended start or the submission.
    pub queued_ns: u64,
    /// Of it, pauses before further tries.
    pub paused_ns: u64,
    /// Of it, statements, by what they do. The rest is the driver's own time.
    #[serde(deserialize_with = "of_known_names")]
    pub statements: Vec<(&'static str, Times)>,
}

impl Breakdown {
    /// Adds a transaction.
    pub(crate) fn add(&mut self, response_ns: u64, waits: Waits, of: StatementTimes<'_>) {
        self.transactions += 1;
        self.response_ns += response_ns;
        self.queued_ns += waits.queued_ns;
        self.paused_ns += waits.paused_ns;
        let more = of.kinds.iter().skip(self.statements.len());
        self.statements.extend(more.map(|kind| (*kind, Times::default())));
        for time in of.times {
            self.statements[time.kind].1.record_coarsely(time.ns);
        }
    }
}

/// A histogram takes more memory than the bytes that it travels as, so they are counted before.
fn of_known_names<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<(&'static str, Times)>, D::Error> {
    let encoded = Vec::<(KnownName, EncodedTimes)>::deserialize(from)?;
    if encoded.len() > STATEMENTS_MAX {
        return Err(D::Error::custom("more statements than transactions have"));
    }
    let times = |times: EncodedTimes| Times::try_from(times).map_err(D::Error::custom);
    encoded.into_iter().map(|(kind, of)| Ok((kind.0, times(of)?))).collect()
}

/// Adds what another worker saw.
impl Merge for Breakdown {
    fn merge(&mut self, other: &Breakdown) {
        self.transactions += other.transactions;
        self.response_ns += other.response_ns;
        self.queued_ns += other.queued_ns;
        self.paused_ns += other.paused_ns;
        for (kind, theirs) in &other.statements {
            match self.statements.iter_mut().find(|(mine, _)| mine == kind) {
                Some((_, mine)) => mine.merge(theirs),
                None => self.statements.push((kind, theirs.clone())),
            }
        }
    }
}
