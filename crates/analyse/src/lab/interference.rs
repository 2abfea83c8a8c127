//! Servers that are driven together: what all of them give against one alone on the same machine,
//! and how evenly they share it.

use crate::lab::cells::{CellOutcome, INSTANCES, matrix};
use crate::stats::statistics::{deviation, mean};

/// What so many servers give.
#[derive(Clone, Debug, PartialEq)]
pub struct Interference {
    /// The place of its cell among those that were given.
    pub place: usize,
    pub instances: u32,
    pub nopm: Option<f64>,
    /// By that of one server: 1 where servers that share a machine give as much together as one
    /// alone; more where one alone could not use it. `None` where one of the two is NA, or no cell
    /// that is else the same has one server.
    pub efficiency: Option<f64>,
    /// [`instance_spread`], the mean of its repeats.
    pub spread: Option<f64>,
}

/// How far servers are apart: their standard deviation by their mean, which is no larger for being
/// taken of more servers. `None` of fewer than two, or of nothing done.
pub fn instance_spread(nopm: &[f64]) -> Option<f64> {
    let mean = mean(nopm).filter(|mean| *mean > 0.0)?;
    Some(deviation(nopm)? / mean)
}

/// A row for each of the cells that differ from another by their number of servers only, in the
/// order of the cells.
pub fn interference(cells: &[CellOutcome]) -> Vec<Interference> {
    let matrix = matrix(cells);
    let mut dimensions = matrix.dimensions().iter();
    let index = dimensions.position(|dimension| dimension.name == INSTANCES);
    let slices = index.map_or_else(Vec::new, |index| matrix.slices(index));
    let mut rows = Vec::new();
    for slice in &slices {
        let of = slice.cells.iter().map(|(_, place)| (*place, &cells[*place]));
        let one = of.clone().find(|(_, cell)| cell.instances == 1);
        let alone = one.and_then(|(_, cell)| cell.nopm.mean).filter(|nopm| *nopm > 0.0);
        rows.extend(of.map(|(place, cell)| Interference {
            place,
            instances: cell.instances,
            nopm: cell.nopm.mean,
            efficiency: cell.nopm.mean.zip(alone).map(|(together, alone)| together / alone),
            spread: cell.instance_spread,
        }));
    }
    rows.sort_by_key(|row| row.place);
    rows
}

#[cfg(test)]
mod tests {
    use super::{instance_spread, interference};
    use crate::lab::cells::CellOutcome;
    use crate::lab::cells::tests::cell as cell_on;
    use crate::stats::noise::Noise;
    use crate::stats::statistics::mean;

    fn cell(device: &str, instances: u32, nopm: Option<f64>) -> CellOutcome {
        CellOutcome {
            instances,
            instance_spread: (instances > 1).then_some(0.1),
            ..cell_on(1, (device, "200"), 8, nopm.as_slice())
        }
    }

    #[test]
    fn servers_together_against_one_alone() {
        let cells = [
            cell("ssd", 1, Some(1000.0)),
            cell("hdd", 1, Some(100.0)),
            cell("ssd", 2, Some(1500.0)),
            cell("hdd", 4, Some(80.0)),
            cell("lone", 1, Some(5.0)),
        ];
        let rows = interference(&cells);
        let told: Vec<_> =
            rows.iter().map(|row| (row.place, row.instances, row.efficiency)).collect();
        assert_eq!(
            told,
            [(0, 1, Some(1.0)), (1, 1, Some(1.0)), (2, 2, Some(1.5)), (3, 4, Some(0.8)),]
        );
        assert_eq!((rows[0].spread, rows[2].spread), (None, Some(0.1)));
    }

    #[test]
    fn without_one_alone_there_is_no_efficiency() {
        let failed = [cell("x", 1, None), cell("x", 2, Some(10.0))];
        assert_eq!(interference(&failed)[1].efficiency, None);
        let none = [cell("x", 4, Some(9.0)), cell("x", 2, Some(10.0))];
        let rows = interference(&none);
        assert_eq!((rows.len(), rows[0].efficiency), (2, None));
    }

    #[test]
    fn a_cell_that_never_started_is_among_its_like() {
        let mut cells = [cell("x", 1, Some(10.0)), cell("x", 2, Some(15.0)), cell("x", 4, None)];
        // Known once there is a server.
        for started in &mut cells[..2] {
            let scale = ("scale".to_owned(), "papers".to_owned());
            started.settings.extend([scale]);
        }
        let rows = interference(&cells);
        assert_eq!((rows.len(), rows[2].nopm), (3, None));
    }

    #[test]
    fn spread_is_of_several_that_did_something() {
        let pair = instance_spread(&[90.0, 110.0]).unwrap();
        assert!((pair - 0.02_f64.sqrt()).abs() < 1e-12, "{pair}");
        assert_eq!(instance_spread(&[90.0]), None);
        assert_eq!(instance_spread(&[0.0, 0.0]), None);
        assert_eq!(instance_spread(&[]), None);
    }

    #[test]
    fn spread_does_not_grow_with_the_servers() {
        let mut noise = Noise::new(3);
        let mut spread_of = |servers: usize| {
            let spreads: Vec<f64> = (0..400)
                .map(|_| (0..servers).map(|_| 1_000.0 + 50.0 * noise.normal()).collect())
                .map(|nopm: Vec<f64>| instance_spread(&nopm).unwrap())
                .collect();
            mean(&spreads).unwrap()
        };
        let (few, many) = (spread_of(4), spread_of(32));
        // 5 %, and a little less of few.
        assert!((0.92..1.0).contains(&(few / many)), "{few} {many}");
        assert!((many / 0.05 - 1.0).abs() < 0.02, "{many}");
    }
}
