//! Where the bytes of emulated devices really are: in memory where it has room, because the host
//! has to be faster than the device that it plays.

use std::path::{Path, PathBuf};
use std::{fs, io};
use system::{free_bytes, meminfo_bytes};

/// Memory that everything else keeps, beside the buffer pool: the server's other memory, the
/// driver, the system.
const RESERVE_BYTES: u64 = 1 << 30;
/// Redo grows, undo grows, temporary files come: what is there before is two thirds of what may be
/// needed.
const GROWTH_PERCENT: u64 = 150;

/// A file system in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemoryFiles {
    pub(crate) directory: PathBuf,
    pub(crate) free_bytes: u64,
}

/// What is asked of a backing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    pub(crate) bytes: u64,
    pub(crate) buffer_pool_bytes: u64,
}

/// A directory in memory, where both its file system and the machine have room; else why it is to
/// be one of a real file system.
pub(crate) fn choose(
    need: Need,
    candidates: &[MemoryFiles],
    available_memory_bytes: Option<u64>,
) -> Result<PathBuf, String> {
    let wanted = need.bytes.saturating_mul(GROWTH_PERCENT) / 100;
    let available = available_memory_bytes.ok_or("the free memory of this machine is not known")?;
    let widest = candidates.iter().max_by_key(|c| c.free_bytes);
    let widest = widest.ok_or("there is no tmpfs that can be written")?;
    let kept = RESERVE_BYTES.saturating_add(need.buffer_pool_bytes);
    if available < wanted.saturating_add(kept) {
        let [available, wanted, kept] = [available, wanted, kept].map(|bytes| bytes >> 20);
        return Err(format!(
            "{available} MiB of memory are available, the files take up to {wanted} MiB, and \
             {kept} MiB are kept for the server and the driver"
        ));
    }
    // The first that fits, in the order of preference.
    match candidates.iter().find(|c| c.free_bytes >= wanted) {
        Some(fits) => Ok(fits.directory.clone()),
        None => Err(format!(
            "{} has {} MiB free and the files take up to {} MiB (in a container, raise --shm-size)",
            widest.directory.display(),
            widest.free_bytes >> 20,
            wanted >> 20
        )),
    }
}

/// The file systems in memory that this user can write; that of a login goes with its last session.
pub(crate) fn memory_files(with_login: bool) -> Vec<MemoryFiles> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|_| with_login);
    let directories = ["/dev/shm".into()].into_iter().chain(runtime).map(PathBuf::from);
    let usable = directories.filter(|directory| is_in_memory(directory) && is_writable(directory));
    let with_room = usable.filter_map(|directory| {
        let free_bytes = free_bytes(&directory).ok()?;
        Some(MemoryFiles { directory, free_bytes })
    });
    with_room.collect()
}

/// Is the directory of a file system in memory? What is in it is gone after a restart of the
/// machine.
pub fn is_in_memory(directory: &Path) -> bool {
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    is_of_type(directory, TMPFS_MAGIC)
}

/// Is its file system of the type that `statfs` has this number for?
pub(crate) fn is_of_type(directory: &Path, magic: u64) -> bool {
    rustix::fs::statfs(directory).is_ok_and(|stat| u64::try_from(stat.f_type) == Ok(magic))
}

pub(crate) fn is_writable(directory: &Path) -> bool {
    use rustix::fs::Access;
    rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// The bytes that can still be written; a file system in memory has no more room than memory has,
/// whatever it says.
pub fn room_bytes(path: &Path) -> io::Result<u64> {
    let free = free_bytes(path)?;
    let memory = is_in_memory(path).then(available_memory_bytes).flatten();
    Ok(memory.map_or(free, |memory| memory.min(free)))
}

/// What can be allocated without swapping, by the kernel's own estimate, and within the limit of
/// this process's control group.
pub fn available_memory_bytes() -> Option<u64> {
    let machine = meminfo_bytes("MemAvailable")?;
    Some(control_group_bytes().map_or(machine, |group| group.min(machine)))
}

/// What a container may still take; `None` without a limit. Its own control group is mounted at the
/// root (cgroup v2).
fn control_group_bytes() -> Option<u64> {
    let read = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let used = number("memory.current")?;
    let free = number("memory.max")?.saturating_sub(used);
    // Page cache counts as used and gives way.
    let stat = read("memory.stat").unwrap_or_default();
    let cache = stat.lines().find_map(|l| l.strip_prefix("inactive_file "));
    let cache = cache.and_then(|c| c.trim().parse().ok()).unwrap_or(0);
    Some(free.saturating_add(cache))
}

#[cfg(test)]
mod tests {
    use super::{
        MemoryFiles, Need, available_memory_bytes, choose, is_in_memory, is_writable,
        meminfo_bytes, memory_files, room_bytes,
    };
    use std::path::{Path, PathBuf};

    const GIB: u64 = 1 << 30;

    fn shm(free_bytes: u64) -> MemoryFiles {
        MemoryFiles { directory: PathBuf::from("/dev/shm"), free_bytes }
    }

    fn user(free_bytes: u64) -> MemoryFiles {
        MemoryFiles { directory: PathBuf::from("/run/user/7"), free_bytes }
    }

    #[test]
    fn memory_where_it_has_room() {
        let need = Need { bytes: 4 * GIB, buffer_pool_bytes: GIB };
        let memory = |path: &str| Ok(PathBuf::from(path));
        let both = [shm(6 * GIB), user(7 * GIB)];
        assert_eq!(choose(need, &both, Some(8 * GIB)), memory("/dev/shm"));
        let second = [shm(6 * GIB - 1), user(7 * GIB)];
        assert_eq!(choose(need, &second, Some(8 * GIB)), memory("/run/user/7"));
        for (candidates, available, why) in [
            (&both[..], Some(8 * GIB - 1), "2048 MiB are kept"),
            (
                &[shm(64 << 20)],
                Some(64 * GIB),
                "/dev/shm has 64 MiB free and the files take up to 6144 MiB",
            ),
            (&[], Some(64 * GIB), "no tmpfs"),
            (&both, None, "not known"),
        ] {
            let Err(said) = choose(need, candidates, available) else {
                panic!("{why}");
            };
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn files_in_memory_have_no_more_room_than_memory() {
        let directory = Path::new("/dev/shm");
        if is_in_memory(directory) {
            let memory = meminfo_bytes("MemTotal");
            assert!(room_bytes(directory).unwrap() <= memory.unwrap());
        }
        let named = memory_files(false);
        assert_eq!(named.len(), usize::from(is_in_memory(directory) && is_writable(directory)));
        assert!(named.iter().all(|files| files.directory == directory));
    }

    #[test]
    fn free_memory_is_read() {
        assert!(available_memory_bytes().unwrap() > 1 << 20);
    }
}
