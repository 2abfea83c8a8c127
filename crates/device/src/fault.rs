//! What goes wrong with a device at a moment that somebody else chooses: told to a running process
//! by one word of its page ([`crate::page::Global::Fault`]).

use crate::role::Role;
use std::fmt;
use std::str::FromStr;

/// How requests go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FaultKind {
    /// Space is used up: what makes a file longer fails (ENOSPC).
    DiskFull = 1,
    /// Reads, writes and flushes fail (EIO).
    IoError,
    /// Of each write only the first half is done, in whole sectors, and all is acknowledged.
    ShortWrite,
    /// One device is gone. An array whose members have mirrors goes on without it; of anything else
    /// all requests fail (EIO).
    DeviceLost,
    /// Each request takes [`SLOW_FACTOR`] times as long.
    FailSlow,
}

/// How many times longer requests of a device take that fails slowly.
pub const SLOW_FACTOR: u64 = 10;

impl FaultKind {
    pub const ALL: [FaultKind; 5] = [
        FaultKind::DiskFull,
        FaultKind::IoError,
        FaultKind::ShortWrite,
        FaultKind::DeviceLost,
        FaultKind::FailSlow,
    ];

    /// The name on the command line, in plans and in results.
    pub const fn name(self) -> &'static str {
        match self {
            FaultKind::DiskFull => "disk-full",
            FaultKind::IoError => "io-error",
            FaultKind::ShortWrite => "short-write",
            FaultKind::DeviceLost => "device-lost",
            FaultKind::FailSlow => "fail-slow",
        }
    }
}

/// What goes wrong, and with which files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceFault {
    pub kind: FaultKind,
    /// The role of the files; `None`: all of them.
    pub role: Option<Role>,
}

impl DeviceFault {
    /// The word of the page that says it.
    pub fn word(self) -> u64 {
        let roles = self.role.map_or(u64::MAX >> 8, |role| 1 << role.index());
        self.kind as u64 | roles << 8
    }
}

/// What that word says of files of a role. Without a fault it is 0.
pub fn fault_of(word: u64, role: Role) -> Option<FaultKind> {
    let is_meant = word >> 8 >> role.index() & 1 != 0;
    let found = || FaultKind::ALL.into_iter().find(|kind| *kind as u64 == word & 0xff);
    is_meant.then(found).flatten()
}

impl fmt::Display for DeviceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        self.role.map_or(Ok(()), |role| write!(f, ":{}", role.name()))
    }
}

impl FromStr for DeviceFault {
    type Err = ();

    /// `io-error` or `io-error:redo`.
    fn from_str(text: &str) -> Result<DeviceFault, ()> {
        let (kind, role) = text.split_once(':').unzip();
        let kind = kind.unwrap_or(text);
        let kind = FaultKind::ALL.into_iter().find(|one| one.name() == kind).ok_or(())?;
        let of_name = |name| Role::ALL.into_iter().find(|one| one.name() == name).ok_or(());
        Ok(DeviceFault { kind, role: role.map(of_name).transpose()? })
    }
}

#[cfg(test)]
mod tests {
    use super::{DeviceFault, FaultKind, Role, fault_of};

    #[test]
    fn a_word_says_what_was_asked_for_and_of_which_roles() {
        for kind in FaultKind::ALL {
            for role in Role::ALL.map(Some).into_iter().chain([None]) {
                let fault = DeviceFault { kind, role };
                assert_eq!(fault.to_string().parse(), Ok(fault));
                for other in Role::ALL {
                    let is_meant = role.is_none_or(|role| role == other);
                    assert_eq!(fault_of(fault.word(), other), is_meant.then_some(kind));
                }
            }
        }
        assert!(Role::ALL.into_iter().all(|role| fault_of(0, role).is_none()));
        for wrong in ["", "slow", "io-error:", "io-error:log"] {
            assert_eq!(wrong.parse::<DeviceFault>(), Err(()), "{wrong}");
        }
    }
}
