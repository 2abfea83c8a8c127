//! `Session` over the MySQL protocol: own code, because the driver's cost per statement is what the
//! tool is judged by, and one client for everything (set-up, load, checks, hot path), because two
//! would log in, encrypt and fail in two ways.
//!
//! Sockets never block their thread; see the crate `reactor`. Buffers are reused: after warm-up, a
//! statement allocates nothing.

mod answer;
mod auth;
mod connection;
mod connector;
mod host_name;
mod login;
mod open;
mod options;
mod packet;
mod protocol;
#[cfg(test)]
mod tests;
mod text;
mod tls;
mod transport;

pub use connection::{Connection, ServerInfo};
pub use connector::{ConnectError, Connector};
pub use open::OpenConnections;
pub use options::{Address, ConnectOptions, Password, Security, TlsMode};
pub use protocol::Metadata;
