//! The leader's clock on another machine, as NTP finds it: of several exchanges, the quickest tells
//! how far two clocks are apart, to half of the time that it took.

use std::time::Duration;

/// How the leader's clock stands to this machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockOffset {
    /// The leader's time less this machine's.
    pub(crate) offset_ns: i128,
    /// That is wrong by so much at most, if both ways took between nothing and all of the time.
    pub(crate) error_ns: u64,
}

/// One exchange: this machine's clock before and after, and the leader's in between; in ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) sent_ns: u64,
    pub(crate) leader_ns: u64,
    pub(crate) received_ns: u64,
}

/// Exchanges of one comparison of clocks.
pub(crate) const EXCHANGES: usize = 16;
/// A comparison that takes longer finds no clock.
pub(crate) const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(5);

impl ClockOffset {
    /// Of these exchanges; `None` of none.
    pub(crate) fn of(exchanges: &[Exchange]) -> Option<ClockOffset> {
        let took = |one: &Exchange| one.received_ns.saturating_sub(one.sent_ns);
        let quickest = exchanges.iter().min_by_key(|one| took(one))?;
        let error_ns = took(quickest).div_ceil(2);
        let middle_ns = i128::from(quickest.sent_ns) + i128::from(error_ns);
        Some(ClockOffset { offset_ns: i128::from(quickest.leader_ns) - middle_ns, error_ns })
    }

    /// This machine's time when the leader's clock shows `leader_ns`; 0 where that was before it
    /// began.
    pub(crate) fn own_ns(self, leader_ns: u64) -> u64 {
        u64::try_from(i128::from(leader_ns) - self.offset_ns).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::{ClockOffset, Exchange};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_error_is_never_larger_than_told(
            offset in -1_000_000_000_000i128..1_000_000_000_000,
            ways in prop::collection::vec((0u64..50_000_000, 0u64..50_000_000), 1..20),
        ) {
            let mut now = 2_000_000_000_000u64;
            let mut exchanges = Vec::new();
            for (there, back) in ways {
                let leader = i128::from(now + there) + offset;
                exchanges.push(Exchange {
                    sent_ns: now,
                    leader_ns: u64::try_from(leader).unwrap(),
                    received_ns: now + there + back,
                });
                now += there + back + 1_000;
            }
            let found = ClockOffset::of(&exchanges).unwrap();
            let wrong = (found.offset_ns - offset).unsigned_abs();
            prop_assert!(wrong <= u128::from(found.error_ns) + 1, "{} {}", wrong, found.error_ns);
        }
    }

    #[test]
    fn a_moment_of_the_leader_is_one_of_this_machine() {
        let exchange = Exchange { sent_ns: 1_000, leader_ns: 51_100, received_ns: 1_200 };
        let found = ClockOffset::of(&[exchange]).unwrap();
        assert_eq!((found.offset_ns, found.error_ns), (50_000, 100));
        assert_eq!(found.own_ns(60_000), 10_000);
        assert_eq!(found.own_ns(10), 0);
        assert_eq!(ClockOffset::of(&[]), None);
    }
}
