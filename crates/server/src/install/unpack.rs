//! Archives: gzip and xz tars, and jars (which are zips).

use crate::error::io_at;
use crate::{ServerError, ServerResult};
use flate2::read::MultiGzDecoder;
use openssl::hash::{Hasher, MessageDigest};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;
use std::process::{Command, Stdio};

/// For `map_err`: why this archive cannot be unpacked.
fn failed<E: ToString>(file: &Path) -> impl Fn(E) -> ServerError + use<'_, E> {
    move |why| ServerError::Archive { file: file.to_owned(), why: why.to_string() }
}

/// SHA-256 of a file in lower-case hexadecimal.
pub(super) fn sha256_of(path: &Path) -> ServerResult<String> {
    let mut file = File::open(path).map_err(io_at("open", path))?;
    let mut hasher = Hasher::new(MessageDigest::sha256()).map_err(io_at("read", path))?;
    io::copy(&mut file, &mut hasher).map_err(io_at("read", path))?;
    let digest = hasher.finish().map_err(io_at("read", path))?;
    Ok(digest.iter().map(|b| format!("{b:02x}")).collect())
}

/// Unpacks a `.tar.gz` or `.tar.xz` into the directory `to`.
pub(super) fn archive(file: &Path, to: &Path) -> ServerResult<()> {
    let mut magic = Vec::new();
    let mut input = File::open(file).map_err(io_at("open", file))?;
    input.by_ref().take(6).read_to_end(&mut magic).map_err(io_at("read", file))?;
    input.rewind().map_err(io_at("read", file))?;
    match magic.as_slice() {
        [0x1f, 0x8b, ..] => {
            tar(MultiGzDecoder::new(BufReader::new(input)), to).map_err(failed(file))
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0] => xz(file, input, to),
        _ => Err(failed(file)("it is neither gzip nor xz; give the vendor's .tar.gz or .tar.xz")),
    }
}

/// Decompressed by the `xz` of the machine: a decoder of our own would be a dependency for this one
/// use.
fn xz(file: &Path, input: File, to: &Path) -> ServerResult<()> {
    let mut command = Command::new("xz");
    command.args(["--decompress", "--stdout"]).stdin(input);
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = spawned.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ServerError::MissingPackage {
            package: "xz-utils".to_owned(),
            why: format!("`xz` is not on PATH, and {} needs it", file.display()),
        },
        _ => failed(file)(error),
    })?;
    let unpacked = match child.stdout.take() {
        Some(output) => tar(output, to),
        None => Err(io::Error::other("xz has no output")),
    };
    let ended = child.wait().map_err(failed(file))?;
    unpacked.map_err(failed(file))?;
    if !ended.success() {
        return Err(failed(file)(format!("xz ended with {ended}")));
    }
    Ok(())
}

/// The tar crate keeps entries from leaving `to`. The vendors' test suites, half of an archive, are
/// left out.
fn tar(mut input: impl Read, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut archive = tar::Archive::new(&mut input);
    archive.set_preserve_permissions(true);
    archive.set_preserve_ownerships(false);
    let mut is_empty = true;
    for entry in archive.entries()? {
        let mut entry = entry?;
        is_empty = false;
        let path = entry.path()?;
        let test_suite = |part: &OsStr| part == "mysql-test" || part == "mariadb-test";
        if path.components().take(2).any(|c| test_suite(c.as_os_str())) {
            continue;
        }
        entry.unpack_in(to)?;
    }
    if is_empty {
        return Err(io::Error::other("it is empty"));
    }
    // A tar ends before its file does; the checksum of the compressor is at the end.
    io::copy(&mut input, &mut io::sink()).map(|_| ())
}

/// Writes one file of a jar to `to`.
pub(super) fn file_of_jar(jar: &Path, name: &str, to: &Path) -> ServerResult<()> {
    let failed = failed(jar);
    let mut zip = open_jar(jar)?;
    let mut entry = zip.by_name(name).map_err(|error| failed(format!("{name}: {error}")))?;
    let mut output = File::create(to).map_err(io_at("write", to))?;
    let copied = io::copy(&mut entry, &mut output);
    copied.map(drop).map_err(|error| failed(format!("{name}: {error}")))
}

/// Unpacks one directory of a jar into `to`. Jars keep no permissions, so what lies in a `bin` is
/// made executable.
pub(super) fn directory_of_jar(jar: &Path, inside: &Path, to: &Path) -> ServerResult<()> {
    let failed = failed(jar);
    let mut zip = open_jar(jar)?;
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(|e| failed(e.to_string()))?;
        let Some(name) = entry.enclosed_name() else {
            return Err(failed(format!("{} leaves its directory", entry.name())));
        };
        let Ok(relative) = name.strip_prefix(inside) else { continue };
        let target = to.join(relative);
        if entry.is_dir() {
            fs::create_dir_all(&target).map_err(io_at("make the directory", &target))?;
            continue;
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(io_at("make the directory", parent))?;
        }
        let mut output = File::create(&target).map_err(io_at("write", &target))?;
        io::copy(&mut entry, &mut output)
            .map_err(|error| failed(format!("{}: {error}", name.display())))?;
        if relative.starts_with("bin") {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&target, fs::Permissions::from_mode(0o755))
                .map_err(io_at("make executable", &target))?;
        }
    }
    Ok(())
}

fn open_jar(jar: &Path) -> ServerResult<zip::ZipArchive<BufReader<File>>> {
    let file = File::open(jar).map_err(io_at("open", jar))?;
    zip::ZipArchive::new(BufReader::new(file)).map_err(failed(jar))
}

#[cfg(test)]
mod tests {
    use super::{archive, sha256_of};
    use std::fs;
    use std::process::Command;

    #[test]
    fn checksums_are_the_standard_ones() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("abc");
        fs::write(&file, "abc").unwrap();
        assert_eq!(
            sha256_of(&file).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn xz_archives_unpack_without_their_test_suite() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().join("mysql-8");
        fs::create_dir_all(top.join("bin")).unwrap();
        fs::create_dir_all(top.join("mysql-test")).unwrap();
        fs::write(top.join("bin/mysqld"), "x").unwrap();
        fs::write(top.join("mysql-test/big"), "x").unwrap();
        let file = temp.path().join("a.tar.xz");
        let made = Command::new("tar")
            .arg("-cJf")
            .arg(&file)
            .arg("-C")
            .arg(temp.path())
            .arg("mysql-8")
            .status();
        assert!(made.unwrap().success(), "tar makes no archive; it wants the package xz-utils");
        let to = temp.path().join("to");
        archive(&file, &to).unwrap();
        assert!(to.join("mysql-8/bin/mysqld").is_file());
        assert!(!to.join("mysql-8/mysql-test/big").exists());
    }
}
