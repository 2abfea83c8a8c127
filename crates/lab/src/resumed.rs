//! A lab that goes on: are its machine, servers and devices still those that it has measured?

use crate::error::LabError;
use crate::planned::{Planned, private_of};
use crate::private::{arrange_files, installed_build};
use device::Role;
use plan::{Cell, Connections, Plan, Turn};
use server::Home;
use storage::{Place, RoleDevice};
use store::{Cell as StoredCell, LabId, NewCell, Results};

/// Facts of a host that tell machines apart, and do not change while one is in use.
const OF_MACHINE: [&str; 2] = ["cpu_model", "cpu_cores"];

/// Refuses to mix two machines, two versions of a server, or two devices of one name, in a lab of which these turns are to be taken.
///
/// # Errors
/// [`LabError::Plan`] at what was changed, with what to do; the results file cannot be read.
pub fn require_same(
    (home, results, lab): (&Home, &Results, LabId),
    plan: &Plan,
    planned: &Planned,
    turns: &[Turn],
) -> Result<(), LabError> {
    let to_take: Vec<&Cell> = turns
        .iter()
        .map(|turn| &planned.cells[turn.index].0)
        .collect();
    let all = results.cells(lab)?;
    let mixed = |what: &str| {
        format!(
            "lab {lab} has measured {what}, and would be of both; go back to what it was, or begin a new lab: name another file with \
             --results, or give the plan another `name`"
        )
    };
    if let (Some(first), false) = (to_take.first(), all.is_empty())
        && let Some(what) = other_machine(&results.host_facts(lab)?, &observe::host_facts(None))
    {
        return Err(plan.refuse(first, "", &mixed(&what)).into());
    }
    for (cell, _) in &planned.cells {
        let measured = measured(results, lab, cell, &all)?;
        if measured.is_empty() {
            continue;
        }
        let private = private_of(cell)?;
        let build = installed_build(home, &private)?;
        let devices = match &build {
            Some(build) => arrange_files(build, &private)?.devices,
            None => data_device(cell),
        };
        // What only cells have that are measured to their end may change.
        let of_server = || {
            let is_taken = to_take.iter().any(|other| other.engine == cell.engine);
            let mut measured = measured.iter();
            let version = &build.as_ref()?.version;
            let other = measured.find_map(|one| other_version(&one.what, version));
            other.filter(|_| is_taken)
        };
        let of_device = || {
            let mut measured = measured.iter();
            let device = measured.find_map(|one| other_figures(&one.what, &devices))?;
            let place = cell.placement.places.get(&device.role)?;
            let has_place = |other: &&Cell| other.placement.places.values().any(|one| one == place);
            if !to_take.iter().any(has_place) {
                return None;
            }
            let words = format!(
                "device {} ({place}) with other figures than its profile has now",
                device.device
            );
            Some((device.role.name(), words))
        };
        if let Some((key, what)) = of_server().or_else(of_device) {
            return Err(plan.refuse(cell, key, &mixed(&what)).into());
        }
    }
    Ok(())
}

/// What the machine was, where it is known to be another one now.
fn other_machine(stored: &[(String, String)], now: &[(String, String)]) -> Option<String> {
    let fact = |facts: &[(String, String)], name: &str| {
        let found = facts.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    };
    OF_MACHINE.iter().find_map(|name| {
        let (was, is) = (fact(stored, name)?, fact(now, name)?);
        (was != is).then(|| format!("on a machine with {name} {was}, which is {is} on this one"))
    })
}

/// What is known of the devices of a server that is not installed: data is where its place says, on any.
fn data_device(cell: &Cell) -> Vec<RoleDevice> {
    let place = cell.placement.places.get(&Role::Data);
    let device = place.map(|place| RoleDevice {
        role: Role::Data,
        device: place.device_name(),
        emulated: matches!(place, Place::Emulated { .. }),
        profile_fingerprint: place.fingerprint(),
        backing: String::new(),
    });
    device.into_iter().collect()
}

/// What the lab has stored of a cell of its plan, among `all`: of one that is a ramp, its points.
fn measured(
    results: &Results,
    lab: LabId,
    cell: &Cell,
    all: &[StoredCell],
) -> Result<Vec<StoredCell>, LabError> {
    if let Connections::Ramp(_) = cell.connections {
        return Ok(results.ramp_cells(lab, cell.ordinal)?);
    }
    let same = all.iter().filter(|one| one.what.ordinal == cell.ordinal);
    Ok(same.cloned().collect())
}

/// The key of the plan that names the server, and what it was and is, where that is another version now.
fn other_version(stored: &NewCell, version: &str) -> Option<(&'static str, String)> {
    let was = &stored.server_version;
    // A server adds words of its own to what its binary says.
    let is_same = was.is_empty() || numbers(was) == numbers(version);
    (!is_same).then(|| {
        let engine = &stored.engine;
        (
            "engine",
            format!("{engine} in version {was}, which is {version} now"),
        )
    })
}

fn numbers(version: &str) -> &str {
    let end = version.find(|c: char| c != '.' && !c.is_ascii_digit());
    &version[..end.unwrap_or(version.len())]
}

/// The first role that is on an emulated device now whose figures were others. What is not placed, or cannot be, is where data is, which
/// comes first.
fn other_figures<'a>(stored: &NewCell, now: &'a [RoleDevice]) -> Option<&'a RoleDevice> {
    now.iter().find(|device| {
        let mut places = stored.places.iter();
        let was = places
            .find(|place| place.role == device.role.name())
            .and_then(|place| place.profile_fingerprint.as_ref());
        let is = device.profile_fingerprint.as_ref();
        was.is_some() && is.is_some() && was != is
    })
}

#[cfg(test)]
mod tests {
    use super::{other_figures, other_machine, other_version};
    use device::Role;
    use storage::RoleDevice;
    use store::{CellPlace, NewCell};

    #[test]
    fn machines_are_compared_by_their_processors() {
        let facts = |model: &str, cores: &str, kernel: &str| {
            let all = [
                ("cpu_model", model),
                ("cpu_cores", cores),
                ("kernel", kernel),
            ];
            all.map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        let was = facts("EPYC 9654", "2", "6.1");
        assert_eq!(other_machine(&was, &facts("EPYC 9654", "2", "6.12")), None);
        let what = other_machine(&was, &facts("EPYC 9654", "8", "6.1")).unwrap();
        assert!(what.contains("cpu_cores 2, which is 8"), "{what}");
        // Some processors do not say what they are.
        assert_eq!(other_machine(&was[1..], &facts("Xeon", "2", "6.1")), None);
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let differs = |was: &str, now: &str| {
            let stored = NewCell {
                engine: "mysql-5.7".to_owned(),
                server_version: was.to_owned(),
                ..NewCell::default()
            };
            other_version(&stored, now).map(|(_, what)| what)
        };
        assert_eq!(differs("5.7.22-log", "5.7.22"), None);
        assert_eq!(
            differs("10.11.6-MariaDB-log", "10.11.6-MariaDB-0+deb12u1"),
            None
        );
        // Never met.
        assert_eq!(differs("", "5.7.22"), None);
        let what = differs("5.7.22-log", "5.7.44").unwrap();
        assert!(
            what.contains("5.7.22-log") && what.contains("5.7.44"),
            "{what}"
        );
    }

    #[test]
    fn devices_are_compared_as_they_are_arranged() {
        let stored = NewCell {
            places: [("data", None), ("redo", Some("a")), ("undo", Some("b"))]
                .map(|(role, figures)| CellPlace {
                    role: role.to_owned(),
                    device: "disk".to_owned(),
                    emulated: figures.is_some(),
                    profile_fingerprint: figures.map(str::to_owned),
                    backing: "own".to_owned(),
                })
                .to_vec(),
            ..NewCell::default()
        };
        let differs = |figures: [(Role, Option<&str>); 3]| {
            let now = figures.map(|(role, figures)| RoleDevice {
                role,
                device: "disk".to_owned(),
                emulated: figures.is_some(),
                profile_fingerprint: figures.map(str::to_owned),
                backing: "own".to_owned(),
            });
            other_figures(&stored, &now).map(|device| device.role)
        };
        let of = |redo, undo| differs([(Role::Data, None), (Role::Redo, redo), (Role::Undo, undo)]);
        assert_eq!(of(Some("a"), Some("b")), None);
        // Data has no figures, and what follows it has none.
        assert_eq!(of(Some("x"), Some("b")), Some(Role::Redo));
        assert_eq!(of(Some("a"), Some("x")), Some(Role::Undo));
        // Nothing is known of one of them.
        assert_eq!(of(None, Some("b")), None);
    }
}
