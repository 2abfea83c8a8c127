//! The sizes of a preset: buffer pool and redo, as the papers have them or in proportion to the
//! database at hand.

use base::{Warehouses, grouped};
use std::fmt;

/// The smallest pool that all servers take: MariaDB 10.11.19 wants 6M, the others 5M.
pub const POOL_BYTES_MIN: u64 = 6 << 20;
/// The smallest redo file that all servers take.
pub(crate) const REDO_FILE_BYTES_MIN: u64 = 4 << 20;
/// A smaller pool is one instance, whatever is asked.
pub(crate) const INSTANCES_POOL_BYTES_MIN: u64 = 1 << 30;
/// Servers take a pool in so many bytes per instance, unless they are told otherwise.
pub(crate) const CHUNK_BYTES: u64 = 128 << 20;
/// A smaller pool instance has no `innodb_empty_free_list_algorithm = backoff`.
pub(crate) const BACKOFF_BYTES_MIN: u64 = 20 << 20;

const MIB: u64 = 1 << 20;

/// A size in MiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mib(pub u64);

/// What the sizes of a preset are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PresetScale {
    /// The sizes that the papers have.
    Papers,
    /// In the proportion to so many warehouses that they had to the papers' database.
    To { warehouses: Warehouses, of: Warehouses },
}

impl fmt::Display for PresetScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PresetScale::Papers => f.write_str("the papers' sizes"),
            PresetScale::To { warehouses, of } => {
                let all = grouped(u64::from(of.0));
                write!(f, "sizes for {warehouses} of {all} warehouses")
            }
        }
    }
}

impl PresetScale {
    /// The papers' `bytes` at this scale, in a whole number of `units` MiB (nearest) where it is
    /// not theirs.
    pub(crate) fn bytes(self, bytes: u64, Mib(units): Mib) -> u64 {
        let PresetScale::To { warehouses, of } = self else {
            return bytes;
        };
        let exact = u128::from(bytes) * u128::from(warehouses.0);
        let (of, unit) = (u128::from(of.0), u128::from(units.max(1) * MIB));
        u64::try_from((exact + of * unit / 2) / (of * unit) * unit).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::{MIB, Mib, PresetScale};
    use base::{Warehouses, parse_size, size_text};
    use proptest::prelude::*;

    #[test]
    fn sizes_keep_their_proportion() {
        let to = |warehouses| PresetScale::To {
            warehouses: Warehouses(warehouses),
            of: Warehouses(1_000),
        };
        assert_eq!(PresetScale::Papers.bytes(3 << 30, Mib(32)), 3 << 30);
        assert_eq!(to(1_000).bytes(3 << 30, Mib(1)), 3 << 30);
        assert_eq!(to(10).bytes(3 << 30, Mib(1)), 31 * MIB);
        assert_eq!(to(500).bytes(3 << 30, Mib(32)), 1_536 * MIB);
        assert_eq!(to(10_000).bytes(12 << 30, Mib(32)), 120 << 30);
        // Nothing of it is left.
        assert_eq!(to(1).bytes(48 * MIB, Mib(1)), 0);
    }

    #[test]
    fn sizes_as_the_papers_write_them() {
        for (bytes, text) in [
            (3 << 30, "3G"),
            (48 << 20, "48M"),
            (1_536 << 20, "1536M"),
            (32 << 10, "32K"),
            (1_000, "1000"),
            (0, "0"),
        ] {
            assert_eq!(size_text(bytes), text);
        }
    }

    proptest! {
        #[test]
        fn a_size_comes_back(bytes in 0u64..1 << 50) {
            prop_assert_eq!(parse_size(&size_text(bytes)), Some(bytes));
        }
    }
}
