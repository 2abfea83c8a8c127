//! Servers that are driven together: what all of them give against one alone on the same machine, and how evenly they share it.

use crate::statistics::mean;

/// A cell, as far as its servers go.
#[derive(Clone, Debug, PartialEq)]
pub struct TogetherCell {
    /// What it has in common with the cells that differ from it by their number of servers only.
    pub group: String,
    pub instances: u32,
    /// Of all servers; `None` is NA.
    pub nopm: Option<f64>,
    /// [`instance_spread`], the mean of its repeats.
    pub spread: Option<f64>,
}

/// What so many servers give.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    /// The place of its cell among those that were given.
    pub place: usize,
    pub instances: u32,
    pub nopm: Option<f64>,
    /// By that of one server: 1 where servers that share a machine give as much together as one alone; more where one alone could not use
    /// it. `None` where one of the two is NA, or no cell of the group has one server.
    pub efficiency: Option<f64>,
    pub spread: Option<f64>,
}

/// How far servers are apart: the most less the least of them, by their mean. `None` of fewer than two, or of nothing done.
#[must_use]
pub fn instance_spread(nopm: &[f64]) -> Option<f64> {
    let mean = mean(nopm).filter(|mean| *mean > 0.0 && nopm.len() > 1)?;
    let most = nopm.iter().copied().fold(f64::MIN, f64::max);
    let least = nopm.iter().copied().fold(f64::MAX, f64::min);
    Some((most - least) / mean)
}

/// A row for each cell of the groups that have several numbers of servers, in the order of the cells.
#[must_use]
pub fn interference(cells: &[TogetherCell]) -> Vec<Together> {
    let of_group = |group: &str, instances: Option<u32>| {
        cells
            .iter()
            .find(|cell| cell.group == group && instances.is_none_or(|n| n == cell.instances))
    };
    let has_several = |cell: &&TogetherCell| {
        of_group(&cell.group, None).is_some_and(|first| {
            cells
                .iter()
                .any(|other| other.group == cell.group && other.instances != first.instances)
        })
    };
    let row = |(place, cell): (usize, &TogetherCell)| {
        let alone = of_group(&cell.group, Some(1)).and_then(|one| one.nopm);
        let both = cell.nopm.zip(alone.filter(|nopm| *nopm > 0.0));
        Together {
            place,
            instances: cell.instances,
            nopm: cell.nopm,
            efficiency: both.map(|(together, alone)| together / alone),
            spread: cell.spread,
        }
    };
    let cells = cells.iter().enumerate();
    cells
        .filter(|(_, cell)| has_several(cell))
        .map(row)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{TogetherCell, instance_spread, interference};

    fn cell(group: &str, instances: u32, nopm: Option<f64>) -> TogetherCell {
        TogetherCell {
            group: group.to_owned(),
            instances,
            nopm,
            spread: (instances > 1).then_some(0.1),
        }
    }

    #[test]
    fn servers_together_against_one_alone() {
        let cells = [
            cell("ssd", 1, Some(1000.0)),
            cell("ssd", 2, Some(1500.0)),
            cell("hdd", 1, Some(100.0)),
            cell("hdd", 4, Some(80.0)),
            cell("lone", 1, Some(5.0)),
        ];
        let rows = interference(&cells);
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.place, row.instances, row.efficiency))
            .collect();
        assert_eq!(
            told,
            [
                (0, 1, Some(1.0)),
                (1, 2, Some(1.5)),
                (2, 1, Some(1.0)),
                (3, 4, Some(0.8)),
            ]
        );
        assert_eq!((rows[0].spread, rows[1].spread), (None, Some(0.1)));
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
    fn spread_is_of_several_that_did_something() {
        assert_eq!(instance_spread(&[90.0, 110.0]), Some(0.2));
        assert_eq!(instance_spread(&[90.0]), None);
        assert_eq!(instance_spread(&[0.0, 0.0]), None);
        assert_eq!(instance_spread(&[]), None);
    }
}
