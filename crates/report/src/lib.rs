//! The report: a pure function of the results file. It starts nothing, asks no server, and the same
//! file gives the same page, byte for byte.
//!
//! [`render`] makes one self-contained HTML page; [`export_csv`] writes the numbers behind it for
//! other programs, [`export_hlog`] its response times, [`export_markdown`] a summary for a ticket.

mod advice;
mod bars;
mod bound;
mod cell;
mod config;
mod devices;
mod error;
mod export;
mod export_hlog;
mod export_markdown;
mod figure;
mod followed;
mod format;
mod hardware;
mod instances;
mod lab;
mod model;
mod overview;
mod page;
mod panels;
mod plot;
mod ramp;
mod series;
mod stacks;
mod statements;
mod table;
mod tables;
mod used;
mod variables;

pub use error::{ReportError, ReportResult};
pub use export::export_csv;
pub use export_hlog::export_hlog;
pub use export_markdown::export_markdown;
pub use figure::{figure, raster};
pub use followed::{FollowedLab, LabFollower};
pub use page::{UPLOT_CSS, UPLOT_JS, render};
