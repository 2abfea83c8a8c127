//! The emulated devices that a lab ran on, as they were: a profile may have been edited since.

use device::{Profile, Setup};
use std::collections::BTreeSet;
use store::{RepeatStatus, Results, StoreResult, StoredCell};

/// The profile of each emulated device of these cells once, in their order; of cells without a
/// repeat that is done there is none.
///
/// # Errors
/// The file cannot be read.
pub fn profiles(results: &Results, cells: &[StoredCell]) -> StoreResult<Vec<Profile>> {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut profiles: Vec<Profile> = Vec::new();
    for cell in cells {
        let emulated = cell.what.places.iter().filter(|place| place.emulated);
        let names: Vec<&str> = emulated.map(|place| place.device.as_str()).collect();
        if names.iter().all(|name| known.contains(name)) {
            continue;
        }
        let repeats = results.repeats(cell.id)?;
        let done = repeats.iter().find(|r| r.status == RepeatStatus::Done);
        let Some(repeat) = done else { continue };
        let io = results.device_io(repeat.id)?;
        let setup = io.and_then(|io| Setup::parse(&io.shim.setup).ok());
        for device in setup.into_iter().flat_map(|setup| setup.devices) {
            if !profiles.contains(&device.profile) {
                profiles.push(device.profile);
            }
        }
        known.extend(names);
    }
    Ok(profiles)
}
