//! How fast pages are written in the background, for the device that they are on.

use crate::finding::{Gain, Proposal};
use crate::rule::{Rule, dynamic};
use crate::snapshot::{AdvisedDevice, ServerSnapshot};
use analyse::Part;

/// Pages in the background get this part of what the device gives, so that reads and the log have
/// the rest.
const PART_OF_DEVICE: f64 = 0.5;
const CAPACITY_MIN: f64 = 100.0;
/// A capacity between these parts of the wanted one is left.
const LEFT: std::ops::Range<f64> = 0.5..2.0;
const SECTOR_BYTES: f64 = 4096.0;
const SPARE_PAGES_SHARE: f64 = 0.05;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "io-capacity",
        title: "Tell InnoDB what the device can write",
        reason: "Below what the device gives, dirty pages pile up until sessions have to write \
                 them; above it, flushing takes the device from reads and from the log. The \
                 proposal is half of the pages that the device writes at random for ever.",
        source: "S1 experiment 5: with Percona Server more than 15,000 hurts; S1 table 5: 200 \
                 to 100,000",
        releases: "all; the default is 200, and since MySQL 8.4 10,000",
        variables: &[dynamic("innodb_io_capacity"), dynamic("innodb_io_capacity_max")],
        judge: capacity,
    },
    Rule {
        name: "flush-neighbors",
        title: "Write neighbouring pages along on disks, and on nothing else",
        reason: "A disk writes a page beside another for free. A device without an arm writes \
                 pages that would have changed again.",
        source: "S1 table 8 and S2, best known methods: 0 on SSDs; S1 table 5: 1 to 0",
        releases: "all; the default is 0 since MySQL 8.0, and MariaDB 10.4 and later looks at the \
                   device itself",
        variables: &[dynamic("innodb_flush_neighbors")],
        judge: neighbors,
    },
    Rule {
        name: "dirty-pages",
        title: "Begin to write pages at 10 % dirty ones, and let there be 90 %",
        reason: "Writing that begins early is spread over time. What is above the upper mark is \
                 written in a hurry.",
        source: "S1 tables 6 to 8: innodb_max_dirty_pages_pct 90, _lwm 10",
        releases: "all; the default is 10 and 90 since MySQL 8.0, and MariaDB 10.5 has 0 and 90",
        variables: &[
            dynamic("innodb_max_dirty_pages_pct_lwm"),
            dynamic("innodb_max_dirty_pages_pct"),
        ],
        judge: dirty_pages,
    },
    Rule {
        name: "adaptive-flushing",
        title: "Let the redo log's growth set the pace of page writes",
        reason: "Without it pages are written late, and then all at once.",
        source: "MySQL manual, innodb_adaptive_flushing; S1 table 5: adaptive checkpoint \
                 keep_average, its ancestor in XtraDB",
        releases: "all; XtraDB's innodb_adaptive_flushing_method and innodb_adaptive_checkpoint \
                   are gone since Percona Server 5.6",
        variables: &[dynamic("innodb_adaptive_flushing")],
        judge: adaptive,
    },
];

/// Pages that a device writes in a second at random places, for ever.
fn pages_per_s(device: &AdvisedDevice, page_bytes: f64) -> Option<f64> {
    let iops = device.random_write_iops?;
    // Of a disk the arm is what takes time, whatever the length.
    Some(if device.is_disk { iops } else { iops * SECTOR_BYTES / page_bytes })
}

fn two_digits(value: f64) -> f64 {
    let unit = 10_f64.powf((value.log10().floor() - 1.0).max(0.0));
    (value / unit).round() * unit
}

fn capacity(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let device = snapshot.device.as_ref()?;
    let current = snapshot.number("innodb_io_capacity")?;
    let pages = pages_per_s(device, snapshot.page_bytes())?;
    let wanted = two_digits((pages * PART_OF_DEVICE).max(CAPACITY_MIN));
    let most = two_digits(pages.max(2.0 * CAPACITY_MIN));
    let seen = format!(
        "innodb_io_capacity is {current}, and {} writes {pages:.0} pages a second at random",
        device.name
    );
    let page_writes = snapshot.share_of(Part::PageWrites).unwrap_or(0.0);
    let free_waits = snapshot.per_s("Innodb_buffer_pool_wait_free").unwrap_or(0.0);
    let are_late = page_writes > SPARE_PAGES_SHARE || free_waits > 0.0;
    let is_raised = wanted > current;
    // The maximum may never be the smaller one.
    Proposal::seen(seen)
        .set_if(is_raised, snapshot, "innodb_io_capacity_max", most)
        .set(snapshot, "innodb_io_capacity", wanted)
        .set_if(!is_raised, snapshot, "innodb_io_capacity_max", most)
        .unless(LEFT.contains(&(current / wanted)))
        .expecting(if are_late { Gain::Large } else { Gain::Some })
}

fn neighbors(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let device = snapshot.device.as_ref()?;
    let current = snapshot.number("innodb_flush_neighbors")?;
    Proposal::seen(format!("innodb_flush_neighbors is {current} on {}", device.name))
        .set(snapshot, "innodb_flush_neighbors", u8::from(device.is_disk))
        .unless((current != 0.0) == device.is_disk)
        .expecting(Gain::Some)
}

fn dirty_pages(snapshot: &ServerSnapshot) -> Option<Proposal> {
    let low = snapshot.number("innodb_max_dirty_pages_pct_lwm")?;
    let high = snapshot.number("innodb_max_dirty_pages_pct")?;
    Proposal::seen(format!("the marks of dirty pages are {low} and {high} %"))
        .set_if(high < 75.0, snapshot, "innodb_max_dirty_pages_pct", 90)
        .set_if(low <= 0.0, snapshot, "innodb_max_dirty_pages_pct_lwm", 10)
        .expecting(Gain::Small)
}

fn adaptive(snapshot: &ServerSnapshot) -> Option<Proposal> {
    Proposal::switch(snapshot, "innodb_adaptive_flushing", true)?.expecting(Gain::Some)
}

#[cfg(test)]
mod tests {
    use super::{pages_per_s, two_digits};
    use crate::snapshot::AdvisedDevice;

    #[test]
    fn the_papers_best_capacity_is_that_of_their_device() {
        let device = AdvisedDevice {
            name: "nvme-pm1725".to_owned(),
            is_disk: false,
            random_read_iops: None,
            random_write_iops: Some(120_000.0),
        };
        let pages = pages_per_s(&device, 16384.0).unwrap();
        assert_eq!(two_digits(pages / 2.0), 15_000.0);
    }

    #[test]
    fn numbers_have_two_digits() {
        assert_eq!([137.0, 1_125.0, 98.0].map(two_digits), [140.0, 1_100.0, 98.0]);
    }
}
