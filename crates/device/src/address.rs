//! Where on a device a file's bytes lie.

use crate::model::random::ModelRandom;

/// Files lie in runs of this length, as a file system with large extents lays them out: long enough
/// that a seek between two of them does not slow a sequential reader (64 MiB take a disk 300 ms, a
/// seek 5 ms).
const EXTENT_BYTES: u64 = 64 << 20;

/// A byte of a file.
#[derive(Clone, Copy, Debug)]
pub struct FileOffset {
    /// A hash of the file's name, so that a file lies at the same places in every run.
    pub file: u64,
    pub offset: u64,
}

/// The address of a file's byte on a device, so many bytes of which hold data from the first
/// address on. Extents are scattered over all of them: a data set of a gigabyte stands for one of
/// that size, and its seeks are as long.
pub fn device_address(FileOffset { file, offset }: FileOffset, used_bytes: u64) -> u64 {
    let extents = (used_bytes / EXTENT_BYTES).max(1);
    let extent = mix(file ^ mix(offset / EXTENT_BYTES)) % extents;
    (extent * EXTENT_BYTES + offset % EXTENT_BYTES) % used_bytes.max(1)
}

/// Neighbours become strangers.
pub fn mix(value: u64) -> u64 {
    ModelRandom::new(value).bits()
}

#[cfg(test)]
mod tests {
    use super::{EXTENT_BYTES, FileOffset, device_address};

    #[test]
    fn runs_hold_together_and_extents_are_scattered() {
        let capacity = 600_000_000_000;
        let at = |offset| device_address(FileOffset { file: 7, offset }, capacity);
        assert_eq!(at(4096), at(0) + 4096);
        assert_eq!(at(EXTENT_BYTES - 1), at(0) + EXTENT_BYTES - 1);
        assert_ne!(at(EXTENT_BYTES), at(0) + EXTENT_BYTES);
        let mean = (0..1000).map(|n| at(n * EXTENT_BYTES) as f64).sum::<f64>() / 1000.0;
        assert!((0.45..0.55).contains(&(mean / capacity as f64)), "{mean}");
        assert!((0..1000).all(|n| at(n * EXTENT_BYTES + 5) < capacity));
        // Smaller than an extent.
        let far = FileOffset { file: 7, offset: 5 << 20 };
        assert!(device_address(far, 1 << 20) < 1 << 20);
    }
}
