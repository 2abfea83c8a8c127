//! The loader that a program asks the kernel for (its ELF interpreter): which file that is, is a
//! path in the program.
//!
//! The new path goes to the end of the file, and the program header that says where the path is
//! points there. The kernel reads it by its place in the file; nothing that is loaded moves.

use crate::ServerResult;
use crate::error::io_at;
use object::LittleEndian;
use object::elf::{FileHeader64, PT_INTERP, ProgramHeader64};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// In a program header: the place in the file and the length there.
const OFFSET_AT: u64 = 8;
const FILESZ_AT: u64 = 32;

/// Makes the program `file` ask for `loader`.
pub(crate) fn set(file: &Path, loader: &Path) -> ServerResult<()> {
    patch(file, loader).map_err(io_at("set the loader of", file))
}

fn patch(path: &Path, loader: &Path) -> io::Result<()> {
    let file = fs::OpenOptions::new().read(true).write(true).open(path)?;
    let header = interpreter_header(&file)
        .map_err(io::Error::other)?
        .ok_or_else(|| io::Error::other("it is no dynamic 64-bit program"))?;
    let end = file.metadata()?.len();
    let mut text = loader.as_os_str().as_bytes().to_vec();
    text.push(0);
    file.write_all_at(&text, end)?;
    file.write_all_at(&end.to_le_bytes(), header + OFFSET_AT)?;
    file.write_all_at(&(text.len() as u64).to_le_bytes(), header + FILESZ_AT)
}

/// Where the program header of the interpreter is.
fn interpreter_header(file: &File) -> object::Result<Option<u64>> {
    let data = &ReadCache::new(file);
    let header = FileHeader64::<LittleEndian>::parse(data)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, data)?;
    let found = segments.iter().position(|segment| segment.p_type(endian) == PT_INTERP);
    let size = size_of::<ProgramHeader64<LittleEndian>>();
    Ok(found.map(|index| header.e_phoff(endian) + (index * size) as u64))
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
        let Some(loader) = loader() else {
            println!("not tried: no loader of programs is known here");
            return;
        };
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
