//! Best known methods: rules that look at a server, its machine and its device, and say what to
//! set, why, what it risks, and in which words this server takes it. Rules ask nobody and change
//! nothing: what they know is in a [`ServerSnapshot`].

mod document;
mod finding;
mod rule;
mod rules;
mod snapshot;
mod stored;

pub use document::best_known_methods;
pub use finding::{Finding, Gain, Risk, VariableChange, set_statement};
pub use rule::{Rule, Topic};
pub use snapshot::{
    AdvisedDevice, MountedFileSystem, NamedValues, ServerMachine, ServerSnapshot, StatusWatch,
};
pub use stored::{release_of, stored_snapshot};

/// All findings for a server, those of the greatest expected gain first.
pub fn advise(snapshot: &ServerSnapshot) -> Vec<Finding> {
    let judge = |(topic, rule): (Topic, &'static Rule)| {
        let proposal = (rule.judge)(snapshot)?;
        Some(Finding::of(topic, rule, proposal, snapshot))
    };
    let mut findings: Vec<Finding> = rules::all().filter_map(judge).collect();
    findings.sort_by_key(|finding| finding.gain);
    findings
}
