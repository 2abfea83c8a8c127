//! A lab that goes on: are its host, mydyno, servers and devices still those that it has measured?

use crate::error::LabResult;
use crate::schedule::planned::Planned;
use plan::{Plan, PlannedCell, Turn};
use server::Home;
use spec::{Connections, Place, Private};
use storage::RoleDevice;
use store::{FILE_SYSTEM_OF, LabId, LabMachine, NewCell, Results};

/// The host of a plan's lab, with the file systems of the directories that it places files in.
pub(crate) fn host_facts(planned: &Planned) -> Vec<(String, String)> {
    let mut facts = observe::host_facts(planned.home.as_ref().map(Home::root));
    for (cell, _) in &planned.cells {
        let private = cell.what.server.private();
        let places = private.map(|private| private.placement.places.values());
        for place in places.into_iter().flatten() {
            let (Place::Directory(directory) | Place::Emulated { at: Some(directory), .. }) = place
            else {
                continue;
            };
            let name = format!("{FILE_SYSTEM_OF}{}", directory.display());
            let is_new = facts.iter().all(|(known, _)| *known != name);
            if let (true, Some(found)) = (is_new, observe::file_system(directory)) {
                facts.push((name, found));
            }
        }
    }
    facts
}

/// Refuses to mix two hosts, two versions of mydyno or of a server, or two devices of one name, in
/// a lab of which these turns are to be taken.
///
/// # Errors
/// [`LabError::Plan`] at what was changed, with what to do; the results file cannot be read.
pub(crate) fn require_same(
    results: &Results,
    lab: LabId,
    (plan, planned): (&Plan, &Planned),
    turns: &[Turn],
) -> LabResult<()> {
    let to_take: Vec<&PlannedCell> =
        turns.iter().map(|turn| &planned.cells[turn.index].0).collect();
    let all = results.cells(lab)?;
    let mixed = |what: &str| {
        format!(
            "lab {lab} has measured {what}, and would be of both; go back to what it was, or begin \
             a new lab: name another file with --results, or give the plan another `name`"
        )
    };
    if let (Some(first), false) = (to_take.first(), all.is_empty()) {
        let program = results.lab(lab)?.mydyno_version;
        let other = other_host(&results.machines(lab)?, &host_facts(planned))
            .or_else(|| other_program(&program, env!("CARGO_PKG_VERSION")));
        if let Some(what) = other {
            return Err(plan.refuse(first, "", &mixed(&what)).into());
        }
    }
    for ((cell, _), server) in planned.cells.iter().zip(&planned.servers) {
        let Some(private) = cell.what.server.private() else {
            continue;
        };
        let measured = match cell.what.load.connections {
            // What is stored of a ramp are its points.
            Connections::Ramp(_) => results.ramp_cells(lab, cell.ordinal)?,
            _ => all.iter().filter(|one| one.what.ordinal == cell.ordinal).cloned().collect(),
        };
        let taken = || to_take.iter().filter_map(|one| one.what.server.private());
        // What only cells have that are measured to their end may change.
        let of_server = || {
            let version = &server.private.as_ref()?.build.version;
            let other = measured.iter().find_map(|one| other_version(&one.what, version));
            other.filter(|_| taken().any(|other| other.engine == private.engine))
        };
        let of_device = || {
            let device =
                measured.iter().find_map(|one| other_figures(&one.what, &server.devices))?;
            let place = private.placement.places.get(&device.role)?;
            let has_place =
                |other: &Private| other.placement.places.values().any(|one| one == place);
            let name = &device.device;
            let what =
                format!("device {name} ({place}) with other figures than its profile has now");
            taken().any(has_place).then(|| (device.role.name(), what))
        };
        if let Some((key, what)) = of_server().or_else(of_device) {
            return Err(plan.refuse(cell, key, &mixed(&what)).into());
        }
    }
    Ok(())
}

/// What the host was of the first machine that measured, where this is none of them.
fn other_host(machines: &[LabMachine], now: &[(String, String)]) -> Option<String> {
    let each = machines.iter().map(|machine| machine.difference(now));
    let (name, was, is) = each.collect::<Option<Vec<_>>>()?.into_iter().next()?;
    Some(format!("on a host with {name} {was}, which is {is} now"))
}

fn other_program(was: &str, is: &str) -> Option<String> {
    (was != is).then(|| format!("with mydyno {was}, which is {is} now"))
}

/// The key of the plan that names the server, and what it was and is, where that is another version
/// now.
fn other_version(stored: &NewCell, version: &str) -> Option<(&'static str, String)> {
    let was = &stored.server_version;
    // A server adds words of its own to what its binary says.
    let is_same = was.is_empty() || numbers(was) == numbers(version);
    (!is_same).then(|| {
        let engine = &stored.engine;
        ("engine", format!("{engine} in version {was}, which is {version} now"))
    })
}

fn numbers(version: &str) -> &str {
    version.split(|c: char| c != '.' && !c.is_ascii_digit()).next().unwrap_or_default()
}

/// The first role that is on an emulated device now whose figures were others. What is not placed,
/// or cannot be, is where data is, which comes first.
fn other_figures<'a>(stored: &NewCell, now: &'a [RoleDevice]) -> Option<&'a RoleDevice> {
    now.iter().find(|device| {
        let was = stored.places.iter().find(|place| place.role == device.role.name());
        let was = was.and_then(|place| place.profile_fingerprint.as_ref());
        let is = device.profile_fingerprint.as_ref();
        was.is_some() && is.is_some() && was != is
    })
}

#[cfg(test)]
mod tests {
    use super::{other_figures, other_host, other_program, other_version};
    use device::Role;
    use storage::RoleDevice;
    use store::{CellPlace, LabMachine, NewCell};

    #[test]
    fn a_lab_goes_on_on_any_of_its_machines() {
        let cores = |count: &str| vec![("cpu_cores".to_owned(), count.to_owned())];
        let machines = [(1, "2"), (2, "64")]
            .map(|(machine, count)| LabMachine { machine, facts: cores(count) });
        assert_eq!(other_host(&machines, &cores("64")), None);
        let what = other_host(&machines, &cores("8")).unwrap();
        assert_eq!(what, "on a host with cpu_cores 2, which is 8 now");
        assert_eq!(other_host(&[], &cores("8")), None);
        assert_eq!(other_program("0.1.0", "0.1.0"), None);
        assert!(other_program("0.1.0", "0.2.0").is_some());
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
        assert_eq!(differs("10.11.6-MariaDB-log", "10.11.6-MariaDB-0+deb12u1"), None);
        // Never met.
        assert_eq!(differs("", "5.7.22"), None);
        let what = differs("5.7.22-log", "5.7.44").unwrap();
        assert!(what.contains("5.7.22-log") && what.contains("5.7.44"), "{what}");
    }

    #[test]
    fn devices_are_compared_as_they_are_arranged() {
        let stored = NewCell {
            places: [("data", None), ("redo", Some("a")), ("undo", Some("b"))]
                .map(|(role, figures)| CellPlace {
                    role: role.to_owned(),
                    device: "disk".to_owned(),
                    emulated: figures.is_some(),
                    used: None,
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
                used: None,
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
