//! A lab that goes on: are its servers and devices still those that it has measured?

use crate::error::LabError;
use crate::planned::Planned;
use device::Role;
use plan::{Cell, Plan, Turn};
use store::{LabId, NewCell, Results};

/// Refuses to mix two servers, or two devices of one name, in a lab.
///
/// # Errors
/// [`LabError::Plan`] at what was changed, with what to do; the results file cannot be read.
pub fn require_same(
    results: &Results,
    lab: LabId,
    plan: &Plan,
    planned: &Planned,
) -> Result<(), LabError> {
    for stored in results.cells(lab)? {
        let mut cells = planned.cells.iter().enumerate();
        let found = cells.find(|(_, (cell, _))| cell.ordinal == stored.what.ordinal);
        let Some((index, (cell, _))) = found else {
            continue;
        };
        let image = planned.image_key(Turn { index, repeat: 1 });
        let version = image.map(|image| image.version.as_str());
        let differs = other_version(&stored.what, version).or(other_figures(&stored.what, cell));
        if let Some((key, what)) = differs {
            let why = format!(
                "lab {lab} has measured {what}, and its repeats would be of both; go back to what it was, or begin a new lab: name \
                 another file with --results, or give the plan another `name`"
            );
            return Err(plan.refuse(cell, key, &why).into());
        }
    }
    Ok(())
}

/// The key of the plan that names the server, and what it was and is, where that is another version now.
fn other_version(stored: &NewCell, version: Option<&str>) -> Option<(&'static str, String)> {
    let version = version?;
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

/// The same of an emulated device whose figures were changed.
fn other_figures(stored: &NewCell, cell: &Cell) -> Option<(&'static str, String)> {
    for place in &stored.places {
        let role = Role::ALL.into_iter().find(|role| role.name() == place.role);
        let places = &cell.placement.places;
        let named = role.and_then(|role| places.get_key_value(&role));
        // What has no place of its own is where data is.
        let (role, now) = named.or_else(|| places.get_key_value(&Role::Data))?;
        let (was, is) = (&place.profile_fingerprint, now.fingerprint());
        if was.is_some() && is.is_some() && *was != is {
            let what = format!(
                "device {} ({now}) with other figures than its profile has now",
                place.device
            );
            return Some((role.name(), what));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::other_version;
    use store::NewCell;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let differs = |was: &str, now: Option<&str>| {
            let stored = NewCell {
                engine: "mysql-5.7".to_owned(),
                server_version: was.to_owned(),
                ..NewCell::default()
            };
            other_version(&stored, now).map(|(_, what)| what)
        };
        assert_eq!(differs("5.7.22-log", Some("5.7.22")), None);
        assert_eq!(
            differs("10.11.6-MariaDB-log", Some("10.11.6-MariaDB-0+deb12u1")),
            None
        );
        // Never met, or not installed now.
        assert_eq!(differs("", Some("5.7.22")), None);
        assert_eq!(differs("5.7.22", None), None);
        let what = differs("5.7.22-log", Some("5.7.44")).unwrap();
        assert!(
            what.contains("5.7.22-log") && what.contains("5.7.44"),
            "{what}"
        );
    }
}
