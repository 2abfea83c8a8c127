//! Since which releases servers have what this crate goes by, after their manuals.

use base::{ServerRelease, Since};

/// It initialises and creates accounts in the way that this crate uses.
pub(crate) const STARTABLE: Since = Since::mysql((5, 7, 6)).or_mariadb((10, 1, 3));
/// The binary log is on by default.
pub(crate) const BINLOG_BY_DEFAULT: Since = Since::mysql((8, 0, 0));
/// The X Protocol, on a port of its own.
pub(crate) const X_PROTOCOL: Since = Since::mysql((8, 0, 11));
/// It makes a key and a certificate of its own at each start, where it is given none.
pub(crate) const CERTIFICATE_AT_START: Since = Since::mariadb((11, 4, 1));
/// Redo is one size, whatever the files.
pub(crate) const REDO_CAPACITY: Since = Since::mysql((8, 0, 30));
/// Redo is one file.
pub(crate) const SINGLE_REDO_FILE: Since = Since::mariadb((10, 5, 0));
/// Pages always have checksums.
pub(crate) const CHECKSUMS_ALWAYS: Since = Since::mariadb((10, 6, 0));
/// The buffer pool is one instance.
pub(crate) const SINGLE_POOL_INSTANCE: Since = Since::mariadb((10, 6, 0));
/// The buffer pool is made of chunks.
const POOL_CHUNKS: Since = Since::mysql((5, 7, 5)).or_mariadb((10, 2, 2));
/// A chunk is a 64th of the pool by default.
const CHUNKS_BY_POOL: Since = Since::mariadb((10, 8, 0));
/// Galera 4, with the way of joining that this crate goes by.
pub(crate) const GALERA_4: Since = Since::mariadb((10, 4, 0));

/// Does the server have chunks of a fixed size, where none is set?
pub(crate) fn has_fixed_chunks(release: ServerRelease) -> bool {
    release.has(POOL_CHUNKS) && !release.has(CHUNKS_BY_POOL)
}
