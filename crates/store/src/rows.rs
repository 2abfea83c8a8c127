//! The rows of the results file as Rust types: one struct for each table, in the words and units of
//! its columns.

mod cell;
mod interval;
mod judged;
mod lab;
mod load;
mod repeat;
mod storage;

pub use cell::*;
pub use interval::*;
pub use judged::*;
pub use lab::*;
pub use load::*;
pub use repeat::*;
pub use storage::*;
