//! What a text would do as a plan, by the text alone. Whoever wrote it may name devices and
//! workloads that mydyno has, and files that lie beside the plans; no other file is opened, and no
//! process started.

use crate::files::{files_in, is_plain_name};
use device::Profile;
use lab::{LabError, drafted};
use plan::Plan;
use spec::Place;
use std::path::Path;
use storage::{SymbolicLinks, read_regular};

/// How names of plans, profiles and workloads end.
pub const ENDING: &str = ".toml";
/// Measurements that a page shows.
const TURNS_SHOWN: usize = 1_000;
const PROFILE_BYTES_MAX: u64 = 1 << 20;

/// The plans of the directory, and the profiles and workloads beside them.
pub fn names(plans: &Path) -> Vec<String> {
    let files = files_in(plans).into_iter();
    let names = files.filter_map(|file| Some(file.file_name()?.to_str()?.to_owned()));
    names.filter(|name| is_plain_name(name, ENDING)).collect()
}

/// What `mydyno lab plan` says of it, as far as the text tells.
///
/// # Errors
/// What is wrong with the plan.
pub fn draft_text(plans: &Path, text: &str) -> Result<String, LabError> {
    let plan = Plan::parse(text, "the plan")?;
    let listed = names(plans);
    let is_listed = |name: &str| listed.iter().any(|known| known == name);
    plan.confine(&is_listed)?;
    let planned = drafted(&plan, &|place| place_of(plans, &is_listed, place))?;
    let needs = planned.needs(&planned.turns)?;
    Ok(planned.text(&needs, TURNS_SHOWN))
}

/// A device of mydyno's own, or one whose profile lies beside the plans. Of a file that cannot be
/// used no line is told.
fn place_of(plans: &Path, is_listed: &dyn Fn(&str) -> bool, name: &str) -> Result<Place, String> {
    if let Some(profile) = device::builtin(name) {
        return Ok(Place::Emulated { profile: Box::new(profile), file: None, at: None });
    }
    if !is_plain_name(name, ENDING) || !is_listed(name) {
        return Err(format!(
            "{name:?} is no device of `mydyno device list` and no profile beside the plans, and a \
             plan of a browser may name no other place; start this plan on a terminal: mydyno lab \
             run"
        ));
    }
    let file = plans.join(name);
    let text = read_regular(&file, PROFILE_BYTES_MAX, SymbolicLinks::Refused);
    let text = text.map_err(|error| format!("cannot read the profile {name}: {error}"))?;
    let profile = Profile::parse(&text).map_err(|_| {
        format!("{name} is no device profile; `mydyno device show {name}` says why")
    })?;
    let file = std::path::absolute(file).map_err(|error| error.to_string())?;
    Ok(Place::Emulated { profile: Box::new(profile), file: Some(file), at: None })
}
