//! The loader that a program asks the kernel for (its ELF interpreter): which file that is, is a
//! path in the program.
//!
//! The new path goes to the end of the file, and the program header that says where the path is
//! points there. The kernel reads it by its place in the file; nothing that is loaded moves.

use crate::ServerError;
use crate::error::io_at;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The magic number, 64 bits, little-endian.
const ELF_64_LITTLE: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
const HEADER_BYTES: usize = 64;
const PROGRAM_HEADER_BYTES: usize = 56;
const PT_INTERP: u32 = 3;
/// In the header of the file: where the program headers are, the size of each, their number.
const PHOFF_AT: usize = 32;
const PHENTSIZE_AT: usize = 54;
const PHNUM_AT: usize = 56;
/// In a program header: the place in the file and the length there.
const OFFSET_AT: u64 = 8;
const FILESZ_AT: u64 = 32;

/// Makes the program `file` ask for `loader`.
pub(super) fn set(file: &Path, loader: &Path) -> Result<(), ServerError> {
    patch(file, loader).map_err(io_at("set the loader of", file))
}

fn patch(path: &Path, loader: &Path) -> io::Result<()> {
    let file = fs::OpenOptions::new().read(true).write(true).open(path)?;
    let header = interpreter_header(&file)?
        .ok_or_else(|| io::Error::other("it is no dynamic 64-bit program"))?;
    let end = file.metadata()?.len();
    let mut text = loader.as_os_str().as_bytes().to_vec();
    text.push(0);
    file.write_all_at(&text, end)?;
    file.write_all_at(&end.to_le_bytes(), header + OFFSET_AT)?;
    file.write_all_at(&(text.len() as u64).to_le_bytes(), header + FILESZ_AT)
}

/// Where the program header of the interpreter is.
fn interpreter_header(file: &File) -> io::Result<Option<u64>> {
    let mut header = [0u8; HEADER_BYTES];
    file.read_exact_at(&mut header, 0)?;
    if !header.starts_with(&ELF_64_LITTLE) {
        return Ok(None);
    }
    let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let mut first = [0u8; 8];
    first.copy_from_slice(&header[PHOFF_AT..PHOFF_AT + 8]);
    let first = u64::from_le_bytes(first);
    if usize::from(half(PHENTSIZE_AT)) != PROGRAM_HEADER_BYTES {
        return Ok(None);
    }
    for index in 0..u64::from(half(PHNUM_AT)) {
        let at = first.saturating_add(index * PROGRAM_HEADER_BYTES as u64);
        let mut kind = [0u8; 4];
        file.read_exact_at(&mut kind, at)?;
        if u32::from_le_bytes(kind) == PT_INTERP {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::set;
    use std::fs;
    use std::io::ErrorKind;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::time::Duration;

    /// The loader of this machine's programs.
    fn loader() -> Option<PathBuf> {
        ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"]
            .map(PathBuf::from)
            .into_iter()
            .find(|path| path.exists())
    }

    #[test]
    fn a_program_is_loaded_by_what_it_asks_for() {
        let Some(loader) = loader() else { return };
        let temp = tempfile::tempdir().unwrap();
        let program = temp.path().join("program");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let own = temp.path().join("a loader of its own");
        fs::copy(loader, &own).unwrap();
        let mut list = Command::new(&program);
        list.arg("--list");
        for _ in 0..2 {
            set(&program, &own).unwrap();
            let output = loop {
                match list.output() {
                    // Another test forked while the program was written, and its child has not yet
                    // become another program.
                    Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                        std::thread::sleep(Duration::from_millis(10));
                    }
                    ended => break ended.unwrap(),
                }
            };
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains("a_program_is_loaded"), "{output:?}");
        }
        fs::remove_file(&own).unwrap();
        assert_eq!(list.output().unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn what_is_no_program_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        for text in ["", "#!/bin/sh\n", &"x".repeat(4_096)] {
            let file = temp.path().join("script");
            fs::write(&file, text).unwrap();
            assert!(set(&file, Path::new("/x")).is_err());
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
    }
}
