//! Variables that are set on top of a server's own.

use advise::Finding;
use std::collections::BTreeMap;

/// Names and values, each name once.
pub(crate) type Settings = BTreeMap<&'static str, String>;

/// What a finding would change that is not so already.
pub(crate) fn changes(finding: &Finding, set: &Settings) -> Settings {
    let changes = finding.changes.iter();
    let new = changes.filter(|change| set.get(change.variable) != Some(&change.proposed));
    new.map(|change| (change.variable, change.proposed.clone())).collect()
}
