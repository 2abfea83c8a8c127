//! What the white papers measured of the devices that a lab compares too.

use crate::lab::comparisons::CellComparison;

/// A ratio of two devices' throughput that a white paper published.
#[derive(Clone, Copy, Debug)]
pub struct PublishedRatio {
    /// Names of profiles.
    pub faster: &'static str,
    pub slower: &'static str,
    pub ratio: f64,
    /// For people: the paper, and what it measured.
    pub source: &'static str,
}

/// A figure of a lab and the published one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BesidePublished {
    pub measured: f64,
    pub published: f64,
}

/// S1's throughput by device: 110,000, 73,236, 24,000 and 742 new orders a minute.
const BY_DEVICE: &str = "S1, MySQL 5.7.11, 50 connections";
/// Further from a published figure than by this factor is another result.
const ALIKE_WITHIN: f64 = 1.6;

impl BesidePublished {
    /// How far they are apart, whichever is greater.
    pub fn factor(self) -> f64 {
        (self.measured / self.published).max(self.published / self.measured)
    }

    pub fn is_alike(self) -> bool {
        self.factor() <= ALIKE_WITHIN
    }
}

impl PublishedRatio {
    /// Pages that a new order read and wrote on the data device: S1 figure 7, MySQL, `config-3`.
    pub const READS_PER_ORDER: f64 = 15.0;
    pub const WRITES_PER_ORDER: f64 = 18.5;

    pub const ALL: [PublishedRatio; 5] = [
        PublishedRatio::new(["nvme-pm1725", "sata-850pro"], 4.6, BY_DEVICE),
        PublishedRatio::new(
            ["nvme-pm1725", "sata-850pro"],
            2.46,
            "S2, Percona Server 5.7.11, 500 warehouses, 100 connections, mean of two hours",
        ),
        PublishedRatio::new(["nvme-pm1725", "sas-pm1633"], 1.5, BY_DEVICE),
        PublishedRatio::new(["nvme-pm1725", "hdd-15k"], 149.0, BY_DEVICE),
        PublishedRatio::new(["sas-pm1633", "sata-850pro"], 1.68, "S1, 100 connections"),
    ];

    const fn new(
        [faster, slower]: [&'static str; 2],
        ratio: f64,
        source: &'static str,
    ) -> PublishedRatio {
        PublishedRatio { faster, slower, ratio, source }
    }

    /// The ratio of the same two devices in a lab; `None` where it lacks a result of one.
    pub fn beside(&self, comparison: &CellComparison) -> Option<BesidePublished> {
        let to_baseline = |device: &str| {
            let row = comparison.rows.iter().find(|row| row.value == device)?;
            row.nopm.ratio.value.filter(|ratio| *ratio > 0.0)
        };
        let measured = to_baseline(self.faster)? / to_baseline(self.slower)?;
        Some(BesidePublished { measured, published: self.ratio })
    }
}

#[cfg(test)]
mod tests {
    use super::{BesidePublished, PublishedRatio};
    use crate::{CellComparison, ComparedCell, Ratio, RatioInterval};

    #[test]
    fn ratios_do_not_depend_on_the_baseline() {
        let row = |value: &str, ratio| ComparedCell {
            value: value.to_owned(),
            ordinal: 0,
            nopm: Ratio { ratio: RatioInterval::of(ratio, None), ..Ratio::default() },
            new_order_p95_us: Ratio::default(),
        };
        let comparison = CellComparison {
            dimension: "data".to_owned(),
            others: Vec::new(),
            baseline: "sas-pm1633".to_owned(),
            rows: vec![
                row("sas-pm1633", Some(1.0)),
                row("nvme-pm1725", Some(1.6)),
                row("sata-850pro", Some(0.4)),
                row("hdd-15k", None),
            ],
        };
        let beside = PublishedRatio::ALL.map(|published| published.beside(&comparison));
        let measured = beside.map(|of| of.map(|of| of.measured));
        assert_eq!(measured, [Some(4.0), Some(4.0), Some(1.6), None, Some(2.5)]);
        assert_eq!(beside[1].map(|of| of.published), Some(2.46));
    }

    #[test]
    fn a_factor_has_no_direction() {
        let beside = |measured| BesidePublished { measured, published: 4.6 };
        for measured in [2.3, 9.2] {
            assert!((beside(measured).factor() - 2.0).abs() < 1e-9, "{measured}");
        }
        assert!(beside(3.0).is_alike() && !beside(2.8).is_alike());
    }
}
