//! The sizes of the static tables.

/// Descriptors beyond this are not seen.
pub(crate) const DESCRIPTORS_MAX: usize = 65536;
/// Files that are open, or have pages in the modelled cache, at once.
pub(crate) const FILES_MAX: usize = 8192;
