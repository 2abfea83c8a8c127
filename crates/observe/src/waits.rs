//! What the sessions of a server waited for, from the stacks that the shim took.
//!
//! Servers that have no names for their functions are MariaDB's builds: they leave InnoDB's out.

use crate::symbols::{MappedCode, Symbols, mapped_code};
use crate::wait_causes::cause_of;
use base::WaitCause;
use device::page::{Global, Snapshot};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Places that no row knows have a name each, up to so many.
const UNKNOWN_MAX: usize = 40;

/// Libraries that wait for whoever calls them.
const PASSED: [&str; 8] =
    [SHIM, "libmydyno_clock", "libc.so", "libc-2", "libpthread", "libstdc++", "libgcc_s", "ld-"];
const SHIM: &str = "libmydyno_shim";
/// The shim's function by which InnoDB of MariaDB waits for its latches, from 10.6 on.
const FUTEX: &str = "syscall";

/// The stacks of one process, each with what it waits for.
#[derive(Default)]
pub(crate) struct WaitStacks {
    process: u64,
    code: Vec<MappedCode>,
    symbols: HashMap<PathBuf, Symbols>,
    /// By the key of the stack.
    named: HashMap<u64, String>,
    unknown: Vec<String>,
}

/// A place in a stack.
struct StackPlace {
    file: String,
    offset: u64,
    function: Option<String>,
}

impl StackPlace {
    /// Does it wait for who called it?
    fn is_passed(&self) -> bool {
        PASSED.iter().any(|passed| self.file.starts_with(passed))
    }

    fn is_futex(&self) -> bool {
        self.file.starts_with(SHIM) && self.function.as_deref() == Some(FUTEX)
    }
}

impl WaitStacks {
    /// Nanoseconds by cause; what no row knows, by the innermost function.
    pub(crate) fn by_cause(&mut self, page: &Snapshot) -> BTreeMap<String, u64> {
        let mut all: BTreeMap<String, u64> =
            WaitCause::ALL.iter().map(|cause| (cause.name().to_owned(), 0)).collect();
        let process = page.global(Global::Process);
        if self.process != process {
            *self = WaitStacks { process, ..WaitStacks::default() };
        }
        for stack in page.stacks() {
            let label = match self.named.get(&stack.key) {
                Some(label) => label.clone(),
                None => {
                    let label = self.label_of(stack.addresses);
                    self.named.insert(stack.key, label.clone());
                    label
                }
            };
            *all.entry(label).or_default() += stack.waited_ns;
        }
        all
    }

    fn label_of(&mut self, addresses: &[u64]) -> String {
        let places: Vec<StackPlace> =
            addresses.iter().filter_map(|address| self.place(*address)).collect();
        let is_futex = places.iter().any(StackPlace::is_futex);
        let places = || places.iter().filter(|place| !place.is_passed());
        if let Some(cause) = cause_of(places().filter_map(|place| place.function.as_deref())) {
            return cause.name().to_owned();
        }
        let label = match places().next() {
            None => return WaitCause::Unnamed.name().to_owned(),
            Some(StackPlace { function: Some(function), .. }) => function.clone(),
            Some(_) if is_futex => return WaitCause::Latch.name().to_owned(),
            Some(place) => format!("{}: {}+{:#x}", WaitCause::Unnamed, place.file, place.offset),
        };
        if !self.unknown.contains(&label) {
            if self.unknown.len() == UNKNOWN_MAX {
                return WaitCause::Unnamed.name().to_owned();
            }
            self.unknown.push(label.clone());
        }
        label
    }

    /// `None` of what is no code of a file.
    fn place(&mut self, address: u64) -> Option<StackPlace> {
        // A call may be the last of its function: what it returns to is then another's.
        let call = address.checked_sub(1)?;
        if !self.code.iter().any(|code| code.has(call)) {
            // A library that was loaded since.
            let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.process)).ok()?;
            self.code = mapped_code(&maps);
        }
        let code = self.code.iter().find(|code| code.has(call))?;
        let file = code.path.file_name()?.to_str()?.to_owned();
        let offset = code.file_offset(call);
        let opened = || opened(self.process, &code.path).map(Symbols::of_file).unwrap_or_default();
        let symbols = self.symbols.entry(code.path.clone()).or_insert_with(opened);
        Some(StackPlace { file, offset, function: symbols.name_at(offset) })
    }
}

/// A file of a process, which may have another root.
fn opened(process: u64, path: &Path) -> Option<File> {
    let below = path.strip_prefix("/").ok()?;
    File::open(PathBuf::from(format!("/proc/{process}/root")).join(below)).ok()
}
