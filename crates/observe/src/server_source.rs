//! What the server says of itself, in names that all engines share.

use crate::error::ObserveError;
use crate::sampler::{Readings, Source};
use std::sync::atomic::AtomicBool;
use wire::{ConnectOptions, Connection};

/// A server that can be asked over a session of its own.
pub struct ServerSource {}

impl ServerSource {
    /// The server at this address.
    #[must_use]
    pub fn new(_connect: ConnectOptions) -> ServerSource {
        ServerSource {}
    }
}

impl Source for ServerSource {
    fn title(&self) -> &'static str {
        "the server's status"
    }

    fn read(&mut self, _into: &mut Readings, _stop: &AtomicBool) -> Result<(), ObserveError> {
        Ok(())
    }
}

/// The whole `SHOW GLOBAL STATUS`: names and values.
///
/// # Errors
/// Where the server refuses.
pub async fn global_status(
    _session: &mut Connection,
) -> Result<Vec<(String, String)>, ObserveError> {
    Ok(Vec::new())
}
