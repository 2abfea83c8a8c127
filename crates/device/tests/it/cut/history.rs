//! A process for the tests: it changes files in memory and keeps a journal, as one under the shim
//! does.

use device::cut::{
    CutFiles, CutImage, EntryKind, EntryTicket, FileIdentity, FileSystem, Journal, JournalRing,
    NewEntry, PowerLoss, WriteTraits, apply,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a process does.
#[derive(Clone, Debug)]
pub enum Act {
    Write {
        at: Range<u64>,
        traits: WriteTraits,
    },
    Flush,
    /// `sync_file_range` of all of the file.
    WriteOut,
    SetLength(u64),
    Create,
    Rename {
        to: usize,
    },
    Unlink,
    /// Of the directory of the file.
    FlushDirectory,
}

/// An act on a file, and after how many further ones it is over; `None`: never.
#[derive(Clone, Debug)]
pub struct Step {
    pub file: usize,
    pub act: Act,
    pub over_after: Option<usize>,
}

pub const NAMES: [&str; 4] = ["a", "b", "c", "d"];
/// How long the files are that are there at first: the first two.
pub const BEGIN_BYTES: [u64; 2] = [8192, 4096];

pub fn identity(file: usize) -> FileIdentity {
    FileIdentity { file_system: 9, inode: file as u64 + 1 }
}

/// Files with even numbers are on the first device.
pub fn device_of(file: usize) -> u8 {
    (file % 2) as u8
}

/// Names and contents, as they are after a cut.
pub type Contents = BTreeMap<String, Vec<u8>>;

/// Files in memory; those that are gone are kept as the shim keeps them.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles {
    pub bytes: BTreeMap<FileIdentity, Vec<u8>>,
    pub names: BTreeMap<String, FileIdentity>,
}

impl MemoryFiles {
    pub fn begin() -> MemoryFiles {
        let mut files = MemoryFiles::default();
        for (file, length) in BEGIN_BYTES.into_iter().enumerate() {
            files.bytes.insert(identity(file), vec![200 + file as u8; length as usize]);
            files.names.insert(NAMES[file].to_owned(), identity(file));
        }
        files
    }

    pub fn contents(&self) -> Contents {
        let content = |(name, file): (&String, &FileIdentity)| {
            (name.clone(), self.bytes.get(file).cloned().unwrap_or_default())
        };
        self.names.iter().map(content).collect()
    }

    pub fn name_of(&self, file: FileIdentity) -> Option<String> {
        let mut names = self.names.iter();
        names.find(|(_, named)| **named == file).map(|(name, _)| name.clone())
    }
}

impl CutFiles for MemoryFiles {
    type Error = ();

    fn length(&mut self, file: FileIdentity) -> Result<Option<u64>, ()> {
        Ok(self.bytes.get(&file).map(|bytes| bytes.len() as u64))
    }

    fn read(&mut self, file: FileIdentity, range: Range<u64>) -> Result<Vec<u8>, ()> {
        let Some(bytes) = self.bytes.get(&file) else { return Ok(Vec::new()) };
        let end = (range.end as usize).min(bytes.len());
        Ok(bytes.get(range.start as usize..end).unwrap_or_default().to_vec())
    }

    fn write(&mut self, file: FileIdentity, offset: u64, new: &[u8]) -> Result<(), ()> {
        let offset = offset as usize;
        if let Some(bytes) = self.bytes.get_mut(&file).filter(|_| !new.is_empty()) {
            let end = offset + new.len();
            bytes.resize(bytes.len().max(end), 0);
            bytes[offset..end].copy_from_slice(new);
        }
        Ok(())
    }

    fn set_length(&mut self, file: FileIdentity, length: u64) -> Result<(), ()> {
        if let Some(bytes) = self.bytes.get_mut(&file) {
            bytes.resize(length as usize, 0);
        }
        Ok(())
    }

    fn put(&mut self, file: FileIdentity, name: &[u8]) -> Result<(), ()> {
        self.remove(file)?;
        if self.bytes.contains_key(&file) {
            self.names.insert(String::from_utf8(name.to_vec()).unwrap(), file);
        }
        Ok(())
    }

    fn remove(&mut self, file: FileIdentity) -> Result<(), ()> {
        self.names.retain(|_, named| *named != file);
        Ok(())
    }
}

/// Which acts were possible, as they came to pass.
#[derive(Clone, Debug)]
pub struct Done {
    pub file: usize,
    pub act: Act,
    pub began: u64,
    pub over: Option<u64>,
    /// Of the file before.
    pub old_length: u64,
    pub name: String,
    /// What a rename took a name from.
    pub replaced: Option<FileIdentity>,
}

/// What is left of a process when it is killed.
pub struct Killed {
    pub files: MemoryFiles,
    pub journal: Vec<u8>,
    pub done: Vec<Done>,
}

impl Killed {
    /// The image of a seed.
    pub fn cut(
        &self,
        devices: &[PowerLoss],
        file_system: FileSystem,
        seed: u64,
    ) -> (Contents, CutImage) {
        let journal = Journal::decode(self.journal.clone()).unwrap();
        let image = CutImage::choose(&journal, devices, file_system, seed);
        let mut files = self.files.clone();
        apply(&journal, &image, &mut files).unwrap();
        (files.contents(), image)
    }
}

struct Process<'a> {
    files: MemoryFiles,
    ring: JournalRing<'a>,
    done: Vec<Done>,
    /// The events are counted as the ring counts them.
    events: u64,
    under_way: Vec<(usize, usize, EntryTicket)>,
}

/// Runs steps on devices with these rules and with a ring of so many words, and kills the process.
pub fn run(steps: &[Step], rules: PowerLoss, ring_words: usize) -> Killed {
    let words: Vec<AtomicU64> = (0..64 + ring_words).map(|_| AtomicU64::new(0)).collect();
    let ring = JournalRing::new(&words, NAMES.len(), vec![rules; 2]).unwrap();
    let mut process = Process {
        files: MemoryFiles::begin(),
        ring,
        done: Vec::new(),
        events: 1,
        under_way: Vec::new(),
    };
    for step in steps {
        process.step(step);
    }
    let Process { files, done, .. } = process;
    let bytes = words.iter().flat_map(|word| word.load(Ordering::SeqCst).to_ne_bytes()).collect();
    Killed { files, journal: bytes, done }
}

impl Process<'_> {
    fn step(&mut self, step: &Step) {
        let file = identity(step.file);
        let name = self.files.name_of(file);
        let is_there = self.files.bytes.contains_key(&file);
        let is_possible = match &step.act {
            Act::Create => {
                !is_there && name.is_none() && !self.files.names.contains_key(NAMES[step.file])
            }
            Act::Rename { to } => name.as_deref().is_some_and(|name| name != NAMES[*to]),
            Act::Unlink => name.is_some(),
            Act::FlushDirectory => true,
            _ => is_there,
        };
        if !is_possible {
            return;
        }
        let name = name.unwrap_or_else(|| NAMES[step.file].to_owned());
        let old_length = self.files.bytes.get(&file).map_or(0, |bytes| bytes.len() as u64);
        let entry = entry(step, &name, old_length, &self.files);
        let ticket = self.ring.begin(&entry).unwrap();
        self.save(&entry, &ticket);
        self.events += 1;
        assert_eq!(ticket.began, self.events);
        let mut done = Done {
            file: step.file,
            act: step.act.clone(),
            began: self.events,
            over: None,
            old_length,
            name,
            replaced: None,
        };
        self.perform(step, &mut done);
        self.done.push(done);
        let number = self.done.len() - 1;
        if let Some(after) = step.over_after {
            self.under_way.push((number + after, number, ticket));
        }
        let (over, rest) = std::mem::take(&mut self.under_way)
            .into_iter()
            .partition::<Vec<_>, _>(|(when, _, _)| *when <= number);
        self.under_way = rest;
        for (_, number, ticket) in over {
            self.ring.finish(&ticket);
            self.events += 1;
            self.done[number].over = Some(self.events);
        }
    }

    /// Saves what is replaced into the journal, as the shim does by reading the file.
    fn save(&self, entry: &NewEntry, ticket: &EntryTicket) {
        let from = match entry.kind {
            EntryKind::Write => entry.offset,
            EntryKind::Length => entry.other,
            _ => return,
        } as usize;
        let bytes = &self.files.bytes[&entry.file];
        let end = (from + ticket.replaced_bytes as usize).min(bytes.len());
        let saved = bytes.get(from..end).unwrap_or_default();
        for (word, chunk) in self.ring.room(ticket).iter().zip(saved.chunks(8)) {
            let mut value = [0; 8];
            value[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_ne_bytes(value), Ordering::SeqCst);
        }
        self.ring.ready(ticket, saved.len() as u64);
    }

    fn perform(&mut self, step: &Step, done: &mut Done) {
        let file = identity(step.file);
        match &step.act {
            Act::Write { at, .. } => {
                let byte = (self.done.len() + 1) as u8;
                let bytes = vec![byte; (at.end - at.start) as usize];
                self.files.write(file, at.start, &bytes).unwrap();
            }
            Act::SetLength(length) => self.files.set_length(file, *length).unwrap(),
            Act::Create => {
                self.files.bytes.insert(file, Vec::new());
                self.files.names.insert(done.name.clone(), file);
            }
            Act::Rename { to } => {
                self.files.names.remove(&done.name);
                done.replaced = self.files.names.insert(NAMES[*to].to_owned(), file);
            }
            Act::Unlink => {
                self.files.names.remove(&done.name);
            }
            Act::Flush | Act::WriteOut | Act::FlushDirectory => {}
        }
    }
}

fn entry<'a>(step: &Step, name: &'a str, file_bytes: u64, files: &MemoryFiles) -> NewEntry<'a> {
    let mut entry = NewEntry {
        kind: EntryKind::Flush,
        device: device_of(step.file),
        traits: WriteTraits::default(),
        file: identity(step.file),
        place: step.file,
        offset: 0,
        length: 0,
        file_bytes,
        other: 0,
        names: [name.as_bytes(), b""],
    };
    match &step.act {
        Act::Write { at, traits } => {
            (entry.kind, entry.traits) = (EntryKind::Write, *traits);
            (entry.offset, entry.length) = (at.start, at.end - at.start);
        }
        Act::Flush => {}
        Act::WriteOut => (entry.kind, entry.length) = (EntryKind::SyncRange, u64::MAX),
        Act::SetLength(length) => (entry.kind, entry.other) = (EntryKind::Length, *length),
        Act::Create => entry.kind = EntryKind::Create,
        Act::Rename { to } => {
            entry.kind = EntryKind::Rename;
            entry.names[1] = NAMES[*to].as_bytes();
            entry.other = files.names.get(NAMES[*to]).map_or(0, |file| file.inode);
        }
        Act::Unlink => entry.kind = EntryKind::Unlink,
        Act::FlushDirectory => {
            (entry.file, entry.place) = (FileIdentity::default(), usize::MAX);
        }
    }
    entry
}
