//! What the kernel tells, in files of /proc and by calls, and the ends of logs.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes that an ordinary user may still write on the file system of `path`.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// The size `key` of /proc/meminfo; `None` where this kernel does not tell it.
pub fn meminfo_bytes(key: &str) -> Option<u64> {
    size_bytes(&std::fs::read_to_string("/proc/meminfo").ok()?, key).ok()?
}

/// The size `key` in a text of lines such as `MemTotal:  24684084 kB`, meaning KiB; `None` where
/// there is no such line.
///
/// # Errors
/// What the line has instead.
pub fn size_bytes(text: &str, key: &str) -> Result<Option<u64>, String> {
    for (line, number) in text.lines().zip(1..) {
        let Some(value) = line.strip_prefix(key).and_then(|rest| rest.strip_prefix(':')) else {
            continue;
        };
        let value = value.trim();
        let kib = value.strip_suffix(" kB").and_then(|kib| kib.parse::<u64>().ok());
        let bytes = kib.and_then(|kib| kib.checked_mul(1024)).map(Some);
        return bytes.ok_or_else(|| format!("line {number}: {key} is {value:?}, which is no size"));
    }
    Ok(None)
}

/// The next of some words as a number; `name` says what it is.
///
/// # Errors
/// There is no word more, or it is no number.
pub fn number<'a>(words: &mut impl Iterator<Item = &'a str>, name: &str) -> Result<u64, String> {
    let word = words.next().ok_or_else(|| format!("it ends before {name}"))?;
    word.parse().map_err(|_| format!("{name} is {word:?}, which is not a count"))
}

/// What is used of the file `stat` of a process or a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// A zombie, whose parent has not asked for its end yet.
    pub has_ended: bool,
    pub user_ticks: u64,
    pub system_ticks: u64,
    pub threads: u64,
    /// From the boot of the machine.
    pub start_ticks: u64,
    pub resident_pages: u64,
}

impl ProcessStat {
    /// Reads the text of that file.
    ///
    /// # Errors
    /// What the text lacks.
    pub fn parse(text: &str) -> Result<ProcessStat, String> {
        // The name, in parentheses, may hold anything, also spaces and parentheses; behind it are
        // the state and numbers.
        let (_, rest) = text.rsplit_once(')').ok_or("it has no name in parentheses")?;
        let mut words = rest.split_ascii_whitespace();
        let state = words.next().ok_or("it ends before the state")?;
        let mut number_behind =
            |skipped: usize, name: &str| number(&mut words.by_ref().skip(skipped), name);
        Ok(ProcessStat {
            has_ended: matches!(state, "Z" | "X"),
            // Behind those from the parent to the children's major faults.
            user_ticks: number_behind(10, "the user time")?,
            system_ticks: number_behind(0, "the system time")?,
            // Behind times of children, priority, nice.
            threads: number_behind(4, "the threads")?,
            // Behind an alarm that is no more.
            start_ticks: number_behind(1, "the start time")?,
            // Behind the virtual size.
            resident_pages: number_behind(1, "the resident set")?,
        })
    }
}

/// The last `bytes_max` bytes of a text file from byte `from` on, without the begin of a line that
/// is cut. Empty where there is no such file.
pub fn end_of_file(path: &Path, from: u64, bytes_max: usize) -> String {
    let read = || -> io::Result<(bool, Vec<u8>)> {
        let mut file = File::open(path)?;
        let start = from.max(file.metadata()?.len().saturating_sub(bytes_max as u64));
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(bytes_max as u64).read_to_end(&mut bytes)?;
        Ok((start > from, bytes))
    };
    let (is_cut, bytes) = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match text.split_once('\n') {
        Some((_, whole)) if is_cut => whole.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{ProcessStat, end_of_file, free_bytes, meminfo_bytes, size_bytes};
    use std::fs;
    use std::path::Path;

    #[test]
    fn sizes_are_found_by_their_whole_name() {
        let text = "MemTotal:       24683520 kB\nMemAvailable:   100 kB\nVmHWM:\t     7 kB\n";
        assert_eq!(size_bytes(text, "MemAvailable"), Ok(Some(100 << 10)));
        assert_eq!(size_bytes(text, "VmHWM"), Ok(Some(7 << 10)));
        assert_eq!(size_bytes(text, "Mem"), Ok(None));
        for (text, says) in [
            ("MemTotal: 1 kB\nDirty: few kB\n", "line 2: Dirty is \"few kB\""),
            ("Dirty: 1 MB\n", "line 1: Dirty is \"1 MB\", which is no size"),
            ("Dirty: 1\n", "line 1: Dirty is \"1\""),
            ("Dirty:\n", "line 1: Dirty is \"\""),
        ] {
            let error = size_bytes(text, "Dirty").unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        assert!(meminfo_bytes("MemAvailable").unwrap() > 1 << 20);
        assert_eq!(meminfo_bytes("Bogus"), None);
    }

    #[test]
    fn free_space_is_that_of_a_file_system() {
        assert!(free_bytes(Path::new("/")).is_ok());
        assert!(free_bytes(Path::new("/nonexistent/here")).is_err());
    }

    const NUMBERS: &str = "25020 25020 24173 0 -1 4194304 100 0 7 0 12 34 5 6 20 0 17 0 3668967 \
        3133440 380 18446744073709551615 94184135806976 94184135826857 140727777071536 0 0 0 0 0 0 \
        0 0 0 17 1 0 0 0 0 0";

    #[test]
    fn names_of_processes_may_hold_anything() {
        for name in ["mysqld", "a) R 1 (b", "x y", ")", "(", "two\nlines", ""] {
            let stat = ProcessStat::parse(&format!("25034 ({name}) S {NUMBERS}\n")).unwrap();
            let expected = ProcessStat {
                has_ended: false,
                user_ticks: 12,
                system_ticks: 34,
                threads: 17,
                start_ticks: 3_668_967,
                resident_pages: 380,
            };
            assert_eq!(stat, expected, "{name}");
        }
        for (state, has_ended) in [("R", false), ("D", false), ("Z", true), ("X", true)] {
            let stat = ProcessStat::parse(&format!("1 (a) {state} {NUMBERS}\n")).unwrap();
            assert_eq!(stat.has_ended, has_ended, "{state}");
        }
    }

    #[test]
    fn other_forms_of_stat_are_errors() {
        for (text, says) in [
            ("", "it has no name"),
            ("1 (a)", "it ends before the state"),
            ("1 (a) S 1 2 3", "it ends before the user time"),
            ("1 (a) S 1 2 3 4 5 6 7 8 9 10 x", "the user time is \"x\""),
        ] {
            let error = ProcessStat::parse(text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn ends_of_files_are_cut_at_lines() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        assert_eq!(end_of_file(&path, 0, 100), "");
        fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(end_of_file(&path, 0, 100), "one\ntwo\n");
        assert_eq!(end_of_file(&path, 4, 100), "two\n");
        fs::write(&path, "0123456789\n".repeat(10_000)).unwrap();
        let end = end_of_file(&path, 0, 16 << 10);
        assert!(end.len() <= 16 << 10 && end.starts_with("0123"));
    }
}
