//! Space of a file that was never written: it reads as zeros, until a write into it has been logged
//! as one that fills it.

use std::ops::Range;

/// A block of the file system.
pub(super) const BLOCK_BYTES: u64 = 4096;
/// Pieces of a file that are remembered.
const PIECES_MAX: usize = 32;

/// The unwritten space of one file, in whole blocks.
#[derive(Clone, Default)]
pub(super) struct UnwrittenSpace {
    count: usize,
    pieces: [Range<u64>; PIECES_MAX],
}

/// The blocks that a range touches.
pub(super) fn blocks_of(range: &Range<u64>) -> Range<u64> {
    match range.is_empty() {
        true => 0..0,
        false => range.start / BLOCK_BYTES * BLOCK_BYTES..blocks_behind(range.end),
    }
}

/// The blocks behind the one that a file of this length ends in.
pub(super) fn blocks_behind(length: u64) -> u64 {
    length.checked_next_multiple_of(BLOCK_BYTES).unwrap_or(u64::MAX)
}

/// What two ranges have in common.
pub(super) fn common(one: &Range<u64>, other: &Range<u64>) -> Range<u64> {
    one.start.max(other.start)..one.end.min(other.end)
}

/// What is left of a range without another one.
pub(super) fn without(
    range: &Range<u64>,
    other: &Range<u64>,
) -> impl Iterator<Item = Range<u64>> + use<> {
    let before = range.start..range.end.min(other.start);
    let behind = range.start.max(other.end)..range.end;
    [before, behind].into_iter().filter(|part| !part.is_empty())
}

impl UnwrittenSpace {
    /// The first piece of these blocks that is unwritten.
    pub(super) fn first_in(&self, blocks: &Range<u64>) -> Range<u64> {
        let mut inside = self.pieces.iter().take(self.count).map(|piece| common(piece, blocks));
        inside.find(|inside| !inside.is_empty()).unwrap_or(0..0)
    }

    /// These blocks are written now, or unwritten. Returns whether a piece had to be forgotten:
    /// there is no room for more, so the shortest counts as written.
    pub(super) fn set(&mut self, blocks: &Range<u64>, is_unwritten: bool) -> bool {
        if blocks.is_empty() || (!is_unwritten && self.first_in(blocks).is_empty()) {
            return false;
        }
        let UnwrittenSpace { count, pieces } = std::mem::take(self);
        let held = || pieces.iter().take(count);
        let lower = held().map(|piece| piece.start..piece.end.min(blocks.start));
        let upper = held().map(|piece| piece.start.max(blocks.end)..piece.end);
        let new = is_unwritten.then(|| blocks.clone());
        let all = lower.chain(new).chain(upper);
        all.fold(false, |forgets, piece| self.push(piece) | forgets)
    }

    /// Adds a piece behind all others. Returns whether one had to be forgotten.
    fn push(&mut self, new: Range<u64>) -> bool {
        if new.is_empty() {
            return false;
        }
        let held = self.pieces.get_mut(..self.count).unwrap_or_default();
        if let Some(last) = held.last_mut().filter(|last| last.end == new.start) {
            last.end = new.end;
            return false;
        }
        if let Some(free) = self.pieces.get_mut(self.count) {
            *free = new;
            self.count += 1;
            return false;
        }
        let bytes = |piece: &Range<u64>| piece.end - piece.start;
        let shortest = self.pieces.iter().enumerate().min_by_key(|(_, piece)| bytes(piece));
        if let Some((shortest, piece)) = shortest
            && bytes(piece) < bytes(&new)
        {
            self.pieces[shortest] = new;
            self.pieces[shortest..].rotate_left(1);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_BYTES, PIECES_MAX, UnwrittenSpace, blocks_of};
    use proptest::prelude::*;

    #[test]
    fn blocks_are_whole() {
        assert_eq!(blocks_of(&(100..4097)), 0..8192);
        assert_eq!(blocks_of(&(4096..8192)), 4096..8192);
        assert!(blocks_of(&(100..100)).is_empty());
        assert_eq!(blocks_of(&(0..u64::MAX)), 0..u64::MAX);
    }

    #[test]
    fn of_too_many_pieces_the_shortest_is_forgotten() {
        let mut space = UnwrittenSpace::default();
        let block = |from: u64, count: u64| from * BLOCK_BYTES..(from + count) * BLOCK_BYTES;
        for piece in 0..PIECES_MAX as u64 {
            assert!(!space.set(&block(piece * 10, if piece == 7 { 1 } else { 3 }), true));
        }
        assert!(space.set(&block(1000, 2), true));
        assert_eq!(space.first_in(&block(70, 10)), 0..0);
        assert_eq!(space.first_in(&block(1000, 9)), block(1000, 2));
        assert!(space.set(&block(2000, 1), true));
        assert_eq!(space.first_in(&block(2000, 9)), 0..0);
        assert_eq!(space.first_in(&block(80, 10)), block(80, 3));
    }

    proptest! {
        /// As a set of blocks would have it.
        #[test]
        fn pieces_are_sets_of_blocks(
            steps in proptest::collection::vec((0_u64..40, 0_u64..9, any::<bool>()), 1..60)
        ) {
            let mut space = UnwrittenSpace::default();
            let mut blocks = [false; 64];
            for (from, count, is_unwritten) in steps {
                let range = from * BLOCK_BYTES..(from + count) * BLOCK_BYTES;
                prop_assert!(!space.set(&range, is_unwritten));
                (from..from + count).for_each(|block| blocks[block as usize] = is_unwritten);
                for (block, expected) in blocks.iter().enumerate() {
                    let at = block as u64 * BLOCK_BYTES;
                    let found = space.first_in(&(at..at + BLOCK_BYTES));
                    prop_assert_eq!(!found.is_empty(), *expected);
                }
                let all = space.first_in(&(0..64 * BLOCK_BYTES));
                let first = blocks.iter().position(|block| *block).unwrap_or(0) as u64;
                let run = blocks.iter().skip(first as usize).take_while(|block| **block).count();
                let expected = first * BLOCK_BYTES..(first + run as u64) * BLOCK_BYTES;
                prop_assert_eq!(all.is_empty(), run == 0);
                prop_assert!(run == 0 || all == expected);
            }
        }
    }
}
