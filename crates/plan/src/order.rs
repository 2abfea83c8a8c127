//! In which order cells are measured.

use base::Random;

/// The order of the cells in each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each block has an order of its own, drawn from the seed.
    Random,
    /// That of the matrix.
    Listed,
}

impl Order {
    pub const ALL: [Order; 2] = [Order::Random, Order::Listed];

    /// The name in a plan.
    pub fn name(self) -> &'static str {
        match self {
            Order::Random => "random",
            Order::Listed => "listed",
        }
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
