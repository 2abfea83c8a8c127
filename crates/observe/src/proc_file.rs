//! Files of /proc that are read again and again: kept open, which spares the search of their path
//! and stays with the process that it was opened for, and read whole.
//!
//! Parsers are given the text and tell what is odd in it; errors name the file, too.

use crate::error::{ObserveError, ObserveResult, read_at};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
pub(crate) use system::number;

/// Room for a text at first; it doubles as texts need it.
const ROOM_BYTES: usize = 4096;
/// Nothing that is read here is longer: /proc/cpuinfo takes 2 KiB a core.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// A file of /proc.
pub(crate) struct ProcFile {
    path: PathBuf,
    file: Option<File>,
    buffer: Vec<u8>,
}

impl ProcFile {
    /// The file at `path`, which is opened when it is first read.
    pub(crate) fn at(path: impl Into<PathBuf>) -> ProcFile {
        ProcFile { path: path.into(), file: None, buffer: Vec::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What `parse` makes of its text now; `None` where this system has no such file or keeps it
    /// from this user, or its process has ended.
    pub(crate) fn read<T>(
        &mut self,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> ObserveResult<Option<T>> {
        let length = self.fill();
        parsed(&self.path, length.map(|length| &self.buffer[..length]), parse)
    }

    /// Reads it from its begin until nothing more comes, and returns how many bytes there are. The
    /// kernel makes short files in the first read and gives what did not fit in the next; long
    /// lists come in several reads anyway.
    fn fill(&mut self) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::open(&self.path)?),
        };
        let mut length = 0;
        loop {
            if length == self.buffer.len() {
                if length >= TEXT_BYTES_MAX {
                    return Err(io::Error::other("it does not end within 16 MiB"));
                }
                self.buffer.resize((length * 2).max(ROOM_BYTES), 0);
            }
            match file.read_at(&mut self.buffer[length..], length as u64) {
                Ok(0) => return Ok(length),
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The kernel is too old, was built or started without this, this user may not see it, or, what
/// Linux says of an open file of a process that has been reaped, there is no such process.
const KEPT_FROM_US: [Errno; 6] =
    [Errno::NOENT, Errno::NOTDIR, Errno::ACCESS, Errno::PERM, Errno::OPNOTSUPP, Errno::SRCH];

fn is_kept_from_us(error: &io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| KEPT_FROM_US.contains(&errno))
}

/// What `parse` makes of what was read at `path`; `None` where that is kept from us.
pub(crate) fn parsed<T>(
    path: &Path,
    read: io::Result<&[u8]>,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> ObserveResult<Option<T>> {
    match read {
        Ok(bytes) => parse(&String::from_utf8_lossy(bytes))
            .map(Some)
            .map_err(|what| ObserveError::Form { path: path.to_owned(), what }),
        Err(error) if is_kept_from_us(&error) => Ok(None),
        Err(error) => Err(read_at(path)(error)),
    }
}

/// Gives each line to `read`; what it says of one comes with the number of the line.
pub(crate) fn each_line(
    text: &str,
    mut read: impl FnMut(&str) -> Result<(), String>,
) -> Result<(), String> {
    for (line, number) in text.lines().zip(1..) {
        read(line).map_err(|what| format!("line {number}: {what}"))?;
    }
    Ok(())
}

/// How much one of what is counted comes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitSize(pub u64);

/// A count as results hold it; see [`scaled`].
pub(crate) fn as_stored(value: u64) -> i64 {
    scaled(value, UnitSize(1))
}

/// `value` times `unit`, as results hold numbers. Beyond 2^63, which the idle nanoseconds of 256
/// cores reach in 14 months, it begins at 0 again: all differences are right but the one across
/// that.
pub(crate) fn scaled(value: u64, UnitSize(unit): UnitSize) -> i64 {
    let product = u128::from(value) * u128::from(unit);
    (product & u128::from(i64::MAX.unsigned_abs())) as i64
}

/// Nanoseconds of a tick, the unit of CPU times in /proc.
pub(crate) fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

#[cfg(test)]
mod tests {
    use super::{ProcFile, UnitSize, as_stored, each_line, number, scaled};

    #[test]
    fn files_are_read_anew_each_time() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("counters");
        let mut file = ProcFile::at(&path);
        let whole = |text: &str| Ok(text.to_owned());
        assert!(file.read(whole).unwrap().is_none());
        let long = "12345 67890\n".repeat(2000);
        for text in ["a 1\n", &long, ""] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(file.read(whole).unwrap().unwrap(), text);
        }
        let mut stat = ProcFile::at("/proc/stat");
        let mut length = || stat.read(|text| Ok(text.len())).unwrap().unwrap();
        let (first, second) = (length(), length());
        assert!(first > 100 && second.abs_diff(first) < 100, "{first} {second}");
    }

    #[test]
    fn what_is_there_and_cannot_be_read_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        let error = ProcFile::at(temp.path()).read(|_| Ok(())).unwrap_err().to_string();
        let path = temp.path().display().to_string();
        assert!(error.starts_with(&format!("cannot read {path}: ")), "{error}");
    }

    #[test]
    fn errors_name_file_line_and_word() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("some");
        std::fs::write(&path, "good 1\nbad x\n").unwrap();
        let reads = |text: &str| {
            each_line(text, |line| number(&mut line.split(' ').skip(1), "the reads").map(|_| ()))
        };
        assert_eq!(
            ProcFile::at(&path).read(reads).unwrap_err().to_string(),
            format!(
                "{} has not the form that Linux documents: line 2: the reads is \"x\", which is \
                 not a count; please report it with the text of that file",
                path.display()
            )
        );
        assert_eq!(reads("good 1\nbad\n").unwrap_err(), "line 2: it ends before the reads");
    }

    #[test]
    fn large_products_begin_again() {
        assert_eq!(scaled(3, UnitSize(512)), 1536);
        assert_eq!(as_stored(i64::MAX as u64), i64::MAX);
        assert_eq!(scaled(1 << 62, UnitSize(2)), 0);
        assert_eq!(scaled(u64::MAX, UnitSize(10_000_000)) & !i64::MAX, 0);
        let idle = |ticks| scaled(ticks, UnitSize(10_000_000));
        let many = 3_000_000_000_000;
        assert_eq!(idle(many + 7) - idle(many), 70_000_000);
    }
}
