//! Workloads that are lists of statements with generated parameters: sysbench's OLTP ([`sysbench`])
//! and those that a user writes into a file ([`file`]). Both are a [`Script`], which one
//! [`drive::Workload`] runs.
//!
//! Nothing here opens a file, a socket or a process.

pub mod file;
mod generate;
mod load;
mod script;
mod sql;
pub mod sysbench;
mod workload;

pub use load::{ScriptLoadError, ScriptLoadOptions, load_file, load_sbtest};
pub use script::Script;
pub use workload::{ScriptOptions, ScriptWorkload};
