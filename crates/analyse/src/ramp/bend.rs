//! Where a curve over connections bends: two straight lines that meet, on logarithmic axes. There a
//! slope is an elasticity: 1 says that twice the connections give twice as much, 0 that they give
//! nothing more.

use crate::stats::student::Student;
use itertools::Itertools;

/// Level, two slopes and the corner.
const PARAMETERS: usize = 4;
/// Of the range of corners that are left open. Points are added until it is short, and some ranges
/// are short by chance.
const INSIDE: f64 = 0.99;

/// Which way the curve turns at its corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BendDirection {
    /// Throughput that stops rising.
    Down,
    /// A response time that begins to rise.
    Up,
}

/// A measured point; both above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CurvePoint {
    pub(crate) connections: f64,
    pub(crate) value: f64,
}

/// The pair of lines that is nearest to the points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bend {
    /// Connections at the corner.
    pub(crate) corner: u32,
    /// Corners that the points' scatter leaves open, with 99 %.
    pub(crate) low: u32,
    pub(crate) high: u32,
    pub(crate) slope_after: f64,
}

struct BrokenLine {
    slope_before: f64,
    slope_after: f64,
    squares: f64,
}

/// The best corner of `corners` (ascending) for the points, whose values scatter by at least
/// `noise_share`. `None` where no corner has the curve turn that way.
pub(crate) fn bend(
    points: &[CurvePoint],
    corners: &[u32],
    turn: BendDirection,
    noise_share: f64,
) -> Option<Bend> {
    let usable = points.iter().filter(|point| point.value > 0.0 && point.value.is_finite());
    let logs = usable.map(|point| (point.connections.ln(), point.value.ln())).collect_vec();
    let turns = |lines: &BrokenLine| match turn {
        BendDirection::Down => lines.slope_after < lines.slope_before,
        BendDirection::Up => lines.slope_after > lines.slope_before,
    };
    let fit = |corner: &u32| Some((*corner, lines(&logs, f64::from(*corner).ln()).filter(turns)?));
    let fits = corners.iter().filter_map(fit).collect_vec();
    let (corner, best) = fits.iter().min_by(|(_, a), (_, b)| a.squares.total_cmp(&b.squares))?;
    let freedom = logs.len().saturating_sub(PARAMETERS) as f64;
    // Fewer points than that fit any corner equally well.
    let allowed = if freedom == 0.0 {
        f64::INFINITY
    } else {
        let variance = (best.squares / freedom).max(noise_share.powi(2));
        let student = Student { degrees_of_freedom: freedom };
        best.squares + student.reach(INSIDE).powi(2) * variance
    };
    let mut open =
        fits.iter().filter(|(_, lines)| lines.squares <= allowed).map(|(corner, _)| *corner);
    let low = open.next().unwrap_or(*corner);
    let high = open.next_back().unwrap_or(low);
    Some(Bend { corner: *corner, low, high, slope_after: best.slope_after })
}

/// Least squares for two lines that meet at `corner`; `None` where the points do not determine
/// them.
fn lines(logs: &[(f64, f64)], corner: f64) -> Option<BrokenLine> {
    let (mut left, mut right) = (FitSums::default(), FitSums::default());
    let mut level = 0.0;
    for (x, y) in logs {
        let side = if *x < corner { &mut left } else { &mut right };
        let from_corner = x - corner;
        side.x += from_corner;
        side.xx += from_corner * from_corner;
        side.xy += from_corner * y;
        level += y;
    }
    if left.xx <= 0.0 || right.xx <= 0.0 {
        return None;
    }
    // Normal equations; the sides' columns are orthogonal, so the level at the corner comes first.
    let weight = logs.len() as f64 - left.x.powi(2) / left.xx - right.x.powi(2) / right.xx;
    if weight < 1e-9 {
        return None;
    }
    let level = (level - left.x * left.xy / left.xx - right.x * right.xy / right.xx) / weight;
    let slope_before = (left.xy - level * left.x) / left.xx;
    let slope_after = (right.xy - level * right.x) / right.xx;
    let residual = |(x, y): &(f64, f64)| {
        let slope = if *x < corner { slope_before } else { slope_after };
        (y - level - slope * (x - corner)).powi(2)
    };
    Some(BrokenLine { slope_before, slope_after, squares: logs.iter().map(residual).sum() })
}

#[derive(Default)]
struct FitSums {
    x: f64,
    xx: f64,
    xy: f64,
}

#[cfg(test)]
mod tests {
    use super::{BendDirection, CurvePoint, bend};

    const CORNERS: [u32; 9] = [8, 16, 24, 32, 40, 48, 56, 64, 72];

    fn points(of: impl Fn(f64) -> f64) -> Vec<CurvePoint> {
        [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 40.0, 56.0, 96.0]
            .map(|connections| CurvePoint { connections, value: of(connections) })
            .to_vec()
    }

    #[test]
    fn corners_are_found_exactly() {
        for corner in [16_u32, 40, 64] {
            let at = f64::from(corner);
            let found =
                bend(&points(|n| 50.0 * n.min(at)), &CORNERS, BendDirection::Down, 0.0).unwrap();
            assert_eq!((found.corner, found.low, found.high), (corner, corner, corner));
            assert!(found.slope_after.abs() < 1e-9);
            let knee = |n: f64| 3.0 * (n / at).max(1.0).powi(3);
            let found = bend(&points(knee), &CORNERS, BendDirection::Up, 0.0).unwrap();
            assert_eq!(found.corner, corner);
            assert!((found.slope_after - 3.0).abs() < 1e-9);
        }
    }

    #[test]
    fn noise_leaves_more_corners_open() {
        let curve = points(|n| 50.0 * n.min(40.0));
        let open = |noise| {
            let found = bend(&curve, &CORNERS, BendDirection::Down, noise).unwrap();
            found.high - found.low
        };
        assert!(open(0.02) < open(0.2), "{} {}", open(0.02), open(0.2));
    }

    #[test]
    fn what_does_not_turn_has_no_corner() {
        assert_eq!(bend(&points(|n| n * n), &[], BendDirection::Down, 0.0), None);
        let up = points(|n| 3.0 * (n / 40.0).max(1.0).powi(3));
        assert_eq!(bend(&up[..2], &CORNERS, BendDirection::Down, 0.0), None);
        assert_eq!(bend(&points(|_| 0.0), &CORNERS, BendDirection::Down, 0.0), None);
    }
}
