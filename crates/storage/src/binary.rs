//! Will this program load a preloaded library? The dynamic loader ignores LD_PRELOAD without a word
//! where it is not asked, or where the program has more rights than its user; a server would then
//! run on bare storage and its numbers would be wrong.

use crate::error::{StorageError, io_at};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;

/// ELF's numbers of architectures.
const MACHINES: [(u16, &str); 2] = [(62, "x86_64"), (183, "aarch64")];
const HEADER_BYTES: usize = 64;
const PROGRAM_HEADER_BYTES: usize = 56;
/// A segment that names the dynamic loader.
const PT_INTERP: u32 = 3;
/// Segments of a program; ELF allows more, programs have about ten.
const SEGMENTS_MAX: u16 = 1024;
const LOADER_PATH_BYTES_MAX: usize = 4096;

/// Refuses a program that would not load the shim.
///
/// # Errors
/// [`StorageError::NotPreloadable`] says why; [`StorageError::Io`].
pub(crate) fn require_preloadable(binary: &Path) -> Result<(), StorageError> {
    let file = File::open(binary).map_err(io_at("open the server", binary))?;
    let metadata = file.metadata().map_err(io_at("look at the server", binary))?;
    let refuse = |why: String| Err(StorageError::NotPreloadable { binary: binary.to_owned(), why });
    if metadata.permissions().mode() & 0o6000 != 0 {
        return refuse(
            "it is setuid or setgid, and such programs load no preloaded library; use a copy without these bits".to_owned(),
        );
    }
    let mut none = [0u8; 0];
    if rustix::fs::getxattr(binary, "security.capability", &mut none).is_ok_and(|bytes| bytes > 0) {
        return refuse(
            "it has file capabilities, and such programs load no preloaded library; use a copy without them (see setcap -r)"
                .to_owned(),
        );
    }
    let why_not = loader_problem(&file).map_err(io_at("read the server", binary))?;
    why_not.map_or(Ok(()), refuse)
}

/// Why the dynamic loader would not bring the shim; `None` where it would.
fn loader_problem(file: &File) -> std::io::Result<Option<String>> {
    let mut header = Vec::new();
    file.take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    if header.starts_with(b"#!") {
        let why = "it is a script; name the program that it starts".to_owned();
        return Ok(Some(why));
    }
    if header.len() < HEADER_BYTES || !header.starts_with(b"\x7fELF") {
        return Ok(Some("it is no program of Linux (ELF)".to_owned()));
    }
    // 64 bits, least significant byte first.
    let here = std::env::consts::ARCH;
    let machine = u16::from_le_bytes([header[18], header[19]]);
    let is_here = MACHINES.contains(&(machine, here));
    if header[4] != 2 || header[5] != 1 || !is_here {
        let name = MACHINES.iter().find(|(number, _)| *number == machine);
        let name = name.map_or_else(|| format!("ELF machine {machine}"), |m| m.1.to_owned());
        let bits = if header[4] == 2 { 64 } else { 32 };
        return Ok(Some(format!(
            "it is for another architecture ({name}, {bits} bits), and this machine and the shim are {here}"
        )));
    }
    match loader(file, &header)? {
        None => Ok(Some(
            "it is statically linked, and such programs load no library; use a build that is dynamically linked".to_owned(),
        )),
        Some(loader) if loader.contains("ld-musl") => Ok(Some(format!(
            "it uses the loader {loader}, and the shim is for the GNU C library"
        ))),
        Some(_) => Ok(None),
    }
}

/// The dynamic loader that a program names.
fn loader(file: &File, header: &[u8]) -> std::io::Result<Option<String>> {
    let segments_at = u64_at(header, 32);
    let size = u64::from(u16_at(header, 54));
    let count = u16_at(header, 56).min(SEGMENTS_MAX);
    for segment in 0..u64::from(count) {
        let mut bytes = [0u8; PROGRAM_HEADER_BYTES];
        let at = segments_at.saturating_add(segment.saturating_mul(size));
        file.read_exact_at(&mut bytes, at)?;
        if u32_at(&bytes, 0) != PT_INTERP {
            continue;
        }
        let length = usize::try_from(u64_at(&bytes, 32)).unwrap_or(usize::MAX);
        let mut path = vec![0; length.min(LOADER_PATH_BYTES_MAX)];
        file.read_exact_at(&mut path, u64_at(&bytes, 8))?;
        let text = String::from_utf8_lossy(&path);
        return Ok(Some(text.trim_end_matches('\0').to_owned()));
    }
    Ok(None)
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut word = [0; N];
    word.copy_from_slice(&bytes[at..at + N]);
    word
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes_at(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes_at(bytes, at))
}

#[cfg(test)]
mod tests {
    use super::require_preloadable;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    /// A program without segments: what a static one looks like to who asks for its loader.
    fn elf(machine: u16) -> Vec<u8> {
        let mut bytes = vec![0u8; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes
    }

    fn here() -> u16 {
        super::MACHINES.iter().find(|m| m.1 == std::env::consts::ARCH).unwrap().0
    }

    fn refusal(path: &Path) -> String {
        require_preloadable(path).unwrap_err().to_string()
    }

    #[test]
    fn programs_that_would_ignore_the_shim_are_refused() {
        let temp = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| -> PathBuf {
            let path = temp.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        };
        let other = if here() == 62 { 183 } else { 62 };
        for (name, bytes, why) in [
            ("static", elf(here()), "statically linked"),
            ("foreign", elf(other), "another architecture"),
            ("script", b"#!/bin/sh\n".to_vec(), "a script"),
            ("text", b"hello".to_vec(), "no program of Linux"),
            ("empty", Vec::new(), "no program of Linux"),
        ] {
            let said = refusal(&write(name, &bytes));
            assert!(said.contains(why), "{said}");
        }
        let mut cut = elf(here());
        // Segments behind its end.
        cut[33] = 9;
        cut[56] = 9;
        assert!(refusal(&write("cut", &cut)).contains("cannot read"));
    }

    #[test]
    fn this_program_is_taken_and_a_setuid_copy_is_not() {
        let own = std::env::current_exe().unwrap();
        require_preloadable(&own).unwrap();
        let temp = tempfile::tempdir().unwrap();
        let copy = temp.path().join("copy");
        fs::copy(&own, &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).unwrap();
        assert!(refusal(&copy).contains("setuid"));
    }
}
