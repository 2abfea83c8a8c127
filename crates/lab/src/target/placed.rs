//! Where the files of a server are, and whether its emulated devices are at work.
//!
//! The shim emulates while it is armed. That is from just before the warm-up until the last
//! transaction has ended: starting a server and proving its database are not what is measured, and
//! on a slow device they would take longer than the run.

use crate::error::{LabResult, unfit};
use base::Dilation;
use device::page::Global;
use server::ServerBuild;
use std::path::{Path, PathBuf};
use storage::{Arrangement, RoleDevice, ShimPage};
use store::CellPlace;

/// Where the files of a server are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placed {
    pub(crate) places: Vec<CellPlace>,
    /// Where the server runs under the shim.
    pub(crate) page: Option<ShimPage>,
    /// For people.
    pub(crate) notes: Vec<String>,
    /// Directories of roles that are not where data is.
    pub(crate) scratch: Vec<PathBuf>,
    /// How many times slower the server's clock runs.
    pub(crate) dilation: Dilation,
}

impl Placed {
    /// What was arranged for a server whose own directory this is.
    pub(crate) fn of(arranged: &Arrangement, directory: &Path) -> Placed {
        let has_page = |(name, _): &(String, Vec<u8>)| name == ShimPage::FILE;
        Placed {
            places: places_of(arranged),
            page: arranged.files.iter().any(has_page).then(|| ShimPage::in_directory(directory)),
            notes: arranged.notes.clone(),
            scratch: arranged.scratch.clone(),
            dilation: arranged.dilation,
        }
    }

    /// Refuses a server that was to run under the shim and does not: its devices would be this
    /// machine's.
    pub(crate) fn require_shim(&self, build: &ServerBuild) -> LabResult<()> {
        match &self.page {
            Some(page) if !page.is_taken()? => Err(unfit(format!(
                "{} {} has not loaded the shim, which devices are emulated and counted with; see \
                 its log for what the loader said, and run without places",
                build.engine, build.version
            ))),
            _ => Ok(()),
        }
    }

    /// From now on its devices are emulated, or from now on they are not. Nothing without the shim.
    pub(crate) fn arm(&self, armed: bool) -> LabResult<()> {
        self.page.as_ref().map_or(Ok(()), |page| Ok(page.arm(armed)?))
    }

    /// Is any of its files on an emulated device?
    pub(crate) fn is_emulated(&self) -> bool {
        self.places.iter().any(|place| place.emulated)
    }

    /// Refuses devices that should be emulated and are not: those of a named server that is being
    /// stopped.
    pub(crate) fn require_armed(&self) -> LabResult<()> {
        let Some(page) = &self.page else {
            return Ok(());
        };
        if !self.is_emulated() || page.snapshot()?.global(Global::Armed) != 0 {
            return Ok(());
        }
        Err(unfit(
            "the server's devices are not emulated now: it is being started or stopped; stop it \
             (`mydyno server stop`), and start it again",
        ))
    }

    /// Where the server crashed, where it did under the shim.
    pub(crate) fn crash(&self) -> Option<String> {
        let page = self.page.as_ref()?.snapshot().ok()?;
        let signal = page.global(Global::CrashSignal);
        let place = match page.global(Global::CrashInside) {
            0 => "outside mydyno's shim",
            _ => "inside mydyno's shim: please report it",
        };
        (signal != 0).then(|| format!("the crash (signal {signal}) was {place}"))
    }
}

/// What was arranged, for results.
pub(crate) fn places_of(arranged: &Arrangement) -> Vec<CellPlace> {
    let place = |device: &RoleDevice| CellPlace {
        role: device.role.name().to_owned(),
        device: device.device.clone(),
        emulated: device.emulated,
        used: device.used.clone(),
        profile_fingerprint: device.profile_fingerprint.clone(),
        backing: device.backing.clone(),
    };
    arranged.devices.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::Placed;
    use device::page::Snapshot;
    use storage::ShimPage;
    use store::CellPlace;

    #[test]
    fn emulated_devices_have_to_be_armed() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join(ShimPage::FILE), Snapshot::fresh()).unwrap();
        let page = ShimPage::in_directory(temp.path());
        let mut placed = Placed {
            places: vec![CellPlace {
                role: "data".to_owned(),
                device: "hdd-15k".to_owned(),
                emulated: true,
                backing: "memory".to_owned(),
                ..CellPlace::default()
            }],
            page: Some(page.clone()),
            ..Placed::default()
        };
        assert!(placed.require_armed().is_err());
        page.arm(true).unwrap();
        placed.require_armed().unwrap();
        // What is only counted is so all the time.
        page.arm(false).unwrap();
        placed.places[0].emulated = false;
        placed.require_armed().unwrap();
    }
}
