//! Points in time that all panels of a repeat share.

use analyse::MetricStep;
use std::ops::RangeInclusive;

/// Sources are read once a second, at whole seconds of the run; no point is shorter.
const PERIOD_NS: u64 = 1_000_000_000;

/// Points of one length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    point_ns: u64,
    pub(super) points: usize,
    end_ns: u64,
}

impl Grid {
    /// `None` where the run is shorter than a point.
    pub(super) fn until(end_s: f64, points_max: u64) -> Option<Grid> {
        let periods = end_s.max(0.0).round() as u64;
        let each = periods.div_ceil(points_max).max(1);
        (periods > 0).then(|| Grid {
            point_ns: each * PERIOD_NS,
            points: periods.div_ceil(each) as usize,
            end_ns: periods * PERIOD_NS,
        })
    }

    /// The last point may be shorter than the others.
    fn bounds_ns(self, point: usize) -> (u64, u64) {
        let start_ns = point as u64 * self.point_ns;
        (start_ns, (start_ns + self.point_ns).min(self.end_ns))
    }

    pub(super) fn ends_s(self) -> Vec<f64> {
        let end_s = |point| self.bounds_ns(point).1 as f64 / 1e9;
        (0..self.points).map(end_s).collect()
    }

    /// The points that a step has a part of; none where it begins after the last one.
    fn touched(self, step: &MetricStep) -> RangeInclusive<usize> {
        let last = self.points as u64 - 1;
        let first = step.start_ns / self.point_ns;
        let end = step.end_ns.saturating_sub(1) / self.point_ns;
        first as usize..=end.min(last) as usize
    }

    /// The mean of each point by time. One of which less than half is known is a gap.
    pub(super) fn means(self, steps: &[MetricStep]) -> Vec<Option<f64>> {
        let mut sums = vec![(0.0, 0_u64); self.points];
        for step in steps {
            let Some(value) = step.value else { continue };
            for point in self.touched(step) {
                let (start_ns, end_ns) = self.bounds_ns(point);
                let shared_ns = step.end_ns.min(end_ns).saturating_sub(step.start_ns.max(start_ns));
                sums[point].0 += value * shared_ns as f64;
                sums[point].1 += shared_ns;
            }
        }
        let mean = |(point, (sum, known_ns)): (usize, (f64, u64))| {
            let (start_ns, end_ns) = self.bounds_ns(point);
            (known_ns > 0 && known_ns * 2 >= end_ns - start_ns).then(|| sum / known_ns as f64)
        };
        sums.into_iter().enumerate().map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Grid;
    use analyse::MetricStep;

    fn step(start_ns: u64, end_ns: u64, value: f64) -> MetricStep {
        MetricStep { start_ns, end_ns, value: Some(value) }
    }

    #[test]
    fn long_runs_have_no_more_points_than_a_chart_can_show() {
        let grid = Grid::until(7_203.0, 900).unwrap();
        let ends_s = grid.ends_s();
        assert_eq!(ends_s.len(), 801);
        // The last point is of the three seconds that are left.
        assert_eq!((ends_s[0], ends_s[799], ends_s[800]), (9.0, 7_200.0, 7_203.0));
        let second = 1_000_000_000;
        let steps: Vec<MetricStep> =
            (0..7_203).map(|s| step(s * second, (s + 1) * second, (s % 9) as f64)).collect();
        let means = grid.means(&steps);
        assert_eq!((means[0], means[799], means[800]), (Some(4.0), Some(4.0), Some(1.0)));
    }

    #[test]
    fn a_point_takes_from_each_step_what_lies_in_it() {
        let grid = Grid::until(4.0, 900).unwrap();
        let steps = [
            step(0, 1_250_000_000, 8.0),
            step(1_250_000_000, 2_000_000_000, 4.0),
            // Beyond the last point.
            step(3_600_000_000, 5_000_000_000, 9.0),
            step(5_000_000_000, 6_000_000_000, 9.0),
        ];
        assert_eq!(grid.means(&steps), [Some(8.0), Some(5.0), None, None]);
    }

    #[test]
    fn a_run_of_less_than_half_a_second_has_no_points() {
        assert!(Grid::until(0.4, 900).is_none());
        assert_eq!(Grid::until(0.9, 900).map(Grid::ends_s), Some(vec![1.0]));
    }
}
