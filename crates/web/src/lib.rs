//! `mydyno serve`: results files in a browser, labs that run as they run, and plans. It reads files
//! and starts the program; it measures nothing itself.
//!
//! Who may do what is in `access`: loopback may look, everybody else and everything that changes
//! something needs the token.

mod access;
mod app;
mod assets;
mod devices;
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

pub use access::ServeToken;
pub use server::{ServeError, ServeOptions, serve};
