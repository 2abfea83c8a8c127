//! In which order cells are measured.

use base::{Random, named};
use std::fmt::{Display, Formatter};
use std::str::FromStr;

named! {
    /// The order of the cells in each block.
    pub enum Order {
        /// Each block has an order of its own, drawn from the seed.
        Random = "random",
        /// That of the matrix.
        Listed = "listed",
    }
}

/// How often, in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnSchedule {
    pub order: Order,
    pub repeats: u32,
    pub seed: u64,
}

/// One measurement to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Turn {
    /// Of the cell, in the order of the matrix, from 0.
    pub index: usize,
    /// From 1.
    pub repeat: u32,
}

/// A part of a lab for a machine of its own: whole repeats of all cells, so that comparisons stay
/// inside a machine. Of N shards, number K has the repeats K, K + N, K + 2 N, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    number: u32,
    /// How many shards there are.
    count: u32,
}

impl Shard {
    /// Does it have this repeat, counted from 1?
    pub fn has(self, repeat: u32) -> bool {
        repeat >= self.number && (repeat - self.number).is_multiple_of(self.count)
    }

    /// The repeats that a plan needs at least, so that every shard has one.
    pub fn repeats_min(self) -> u32 {
        self.count
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parse = || {
            let (number, count) = text.split_once('/')?;
            Some(Shard { number: number.parse().ok()?, count: count.parse().ok()? })
        };
        let is_one = |shard: &Shard| (1..=shard.count).contains(&shard.number);
        let form = "write K/N, such as 3/8: the third of eight shards";
        parse().filter(is_one).ok_or_else(|| form.to_owned())
    }
}

impl Display for Shard {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

/// Keeps this stream of random numbers apart from those of populations and inputs.
const ORDER_STREAM: u64 = 0x006f_7264_6572;

/// All measurements of so many cells, in randomised blocks: each repeat is a block with every cell
/// once, so that a machine that drifts from hour to hour is unfair to no cell. A block's order
/// depends on the seed, its repeat and the number of cells alone, so that a lab which was
/// interrupted goes on in the same order.
pub fn execution_order(cells: usize, schedule: TurnSchedule) -> Vec<Turn> {
    let mut turns = Vec::new();
    for repeat in 1..=schedule.repeats {
        let mut block: Vec<usize> = (0..cells).collect();
        if schedule.order == Order::Random {
            Random::new(schedule.seed, &[ORDER_STREAM, u64::from(repeat)]).shuffle(&mut block);
        }
        turns.extend(block.into_iter().map(|index| Turn { index, repeat }));
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::Shard;

    #[test]
    fn every_repeat_is_in_one_shard() {
        let shards: Vec<Shard> =
            ["1/3", "2/3", "3/3"].iter().map(|text| text.parse().unwrap()).collect();
        for repeat in 1..=10 {
            let with: Vec<_> = shards.iter().filter(|shard| shard.has(repeat)).collect();
            assert_eq!(with.len(), 1, "{repeat}");
        }
        assert!(shards[1].has(5) && shards[1].to_string() == "2/3");
        for wrong in ["", "3", "0/3", "4/3", "1/0", "-1/3", "1/3/3", "a/b"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
