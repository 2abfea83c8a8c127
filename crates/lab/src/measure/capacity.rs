//! What the server does in a closed loop, for a rate that is a share of it: the mean over the later
//! half of the loop, as soon as that half is steady and its mean is known well.

use analyse::{PrecisionAsked, Watched, precision, steadiness};
use base::{limits, percent_at_most};
use spec::{Length, Lengths};
use std::time::Duration;

/// The loop takes so long at most, behind its warm-up.
const WINDOW_MOST: Duration = Duration::from_secs(60);
/// It is judged by short intervals, so that it can end early.
const INTERVAL_MOST: Duration = Duration::from_millis(250);
/// How well the mean is to be known: half the width of its 95 % interval, as a share of it.
const PRECISION_SHARE: f64 = 0.03;
/// What the throughput may change over the later half of the loop, as a share of its mean.
const CHANGE_MOST_SHARE: f64 = 0.1;

/// Transactions of all types per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KnownCapacity {
    pub(crate) per_s: f64,
    /// Half the width of its 95 % interval, as a share of it; `None` where the loop was too short
    /// to tell.
    pub(crate) half_width_share: Option<f64>,
    /// Did the throughput stand where it would stay?
    pub(crate) is_steady: bool,
}

/// The loop in the words of a run: the warm-up that was asked for, and a window that ends by what
/// it shows.
pub(crate) fn loop_of(asked: &Lengths) -> Lengths {
    Lengths {
        interval: asked.interval.min(INTERVAL_MOST),
        window: Length { most: WINDOW_MOST, is_auto: true },
        ..*asked
    }
}

/// What a loop with these transactions per second has shown so far, and whether that is enough: its
/// later half is steady, and the mean of that is known as well as is asked. `None` where nothing
/// ended well.
pub(super) fn look(per_s: &[f64]) -> (Option<KnownCapacity>, bool) {
    let half = &per_s[per_s.len() / 2..];
    let asked = PrecisionAsked {
        half_width_share: PRECISION_SHARE,
        intervals_min: limits::AUTO_INTERVALS_MIN as usize,
    };
    let found = precision(half, &asked);
    let is_steady = steadiness(&[Watched {
        name: "throughput",
        values: per_s,
        tolerance_share: CHANGE_MOST_SHARE,
        negligible: 0.0,
    }])
    .steady;
    let mean = half.iter().sum::<f64>() / half.len().max(1) as f64;
    let half_width_share = found.half_width_share;
    let known = KnownCapacity { per_s: mean, half_width_share, is_steady };
    ((mean > 0.0).then_some(known), is_steady && found.reached)
}

impl KnownCapacity {
    /// For people.
    pub(crate) fn in_words(self, window: Duration) -> String {
        let share = self.half_width_share.map_or_else(|| "unknown".to_owned(), percent_at_most);
        let unsteady = if self.is_steady {
            ""
        } else {
            ", whose throughput was not steady at its end: allow a longer --warmup"
        };
        format!(
            "capacity: {:.1} transactions/s ± {share}, in the later half of a closed loop of {:.0} \
             s behind its warm-up{unsteady}",
            self.per_s,
            window.as_secs_f64()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::WINDOW_MOST;
    use crate::measure::lengths::PhaseEnds;
    use crate::measure::lengths::tests::{asked, interval};
    use drive::{Control, Phase};
    use spec::Length;
    use std::time::Duration;

    /// What a loop finds of a server that completes so many new orders in each interval of a
    /// second, and after how many.
    fn found(new_orders: impl Fn(u64) -> u64) -> (super::KnownCapacity, u64) {
        let asked =
            asked(Length::fixed(Duration::from_secs(1)), Length::fixed(Duration::from_secs(1)));
        let mut ends = PhaseEnds::of_capacity(&asked);
        let most = WINDOW_MOST.as_secs() * 4;
        for second in 0..most {
            let interval = interval(Phase::Window, second, new_orders(second));
            if ends.take(&interval) == Control::EndPhase(Phase::Window) {
                return (ends.capacity.unwrap(), second + 1);
            }
        }
        (ends.capacity.unwrap(), most)
    }

    #[test]
    fn a_steady_server_is_known_soon() {
        let (known, after) = found(|_| 1_000);
        assert!((known.per_s - 1_000.0).abs() < 1.0, "{known:?}");
        // The later half of the later half has to be precise too, which takes 24 intervals.
        assert!(known.is_steady && after <= 100, "{known:?} after {after}");
        assert!(known.half_width_share.is_some_and(|share| share < 0.01));
    }

    #[test]
    fn a_server_that_warms_up_is_not_taken_for_its_beginning() {
        // From 200 to 1,000 transactions a second, in a minute of 60 intervals.
        let warming = |second: u64| 200 + (800 * second.min(60)) / 60;
        let (known, after) = found(warming);
        assert!(after > 60, "{after}");
        assert!(known.per_s > 900.0, "{known:?}");
    }

    #[test]
    fn a_server_that_never_settles_is_told() {
        let (known, _) = found(|second| 100 + 10 * second);
        assert!(!known.is_steady);
        let words = known.in_words(WINDOW_MOST);
        assert!(words.contains("not steady"), "{words}");
    }
}
