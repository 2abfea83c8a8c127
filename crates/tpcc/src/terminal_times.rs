//! Keying and think times (clause 5.2.5), and what throughput they allow.

use crate::input::{DECK_CARDS, DECK_SIZE, Transaction};
use std::time::Duration;

/// Terminals of each warehouse (clause 4.2.2).
pub const TERMINALS_PER_WAREHOUSE: u32 = 10;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Least keying time of each type (table 5.2.5.7), by [`Transaction::index`].
pub const KEYING: [Duration; 5] = [s(18), s(3), s(2), s(2), s(2)];
/// Least mean think time of each type (the same table).
pub const THINK_MEAN: [Duration; 5] = [s(12), s(12), s(10), s(5), s(5)];

/// So many terminals with the times of the clauses.
pub fn terminals(count: u32) -> drive::Terminals {
    drive::Terminals {
        count,
        keying: drive::per_type(KEYING),
        think_mean: drive::per_type(THINK_MEAN),
        deck_size: DECK_SIZE,
    }
}

/// New orders per minute and warehouse above which throughput is outside the standard (clause
/// 4.1.3).
pub const NOPM_PER_WAREHOUSE_MAX: f64 = 12.86;
/// And below (the same clause).
pub const NOPM_PER_WAREHOUSE_MIN: f64 = 9.0;

/// What terminals that wait for nothing but their users do with the deck of 23 cards, and how far
/// chance takes it from there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// New orders per minute.
    pub nopm: f64,
    /// Its standard deviation.
    pub nopm_deviation: f64,
}

/// The ceiling of `terminals` terminals in a window of `window_s` seconds.
///
/// A deck takes 476 s on average, and its 10 new orders are 60 x 10 x 10 / 476 = 12.605 per minute
/// for ten terminals. Three things are chance, and terminals are independent of each other:
/// - **Think times.** The new orders of a window are rewards of a renewal process whose cycles are
///   decks, so their variance is 10^2 x window x Var(deck) / 476^3 = cycles x (10 / 476)^2 x mean
///   of the think times' variances; the variance of an exponential is the square of its mean.
/// - **Where the window cuts the decks.** A card stands for (1 if it is a new order) - (10 / 476) x
///   (its keying and mean think time), which adds up to 0 over a deck. The window sees the last
///   cards of one deck and the first of another, each drawn without replacement: n of 23 have the
///   variance S^2 x n x (1 - n / 23). Where a window is shorter than a deck, the cut's place within
///   the deck decides how many come from each.
/// - **Where the window cuts a card.** A count is whole, and what it leaves out of the two cards at
///   its ends is uniform: 1/12.
pub fn ceiling(terminals: u32, window_s: f64) -> Ceiling {
    let own_s = |index: usize| (KEYING[index] + THINK_MEAN[index]).as_secs_f64();
    let over_deck = |of: &dyn Fn(usize) -> f64| -> f64 {
        DECK_CARDS.iter().enumerate().map(|(index, cards)| f64::from(*cards) * of(index)).sum()
    };
    let deck_s = over_deck(&own_s);
    let think_variance = over_deck(&|index| THINK_MEAN[index].as_secs_f64().powi(2));
    let size = f64::from(DECK_SIZE);
    let new_order = Transaction::NewOrder.index();
    let per_s = f64::from(DECK_CARDS[new_order]) / deck_s;
    let cards_variance = over_deck(&|index| {
        let is_new_order = f64::from(u8::from(index == new_order));
        (is_new_order - per_s * own_s(index)).powi(2)
    }) / (size - 1.0);
    let cycles = window_s * size / deck_s;
    let by_think = cycles * per_s.powi(2) * think_variance / size;
    let by_cards = cards_variance * cut_cards(cycles);
    let by_ends = 1.0 / 12.0;
    let per_minute = 60.0 / window_s;
    Ceiling {
        nopm: f64::from(terminals) * per_s * 60.0,
        nopm_deviation: (f64::from(terminals) * (by_think + by_cards + by_ends)).sqrt()
            * per_minute,
    }
}

/// Mean of n x (1 - n / 23), summed over the decks that a window of `cycles` cards at any place
/// cuts.
fn cut_cards(cycles: f64) -> f64 {
    let size = f64::from(DECK_SIZE);
    let of = |cards: f64| cards * (1.0 - cards / size);
    let places = 1_000;
    let sum: f64 = (0..places)
        .map(|place| {
            // Cards that the first deck has left.
            let left = size * (f64::from(place) + 0.5) / f64::from(places);
            let first = left.min(cycles);
            of(first) + of((cycles - first) % size)
        })
        .sum();
    sum / f64::from(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::InputSource;
    use crate::random::RunConstants;
    use base::{Random, Warehouses};
    use drive::think_time;

    #[test]
    fn think_times_are_exponential_and_cut_at_ten_means() {
        let mut random = Random::new(3, &[]);
        let mean = Duration::from_secs(12);
        let times: Vec<f64> =
            (0..400_000).map(|_| think_time(&mut random, mean).as_secs_f64()).collect();
        let n = times.len() as f64;
        // Standard error 0.019 s.
        let average = times.iter().sum::<f64>() / n;
        assert!((average - 12.0).abs() < 0.06, "{average}");
        for means in [0.1, 0.5, 1.0, 2.0, 4.0] {
            let beyond = times.iter().filter(|time| **time > means * 12.0).count() as f64 / n;
            assert!((beyond - (-means).exp()).abs() < 0.003, "{means}: {beyond}");
        }
        let longest = times.iter().copied().fold(0.0, f64::max);
        // One in 22,000 is cut.
        assert!((longest - 120.0).abs() < 1e-6, "{longest}");
    }

    #[test]
    fn the_ceiling_is_that_of_the_deck() {
        let ceiling = ceiling(10, 7_200.0);
        assert!((ceiling.nopm - 12.605).abs() < 0.001, "{ceiling:?}");
        assert!(ceiling.nopm < NOPM_PER_WAREHOUSE_MAX);
    }

    /// New orders of one terminal that waits for nothing but its user, in a window.
    fn new_orders(terminal: u64, window_s: f64) -> f64 {
        let constants = RunConstants::for_run(None, 1);
        let random = Random::new(9, &[terminal]);
        let mut source = InputSource::new(random, constants, Warehouses(1), Some(1));
        let mut random = Random::new(10, &[terminal]);
        (0..random.below(DECK_SIZE)).for_each(|_| {
            source.deal();
        });
        let mut at_s = -500.0 - 100.0 * random.unit();
        let mut counted = 0.0;
        while at_s < window_s {
            let transaction = source.deal();
            let index = transaction.index();
            at_s += KEYING[index].as_secs_f64();
            if transaction == Transaction::NewOrder && at_s > 0.0 && at_s <= window_s {
                counted += 1.0;
            }
            at_s += think_time(&mut random, THINK_MEAN[index]).as_secs_f64();
        }
        counted
    }

    #[test]
    fn chance_is_as_large_as_derived() {
        for window_s in [10.0, 40.0, 120.0, 600.0, 3_600.0] {
            let terminals = 20_000;
            let counts: Vec<f64> =
                (0..terminals).map(|terminal| new_orders(terminal, window_s)).collect();
            let n = f64::from(terminals as u32);
            let mean = counts.iter().sum::<f64>() / n;
            let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / n;
            let expected = ceiling(1, window_s);
            let minutes = window_s / 60.0;
            let deviation = expected.nopm_deviation * minutes;
            assert!((mean - expected.nopm * minutes).abs() < 4.0 * deviation / n.sqrt());
            let ratio = variance.sqrt() / deviation;
            assert!((0.97..1.03).contains(&ratio), "{window_s}: {ratio}");
        }
    }
}
