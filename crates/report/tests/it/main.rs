//! Reports and exports of fixture labs, most of them opened in a real browser.

mod charts;
#[path = "../common/mod.rs"]
mod common;
mod exports;
mod instances;
mod lab;
mod lengths;
mod page;
mod statements;
mod terminals;
