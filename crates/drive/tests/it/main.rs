//! The driver with clients that no database stands behind. They wait, and compute next to nothing,
//! so these tests run beside each other; schedules, which others would delay, are in `paced`.

mod breakdown;
mod engine;
mod stalls;
