//! Transactions over shards that are prepared, and have nobody who coordinates them any more.

use crate::error::{LabResult, unfit};
use crate::target::sessions::{answered, on_shards, with_session};
use base::Since;
use drive::Schemas;
use tpcc::ShardRanges;
use tpcc::xa::{XaError, resolve as resolve_prepared};
use wire::{Connector, ServerInfo};

/// Refuses servers that lose what is prepared when its connection is lost.
///
/// # Errors
/// Names the server and what to use.
pub(crate) fn require_kept(databases: &Schemas<Connector>) -> LabResult<()> {
    for (connector, shard) in databases.iter().zip(1..) {
        with_session(connector, async |session| {
            let server = session.server();
            match keeps_prepared(server) {
                true => Ok(()),
                false => Err(unfit(format!(
                    "--xa: shard {shard} is on {} {}, which rolls a prepared transaction back when \
                     its connection is lost, so that nothing could be recovered; use MySQL 5.7.7, \
                     MariaDB 10.5 or a later one",
                    server.family().title(),
                    server.version
                ))),
            }
        })?;
    }
    Ok(())
}

/// Does a prepared transaction outlive its connection?
fn keeps_prepared(server: &ServerInfo) -> bool {
    server.has(Since::mysql((5, 7, 7)).or_mariadb((10, 5, 0)))
}

/// Resolves what runs that are over have left; returns what people should know of it. Where the
/// user may not list what is prepared, that is an error only where the run `needs` it.
///
/// # Errors
/// Where a server refuses or is gone.
pub(crate) fn resolve(
    databases: &Schemas<Connector>,
    shards: &ShardRanges,
    needs: bool,
) -> LabResult<Option<String>> {
    let resolving = on_shards(databases, shards, async |parts| Ok(resolve_prepared(parts).await));
    match answered(resolving)? {
        Ok(resolved) => Ok(resolved.note()),
        Err(error @ XaError::NotListed { .. }) if !needs => {
            Ok(Some(format!("prepared transactions were not looked for: {error}")))
        }
        Err(error) => Err(unfit(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::keeps_prepared;
    use wire::ServerInfo;

    #[test]
    fn what_is_prepared_outlives_its_connection_since_some_releases() {
        for (version, is_mariadb, expected) in [
            ("5.6.51", false, false),
            ("5.7.6-m16", false, false),
            ("5.7.22-22-log", false, true),
            ("8.0.46", false, true),
            ("9.7.0", false, true),
            ("10.1.48-MariaDB", true, false),
            ("10.4.32-MariaDB-1", true, false),
            ("10.11.14-MariaDB-0+deb12u2", true, true),
            ("11.8.3-MariaDB", true, true),
            ("strange", false, false),
        ] {
            let server = ServerInfo { version: version.to_owned(), connection_id: 1 };
            assert_eq!(server.family().is_mariadb(), is_mariadb, "{version}");
            assert_eq!(keeps_prepared(&server), expected, "{version}");
        }
    }
}
