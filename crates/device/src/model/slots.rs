//! What is outstanding: a fixed number of places, so that nothing is allocated and nothing grows.
//!
//! A slot is an index that [`Slots::insert`] gave out. What is in it may be gone: where a process
//! was killed in the middle of a request, others go on with the devices that they shared.

/// Requests that a device holds without having decided on them, or whose owner has not asked yet.
pub const OUTSTANDING_MAX: usize = 4096;

#[derive(Debug)]
pub struct Slots<T> {
    items: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub fn new() -> Slots<T> {
        Slots {
            items: (0..OUTSTANDING_MAX).map(|_| None).collect(),
            // Taken from the end: low numbers first, which stay in the processor's cache.
            free: (0..OUTSTANDING_MAX as u32).rev().collect(),
        }
    }

    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    pub fn used(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// `None` where all are taken.
    pub fn insert(&mut self, item: T) -> Option<u32> {
        let slot = self.free.pop()?;
        self.items[slot as usize] = Some(item);
        Some(slot)
    }

    pub fn get(&self, slot: u32) -> Option<&T> {
        self.items[slot as usize].as_ref()
    }

    pub fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.items[slot as usize].as_mut()
    }

    pub fn remove(&mut self, slot: u32) -> Option<T> {
        let item = self.items[slot as usize].take()?;
        self.free.push(slot);
        Some(item)
    }
}
