//! What the shim is told before a process starts: one TOML file, named by the environment.

use crate::profile::{Profile, ProfileError};
use crate::role::Role;
use serde::{Deserialize, Serialize};

/// Names the setup file to the shim. Without it, the shim does nothing.
pub const SETUP_VARIABLE: &str = "MYDYNO_SHIM_SETUP";

/// Length of the memory that devices of several processes share ([`Sharing`]); pages of it that
/// nobody uses are never there.
pub const SHARED_BYTES: usize = 256 << 20;

/// What the shim does in one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The file of the shared page ([`crate::page`]); made by who starts the process, mapped by the
    /// shim. A relative path is one from the working directory that the process starts in, as it is
    /// for `directories` and the setup file itself.
    pub page: String,
    /// Directories whose files are seen; all others pass untouched.
    pub directories: Vec<String>,
    /// Where set, every file under `directories` has this role, whatever its name (fio).
    pub every_file: Option<Role>,
    /// Bytes of the system tablespace `ibdata1` that are the doublewrite buffer, `[from, to)`;
    /// servers without files of their own for it write it there.
    pub doublewrite_in_system_tablespace: Option<[u64; 2]>,
    /// Where the emulation may spin for the last microseconds before a request is due.
    pub spin: bool,
    pub cache: CacheSetup,
    /// Where other processes use the same devices at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Sharing>,
    /// Where it is to be known what devices would lose with their power ([`crate::cut`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<JournalSetup>,
    pub devices: Vec<DeviceSetup>,
    /// Roles that are on an emulated device. What is not named here is on real storage, and only
    /// counted.
    pub roles: Vec<RoleSetup>,
}

/// The modelled page cache, for what is opened without `O_DIRECT` and is on an emulated device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSetup {
    pub bytes: u64,
    /// Longest read-ahead of a sequential reader; Linux has 128 KiB.
    pub read_ahead_bytes: u32,
}

/// How processes use the same devices: each of them has a setup with the same [`Setup::devices`],
/// and this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sharing {
    /// A file of [`SHARED_BYTES`], all zero at first, which every one of them maps.
    pub memory: String,
    /// Which of them this one is, from 0: their files lie at different places of a device, whatever
    /// their names.
    pub process: u32,
}

/// The journal of what is written to emulated devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalSetup {
    /// Its file, which the process that takes the page makes anew.
    pub file: String,
    /// Length of its ring: what writes replaced, and 100 bytes for each.
    pub ring_bytes: u64,
}

/// What a watched directory's name has behind it in that of the directory beside it in which files
/// are kept while their removal is not stable, each named by its inode.
pub const REMOVED_SUFFIX: &str = ".removed";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSetup {
    pub profile: Profile,
    pub seed: u64,
    /// It begins as long random writing leaves it ([`crate::Device::precondition`]), and not as
    /// new.
    pub preconditioned: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleSetup {
    pub role: Role,
    /// Which of [`Setup::devices`].
    pub device: usize,
}

/// A setup that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("the shim's setup is not understood: {0}")]
    Syntax(toml::de::Error),
    #[error("the shim's setup cannot be written: {0}")]
    Unwritable(toml::ser::Error),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error("the shim's setup places {role} on device {device}, and has {devices}")]
    NoSuchDevice { role: &'static str, device: usize, devices: usize },
}

impl Setup {
    /// Reads and checks the text of a setup file.
    ///
    /// # Errors
    /// Where it is no setup, or a role is on a device that it does not have.
    pub fn parse(text: &str) -> Result<Setup, SetupError> {
        let setup: Setup = toml::from_str(text).map_err(SetupError::Syntax)?;
        let devices = setup.devices.len();
        if let Some(place) = setup.roles.iter().find(|place| place.device >= devices) {
            let (role, device) = (place.role.name(), place.device);
            return Err(SetupError::NoSuchDevice { role, device, devices });
        }
        setup.devices.iter().try_for_each(|device| device.profile.validate())?;
        Ok(setup)
    }

    /// The text of its file.
    pub fn to_toml(&self) -> Result<String, SetupError> {
        toml::to_string(self).map_err(SetupError::Unwritable)
    }

    /// The device that a role is on; `None` where it is on real storage.
    pub fn device_of(&self, role: Role) -> Option<usize> {
        let place = self.roles.iter().find(|place| place.role == role);
        place.map(|place| place.device)
    }

    /// The profile of that device.
    pub fn profile_of(&self, role: Role) -> Option<&Profile> {
        Some(&self.devices.get(self.device_of(role)?)?.profile)
    }
}

#[cfg(test)]
mod tests {
    use super::{DeviceSetup, RoleSetup, Setup, SetupError};
    use crate::{Role, builtin};

    /// With one device, and the data on the device of this number.
    fn setup(device: usize) -> Setup {
        let profile = builtin("hdd-15k").unwrap();
        Setup {
            devices: vec![DeviceSetup { profile, seed: 1, preconditioned: false }],
            roles: vec![RoleSetup { role: Role::Data, device }],
            ..Setup::default()
        }
    }

    #[test]
    fn a_role_is_on_a_device_that_there_is() {
        let parse = |device| Setup::parse(&setup(device).to_toml().unwrap());
        assert_eq!(parse(0).unwrap(), setup(0));
        for device in [1, 7] {
            let error = parse(device).unwrap_err();
            assert!(matches!(error, SetupError::NoSuchDevice { devices: 1, .. }), "{error}");
        }
    }
}
