//! Where the files of a role go.

use crate::identity::as_text_or_none;
use device::{Array, Member, Profile, Role, Sheet};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use xxhash_rust::xxh3::xxh3_64;

/// One place: a directory of a real device, or an emulated device.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// `/mnt/nvme0`
    Directory(PathBuf),
    /// `hdd-15k`, `my-disk.toml`, or either of them with `@/mnt/fast` behind it.
    Emulated {
        profile: Box<Profile>,
        /// The profile's file, where it is not one that comes with mydyno.
        file: Option<PathBuf>,
        /// Where the bytes really are; chosen where none is named.
        at: Option<PathBuf>,
    },
}

/// The places that were asked for. A role that has none is where data is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Placement {
    pub places: BTreeMap<Role, Place>,
    /// How much of each emulated device holds live data. Without it: as its profile has it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text_or_none")]
    pub used: Option<Used>,
    /// Size of the modelled page cache.
    pub page_cache_bytes: Option<u64>,
    /// Count what goes to real storage too, by the shim.
    #[serde(rename = "count_io")]
    pub count: bool,
}

/// How much of a device holds live data, and what the rest of its flash is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Used {
    pub share: UsedShare,
    /// The rest is erased, as after a trim. Without it the device has been written for long.
    pub is_fresh: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UsedShare {
    /// Above 0 and up to 1.
    Of(f64),
    /// What the database that a preset was measured with took of it: a database in proportion
    /// stands for that one, on a device in the same proportion.
    Auto,
}

/// Of a database, and of that which the papers had with its preset.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseBytes {
    pub own: u64,
    pub papers: u64,
}

impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.share {
            UsedShare::Of(share) => share.fmt(f)?,
            UsedShare::Auto => f.write_str("auto")?,
        }
        f.write_str(if self.is_fresh { " fresh" } else { "" })
    }
}

impl Placement {
    /// Is any role on an emulated device?
    pub fn is_emulated(&self) -> bool {
        self.profiles().next().is_some()
    }

    fn profiles(&self) -> impl Iterator<Item = &Profile> {
        self.places.values().filter_map(Place::profile)
    }

    /// With profiles that have `used` beside this database.
    #[must_use]
    pub fn occupied(&self, database: DatabaseBytes) -> Placement {
        let mut occupied = self.clone();
        for place in occupied.places.values_mut() {
            if let (Place::Emulated { profile, .. }, Some(used)) = (place, self.used) {
                let (share, size) = match used.share {
                    UsedShare::Of(share) => (share, 1.0),
                    UsedShare::Auto => {
                        let papers_bytes = database.papers.max(1) as f64;
                        let size = database.own as f64 / papers_bytes;
                        (papers_bytes / profile.capacity_bytes.max(1) as f64, size.min(1.0))
                    }
                };
                let occupied = profile.occupied(share.min(1.0));
                **profile = if used.is_fresh { occupied.trimmed(size) } else { occupied };
            }
        }
        occupied
    }

    /// Is any role on emulated flash?
    pub fn has_flash(&self) -> bool {
        self.profiles().any(|profile| !profile.is_disk())
    }

    /// Is every file on an emulated device?
    pub fn is_all_emulated(&self) -> bool {
        self.places.contains_key(&Role::Data) && self.profiles().count() == self.places.len()
    }
}

impl Place {
    fn profile(&self) -> Option<&Profile> {
        match self {
            Place::Directory(_) => None,
            Place::Emulated { profile, .. } => Some(profile),
        }
    }

    /// For results and for people: the profile's name, or the directory.
    pub fn device_name(&self) -> String {
        match self {
            Place::Directory(path) => path.display().to_string(),
            Place::Emulated { profile, .. } => profile.name.clone(),
        }
    }

    /// As [`used_in_words`], of an emulated device.
    pub fn used(&self) -> Option<String> {
        used_in_words(self.profile()?)
    }

    /// Of an emulated device: what tells its figures from others, as sixteen hexadecimal digits.
    /// Titles, prices, promises and sources change nothing of how it behaves, and are not in it.
    pub fn fingerprint(&self) -> Option<String> {
        let figures = serde_json::to_vec(&figures_of(self.profile()?))
            .expect("a profile is made of texts, numbers and tables, which have a JSON form");
        Some(format!("{:016x}", xxh3_64(&figures)))
    }
}

/// How much of a device is used, where that is told: `5 % used`, and whether it is fresh.
pub fn used_in_words(profile: &Profile) -> Option<String> {
    let fresh = if profile.trimmed_bytes.is_some() { ", fresh" } else { "" };
    Some(format!("{} used{fresh}", base::percent(profile.occupancy?)))
}

/// What a device works by; of an array also what its members do, where they are named only.
fn figures_of(profile: &Profile) -> Profile {
    let array = profile.array.as_ref().map(|array| Array {
        member: match array.profile() {
            Some(member) => Member::Inline(Box::new(figures_of(&member))),
            None => array.member.clone(),
        },
        ..array.clone()
    });
    Profile {
        title: String::new(),
        price_usd: None,
        sheet: Sheet::default(),
        sources: BTreeMap::new(),
        array,
        ..profile.clone()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Directory(path) => write!(f, "{}", path.display()),
            Place::Emulated { profile, file, at } => {
                match file {
                    Some(file) => write!(f, "{}", file.display())?,
                    None => f.write_str(&profile.name)?,
                }
                at.as_ref().map_or(Ok(()), |at| write!(f, "@{}", at.display()))
            }
        }
    }
}

/// What tells it from others. Another file of that name may be another device.
impl Serialize for Place {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match (self, self.fingerprint()) {
            (Place::Emulated { file: Some(_), .. }, Some(figures)) => {
                to.collect_str(&format_args!("{self} {figures}"))
            }
            _ => to.collect_str(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Place;
    use device::Member;
    use std::path::PathBuf;

    #[test]
    fn what_is_used_is_told_where_it_was_asked_for() {
        let used =
            |profile| Place::Emulated { profile: Box::new(profile), file: None, at: None }.used();
        let full = device::builtin("sata-850pro").unwrap();
        assert_eq!(used(full.clone()), None);
        assert_eq!(used(full.occupied(1.0 / 15.0)).unwrap(), "6.67 % used");
        assert_eq!(used(full.occupied(0.05).trimmed(1.0)).unwrap(), "5 % used, fresh");
    }

    #[test]
    fn a_fingerprint_is_of_the_figures() {
        let named = |name: &str| device::builtin(name).unwrap();
        let fingerprint = |profile| {
            let place = Place::Emulated { profile: Box::new(profile), file: None, at: None };
            place.fingerprint().unwrap()
        };
        let disk = fingerprint(named("hdd-15k"));
        assert_eq!(disk.len(), 16);
        assert_ne!(disk, fingerprint(named("hdd-7k2")));
        let mut told_otherwise = named("hdd-15k");
        told_otherwise.title = "another title".to_owned();
        told_otherwise.sources.clear();
        assert_eq!(fingerprint(told_otherwise), disk);
        let mut faster = named("hdd-15k");
        faster.disk.as_mut().unwrap().average_seek_ms -= 0.1;
        assert_ne!(fingerprint(faster), disk);
        // The members of an array count, whether they are named or written out.
        let mut array = named("raid10-hdd-8");
        let by_name = fingerprint(array.clone());
        let inside = array.array.as_mut().unwrap();
        let mut member = inside.profile().unwrap();
        inside.member = Member::Inline(Box::new(member.clone()));
        assert_eq!(fingerprint(array.clone()), by_name);
        member.disk.as_mut().unwrap().rpm += 1.0;
        array.array.as_mut().unwrap().member = Member::Inline(Box::new(member));
        assert_ne!(fingerprint(array), by_name);
        let directory = Place::Directory(PathBuf::from("/mnt/x"));
        assert_eq!(directory.fingerprint(), None);
    }
}
