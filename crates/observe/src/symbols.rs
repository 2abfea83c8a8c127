//! What the functions of a running program are called.

use object::read::elf::ElfFile64;
use object::read::{ReadCache, ReadCacheOps};
use object::{LittleEndian, Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::fs::File;
use std::path::PathBuf;

/// A file of which a process runs code, and where it has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MappedCode {
    begin: u64,
    end: u64,
    /// Of the file, at `begin`.
    offset: u64,
    pub(crate) path: PathBuf,
}

impl MappedCode {
    pub(crate) fn has(&self, address: u64) -> bool {
        (self.begin..self.end).contains(&address)
    }

    /// Where in the file the code is that an address has.
    pub(crate) fn file_offset(&self, address: u64) -> u64 {
        address - self.begin + self.offset
    }
}

/// The lines of /proc/PID/maps that are code of a file: `begin-end r-xp offset device inode path`.
pub(crate) fn mapped_code(maps: &str) -> Vec<MappedCode> {
    let code = |line: &str| {
        let mut words = line.splitn(6, ' ');
        let (begin, end) = words.next()?.split_once('-')?;
        let access = words.next()?;
        let offset = words.next()?;
        let path = words.nth(2)?.trim_start();
        let number = |text| u64::from_str_radix(text, 16).ok();
        (access.contains('x') && path.starts_with('/')).then_some(MappedCode {
            begin: number(begin)?,
            end: number(end)?,
            offset: number(offset)?,
            path: PathBuf::from(path),
        })
    };
    maps.lines().filter_map(code).collect()
}

/// The named functions of a file.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    /// Those that are there when it runs: file offsets, addresses, lengths.
    segments: Vec<(u64, u64, u64)>,
    /// Sorted by address.
    functions: Vec<NamedFunction>,
}

#[derive(Debug)]
struct NamedFunction {
    address: u64,
    bytes: u64,
    name: String,
}

impl Symbols {
    /// Of a program or library; none where it cannot be read.
    pub(crate) fn of_file(file: File) -> Symbols {
        Symbols::read(&ReadCache::new(file)).unwrap_or_default()
    }

    fn read<R: ReadCacheOps>(data: &ReadCache<R>) -> object::Result<Symbols> {
        let file = ElfFile64::<LittleEndian, _>::parse(data)?;
        let mut of = Symbols::default();
        for segment in file.segments() {
            let (at, bytes) = segment.file_range();
            of.segments.push((at, segment.address(), bytes));
        }
        let all = file.symbols().chain(file.dynamic_symbols());
        for symbol in all.filter(|symbol| symbol.kind() == SymbolKind::Text) {
            let (address, bytes) = (symbol.address(), symbol.size());
            if address > 0 && bytes > 0 {
                let name = symbol.name()?.to_owned();
                of.functions.push(NamedFunction { address, bytes, name });
            }
        }
        of.functions.sort_by_key(|function| function.address);
        Ok(of)
    }

    /// The function that has the code at an offset of the file, as its source names it.
    pub(crate) fn name_at(&self, file_offset: u64) -> Option<String> {
        let has_it =
            |(at, _, bytes): &&(u64, u64, u64)| file_offset >= *at && file_offset - at < *bytes;
        let (at, address, _) = self.segments.iter().find(has_it)?;
        let address = file_offset - at + address;
        let behind = self.functions.partition_point(|function| function.address <= address);
        let function = self.functions.get(behind.checked_sub(1)?)?;
        (address - function.address < function.bytes).then(|| in_source(&function.name))
    }
}

/// The name of a C++ function without its arguments.
fn in_source(name: &str) -> String {
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let symbol = cpp_demangle::Symbol::new(name).ok();
    let named = symbol.and_then(|symbol| symbol.demangle_with_options(&options).ok());
    named.unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{MappedCode, Symbols, in_source, mapped_code};
    use std::path::PathBuf;

    #[test]
    fn names_are_those_of_sources() {
        let name = "_ZN11MDL_context12acquire_lockEP11MDL_requestm";
        assert_eq!(in_source(name), "MDL_context::acquire_lock");
        assert_eq!(in_source("srv_start"), "srv_start");
    }

    #[test]
    fn code_is_found_among_mappings() {
        let maps = "\
55d0c0000000-55d0c0100000 r--p 00000000 fe:00 1234                       /opt/my sql/mysqld
55d0c0100000-55d0c0300000 r-xp 00100000 fe:00 1234                       /opt/my sql/mysqld
7ffd1a5f1000-7ffd1a5f3000 r-xp 00000000 00:00 0                          [vdso]
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
";
        let path = PathBuf::from("/opt/my sql/mysqld");
        let (begin, end) = (0x55d0_c010_0000, 0x55d0_c030_0000);
        let code = MappedCode { begin, end, offset: 0x10_0000, path };
        assert_eq!(mapped_code(maps), std::slice::from_ref(&code));
        assert!(code.has(begin) && !code.has(end));
        assert_eq!(code.file_offset(begin + 5), 0x10_0005);
    }

    #[test]
    fn own_functions_have_their_names() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let address = own_functions_have_their_names as *const () as u64;
        let code = mapped_code(&maps).into_iter().find(|code| code.has(address)).unwrap();
        let symbols = Symbols::of_file(std::fs::File::open(&code.path).unwrap());
        let name = symbols.name_at(code.file_offset(address)).unwrap();
        assert!(name.contains("own_functions_have_their_names"), "{name}");
        assert_eq!(symbols.name_at(u64::MAX), None);
    }
}
