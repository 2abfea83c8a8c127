//! Is the window long enough: is the mean known as well as was asked?

use crate::stats::statistics::Estimate;

/// A short window can look precise by chance; so can each further look. The mean must have been
/// this good at an earlier look too, after so large a share of the points.
const EARLIER_SHARE: f64 = 0.5;

/// How well a mean is to be known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrecisionAsked {
    /// Half the width of the confidence interval, as a share of the mean; above 0.
    pub half_width_share: f64,
    /// Intervals that a window has in any case.
    pub intervals_min: usize,
}

/// How far a window has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    pub reached: bool,
    /// `None` for a window that is too short to tell.
    pub half_width_share: Option<f64>,
    /// Intervals that the window will probably need, from its noise so far.
    pub intervals_needed: Option<u64>,
}

/// Judges the intervals of a window so far: a rate at equal distances of time, in any unit.
pub fn precision(values: &[f64], asked: &PrecisionAsked) -> Precision {
    let share_of = |values| Estimate::of_series(values).ok()?.half_width_share();
    let half_width_share = share_of(values);
    let earlier = share_of(&values[..(values.len() as f64 * EARLIER_SHARE) as usize]);
    let is_precise = |share: Option<f64>, asked: f64| share.is_some_and(|share| share <= asked);
    // Fewer points know the mean less well by the root of their share.
    let asked_earlier = asked.half_width_share / EARLIER_SHARE.sqrt();
    Precision {
        reached: values.len() >= asked.intervals_min
            && is_precise(half_width_share, asked.half_width_share)
            && is_precise(earlier, asked_earlier),
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
    use crate::stats::noise::{Noise, Throughput};
    use crate::stats::statistics::mean;

    const ASKED: PrecisionAsked = PrecisionAsked { half_width_share: 0.02, intervals_min: 180 };

    #[test]
    fn a_quiet_window_is_short() {
        assert!(!precision(&[9_000.0; 179], &ASKED).reached);
        let found = precision(&[9_000.0; 180], &ASKED);
        assert!(found.reached);
        assert_eq!(found.half_width_share, Some(0.0));
        assert_eq!(found.intervals_needed, Some(180));
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        let found = precision(&[9_000.0; 5], &ASKED);
        assert!(
            !found.reached && found.half_width_share.is_none() && found.intervals_needed.is_none()
        );
        assert!(!precision(&[0.0; 100], &ASKED).reached);
    }

    /// Where windows of a throughput end, and how many of these have the true mean within what was
    /// asked.
    fn ends(throughput: Throughput, trials: usize) -> (Vec<usize>, f64) {
        let mut noise = Noise::new(5);
        let mut lengths = Vec::new();
        let mut right = 0;
        for _ in 0..trials {
            let series = throughput.draw(&mut noise);
            let mut count = ASKED.intervals_min;
            while count <= series.len() && !precision(&series[..count], &ASKED).reached {
                // Looked at less often the longer it is, as in a run.
                count += (count / 20).max(1);
            }
            if count <= series.len() {
                let error = mean(&series[..count]).unwrap() - throughput.mean;
                right += u32::from(error.abs() <= 0.02 * throughput.mean);
                lengths.push(count);
            }
        }
        lengths.sort_unstable();
        let ended = lengths.len() as f64;
        (lengths, f64::from(right) / ended)
    }

    #[test]
    fn windows_end_when_the_mean_is_known() {
        // 10 % of noise, correlated to 0.3: 185 points behind one another are worth 100, which know
        // the mean to 2 %.
        let throughput = Throughput { autocorrelation: 0.3, ..Throughput::steady(1_500) };
        let (lengths, right) = ends(throughput, 60);
        assert!(lengths.len() >= 57, "{lengths:?}");
        assert!((180..700).contains(&lengths[30]), "{lengths:?}");
        assert!(right >= 0.9, "{right}");
    }

    #[test]
    fn a_window_on_a_wandering_host_ends_right_or_not_at_all() {
        // By 5 %, of which neighbours at a second's distance share 98 %: it takes an hour to know
        // the mean to 1.7 %, and half an hour is the most of this window.
        let throughput = Throughput {
            deviation_share: 0.05,
            autocorrelation: 0.98,
            ..Throughput::steady(1_800)
        };
        let trials = 60;
        let (lengths, right) = ends(throughput, trials);
        let wrong = lengths.len() as f64 * (1.0 - right) / trials as f64;
        assert!(wrong <= 0.1, "{lengths:?}: {wrong}");
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
