//! Seeds: of a population one that stays, so that images and checksums are the same everywhere; of
//! the inputs another one for each measurement, because inputs that come again find their rows in
//! the server's memory.

use base::Random;
use std::hash::{BuildHasher, RandomState};

/// Seeds that are drawn have nine digits at most, so that people can type them.
const DRAWN_MAX: u32 = 999_999_999;
/// The stream of the seeds of a lab's repeats; "repeat" in ASCII.
const REPEATS: u64 = 0x72_65_70_65_61_74;

/// A seed that nobody knew before, from the system's random numbers.
pub fn new_seed() -> u64 {
    drawn(&mut Random::new(RandomState::new().hash_one(0), &[]))
}

/// The seed of the inputs of a repeat in a lab whose plan has the seed `of_plan`. All cells have it
/// in that repeat, whenever they are measured, so they are asked the same; and another repeat is
/// another sample of what users may ask.
pub fn seed_of_repeat(of_plan: u64, repeat: u32) -> u64 {
    drawn(&mut Random::new(of_plan, &[REPEATS, u64::from(repeat)]))
}

/// The seed of a point of a ramp: of a repeat, from 1, of a number of connections. No point has the
/// inputs of another, whose rows are in the server's memory, and neither has one that is measured
/// again.
pub(crate) fn seed_of_point(of_ramp: u64, (connections, repeat): (u32, u32)) -> u64 {
    let again = u64::from(repeat.saturating_sub(1));
    of_ramp.wrapping_add(u64::from(connections)).wrapping_add(again << 32)
}

fn drawn(random: &mut Random) -> u64 {
    u64::from(random.between(1..=DRAWN_MAX))
}

#[cfg(test)]
mod tests {
    use super::{DRAWN_MAX, new_seed, seed_of_point, seed_of_repeat};
    use std::collections::BTreeSet;

    #[test]
    fn new_seeds_differ_and_can_be_typed() {
        let drawn: BTreeSet<u64> = (0..100).map(|_| new_seed()).collect();
        assert!(drawn.len() >= 99, "{drawn:?}");
        let range = 1..=u64::from(DRAWN_MAX);
        assert!(drawn.iter().all(|seed| range.contains(seed)));
    }

    #[test]
    fn each_repeat_has_a_seed_of_its_own_that_stays() {
        let seeds: BTreeSet<u64> = (1..=100).map(|repeat| seed_of_repeat(1, repeat)).collect();
        assert_eq!(seeds.len(), 100);
        assert!(seeds.iter().all(|seed| *seed > 1));
        assert_eq!(seed_of_repeat(1, 2), seed_of_repeat(1, 2));
        assert_ne!(seed_of_repeat(1, 2), seed_of_repeat(2, 2));
    }

    #[test]
    fn no_point_of_a_ramp_has_the_inputs_of_another() {
        let mut seeds = BTreeSet::new();
        for repeat in 1..=3 {
            for connections in 1..=100 {
                seeds.insert(seed_of_point(7, (connections, repeat)));
            }
        }
        assert_eq!(seeds.len(), 300);
    }
}
