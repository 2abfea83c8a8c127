//! Is the window long enough: is the mean known as well as was asked?

use crate::statistics::Estimate;
use serde::Serialize;

/// A short window can look precise by chance; so can each further look. The mean must have been this good at an earlier look too,
/// after so large a share of the points.
const EARLIER_SHARE: f64 = 0.8;

/// How well a mean is to be known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrecisionAsked {
    /// Half the width of the confidence interval, as a share of the mean; above 0.
    pub half_width_share: f64,
    /// Intervals that a window has in any case.
    pub intervals_min: usize,
}

/// How far a window has come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Precision {
    pub reached: bool,
    /// `None` for a window that is too short to tell.
    pub estimate: Option<Estimate>,
    pub half_width_share: Option<f64>,
    /// Intervals that the window will probably need, from its noise so far.
    pub intervals_needed: Option<u64>,
}

/// Judges the intervals of a window so far: a rate at equal distances of time, in any unit.
#[must_use]
pub fn precision(values: &[f64], asked: &PrecisionAsked) -> Precision {
    let estimate = Estimate::of_series(values);
    let half_width_share = estimate.and_then(|estimate| estimate.half_width_share());
    let earlier = &values[..(values.len() as f64 * EARLIER_SHARE) as usize];
    let earlier = Estimate::of_series(earlier).and_then(|earlier| earlier.half_width_share());
    let is_precise = |share: Option<f64>, asked: f64| share.is_some_and(|share| share <= asked);
    // Fewer points know the mean less well by the root of their share.
    let asked_earlier = asked.half_width_share / EARLIER_SHARE.sqrt();
    Precision {
        reached: values.len() >= asked.intervals_min
            && is_precise(half_width_share, asked.half_width_share)
            && is_precise(earlier, asked_earlier),
        estimate,
        half_width_share,
        intervals_needed: half_width_share.map(|share| {
            let longer = (share / asked.half_width_share).powi(2);
            let needed = (values.len() as f64 * longer).ceil() as u64;
            needed.max(asked.intervals_min as u64)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{PrecisionAsked, precision};
    use crate::noise::{Noise, Throughput};

    const ASKED: PrecisionAsked = PrecisionAsked {
        half_width_share: 0.02,
        intervals_min: 30,
    };

    #[test]
    fn a_quiet_window_is_short() {
        assert!(!precision(&[9_000.0; 29], &ASKED).reached);
        let found = precision(&[9_000.0; 30], &ASKED);
        assert!(found.reached);
        assert_eq!(found.half_width_share, Some(0.0));
        assert_eq!(found.intervals_needed, Some(30));
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        let found = precision(&[9_000.0; 5], &ASKED);
        assert!(!found.reached && found.estimate.is_none() && found.intervals_needed.is_none());
        assert!(!precision(&[0.0; 100], &ASKED).reached);
    }

    /// Where windows of a throughput end, and how many of them hold the true mean.
    fn ends(throughput: Throughput) -> (Vec<usize>, f64) {
        let mut noise = Noise::new(5);
        let trials = 500;
        let mut lengths = Vec::new();
        let mut holding = 0;
        for _ in 0..trials {
            let series = throughput.draw(&mut noise);
            let end = (30..=series.len()).find(|n| precision(&series[..*n], &ASKED).reached);
            let end = end.expect("the series is long enough for the precision asked");
            let estimate = precision(&series[..end], &ASKED).estimate.unwrap();
            let error = (estimate.mean - throughput.mean).abs();
            holding += u32::from(error <= 0.02 * throughput.mean);
            lengths.push(end);
        }
        lengths.sort_unstable();
        (lengths, f64::from(holding) / f64::from(trials))
    }

    #[test]
    fn windows_end_when_the_mean_is_known() {
        // 10 % of noise, correlated to 0.3: 185 points behind one another are worth 100, which know the mean to 2 %.
        let (lengths, holding) = ends(Throughput {
            autocorrelation: 0.3,
            ..Throughput::steady(1_500)
        });
        assert!((90..400).contains(&lengths[250]), "{}", lengths[250]);
        // Ending when it looks good costs some of the 95 %.
        assert!(holding >= 0.9, "{holding}");
    }

    #[test]
    fn what_is_needed_is_told_before() {
        let series = Throughput::steady(60).draw(&mut Noise::new(6));
        let found = precision(&series, &ASKED);
        let needed = found.intervals_needed.unwrap();
        // (1.96 x 10 % / 2 %)^2 = 96, and Student's t for few points.
        assert!(!found.reached && (60..400).contains(&needed), "{needed}");
    }
}
