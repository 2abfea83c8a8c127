//! A lab as a matrix: what its cells differ in, and which of them differ in one thing alone. Only
//! such cells tell what that thing does.

use base::value_of;
use itertools::Itertools;
use serde::Serialize;
use std::collections::BTreeMap;

/// The last name of a cell ([`crate::CellOutcome::names`]).
pub const CONNECTIONS: &str = "connections";
/// How many times slower a cell lives, which is chosen for its device.
pub(crate) const DILATE: &str = "dilate";
/// Where a cell has no value.
const ABSENT: &str = "-";
/// Between the names, and the values, of dimensions that are one, for people: a value may hold it
/// too, so nothing is ever split there.
const TOGETHER: &str = ", ";
/// Dimensions whose values say what they are.
const PLAIN: [&str; 6] = ["engine", "preset", "workload", "style", "isolation", "data"];
/// Dimensions that are counts, with what is counted.
const COUNTS: [(&str, &str, &str); 6] = [
    (CONNECTIONS, "connection", "connections"),
    ("warehouses", "warehouse", "warehouses"),
    ("cores", "core", "cores"),
    ("instances", "server", "servers"),
    ("schemas", "schema", "schemas"),
    ("partitions", "partition", "partitions"),
];

/// What cells of a lab differ in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// As in a plan: `innodb_io_capacity`. Those that always change together are one: `engine,
    /// preset`.
    pub name: String,
    /// In the order of the cells.
    pub values: Vec<String>,
    /// The names and values of the dimensions that are one here; of most there is one.
    parts: Vec<(String, Vec<String>)>,
}

/// The cells by their places in each dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    dimensions: Vec<Dimension>,
    /// Of each cell, the index of its value in each dimension.
    places: Vec<Vec<usize>>,
}

/// Cells that differ in one dimension alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Every other dimension.
    pub others: Vec<NamedValue>,
    /// (index of its value in the dimension, index of the cell), by value. Of cells that no name
    /// tells apart, the first.
    pub cells: Vec<(usize, usize)>,
}

/// One value of a dimension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedValue {
    pub name: String,
    pub value: String,
    /// Name and value of each of the dimensions that are one here.
    #[serde(skip)]
    parts: Vec<(String, String)>,
}

impl NamedValue {
    /// Of one thing.
    pub fn of(name: &str, value: &str) -> NamedValue {
        let (name, value) = (name.to_owned(), value.to_owned());
        NamedValue { parts: vec![(name.clone(), value.clone())], name, value }
    }

    /// For people: `8 connections`, `hdd-15k`, `innodb_io_capacity=2000`.
    pub fn words(&self) -> String {
        let parts = self.parts.iter();
        let mut words = parts.map(|(name, value)| {
            let counted = COUNTS.iter().find(|(known, ..)| known == name);
            match counted.filter(|_| value != ABSENT) {
                Some((_, one, _)) if value == "1" => format!("1 {one}"),
                Some((_, _, several)) => format!("{value} {several}"),
                None if PLAIN.contains(&name.as_str()) => value.clone(),
                None => format!("{name}={value}"),
            }
        });
        words.join(TOGETHER)
    }
}

impl Dimension {
    /// Its values as numbers, sizes like `512M` among them; `None` where one is none. Of dimensions
    /// that are one, the first counts.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        let (_, values) = self.parts.first()?;
        values.iter().map(|value| number(value)).collect()
    }

    /// Its name; of dimensions that are one, each of theirs.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|(name, _)| name.as_str())
    }

    /// One of its values, by index.
    pub fn named(&self, value: usize) -> NamedValue {
        let parts = self.parts.iter().map(|(name, values)| (name.clone(), values[value].clone()));
        NamedValue {
            name: self.name.clone(),
            value: self.values[value].clone(),
            parts: parts.collect(),
        }
    }
}

fn number(text: &str) -> Option<f64> {
    let plain = text.parse().ok().filter(|value: &f64| value.is_finite());
    plain.or_else(|| base::parse_size(text).map(|bytes| bytes as f64))
}

/// Is there one value only for each combination of these dimensions?
fn follows(dimensions: &[(Dimension, Vec<usize>)], column: &[&str]) -> bool {
    let mut known: BTreeMap<Vec<usize>, &str> = BTreeMap::new();
    column.iter().enumerate().all(|(cell, value)| {
        let places = dimensions.iter().map(|(_, places)| places[cell]).collect();
        known.entry(places).or_insert(value) == value
    })
}

impl Matrix {
    /// Of cells, each with the names and values that tell it apart.
    pub fn of(cells: &[Vec<(String, String)>]) -> Matrix {
        let mut columns: Vec<(Dimension, Vec<usize>)> = Vec::new();
        for name in cells.iter().flatten().map(|(name, _)| name.as_str()).unique() {
            // A cell that never had a server does not say all that the others do.
            if cells.iter().filter_map(|cell| value_of(cell, name)).all_equal() {
                continue;
            }
            let column: Vec<&str> =
                cells.iter().map(|cell| value_of(cell, name).unwrap_or(ABSENT)).collect();
            if name == DILATE && follows(&columns, &column) {
                continue;
            }
            let values: Vec<String> = column.iter().unique().map(ToString::to_string).collect();
            let place = |value: &&str| {
                let found = values.iter().position(|other| other == value);
                found.expect("the values of a dimension are those of its cells")
            };
            let places: Vec<usize> = column.iter().map(place).collect();
            let parts = vec![(name.to_owned(), values.clone())];
            let dimension = Dimension { name: name.to_owned(), values, parts };
            let together = columns
                .iter_mut()
                .find(|(other, of)| *of == places && ![name, &other.name].contains(&CONNECTIONS));
            match together {
                Some((other, _)) => other.join(dimension),
                None => columns.push((dimension, places)),
            }
        }
        let of_cell = |cell: usize| columns.iter().map(|(_, places)| places[cell]).collect();
        let places = (0..cells.len()).map(of_cell).collect();
        Matrix { dimensions: columns.into_iter().map(|(dimension, _)| dimension).collect(), places }
    }

    /// Those that have more than one value, in the order of the cells' names.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Of a cell, the index of its value in each dimension.
    pub(crate) fn places(&self, cell: usize) -> &[usize] {
        &self.places[cell]
    }

    /// The values of a cell that are told, in words.
    pub(crate) fn words(&self, cell: usize, is_told: impl Fn(&Dimension, usize) -> bool) -> String {
        let values = self.dimensions.iter().zip(&self.places[cell]);
        let told = values.filter(|(dimension, value)| is_told(dimension, **value));
        told.map(|(dimension, value)| dimension.named(*value).words()).join(TOGETHER)
    }

    /// The cells that differ in `dimension` (an index) alone, two at least to a slice, in the order
    /// of the cells.
    pub fn slices(&self, dimension: usize) -> Vec<Slice> {
        let mut slices: BTreeMap<Vec<usize>, BTreeMap<usize, usize>> = BTreeMap::new();
        for (cell, places) in self.places.iter().enumerate() {
            let mut others = places.clone();
            let value = others.remove(dimension);
            slices.entry(others).or_default().entry(value).or_insert(cell);
        }
        let slice = |(others, cells): (Vec<usize>, BTreeMap<usize, usize>)| Slice {
            others: self.named(dimension, &others),
            cells: cells.into_iter().collect(),
        };
        let slices = slices.into_iter().filter(|(_, cells)| cells.len() > 1).map(slice);
        let first = |slice: &Slice| slice.cells.iter().map(|(_, cell)| *cell).min();
        slices.sorted_by_key(first).collect()
    }

    /// Names and values of all dimensions but one.
    fn named(&self, but: usize, places: &[usize]) -> Vec<NamedValue> {
        let others = self.dimensions.iter().enumerate().filter(|(index, _)| *index != but);
        others.zip(places).map(|((_, other), place)| other.named(*place)).collect()
    }
}

impl Dimension {
    /// The same cells have the values of both: they are one.
    fn join(&mut self, other: Dimension) {
        self.name = [&self.name, &other.name].map(String::as_str).join(TOGETHER);
        for (value, added) in self.values.iter_mut().zip(&other.values) {
            *value = [value.as_str(), added].join(TOGETHER);
        }
        self.parts.extend(other.parts);
    }
}

#[cfg(test)]
mod tests {
    use super::{Matrix, NamedValue};

    /// Cells from lines like `data=hdd connections=8`.
    fn matrix(cells: &[&str]) -> Matrix {
        let pair = |text: &str| {
            let (name, value) = text.split_once('=').unwrap();
            (name.to_owned(), value.to_owned())
        };
        let cell = |text: &&str| text.split(' ').map(pair).collect();
        Matrix::of(&cells.iter().map(cell).collect::<Vec<_>>())
    }

    fn names(matrix: &Matrix) -> Vec<(&str, Vec<&str>)> {
        matrix
            .dimensions()
            .iter()
            .map(|d| {
                let values = d.values.iter().map(String::as_str).collect();
                (d.name.as_str(), values)
            })
            .collect()
    }

    #[test]
    fn values_in_words() {
        for (name, value, words) in [
            ("connections", "8", "8 connections"),
            ("warehouses", "1", "1 warehouse"),
            ("cores", "1", "1 core"),
            ("cores", "4", "4 cores"),
            ("instances", "1", "1 server"),
            ("partitions", "-", "partitions=-"),
            ("isolation", "serializable", "serializable"),
            ("data", "hdd-15k", "hdd-15k"),
            ("redo", "twin", "redo=twin"),
        ] {
            assert_eq!(NamedValue::of(name, value).words(), words);
        }
        let found = matrix(&["data=hdd-15k redo=twin", "data=ssd redo=same"]);
        let words = found.dimensions()[0].named(0).words();
        assert_eq!(words, "hdd-15k, redo=twin");
    }

    #[test]
    fn a_value_may_hold_what_stands_between_values() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let cell = |mode: &str, capacity: &str| {
            vec![pair("sql_mode", mode), pair("innodb_io_capacity", capacity)]
        };
        let found = Matrix::of(&[cell("ANSI, STRICT", "200"), cell("ANSI", "2000")]);
        let dimension = &found.dimensions()[0];
        assert_eq!(dimension.named(0).words(), "sql_mode=ANSI, STRICT, innodb_io_capacity=200");
        assert_eq!(dimension.names().collect::<Vec<_>>(), ["sql_mode", "innodb_io_capacity"]);
        // The mode counts, which is no number.
        let numbers = Matrix::of(&[cell("1, 2", "200"), cell("3", "2000")]);
        assert_eq!(numbers.dimensions()[0].numbers(), None);
    }

    #[test]
    fn dimensions_are_what_varies_in_the_order_of_the_names() {
        let found = matrix(&[
            "engine=a data=hdd preset=x connections=8",
            "engine=a data=hdd preset=x connections=16",
            "engine=a data=ssd preset=x connections=8",
            "engine=a data=ssd preset=x connections=16",
        ]);
        assert_eq!(names(&found), [("data", vec!["hdd", "ssd"]), ("connections", vec!["8", "16"])]);
        let by_device = found.slices(0);
        let connections = |n| vec![NamedValue::of("connections", n)];
        assert_eq!(by_device.len(), 2);
        assert_eq!(by_device[0].others, connections("8"));
        assert_eq!(by_device[0].cells, [(0, 0), (1, 2)]);
        assert_eq!(by_device[1].others, connections("16"));
        assert_eq!(by_device[1].cells, [(0, 1), (1, 3)]);
    }

    #[test]
    fn what_changes_together_is_one_dimension() {
        let found = matrix(&[
            "engine=mysql preset=3 data=hdd",
            "engine=mysql preset=3 data=ssd",
            "engine=percona preset=a data=hdd",
            "engine=percona preset=a data=ssd",
        ]);
        assert_eq!(
            names(&found),
            [("engine, preset", vec!["mysql, 3", "percona, a"]), ("data", vec!["hdd", "ssd"])]
        );
        assert_eq!(found.slices(0).len(), 2);
        // Each device lives as fast as this host can have it live.
        let found = matrix(&["data=hdd dilate=1", "data=sas dilate=16", "data=ssd dilate=16"]);
        assert_eq!(names(&found), [("data", vec!["hdd", "sas", "ssd"])]);
        let found = matrix(&["data=hdd dilate=1", "data=hdd dilate=2", "data=ssd dilate=2"]);
        assert_eq!(found.dimensions().len(), 2);
        // Connections are never taken for the device that they were chosen for.
        let found = matrix(&["data=hdd connections=8", "data=ssd connections=64"]);
        assert_eq!(found.dimensions().len(), 2);
        assert!(found.slices(0).is_empty() && found.slices(1).is_empty());
    }

    #[test]
    fn cells_that_are_left_out_or_say_less_do_no_harm() {
        let found = matrix(&[
            "data=hdd scale=papers connections=8",
            "data=ssd connections=8",
            "data=ssd scale=papers connections=64",
        ]);
        assert_eq!(found.dimensions().len(), 2);
        assert_eq!(found.slices(0)[0].cells, [(0, 0), (1, 1)]);
        assert_eq!(found.slices(0).len(), 1);
        assert!(matrix(&["data=hdd", "data=hdd"]).dimensions().is_empty());
        assert!(Matrix::of(&[]).dimensions().is_empty());
    }

    #[test]
    fn numbers_may_be_sizes() {
        let numbers = |cells: &[&str]| matrix(cells).dimensions()[0].numbers();
        assert_eq!(numbers(&["x=200", "x=1.5"]), Some(vec![200.0, 1.5]));
        let sizes = numbers(&["x=512M", "x=1G"]);
        assert_eq!(sizes, Some(vec![536_870_912.0, 1_073_741_824.0]));
        assert_eq!(numbers(&["x=1 y=2", "x=2 y=4"]), Some(vec![1.0, 2.0]));
        assert_eq!(numbers(&["x=1", "x=ON"]), None);
        assert_eq!(numbers(&["x=1", "x=inf"]), None);
    }
}
