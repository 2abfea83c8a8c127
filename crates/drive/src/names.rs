//! Names that another process tells. Those in the sources live as long as this process, and so do
//! these: each is kept once, and there is a bound to how many.

use base::lock;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Names of statements and errors that processes may tell: the sources have some fifty.
const NAMES_MAX: usize = 4096;
const NAME_BYTES_MAX: usize = 128;

/// A name that is kept.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KnownName(pub(crate) &'static str);

impl<'de> Deserialize<'de> for KnownName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<KnownName, D::Error> {
        let kept = kept(String::deserialize(from)?);
        kept.map(KnownName).ok_or_else(|| D::Error::custom("no name of a statement"))
    }
}

fn kept(name: String) -> Option<&'static str> {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = lock(&NAMES);
    if let Some(known) = names.get(name.as_str()) {
        return Some(known);
    }
    let has_room = name.len() <= NAME_BYTES_MAX && names.len() < NAMES_MAX;
    has_room.then(|| {
        let kept: &'static str = Box::leak(name.into_boxed_str());
        names.insert(kept);
        kept
    })
}

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn names_are_kept_once_and_long_ones_refused() {
        let kept = |name: &str| kept(name.to_owned());
        let (one, again) = (kept("lock_stock").unwrap(), kept("lock_stock").unwrap());
        assert!(std::ptr::eq(one, again));
        assert_eq!(kept(&"x".repeat(500)), None);
    }
}
