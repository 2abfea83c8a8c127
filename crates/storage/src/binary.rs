//! Will this program load a preloaded library? The dynamic loader ignores LD_PRELOAD without a word
//! where it is not asked, or where the program has more rights than its user; a server would then
//! run on bare storage and its numbers would be wrong.

use crate::error::{StorageError, StorageResult, io_at};
use base::{CLOCK_FUNCTIONS, UNDILATED_FUNCTIONS};
use object::LittleEndian;
use object::elf::{EM_AARCH64, EM_X86_64, FileHeader64, Machine, SHT_DYNSYM};
use object::read::elf::{FileHeader, ProgramHeader, Sym};
use object::read::{FileKind, ReadCache, ReadRef};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const MACHINES: [(Machine, &str); 2] = [(EM_X86_64, "x86_64"), (EM_AARCH64, "aarch64")];

type Header = FileHeader64<LittleEndian>;

/// Refuses a program that would not load the shim.
///
/// # Errors
/// [`StorageError::UnfitBinary`] says why; [`StorageError::Io`].
pub(crate) fn require_preloadable(binary: &Path) -> StorageResult<()> {
    let file = File::open(binary).map_err(io_at("open the server", binary))?;
    let metadata = file.metadata().map_err(io_at("look at the server", binary))?;
    let refuse = |why: &str| {
        let how = "under the shim, which devices are emulated and counted with";
        Err(StorageError::UnfitBinary { binary: binary.to_owned(), how, why: why.to_owned() })
    };
    if metadata.permissions().mode() & 0o6000 != 0 {
        return refuse(
            "it is setuid or setgid, and such programs load no preloaded library; use a copy \
             without these bits",
        );
    }
    let mut none = [0u8; 0];
    if rustix::fs::getxattr(binary, "security.capability", &mut none).is_ok_and(|bytes| bytes > 0) {
        return refuse(
            "it has file capabilities, and such programs load no preloaded library; use a copy \
             without them (see setcap -r)",
        );
    }
    let why_not = loader_problem(&file).map_err(io_at("read the server", binary))?;
    why_not.map_or(Ok(()), |why| refuse(&why))
}

/// Refuses a program that would see another clock than the dilated one.
///
/// # Errors
/// [`StorageError::UnfitBinary`] says why; [`StorageError::Io`].
pub(crate) fn require_dilatable(binary: &Path) -> StorageResult<()> {
    let file = File::open(binary).map_err(io_at("open the server", binary))?;
    let imported = imported(&file).map_err(io_at("read the server", binary))?;
    let (binary, how) = (binary.to_owned(), "in dilated time");
    clock_problem(&imported)
        .map_or(Ok(()), |why| Err(StorageError::UnfitBinary { binary, how, why }))
}

/// Why a program that imports these functions cannot be dilated; `None` where it can.
fn clock_problem(imported: &BTreeSet<String>) -> Option<String> {
    let real = UNDILATED_FUNCTIONS.iter().filter(|name| imported.contains(**name));
    let real: Vec<&str> = real.copied().collect();
    if !real.is_empty() {
        return Some(format!("it calls {}, and mydyno dilates no such time", real.join(", ")));
    }
    if !CLOCK_FUNCTIONS.iter().any(|name| imported.contains(*name)) {
        return Some(
            "it takes the time from no function of the C library; use a build whose libraries are \
             linked dynamically"
                .to_owned(),
        );
    }
    None
}

/// Why the dynamic loader would not bring the shim; `None` where it would.
fn loader_problem(file: &File) -> io::Result<Option<String>> {
    let data = &ReadCache::new(file);
    if data.read_bytes_at(0, 2) == Ok(b"#!") {
        let why = "it is a script; name the program that it starts".to_owned();
        return Ok(Some(why));
    }
    let here = std::env::consts::ARCH;
    let foreign = |name: String, bits: u32| {
        Ok(Some(format!(
            "it is for another architecture ({name}, {bits} bits), and this machine and the shim \
             are {here}"
        )))
    };
    match FileKind::parse(data) {
        Ok(FileKind::Elf64) => {}
        Ok(FileKind::Elf32) => return foreign("ELF".to_owned(), 32),
        _ => return Ok(Some("it is no program of Linux (ELF)".to_owned())),
    }
    let header = Header::parse(data).map_err(io::Error::other)?;
    let Ok(endian) = header.endian() else {
        return foreign("most significant byte first".to_owned(), 64);
    };
    let machine = header.e_machine(endian);
    if !MACHINES.contains(&(machine, here)) {
        let name = MACHINES.iter().find(|(number, _)| *number == machine);
        let name = name.map_or_else(|| format!("ELF machine {}", machine.0), |m| m.1.to_owned());
        return foreign(name, 64);
    }
    for segment in header.program_headers(endian, data).map_err(io::Error::other)? {
        if let Some(loader) = segment.interpreter(endian, data).map_err(io::Error::other)? {
            let loader = String::from_utf8_lossy(loader);
            return Ok(loader.contains("ld-musl").then(|| {
                format!("it uses the loader {loader}, and the shim is for the GNU C library")
            }));
        }
    }
    Ok(Some(
        "it is statically linked, and such programs load no library; use a build that is \
             dynamically linked"
            .to_owned(),
    ))
}

/// The functions of other libraries that a program names.
fn imported(file: &File) -> io::Result<BTreeSet<String>> {
    let data = &ReadCache::new(file);
    let names = || -> object::Result<BTreeSet<String>> {
        let header = Header::parse(data)?;
        let endian = header.endian()?;
        let symbols = header.sections(endian, data)?.symbols(endian, data, SHT_DYNSYM)?;
        let undefined = symbols.iter().filter(|symbol| symbol.is_undefined(endian));
        let name_of = |symbol| Ok(String::from_utf8_lossy(symbols.symbol_name(endian, symbol)?));
        undefined.map(|symbol| name_of(symbol).map(String::from)).collect()
    };
    names().map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::{clock_problem, require_dilatable, require_preloadable};
    use object::elf::{EM_AARCH64, EM_X86_64, Machine};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    /// A program without segments: what a static one looks like to who asks for its loader.
    fn elf(machine: Machine) -> Vec<u8> {
        let mut bytes = vec![0u8; 64];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[18..20].copy_from_slice(&machine.0.to_le_bytes());
        bytes
    }

    fn here() -> Machine {
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
        let other = if here() == EM_X86_64 { EM_AARCH64 } else { EM_X86_64 };
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
        require_dilatable(&own).unwrap();
        let temp = tempfile::tempdir().unwrap();
        let copy = temp.path().join("copy");
        fs::copy(&own, &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).unwrap();
        assert!(refusal(&copy).contains("setuid"));
    }

    #[test]
    fn programs_with_a_second_clock_are_not_dilated() {
        let problem = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned());
            clock_problem(&names.collect()).unwrap_or_default()
        };
        assert_eq!(problem(&["read", "clock_gettime", "nanosleep"]), "");
        let said = problem(&["clock_gettime", "ualarm", "adjtimex"]);
        assert!(said.contains("adjtimex, ualarm"), "{said}");
        let said = problem(&["read", "nanosleep"]);
        assert!(said.contains("no function of the C library"), "{said}");
    }
}
