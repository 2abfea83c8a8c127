//! `Session` over the MySQL protocol.

mod options;

pub use options::{Address, ConnectOptions, Password, Tls};
