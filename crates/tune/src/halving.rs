//! Successive halving (Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed
//! bandits", ICML 2013): many settings are measured once, the better third of them more often, and
//! so on, until one is left.

/// What is left of each round.
const KEPT: usize = 3;
/// Fewer settings are no search.
pub(crate) const SETTINGS_MIN: usize = 2;

/// One round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    pub(crate) settings: usize,
    /// Windows of each, and of the start beside them.
    pub(crate) windows: usize,
}

/// The rounds that so many settings take, each with twice as many windows as the one before.
pub(crate) fn rounds(settings: usize) -> Vec<Round> {
    let mut rounds = Vec::new();
    let (mut left, mut windows) = (settings, 1);
    while left > 1 {
        rounds.push(Round { settings: left, windows });
        left = kept(left);
        windows *= 2;
    }
    rounds
}

/// Windows of all rounds, those of the start among them.
pub(crate) fn windows(settings: usize) -> usize {
    rounds(settings).iter().map(|round| (round.settings + 1) * round.windows).sum()
}

/// Windows that there is time for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowsAllowed(pub(crate) usize);

/// As many settings as so many windows allow, `most` at most; `None` where they allow no search.
pub(crate) fn settings_for(WindowsAllowed(allowed): WindowsAllowed, most: usize) -> Option<usize> {
    (SETTINGS_MIN..=most).rev().find(|settings| windows(*settings) <= allowed)
}

/// How many go on.
pub(crate) fn kept(settings: usize) -> usize {
    settings.div_ceil(KEPT)
}

#[cfg(test)]
mod tests {
    use super::{Round, WindowsAllowed, kept, rounds, settings_for, windows};

    #[test]
    fn rounds_get_longer_and_smaller() {
        let round = |settings, windows| Round { settings, windows };
        assert_eq!(rounds(27), [round(27, 1), round(9, 2), round(3, 4)]);
        assert_eq!(windows(27), 28 + 20 + 16);
        assert_eq!(rounds(4), [round(4, 1), round(2, 2)]);
        assert_eq!((kept(27), kept(4), kept(2)), (9, 2, 1));
        assert!(rounds(1).is_empty());
    }

    #[test]
    fn a_budget_allows_so_many_settings() {
        assert_eq!(settings_for(WindowsAllowed(64), 1000), Some(27));
        assert_eq!(settings_for(WindowsAllowed(63), 1000), Some(26));
        assert_eq!(settings_for(WindowsAllowed(1000), 5), Some(5));
        assert_eq!(settings_for(WindowsAllowed(2), 1000), None);
    }
}
