//! `mydyno serve`: results files in a browser, labs that run as they run, and plans. It reads files
//! and starts the program; it measures nothing itself.
//!
//! Who may do what is in `access`: loopback may look; everybody else, and everything that changes
//! something or starts a process, needs the token. Texts and names that come by HTTP reach nothing
//! but what is listed: results files, plans and what lies beside them, devices of mydyno's own.

mod access;
mod app;
mod devices;
mod drafts;
mod feeds;
mod files;
mod lab;
mod labs;
mod page;
mod plans;
mod program;
mod routes;
mod runs;
mod server;
mod tls;

pub use access::{Gatekeeper, PublicOrigin, ServeToken};
pub use server::{ServeError, ServeOptions, serve};
pub use tls::ServeTls;
