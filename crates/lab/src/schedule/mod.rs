//! A plan on this machine: its cells resolved, and its turns taken one after another.

pub(crate) mod demo;
pub(crate) mod machine;
mod pilot;
pub(crate) mod planned;
mod planned_text;
pub(crate) mod resumed;
pub(crate) mod run_lab;
pub(crate) mod stored;
pub(crate) mod trials;
pub(crate) mod turn;
pub(crate) mod watchdog;
