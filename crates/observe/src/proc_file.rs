//! Files of /proc that are read again and again: kept open, which spares the search of their path
//! and stays with the process that it was opened for, and read whole.

use crate::error::{ObserveError, read_at};
use rustix::io::Errno;
use std::borrow::Cow;
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::str::SplitAsciiWhitespace;

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
        ProcFile { path: path.into(), file: None, buffer: vec![0; ROOM_BYTES] }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What it says now; `None` where this system has no such file or keeps it from this user.
    pub(crate) fn read(&mut self) -> Result<Option<ProcText<'_>>, ObserveError> {
        if self.file.is_none() {
            self.file = match File::open(&self.path) {
                Ok(file) => Some(file),
                Err(error) if is_kept_from_us(&error) => None,
                Err(error) => return Err(read_at(&self.path)(error)),
            };
        }
        let Some(file) = &self.file else {
            return Ok(None);
        };
        match fill(file, &mut self.buffer) {
            Ok(length) => {
                let text = String::from_utf8_lossy(&self.buffer[..length]);
                Ok(Some(ProcText::new(&self.path, text)))
            }
            Err(error) if is_kept_from_us(&error) => Ok(None),
            Err(error) => Err(read_at(&self.path)(error)),
        }
    }
}

/// Reads `file` from its begin until nothing more comes, and returns how many bytes there are. The
/// kernel makes short files in the first read and gives what did not fit in the next; long lists
/// come in several reads anyway.
fn fill(file: &File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        if length == buffer.len() {
            if length >= TEXT_BYTES_MAX {
                return Err(io::Error::other("it does not end within 16 MiB"));
            }
            buffer.resize(length * 2, 0);
        }
        match file.read_at(&mut buffer[length..], length as u64) {
            Ok(0) => return Ok(length),
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The kernel is too old, was built or started without this, or this user may not see it.
pub(crate) fn is_kept_from_us(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::PERM | Errno::OPNOTSUPP)
    )
}

/// What a file said at one time.
pub(crate) struct ProcText<'a> {
    path: &'a Path,
    text: Cow<'a, str>,
}

impl<'a> ProcText<'a> {
    pub(crate) fn new(path: &'a Path, text: impl Into<Cow<'a, str>>) -> ProcText<'a> {
        ProcText { path, text: text.into() }
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = ProcLine<'_>> {
        let path = self.path;
        let lines = self.text.lines().enumerate();
        lines.map(move |(index, text)| ProcLine { path, number: index + 1, text })
    }

    /// For texts of one line, in which a name may hold anything, an end of line too.
    pub(crate) fn as_one_line(&self) -> ProcLine<'_> {
        ProcLine { path: self.path, number: 1, text: &self.text }
    }

    /// The error that it lacks `what`, which every such text has.
    pub(crate) fn lacks(&self, what: &str) -> ObserveError {
        ObserveError::Form { path: self.path.to_owned(), what: format!("it has no {what}") }
    }
}

/// A line or a part of one, which knows where it stands.
#[derive(Clone, Copy)]
pub(crate) struct ProcLine<'a> {
    path: &'a Path,
    number: usize,
    pub(crate) text: &'a str,
}

impl<'a> ProcLine<'a> {
    /// A part of this line.
    pub(crate) fn part(self, text: &'a str) -> ProcLine<'a> {
        ProcLine { text, ..self }
    }

    /// Its words in their order.
    pub(crate) fn fields(self) -> Fields<'a> {
        Fields { line: self, words: self.text.split_ascii_whitespace() }
    }

    /// The error that names this line.
    pub(crate) fn malformed(self, what: impl Display) -> ObserveError {
        ObserveError::Form {
            path: self.path.to_owned(),
            what: format!("line {}: {what}", self.number),
        }
    }
}

/// The words of a line.
pub(crate) struct Fields<'a> {
    line: ProcLine<'a>,
    words: SplitAsciiWhitespace<'a>,
}

impl<'a> Fields<'a> {
    /// Passes over words that are not needed.
    pub(crate) fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.words.next();
        }
    }

    /// The next word; `name` says what it is.
    pub(crate) fn word(&mut self, name: &str) -> Result<&'a str, ObserveError> {
        let word = self.words.next();
        word.ok_or_else(|| self.line.malformed(format_args!("it ends before {name}")))
    }

    /// The next word as a number; `name` says what it is.
    pub(crate) fn number(&mut self, name: &str) -> Result<u64, ObserveError> {
        let word = self.word(name)?;
        self.parse(name, word)
    }

    /// The next word as a number; `None` at the end of the line, where older kernels stop.
    pub(crate) fn number_or_end(&mut self, name: &str) -> Result<Option<u64>, ObserveError> {
        match self.words.next() {
            Some(word) => self.parse(name, word).map(Some),
            None => Ok(None),
        }
    }

    fn parse(&self, name: &str, word: &str) -> Result<u64, ObserveError> {
        let not_a_count = |_| {
            let what = format!("{name} is {word:?}, which is not a count");
            self.line.malformed(what)
        };
        word.parse().map_err(not_a_count)
    }
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
impl crate::sampler::Readings {
    /// The one value of this name and label, for tests.
    pub(crate) fn value(&self, name: &str, label: &str) -> Option<i64> {
        let mut found =
            self.values().iter().filter(|(metric, _)| metric.name == name && metric.label == label);
        let value = found.next().map(|(_, value)| *value);
        assert!(found.next().is_none(), "{name} of {label:?} comes twice");
        value
    }
}

#[cfg(test)]
mod tests {
    use super::{ProcFile, ProcText, UnitSize, as_stored, scaled};
    use std::path::Path;

    #[test]
    fn files_are_read_anew_each_time() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("counters");
        let mut file = ProcFile::at(&path);
        assert!(file.read().unwrap().is_none());
        // Longer than the first room.
        let long = "12345 67890\n".repeat(2000);
        for text in ["a 1\n", &long, ""] {
            std::fs::write(&path, text).unwrap();
            let read = file.read().unwrap().unwrap();
            assert_eq!(read.as_one_line().text, text);
        }
        let mut stat = ProcFile::at("/proc/stat");
        let length = |text: &ProcText<'_>| text.as_one_line().text.len();
        let first = length(&stat.read().unwrap().unwrap());
        let second = length(&stat.read().unwrap().unwrap());
        assert!(first > 100 && second.abs_diff(first) < 100, "{first} {second}");
    }

    #[test]
    fn what_is_there_and_cannot_be_read_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        let error = ProcFile::at(temp.path()).read().err().unwrap().to_string();
        let path = temp.path().display().to_string();
        assert!(error.starts_with(&format!("cannot read {path}: ")), "{error}");
    }

    #[test]
    fn errors_name_file_line_and_word() {
        let text = ProcText::new(Path::new("/proc/some"), "good 1\nbad x\n");
        let bad = text.lines().nth(1).unwrap();
        let mut fields = bad.fields();
        assert_eq!(fields.word("its name").unwrap(), "bad");
        assert_eq!(
            fields.number("the reads").unwrap_err().to_string(),
            "/proc/some has not the form that Linux documents: line 2: the reads is \"x\", which \
             is not a count; please report it with the text of that file"
        );
        assert!(fields.number_or_end("the writes").unwrap().is_none());
        let error = fields.number("the writes").unwrap_err().to_string();
        assert!(error.contains("line 2: it ends before the writes;"), "{error}");
        let error = text.lacks("line `cpu`").to_string();
        assert!(error.contains("documents: it has no line `cpu`;"), "{error}");
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
