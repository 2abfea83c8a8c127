//! Pages of InnoDB's tablespaces that are not whole: read from the files of a server that does not
//! run, and held against their own checksums. `CHECK TABLE` asks a server that runs, and so only
//! what it can still reach.
//!
//! A page is whole where it is all zeros, or where the low words of its two log sequence numbers
//! are equal and its checksum is one of `innodb_checksum_algorithm`: `crc32`, `innodb`, or the word
//! that stands for `none`. Tablespaces of MariaDB with `full_crc32` say so in their first page, and
//! have one checksum over everything else.
//!
//! What is in a free page is nobody's: MariaDB neither writes it twice nor brings it back by its
//! redo log, so it may well be torn after a loss of power.

use crate::ServerResult;
use crate::copy::Tree;
use crate::error::io_at;
use crate::home::file_name;
use crc32c::crc32c;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Stands in a page for a checksum that was not made.
const NO_CHECKSUM: u32 = 0xdead_beef;
/// Where a tablespace's first page has its flags.
const FLAGS_AT: usize = 54;
/// Says that a tablespace has one checksum in each page, over all of it.
const FULL_CRC32: u32 = 1 << 4;
const PAGE_BYTES: usize = 16 << 10;
/// In a tablespace's first page, the number of the first page that no descriptor is made of yet.
const FREE_LIMIT_AT: usize = 50;
/// Where a page of descriptors has them, one for each extent; in each, where it has two bits for
/// each page, the first of which says that it is free.
const DESCRIPTORS_AT: usize = 150;
const BITS_AT: usize = 24;
const EXTENT_BYTES: usize = 1 << 20;
const EXTENT_PAGES_MIN: usize = 64;
/// The second and third extent of the system tablespace: servers without files for their
/// doublewrite buffer have it there, and torn copies in it are no page's loss.
const DOUBLEWRITE: std::ops::Range<u64> = 1 << 20..3 << 20;

/// Pages that are not whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CorruptPages {
    pub count: u64,
    /// File and page of the first that was found.
    pub first: Option<String>,
}

/// Looks at all pages of a data directory.
///
/// # Errors
/// Where its files cannot be read.
pub fn corrupt_pages(data_directory: &Path) -> ServerResult<CorruptPages> {
    let mut found = CorruptPages::default();
    for (path, _) in Tree::read(data_directory)?.files {
        let name = file_name(&path);
        let is_system = name.starts_with("ibdata");
        if is_system || name.starts_with("undo") || name.ends_with(".ibd") {
            let path = data_directory.join(&path);
            let pages = pages_of(&path, is_system).map_err(io_at("read", &path))?;
            if let (Some(page), None) = (pages.first(), &found.first) {
                found.first = Some(format!("page {page} of {name}"));
            }
            found.count += pages.len() as u64;
        }
    }
    Ok(found)
}

/// The numbers of a tablespace's pages that are not whole.
fn pages_of(path: &Path, is_system: bool) -> std::io::Result<Vec<u64>> {
    let file = File::open(path)?;
    let file_bytes = file.metadata()?.len();
    if file_bytes < PAGE_BYTES as u64 {
        return Ok(Vec::new());
    }
    let mut flags = [0; 4];
    file.read_exact_at(&mut flags, FLAGS_AT as u64)?;
    let flags = u32::from_be_bytes(flags);
    let is_full = flags & FULL_CRC32 != 0;
    let shift = if is_full { flags & 15 } else { flags >> 6 & 15 };
    let size = match shift {
        0 => PAGE_BYTES,
        shift => 512 << shift,
    };
    let mut page = vec![0; size];
    let mut descriptors = vec![0; size];
    let mut free_limit = u64::MAX;
    let mut bad = Vec::new();
    for number in 0..file_bytes / size as u64 {
        let at = number * size as u64;
        file.read_exact_at(&mut page, at)?;
        let is_whole = is_whole(&page, is_full);
        if number % size as u64 == 0 {
            // One that is damaged says nothing.
            descriptors.copy_from_slice(&page);
            descriptors.iter_mut().filter(|_| !is_whole).for_each(|byte| *byte = 0);
            let limit = word(&descriptors, FREE_LIMIT_AT);
            if number == 0 && limit > 0 {
                free_limit = u64::from(limit);
            }
        }
        let is_passed_over = is_system && DOUBLEWRITE.contains(&at);
        let is_free = number >= free_limit || is_free(&descriptors, number as usize);
        if !(is_whole || is_passed_over || is_free) {
            bad.push(number);
        }
    }
    Ok(bad)
}

/// Whether a page is free, by the page of descriptors that it is in.
fn is_free(descriptors: &[u8], number: usize) -> bool {
    let size = descriptors.len();
    let pages = (EXTENT_BYTES / size).max(EXTENT_PAGES_MIN);
    // Two bits of each page.
    let extent = DESCRIPTORS_AT + number % size / pages * (BITS_AT + pages / 4);
    let bits = descriptors.get(extent + BITS_AT + number % pages / 4);
    bits.is_some_and(|bits| bits >> (number % 4 * 2) & 1 == 1)
}

fn word(page: &[u8], at: usize) -> u32 {
    let bytes = page.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u32::from_be_bytes)
}

fn is_whole(page: &[u8], is_full: bool) -> bool {
    let size = page.len();
    let word = |at: usize| word(page, at);
    if page.iter().all(|byte| *byte == 0) {
        return true;
    }
    if is_full {
        return crc32c(&page[..size - 4]) == word(size - 4);
    }
    // What is outside of these is written later than the checksum is made.
    let (head, body) = (&page[4..26], &page[38..size - 8]);
    let stored = word(0);
    word(20) == word(size - 4)
        && (stored == NO_CHECKSUM
            || stored == crc32c(head) ^ crc32c(body)
            || stored == fold(head).wrapping_add(fold(body)))
}

/// InnoDB's checksum of before version 5.7.
fn fold(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0_u32, |fold, byte| {
        let byte = u32::from(*byte);
        let mixed = ((fold ^ byte ^ 1_653_893_711) << 8).wrapping_add(fold);
        (mixed ^ 1_463_735_687).wrapping_add(byte)
    })
}

#[cfg(test)]
mod tests {
    use super::{CorruptPages, FULL_CRC32, NO_CHECKSUM, PAGE_BYTES, corrupt_pages, crc32c, fold};
    use std::fs;

    const BITS_AT: usize = super::DESCRIPTORS_AT + super::BITS_AT;

    /// A page of InnoDB with the checksum that `made` makes of its head and body.
    fn page(made: impl Fn(&[u8], &[u8]) -> u32) -> Vec<u8> {
        let mut page: Vec<u8> = (0..PAGE_BYTES).map(|at| (at % 251) as u8).collect();
        page[super::FLAGS_AT..super::FLAGS_AT + 4].fill(0);
        // Of its first extent, all pages are used but the third.
        page[BITS_AT..BITS_AT + 16].fill(0);
        page[BITS_AT] = 1 << 4;
        let lsn: [u8; 4] = page[20..24].try_into().unwrap();
        page[PAGE_BYTES - 4..].copy_from_slice(&lsn);
        let checksum = made(&page[4..26], &page[38..PAGE_BYTES - 8]);
        page[..4].copy_from_slice(&checksum.to_be_bytes());
        page
    }

    #[test]
    fn torn_pages_are_found_whatever_the_algorithm() {
        let temp = tempfile::tempdir().unwrap();
        let crc32 = page(|head, body| crc32c(head) ^ crc32c(body));
        let innodb = page(|head, body| fold(head).wrapping_add(fold(body)));
        let none = page(|_, _| NO_CHECKSUM);
        let mut full = page(|_, _| 0);
        full[super::FLAGS_AT..super::FLAGS_AT + 4].copy_from_slice(&(FULL_CRC32 | 5).to_be_bytes());
        let checksum = crc32c(&full[..PAGE_BYTES - 4]);
        full[PAGE_BYTES - 4..].copy_from_slice(&checksum.to_be_bytes());
        fs::create_dir(temp.path().join("tpcc")).unwrap();
        let torn = |page: &[u8]| [&page[..512], &vec![7; PAGE_BYTES - 512]].concat();
        let zeros = vec![0; PAGE_BYTES];
        for (file, whole) in [("a", crc32), ("b", innodb), ("c", none), ("d", full)] {
            let path = temp.path().join("tpcc").join(format!("{file}.ibd"));
            fs::write(&path, [&whole[..], &zeros, &whole].concat()).unwrap();
            assert_eq!(corrupt_pages(temp.path()).unwrap(), CorruptPages::default(), "{file}");
            fs::write(&path, [&whole[..], &torn(&whole), &zeros].concat()).unwrap();
            let found = corrupt_pages(temp.path()).unwrap();
            assert_eq!(found.first.unwrap(), format!("page 1 of {file}.ibd"));
            assert_eq!(found.count, 1);
            // Nobody misses what was in a free page, while its tablespace says so.
            fs::write(&path, [&whole[..], &whole, &torn(&whole)].concat()).unwrap();
            assert_eq!(corrupt_pages(temp.path()).unwrap().count, 0, "{file}");
            fs::write(&path, [&torn(&whole)[..], &whole, &torn(&whole)].concat()).unwrap();
            assert_eq!(corrupt_pages(temp.path()).unwrap().count, 2, "{file}");
            fs::remove_file(path).unwrap();
        }
        // The doublewrite buffer in the system tablespace is passed over.
        let mut system = vec![0; 4 << 20];
        system[2 << 20..(2 << 20) + 9].fill(1);
        fs::write(temp.path().join("ibdata1"), &system).unwrap();
        assert_eq!(corrupt_pages(temp.path()).unwrap().count, 0);
        system[(3 << 20) + 1] = 1;
        fs::write(temp.path().join("ibdata1"), &system).unwrap();
        assert_eq!(corrupt_pages(temp.path()).unwrap().count, 1);
    }
}
