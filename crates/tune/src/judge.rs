//! Is a proposal decided, after so many pairs of windows with it and without it?

use analyse::{PairedRatios, RatioInterval};
use base::{document, named};
use serde::Serialize;

/// From so many pairs on, a mean gain that does not matter ends a comparison. It claims nothing:
/// the proposal is left out, as it would be without a comparison.
const PAIRS_UNTIL_FUTILE: usize = 3;

/// When a comparison ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgeLimits {
    /// The share of proposals that change nothing which may be kept, however often one looks.
    pub error_rate: f64,
    /// A gain of a smaller share is not worth a line.
    pub gain_min_share: f64,
    pub pairs_max: usize,
}

impl Default for JudgeLimits {
    fn default() -> JudgeLimits {
        JudgeLimits { error_rate: 0.05, gain_min_share: 0.02, pairs_max: 10 }
    }
}

named! {
    /// What came of a proposal.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ProposalVerdict {
        /// It helps.
        Kept = "kept" => "kept",
        /// It is slower than without.
        Harms = "harms" => "dropped, it harms",
        /// Whether it helps was not to be seen, or it does not matter.
        NoGain = "no_gain" => "dropped, no gain was shown",
        /// The server does not start with it, or the load failed.
        Fails = "fails" => "dropped, it fails",
        /// The proof ended before.
        Undecided = "undecided" => "not decided",
    }
}

/// What was measured of a proposal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looks {
    /// Throughput with it by that without it, beside the settings of now.
    pub ratios: PairedRatios,
    earlier_pairs: usize,
}

impl Looks {
    /// All pairs.
    pub(crate) fn pairs(&self) -> usize {
        self.earlier_pairs + self.ratios.pairs()
    }

    /// The settings beside it are others from now on.
    pub(crate) fn renew(&mut self) {
        *self = Looks { ratios: PairedRatios::default(), earlier_pairs: self.pairs() };
    }

    fn is_last(&self, limits: &JudgeLimits) -> bool {
        self.pairs() >= limits.pairs_max
            && (self.earlier_pairs == 0 || self.ratios.pairs() >= PAIRS_UNTIL_FUTILE)
    }

    /// Half of the error rate is for the looks that may end it early, and half for the last one:
    /// its number is known beforehand, so that it sees what these have to leave open. An interval
    /// errs on two sides, of which one keeps a proposal, so that each may have twice its half.
    fn interval(&self, limits: &JudgeLimits) -> Option<[f64; 2]> {
        match self.is_last(limits) {
            false => self.ratios.interval(limits.error_rate),
            true => self.ratios.interval_of_one_look(limits.error_rate),
        }
    }
}

/// What is to be said of a proposal now, if anything. No gain is final only where nothing beside
/// it changes any more.
pub(crate) fn decided(limits: &JudgeLimits, looks: &Looks) -> Option<ProposalVerdict> {
    let matters = looks.ratios.ratio() > 1.0 + limits.gain_min_share;
    match looks.interval(limits) {
        Some([low, _]) if low > 1.0 => {
            return Some(if matters { ProposalVerdict::Kept } else { ProposalVerdict::NoGain });
        }
        Some([_, high]) if high < 1.0 => return Some(ProposalVerdict::Harms),
        _ => {}
    }
    let is_futile = looks.pairs() >= PAIRS_UNTIL_FUTILE && looks.ratios.pairs() > 0 && !matters;
    (is_futile || looks.is_last(limits)).then_some(ProposalVerdict::NoGain)
}

document! {
    /// A proposal with what was measured of it.
    #[derive(Clone, Debug, PartialEq)]
    pub struct JudgedProposal from (
        limits: &JudgeLimits,
        looks: &Looks,
        verdict: ProposalVerdict,
        reason: Option<String>
    );
    let pairs = looks.ratios.pairs();
    let ratio = (pairs > 0).then(|| looks.ratios.ratio());
    {
        pub verdict: ProposalVerdict = verdict,
        /// Pairs behind the ratio.
        pub pairs: usize = pairs,
        /// Pairs before them, beside settings that were dropped since: what it gives may be another
        /// thing without these.
        pub earlier_pairs: usize = looks.earlier_pairs,
        /// Throughput with it by that without it; `None` where no pair has both. The interval is
        /// that of the last look. Those of all looks are below the ratio, but for a share of
        /// `error_rate` of all comparisons, and above it likewise.
        #[serde(flatten)]
        pub ratio: RatioInterval = RatioInterval::of(ratio, looks.interval(limits)),
        /// Why it fails, or why the others fail without it.
        pub reason: Option<String> = reason,
    }
}
