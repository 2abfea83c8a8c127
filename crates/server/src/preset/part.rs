//! One server's part of a buffer pool that several servers divide. Servers round a pool up to whole
//! chunks in each of its instances: of a machine's memory that is divided, more would be taken than
//! there is; and of pools that a user names, several would be one.

use super::Translated;
use super::sizes::{CHUNK_BYTES, INSTANCES_POOL_BYTES_MIN};
use crate::ServerBuild;
use crate::release_facts::{SINGLE_POOL_INSTANCE, has_fixed_chunks};
use base::{given_in, parse_size, size_text};

pub(super) const POOL: &str = "innodb_buffer_pool_size";
pub(super) const INSTANCES: &str = "innodb_buffer_pool_instances";
pub(super) const CHUNK: &str = "innodb_buffer_pool_chunk_size";
/// The instances of a pool of 1G or more, where nothing else is set. Later servers choose by cores;
/// with a divisor of it nothing is rounded either.
const INSTANCES_DEFAULT: u64 = 8;

/// A pool that the server takes as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolPart {
    pub bytes: u64,
    /// Where the server's own would round the pool up.
    pub chunk_bytes: Option<u64>,
}

impl PoolPart {
    /// The greatest of at most `bytes`, which are whole MiB, beside the preset for the undivided
    /// pool and variables that the user sets.
    pub fn at_most(
        build: &ServerBuild,
        bytes: u64,
        preset: Option<&Translated>,
        set: &[(String, String)],
    ) -> PoolPart {
        if !has_fixed_chunks(build.release) {
            return PoolPart { bytes, chunk_bytes: None };
        }
        let instances = instances_of(build, bytes, preset, set);
        let chunk_bytes = number(set, CHUNK);
        let unit = chunk_bytes.unwrap_or(1 << 20).max(1 << 20);
        let unit = unit.saturating_mul(instances);
        // A server makes chunks smaller that are greater than its pool.
        let bytes = if bytes < unit { bytes } else { bytes / unit * unit };
        let needed = || chunk_for((bytes, instances));
        PoolPart { bytes, chunk_bytes: chunk_bytes.is_none().then(needed).flatten() }
    }

    /// The lines for the server's option file.
    pub fn set(&self) -> Vec<(String, String)> {
        let chunk = self.chunk_bytes.map(|bytes| line(CHUNK, bytes));
        [line(POOL, self.bytes)].into_iter().chain(chunk).collect()
    }
}

/// The line with which a pool of `bytes`, which the user names, becomes no larger than whole MiB in
/// each of its instances; `None` where the server takes it so anyway, or the user names the size of
/// chunks.
pub fn chunk_of(
    build: &ServerBuild,
    bytes: u64,
    preset: Option<&Translated>,
    set: &[(String, String)],
) -> Option<(String, String)> {
    if !has_fixed_chunks(build.release) || number(set, CHUNK).is_some() {
        return None;
    }
    let instances = instances_of(build, bytes, preset, set);
    let whole_bytes = bytes.checked_next_multiple_of(instances.checked_mul(1 << 20)?)?;
    let chunk_bytes = chunk_for((whole_bytes, instances))?;
    Some(line(CHUNK, chunk_bytes))
}

fn line(variable: &str, bytes: u64) -> (String, String) {
    (variable.to_owned(), size_text(bytes))
}

/// The number of instances of a pool, beside the preset and variables that the user sets.
fn instances_of(
    build: &ServerBuild,
    bytes: u64,
    preset: Option<&Translated>,
    set: &[(String, String)],
) -> u64 {
    let of_preset = preset.map_or(&[][..], |preset| &preset.set);
    match number(set, INSTANCES).or_else(|| number(of_preset, INSTANCES)) {
        _ if bytes < INSTANCES_POOL_BYTES_MIN || build.release.has(SINGLE_POOL_INSTANCE) => 1,
        given => given.unwrap_or(INSTANCES_DEFAULT).max(1),
    }
}

fn number(set: &[(String, String)], variable: &str) -> Option<u64> {
    given_in(set, variable).and_then(parse_size)
}

/// The size of a chunk with which a pool, of which size and number of instances are given, stays
/// what it is, where the server's own would round it up.
pub(super) fn chunk_for((pool_bytes, instances): (u64, u64)) -> Option<u64> {
    let unit = CHUNK_BYTES.saturating_mul(instances);
    (pool_bytes > unit && !pool_bytes.is_multiple_of(unit)).then(|| pool_bytes / instances)
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, INSTANCES, POOL, PoolPart, chunk_of};
    use crate::preset::tests::build;
    use crate::preset::{Fate, PresetScale, find};
    use base::ServerFamily;

    const MIB: u64 = 1 << 20;

    fn part(mib: u64, set: &[(&str, &str)]) -> PoolPart {
        let server = build("mysql-5.7", ServerFamily::Mysql, (5, 7, 44));
        let set: Vec<(String, String)> =
            set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        PoolPart::at_most(&server, mib * MIB, None, &set)
    }

    fn expected(mib: u64, chunk_mib: Option<u64>) -> PoolPart {
        PoolPart { bytes: mib * MIB, chunk_bytes: chunk_mib.map(|mib| mib * MIB) }
    }

    #[test]
    fn a_part_is_a_pool_that_is_not_rounded_up() {
        assert_eq!(part(341, &[]), expected(341, Some(341)));
        assert_eq!(part(100, &[]), expected(100, None));
        assert_eq!(part(256, &[]), expected(256, None));
        assert_eq!(part(2457, &[]), expected(2456, Some(307)));
        assert_eq!(part(6144, &[(INSTANCES, "32")]), expected(6144, Some(192)));
        // Below 1G a server has one instance, whatever is set.
        assert_eq!(part(1000, &[(INSTANCES, "32")]), expected(1000, Some(1000)));
        let given = "innodb-buffer-pool-chunk-size";
        assert_eq!(part(341, &[(given, "64M")]), expected(320, None));
        assert_eq!(part(40, &[(given, "64M")]), expected(40, None));
        let later = build("mariadb-10.11", ServerFamily::MariaDb, (10, 11, 19));
        let of_later = PoolPart::at_most(&later, 341 * MIB, None, &[]);
        assert_eq!(of_later, expected(341, None));
    }

    #[test]
    fn a_pool_that_is_named_grows_by_no_chunk() {
        let server = build("mysql-5.7", ServerFamily::Mysql, (5, 7, 44));
        let chunk = |mib: u64, set: &[(String, String)]| {
            chunk_of(&server, mib * MIB, None, set).map(|(_, value)| value)
        };
        assert_eq!(chunk(150, &[]).as_deref(), Some("150M"));
        // Less than a chunk, and whole chunks.
        assert_eq!((chunk(100, &[]), chunk(2048, &[])), (None, None));
        // In 8 instances: 1104M, where the server's own would be 2048M.
        assert_eq!(chunk(1100, &[]).as_deref(), Some("138M"));
        let given = [("innodb-buffer-pool-chunk-size".to_owned(), "64M".to_owned())];
        assert_eq!(chunk(150, &given), None);
        let later = build("mariadb-10.11", ServerFamily::MariaDb, (10, 11, 19));
        assert_eq!(chunk_of(&later, 150 * MIB, None, &[]), None);
    }

    #[test]
    fn a_preset_is_translated_for_its_part() {
        let server = build("mysql-5.7", ServerFamily::Mysql, (5, 7, 44));
        let preset = find("config-3").unwrap();
        let whole = preset.translate(&server, PresetScale::Papers, &[], None);
        let line = |set: &[(String, String)], name: &str| {
            let found = set.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        };
        let (pool, instances) = (line(&whole.set, POOL), line(&whole.set, INSTANCES));
        assert_eq!((pool.as_deref(), instances.as_deref()), (Some("12G"), Some("32")));
        let part = PoolPart::at_most(&server, 6 << 30, Some(&whole), &[]);
        let half = preset.translate(&server, PresetScale::Papers, &[], Some(part));
        assert!(part.set().iter().all(|one| half.set.contains(one)));
        assert_eq!(line(&half.set, CHUNK).as_deref(), Some("192M"));
        assert!(half.note().unwrap().contains("scaled innodb_buffer_pool_size 12G to 6G"));
        // What the user sets is divided, too.
        let set = [(POOL.to_owned(), "1G".to_owned())];
        let part = PoolPart::at_most(&server, 341 * MIB, Some(&whole), &set);
        let third = preset.translate(&server, PresetScale::Papers, &set, Some(part));
        let fate = |name: &str| third.fates.iter().find(|one| one.variable == name).unwrap();
        assert_eq!(fate(POOL).fate, Fate::Overridden);
        assert_eq!(fate(POOL).became.as_ref().unwrap().1, "341M");
        assert_eq!(fate(INSTANCES).became.as_ref().unwrap().1, "1");
        assert_eq!(fate(CHUNK).became.as_ref().unwrap().1, "341M");
    }
}
