//! Reading a file that somebody else may have named: a FIFO or a device neither blocks nor is
//! touched.

use rustix::fs::{Mode, OFlags, open};
use std::fs::File;
use std::io::{self, Error, ErrorKind, Read};
use std::path::Path;

/// May the name be that of a symbolic link?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolicLinks {
    Followed,
    Refused,
}

/// The text of a regular file, of which no more than `bytes_max` is read.
///
/// # Errors
/// It is no regular file, is longer, is not UTF-8, or cannot be read.
pub fn read_regular(path: &Path, bytes_max: u64, links: SymbolicLinks) -> io::Result<String> {
    let (named, follow) = match links {
        SymbolicLinks::Followed => (std::fs::metadata(path)?, OFlags::empty()),
        SymbolicLinks::Refused => (std::fs::symlink_metadata(path)?, OFlags::NOFOLLOW),
    };
    let refused = |why: &str| Error::new(ErrorKind::InvalidInput, why.to_owned());
    // To open a device is to use it.
    if !named.is_file() {
        return Err(refused("it is no regular file"));
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | follow;
    let file = File::from(open(path, flags, Mode::empty())?);
    // It may have become another one meanwhile.
    if !file.metadata()?.is_file() {
        return Err(refused("it is no regular file"));
    }
    let mut text = String::new();
    let read = file.take(bytes_max.saturating_add(1)).read_to_string(&mut text)?;
    match read as u64 > bytes_max {
        true => Err(refused(&format!("it is longer than {} KiB", bytes_max >> 10))),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{SymbolicLinks, read_regular};
    use std::os::unix::fs::symlink;
    use std::process::Command;

    #[test]
    fn only_regular_files_are_read_and_nothing_blocks() {
        let temp = tempfile::tempdir().unwrap();
        let path = |name: &str| temp.path().join(name);
        std::fs::write(path("file"), "text").unwrap();
        symlink("file", path("link")).unwrap();
        let made = Command::new("mkfifo").arg(path("fifo")).status().unwrap();
        assert!(made.success());
        symlink("fifo", path("to-fifo")).unwrap();
        let read = |name: &str, links| read_regular(&path(name), 4, links);
        for links in [SymbolicLinks::Followed, SymbolicLinks::Refused] {
            assert_eq!(read("file", links).unwrap(), "text");
            for name in ["fifo", "to-fifo", "/dev/zero", ".", "none"] {
                read(name, links).expect_err(name);
            }
        }
        assert_eq!(read("link", SymbolicLinks::Followed).unwrap(), "text");
        read("link", SymbolicLinks::Refused).expect_err("a link");
        assert!(read_regular(&path("file"), 3, SymbolicLinks::Followed).is_err(), "it is longer");
    }
}
