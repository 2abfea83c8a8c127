//! The modelled page cache: which pages of which files the kernel would have in memory, and which
//! of them are dirty. It holds no data, waits for nothing and knows no device.
//!
//! Pages are found by hash, dirty ones hang on two lists in the order in which they became dirty
//! (all of them, and those of their file), and a clock hand looks for pages to give up. All memory
//! is taken when it is made; pages that were never used cost none.
//!
//! An index is [`NONE`] or one that the cache gave, so there is a page of it; a place is one of a
//! file, so there are lists of it.

use crate::limits::FILES_MAX;
use std::ops::Range;

pub(crate) const PAGE_BYTES: u64 = 4096;

/// Pages that are written or read at once, at most: 512 KiB.
pub(crate) const RUN_PAGES_MAX: u32 = 128;

/// How many dirty pages the hand passes before it gives one up.
const DIRTY_SKIPS_MAX: u32 = 256;

/// When a page will be read whose request the device has not decided about.
pub(crate) const UNDECIDED: u64 = u64::MAX;

/// An index of no page. All zeros is a page that was never used.
const NONE: u32 = 0;

#[derive(Clone, Copy, Default)]
struct Links {
    before: u32,
    after: u32,
}

#[derive(Clone, Copy, Default)]
struct List {
    first: u32,
    last: u32,
}

#[derive(Clone, Copy, Default)]
struct Page {
    number: u32,
    place: u32,
    same_hash: u32,
    /// Neighbours in the list of all dirty pages.
    age: Links,
    /// Neighbours in the list of its file's dirty pages.
    dirty: Links,
    /// Neighbours in the list of all its file's pages.
    file: Links,
    is_used: bool,
    is_dirty: bool,
    was_touched: bool,
    /// When it became dirty; of a clean one, when it is read: [`UNDECIDED`] while nobody knows.
    when_ns: u64,
}

#[derive(Clone, Copy)]
enum Chain {
    Age,
    Dirty,
    File,
}

impl Page {
    fn links(&mut self, chain: Chain) -> &mut Links {
        match chain {
            Chain::Age => &mut self.age,
            Chain::Dirty => &mut self.dirty,
            Chain::File => &mut self.file,
        }
    }
}

#[derive(Clone, Copy, Default)]
struct OfFile {
    dirty: List,
    pages: List,
}

/// Neighbouring pages of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageRun {
    pub(crate) place: usize,
    pub(crate) first: u32,
    pub(crate) pages: u32,
}

impl PageRun {
    pub(crate) fn offset(&self) -> u64 {
        u64::from(self.first) * PAGE_BYTES
    }

    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.pages) * PAGE_BYTES
    }
}

#[derive(Default)]
pub(crate) struct PageCache {
    pages: Box<[Page]>,
    buckets: Vec<u32>,
    files: Vec<OfFile>,
    age: List,
    free: u32,
    /// Pages from here on were never used.
    fresh: u32,
    hand: u32,
    pub(crate) count: u32,
    pub(crate) dirty_count: u32,
}

impl PageCache {
    pub(crate) fn new(bytes: u64) -> PageCache {
        let pages = (bytes / PAGE_BYTES).clamp(64, u64::from(u32::MAX / 2)) as usize;
        PageCache {
            // SAFETY: all zeros is a page that was never used.
            pages: unsafe { Box::new_zeroed_slice(pages + 1).assume_init() },
            buckets: vec![NONE; pages.next_power_of_two()],
            files: vec![OfFile::default(); FILES_MAX],
            fresh: 1,
            hand: 1,
            ..PageCache::default()
        }
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.pages.len() as u32 - 1
    }

    /// When the page became dirty that has been so for longest.
    pub(crate) fn oldest_ns(&self) -> Option<u64> {
        let page = &self.pages[self.age.first as usize];
        page.is_dirty.then_some(page.when_ns)
    }

    fn page(&mut self, index: u32) -> &mut Page {
        &mut self.pages[index as usize]
    }

    fn bucket(&self, place: usize, number: u32) -> usize {
        let key = (place as u64) << 32 | u64::from(number);
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        hash as usize & (self.buckets.len() - 1)
    }

    fn find(&self, place: usize, number: u32) -> Option<u32> {
        let mut index = self.buckets[self.bucket(place, number)];
        while index != NONE {
            let page = &self.pages[index as usize];
            if page.number == number && page.place as usize == place {
                return Some(index);
            }
            index = page.same_hash;
        }
        None
    }

    pub(crate) fn has(&self, place: usize, number: u32) -> bool {
        self.find(place, number).is_some()
    }

    /// Whether it is there; it is then kept for longer.
    pub(crate) fn touch(&mut self, place: usize, number: u32) -> bool {
        let found = self.find(place, number);
        if let Some(index) = found {
            self.page(index).was_touched = true;
        }
        found.is_some()
    }

    /// Puts a page in, if it is not there. Returns what has to be written because its place was
    /// needed.
    pub(crate) fn insert(&mut self, place: usize, number: u32) -> Option<PageRun> {
        if self.find(place, number).is_some() {
            return None;
        }
        let (index, evicted) = self.take_place();
        let bucket = self.bucket(place, number);
        let same_hash = std::mem::replace(&mut self.buckets[bucket], index);
        *self.page(index) =
            Page { number, place: place as u32, same_hash, is_used: true, ..Page::default() };
        self.link(Chain::File, index);
        self.count += 1;
        evicted
    }

    fn take_place(&mut self) -> (u32, Option<PageRun>) {
        if self.free != NONE {
            let index = self.free;
            self.free = self.page(index).same_hash;
            return (index, None);
        }
        if (self.fresh as usize) < self.pages.len() {
            self.fresh += 1;
            return (self.fresh - 1, None);
        }
        let mut dirty_skips = 0;
        loop {
            let index = self.hand;
            self.hand = if index >= self.capacity() { 1 } else { index + 1 };
            let page = self.page(index);
            if std::mem::take(&mut page.was_touched) {
                continue;
            }
            if page.is_dirty && dirty_skips < DIRTY_SKIPS_MAX {
                dirty_skips += 1;
                continue;
            }
            let run = page.is_dirty.then_some((page.place as usize, page.number));
            let run = run.map(|(place, number)| self.clean_around(place, number));
            self.remove(index);
            // It hangs at the head of the free list.
            self.free = self.page(index).same_hash;
            return (index, run);
        }
    }

    /// Puts a page in that is about to be read; otherwise as [`PageCache::insert`].
    pub(crate) fn insert_unread(&mut self, place: usize, number: u32) -> Option<PageRun> {
        let evicted = self.insert(place, number);
        self.set_ready(place, number, UNDECIDED);
        evicted
    }

    /// Pages that are being read are there from then on.
    pub(crate) fn ready_at(&mut self, run: PageRun, ready_ns: u64) {
        for number in run.first..run.first.saturating_add(run.pages) {
            self.set_ready(run.place, number, ready_ns);
        }
    }

    /// What has become dirty meanwhile needs no reading.
    fn set_ready(&mut self, place: usize, number: u32, ready_ns: u64) {
        if let Some(index) = self.find(place, number)
            && !self.page(index).is_dirty
        {
            self.page(index).when_ns = ready_ns;
        }
    }

    /// When the last of these pages is there, of those that are known.
    pub(crate) fn ready_ns(&self, place: usize, numbers: Range<u32>) -> u64 {
        let of_page = |number| {
            let page = &self.pages[self.find(place, number)? as usize];
            (!page.is_dirty).then_some(page.when_ns)
        };
        numbers.filter_map(of_page).max().unwrap_or(0)
    }

    /// Makes a page that is there dirty.
    pub(crate) fn dirty(&mut self, place: usize, number: u32, now_ns: u64) {
        let Some(index) = self.find(place, number) else {
            return;
        };
        let page = self.page(index);
        page.was_touched = true;
        if !page.is_dirty {
            page.is_dirty = true;
            page.when_ns = now_ns;
            self.link(Chain::Age, index);
            self.link(Chain::Dirty, index);
            self.dirty_count += 1;
        }
    }

    fn clean(&mut self, index: u32) {
        if std::mem::take(&mut self.page(index).is_dirty) {
            self.unlink(Chain::Age, index);
            self.unlink(Chain::Dirty, index);
            self.dirty_count -= 1;
        }
    }

    fn find_dirty(&self, place: usize, number: u32) -> Option<u32> {
        self.find(place, number).filter(|index| self.pages[*index as usize].is_dirty)
    }

    /// Takes a dirty page and its dirty neighbours to be written: they are clean from now on.
    fn clean_around(&mut self, place: usize, number: u32) -> PageRun {
        let (mut first, mut end) = (number, number);
        while end - first < RUN_PAGES_MAX
            && let Some(index) = self.find_dirty(place, end)
        {
            self.clean(index);
            end += 1;
        }
        while end - first < RUN_PAGES_MAX
            && first > 0
            && let Some(index) = self.find_dirty(place, first - 1)
        {
            self.clean(index);
            first -= 1;
        }
        PageRun { place, first, pages: end - first }
    }

    /// Takes what has been dirty for longest, if it became so before that time.
    pub(crate) fn take_oldest(&mut self, before_ns: u64) -> Option<PageRun> {
        self.take(self.age.first, before_ns)
    }

    /// Whether a file has pages that became dirty before that time.
    pub(crate) fn is_file_dirty(&self, place: usize, before_ns: u64) -> bool {
        let index = self.files[place].dirty.first;
        index != NONE && self.pages[index as usize].when_ns <= before_ns
    }

    /// Takes what has been dirty for longest in a file.
    pub(crate) fn take_of_file(&mut self, place: usize, before_ns: u64) -> Option<PageRun> {
        self.take(self.files[place].dirty.first, before_ns)
    }

    fn take(&mut self, index: u32, before_ns: u64) -> Option<PageRun> {
        let page = *self.page(index);
        (index != NONE && page.when_ns <= before_ns)
            .then(|| self.clean_around(page.place as usize, page.number))
    }

    /// Takes pages of a file out, dirty ones only where they no longer matter.
    pub(crate) fn drop_pages(&mut self, place: usize, numbers: Range<u32>, with_dirty: bool) {
        let mut index = self.files[place].pages.first;
        while index != NONE {
            let page = *self.page(index);
            let is_in = numbers.contains(&page.number);
            if is_in && (with_dirty || !page.is_dirty) {
                self.clean(index);
                self.remove(index);
            }
            index = page.file.after;
        }
    }

    /// Takes one page out, whatever it is.
    pub(crate) fn drop_page(&mut self, place: usize, number: u32) {
        if let Some(index) = self.find(place, number) {
            self.clean(index);
            self.remove(index);
        }
    }

    pub(crate) fn clear(&mut self) {
        for index in 1..self.fresh {
            if self.page(index).is_used {
                self.clean(index);
                self.remove(index);
            }
        }
    }

    /// Takes a clean page out.
    fn remove(&mut self, index: u32) {
        let page = *self.page(index);
        self.unlink(Chain::File, index);
        let bucket = self.bucket(page.place as usize, page.number);
        let mut before = NONE;
        let mut at = self.buckets[bucket];
        while at != NONE && at != index {
            before = at;
            at = self.page(at).same_hash;
        }
        match before {
            NONE => self.buckets[bucket] = page.same_hash,
            before => self.page(before).same_hash = page.same_hash,
        }
        let free = std::mem::replace(&mut self.free, index);
        *self.page(index) = Page { same_hash: free, ..Page::default() };
        self.count -= 1;
    }

    fn list(&mut self, chain: Chain, place: u32) -> &mut List {
        match chain {
            Chain::Age => &mut self.age,
            Chain::Dirty => &mut self.files[place as usize].dirty,
            Chain::File => &mut self.files[place as usize].pages,
        }
    }

    /// Hangs a page at the end of a list.
    fn link(&mut self, chain: Chain, index: u32) {
        let place = self.page(index).place;
        let list = self.list(chain, place);
        let before = std::mem::replace(&mut list.last, index);
        match before {
            NONE => list.first = index,
            before => self.page(before).links(chain).after = index,
        }
        *self.page(index).links(chain) = Links { before, after: NONE };
    }

    fn unlink(&mut self, chain: Chain, index: u32) {
        let page = self.page(index);
        let place = page.place;
        let Links { before, after } = std::mem::take(page.links(chain));
        match before {
            NONE => self.list(chain, place).first = after,
            before => self.page(before).links(chain).after = after,
        }
        match after {
            NONE => self.list(chain, place).last = before,
            after => self.page(after).links(chain).before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE_BYTES, PageCache, PageRun, UNDECIDED};

    fn run(place: usize, first: u32, pages: u32) -> Option<PageRun> {
        Some(PageRun { place, first, pages })
    }

    #[test]
    fn dirty_pages_leave_in_order_and_with_their_neighbours() {
        let mut cache = PageCache::new(1000 * PAGE_BYTES);
        for (place, number, now_ns) in [(1, 7, 10), (2, 3, 20), (1, 6, 30), (1, 9, 40)] {
            assert_eq!(cache.insert(place, number), None);
            cache.dirty(place, number, now_ns);
        }
        assert_eq!((cache.count, cache.dirty_count), (4, 4));
        assert_eq!(cache.oldest_ns(), Some(10));
        assert_eq!(cache.take_of_file(2, 19), None);
        assert!(
            !cache.is_file_dirty(2, 19)
                && cache.is_file_dirty(2, 20)
                && !cache.is_file_dirty(3, 99)
        );
        assert_eq!(cache.take_oldest(100), run(1, 6, 2));
        assert_eq!(cache.take_of_file(1, 100), run(1, 9, 1));
        assert_eq!(cache.take_of_file(1, 100), None);
        assert_eq!(cache.take_oldest(100), run(2, 3, 1));
        assert_eq!((cache.count, cache.dirty_count), (4, 0));
        assert_eq!(cache.oldest_ns(), None);
    }

    #[test]
    fn runs_have_an_end() {
        let mut cache = PageCache::new(1000 * PAGE_BYTES);
        for number in 0..200 {
            cache.insert(0, number);
            cache.dirty(0, number, 1);
        }
        assert_eq!(cache.take_of_file(0, 1), run(0, 0, 128));
        assert_eq!(cache.take_of_file(0, 1), run(0, 128, 72));
    }

    #[test]
    fn what_is_touched_stays_and_dirty_pages_are_written_before_they_go() {
        let mut cache = PageCache::new(64 * PAGE_BYTES);
        for number in 0..64 {
            cache.insert(0, number);
        }
        assert!(cache.touch(0, 0));
        assert_eq!(cache.insert(1, 0), None);
        assert!(cache.has(0, 0) && !cache.has(0, 1));
        for number in 0..64 {
            cache.insert(2, number);
            cache.dirty(2, number, 5);
        }
        let evicted = (100..164).filter_map(|number| cache.insert(3, number));
        let written: u32 = evicted.map(|run| run.pages).sum();
        assert!(written > 0, "{written}");
        assert_eq!(cache.count, 64);
    }

    #[test]
    fn pages_being_read_are_there_when_they_are_due() {
        let mut cache = PageCache::new(100 * PAGE_BYTES);
        for number in 0..4 {
            cache.insert_unread(1, number);
        }
        cache.dirty(1, 3, 5);
        assert_eq!(cache.ready_ns(1, 0..3), UNDECIDED);
        assert_eq!(cache.ready_ns(1, 3..9), 0);
        let Some(read) = run(1, 0, 4) else { return };
        cache.ready_at(read, 70);
        assert_eq!(cache.ready_ns(1, 0..9), 70);
        assert_eq!(cache.oldest_ns(), Some(5));
    }

    #[test]
    fn files_go() {
        let mut cache = PageCache::new(100 * PAGE_BYTES);
        for number in 0..10 {
            cache.insert(0, number);
            cache.insert(1, number);
            cache.dirty(1, number, 1);
        }
        cache.drop_pages(1, 5..u32::MAX, false);
        assert_eq!(cache.dirty_count, 10);
        cache.drop_pages(1, 5..u32::MAX, true);
        assert_eq!((cache.count, cache.dirty_count), (15, 5));
        cache.drop_page(1, 0);
        assert_eq!(cache.take_of_file(1, 9), run(1, 1, 4));
        cache.clear();
        assert_eq!((cache.count, cache.dirty_count), (0, 0));
        for number in 0..100 {
            assert_eq!(cache.insert(0, number), None);
        }
    }
}
