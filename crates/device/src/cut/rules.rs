//! What of a profile matters when the power goes.

use crate::profile::{Array, Profile};

/// What standards promise of every device: a sector.
const ATOMIC_WRITE_BYTES: u64 = 512;

/// How a device behaves when its power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerLoss {
    /// Bytes of writes that are complete and that the device may still lose; 0 where it has no
    /// cache, or one that survives.
    pub volatile_bytes: u64,
    /// A write is never torn inside of an aligned run of this length; a power of two.
    pub atomic_write_bytes: u64,
    /// A flush is acknowledged and does nothing.
    pub flush_lies: bool,
}

/// What file systems do each in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystem {
    /// ext4 as it is mounted by default (`data=ordered`, `auto_da_alloc`): the data of a file come
    /// with the rename by which it replaces another one.
    Ext4,
    /// XFS: the rename comes without them.
    Xfs,
}

impl PowerLoss {
    /// Whether flushes promise what is not so. Where nothing is lost they cannot.
    pub(super) fn lies(&self) -> bool {
        self.flush_lies && self.volatile_bytes > 0
    }
}

impl Profile {
    /// What is lost with the power. An array has the caches of all its members, and no more atomic
    /// units than its stripes leave whole.
    pub fn power_loss(&self) -> PowerLoss {
        let own = |volatile_bytes, atomic: Option<u64>, lies: Option<bool>| PowerLoss {
            volatile_bytes,
            atomic_write_bytes: atomic.unwrap_or(ATOMIC_WRITE_BYTES),
            flush_lies: lies.unwrap_or(false),
        };
        if let Some(solid) = &self.solid_state {
            let volatile_bytes = if solid.power_loss_protected { 0 } else { solid.cache_bytes() };
            return own(volatile_bytes, solid.atomic_write_bytes, solid.flush_lies);
        }
        if let Some(disk) = &self.disk {
            let volatile_bytes = disk.write_cache_bytes.unwrap_or(0);
            return own(volatile_bytes, disk.atomic_write_bytes, disk.flush_lies);
        }
        match &self.array {
            Some(array) => of_members(array),
            None => own(0, None, None),
        }
    }
}

fn of_members(array: &Array) -> PowerLoss {
    let stripe_bytes = array.stripe_bytes.unwrap_or(u64::MAX);
    let member = array.profile().filter(|member| member.array.is_none());
    let member = member.unwrap_or_default().power_loss();
    PowerLoss {
        volatile_bytes: member.volatile_bytes.saturating_mul(u64::from(array.columns())),
        atomic_write_bytes: member.atomic_write_bytes.min(stripe_bytes),
        ..member
    }
}
