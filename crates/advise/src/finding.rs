//! What is proposed for a server, and in which words.

use crate::rule::{Rule, Settable, Topic};
use crate::snapshot::ServerSnapshot;
use base::{document, named, size_text};
use serde::Serialize;

named! {
    /// What a change is expected to give. It is an expectation: only an experiment tells.
    #[derive(Default, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Gain {
        /// It protects data, and may cost throughput.
        Safety = "safety",
        Large = "large",
        Some = "some",
        #[default]
        Small = "small",
    }
}

/// What has to be known before a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "what")]
pub enum Risk {
    /// What is lost, and when.
    Durability(&'static str),
    /// Memory is needed that may lack elsewhere.
    Memory(&'static str),
    Other(&'static str),
}

impl Risk {
    pub fn words(&self) -> &'static str {
        match self {
            Risk::Durability(words) | Risk::Memory(words) | Risk::Other(words) => words,
        }
    }
}

/// A variable and its new value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VariableChange {
    pub variable: &'static str,
    pub current: String,
    pub proposed: String,
}

/// What a rule says of a server.
#[derive(Clone, Debug, Default)]
pub struct Proposal {
    pub changes: Vec<VariableChange>,
    /// What to do that no variable does.
    pub action: Option<String>,
    /// The metric or the value that speaks for it.
    pub seen: String,
    pub gain: Gain,
    pub risks: Vec<Risk>,
}

impl Proposal {
    /// Nothing yet but what was seen.
    pub(crate) fn seen(words: impl Into<String>) -> Proposal {
        Proposal { seen: words.into(), ..Proposal::default() }
    }

    /// Sets a variable, where the server has it and its value is another one.
    pub(crate) fn set(
        mut self,
        snapshot: &ServerSnapshot,
        variable: &'static str,
        proposed: impl ToString,
    ) -> Proposal {
        let proposed = proposed.to_string();
        if let Some(current) = snapshot.text(variable).filter(|current| *current != proposed) {
            let current = current.to_owned();
            self.changes.push(VariableChange { variable, current, proposed });
        }
        self
    }

    /// [`Proposal::set`], where it is needed.
    pub(crate) fn set_if(
        self,
        is_needed: bool,
        snapshot: &ServerSnapshot,
        variable: &'static str,
        proposed: impl ToString,
    ) -> Proposal {
        if is_needed { self.set(snapshot, variable, proposed) } else { self }
    }

    /// Sets a variable that may only be `ON` or `OFF`; `None` where the server has none, or it is
    /// as it should be.
    pub(crate) fn switch(
        snapshot: &ServerSnapshot,
        variable: &'static str,
        wanted: bool,
    ) -> Option<Proposal> {
        let word = |is_on| if is_on { "ON" } else { "OFF" };
        let is_on = snapshot.is_on(variable)?;
        let seen = format!("{variable} is {}", if is_on { "on" } else { "off" });
        (is_on != wanted).then(|| Proposal::seen(seen).set(snapshot, variable, word(wanted)))
    }

    pub(crate) fn act(self, action: impl Into<String>) -> Proposal {
        Proposal { action: Some(action.into()), ..self }
    }

    pub(crate) fn at_risk(mut self, risk: Risk) -> Proposal {
        self.risks.push(risk);
        self
    }

    /// With nothing to do where it `is_fine` as it is.
    pub(crate) fn unless(mut self, is_fine: bool) -> Proposal {
        if is_fine {
            self.changes.clear();
            self.action = None;
        }
        self
    }

    /// Says what it is expected to give; `None` where there is nothing to do.
    pub(crate) fn expecting(self, gain: Gain) -> Option<Proposal> {
        let is_any = !self.changes.is_empty() || self.action.is_some();
        is_any.then_some(Proposal { gain, ..self })
    }
}

document! {
    /// A proposal with what is written into a server or its option file.
    #[derive(Clone, Debug)]
    pub struct Finding from (
        topic: Topic,
        rule: &'static Rule,
        proposal: Proposal,
        snapshot: &ServerSnapshot
    );
    let Proposal { changes, action, seen, gain, risks } = proposal;
    let settable = |change: &VariableChange| {
        rule.variables.iter().find(|variable| variable.name == change.variable)
    };
    let is_dynamic = |variable: &Settable| snapshot.server.has(variable.dynamic);
    let restart_needed = !changes.iter().all(|change| settable(change).is_some_and(is_dynamic));
    let statements = changes.iter().map(|of| set_statement(of.variable, &of.proposed)).collect();
    let option_lines = changes.iter().map(|of| option_line(of, settable(of))).collect();
    {
        pub rule: &'static str = rule.name,
        pub topic: &'static str = topic.name(),
        pub title: &'static str = rule.title,
        pub gain: Gain = gain,
        pub seen: String = seen,
        pub reason: &'static str = rule.reason,
        pub source: &'static str = rule.source,
        pub changes: Vec<VariableChange> = changes,
        pub action: Option<String> = action,
        pub risks: Vec<Risk> = risks,
        pub restart_needed: bool = restart_needed,
        /// For the running server, one for each change; none where it has to be restarted.
        pub statements: Vec<String> = if restart_needed { Vec::new() } else { statements },
        /// For the section `[mysqld]` of the option file.
        pub option_lines: Vec<String> = option_lines,
    }
}

/// What sets a variable of a running server: a number stands as it is, and a word in quotes.
pub fn set_statement(variable: &str, value: &str) -> String {
    match value.parse::<f64>() {
        Ok(_) => format!("SET GLOBAL {variable} = {value};"),
        Err(_) => format!("SET GLOBAL {variable} = '{}';", value.replace('\'', "''")),
    }
}

fn option_line(change: &VariableChange, variable: Option<&Settable>) -> String {
    let value = match change.proposed.parse::<u64>() {
        Ok(bytes) if variable.is_some_and(|of| of.is_in_bytes) => size_text(bytes),
        _ => change.proposed.clone(),
    };
    format!("{} = {value}", change.variable)
}
