//! What Percona Lab's benchmark report of 2026 published of three servers on one drive:
//! sysbench's oltp_read_write with --rand-type=uniform on 20 tables of 5,000,000 rows. A lab may
//! measure it in proportion.

use crate::lab::cells::DATA;
use base::{counted, parse_size};
use spec::OltpMix;
use store::{CellPlace, NewCell};

/// A cell of that report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedCell {
    pub engine: &'static str,
    pub pool_gb: u32,
    pub connections: u32,
    /// How many times as large as the lab's its database was.
    pub times_larger: f64,
    /// Transactions/s; for each of them the reads and the writes of the drive, which had all files;
    /// their p95 in ms.
    pub figures: [f64; 4],
}

/// The rows of all tables.
const ROWS: f64 = 1e8;
/// A pool that differs by no more is the same one: servers round its size.
const POOL_WITHIN: f64 = 0.05;

/// Engine, GB of the pool and connections, with transactions/s, their p95 in ms, reads/s and
/// writes/s.
type StudyRow = (&'static str, u32, u32, [f64; 4]);

const STUDY: [StudyRow; 30] = [
    ("mariadb-10.11", 2, 1, [98.13, 20.0, 3_645.0, 1_927.0]),
    ("mariadb-10.11", 2, 4, [251.5, 28.16, 6_202.0, 2_985.0]),
    ("mariadb-10.11", 2, 16, [374.3, 56.84, 9_066.0, 3_589.0]),
    ("mariadb-10.11", 2, 32, [468.1, 86.0, 11_230.0, 3_726.0]),
    ("mariadb-10.11", 2, 64, [584.5, 139.8, 13_960.0, 4_269.0]),
    ("mariadb-10.11", 12, 1, [178.4, 7.98, 2_188.0, 1_681.0]),
    ("mariadb-10.11", 12, 4, [392.7, 19.29, 4_796.0, 3_493.0]),
    ("mariadb-10.11", 12, 16, [632.2, 38.25, 7_593.0, 3_992.0]),
    ("mariadb-10.11", 12, 32, [810.2, 52.89, 9_641.0, 4_243.0]),
    ("mariadb-10.11", 12, 64, [1_068.0, 84.47, 12_660.0, 4_495.0]),
    ("mysql-5.7", 2, 1, [84.65, 29.72, 3_767.0, 2_502.0]),
    ("mysql-5.7", 2, 4, [246.5, 32.53, 5_926.0, 3_269.0]),
    ("mysql-5.7", 2, 16, [403.7, 66.84, 9_465.0, 4_043.0]),
    ("mysql-5.7", 2, 32, [476.3, 114.7, 11_040.0, 4_220.0]),
    ("mysql-5.7", 2, 64, [528.6, 267.4, 12_160.0, 4_161.0]),
    ("mysql-5.7", 12, 1, [143.8, 10.27, 1_811.0, 1_613.0]),
    ("mysql-5.7", 12, 4, [352.3, 21.89, 4_374.0, 3_379.0]),
    ("mysql-5.7", 12, 16, [591.9, 46.63, 7_229.0, 3_628.0]),
    ("mysql-5.7", 12, 32, [750.2, 65.65, 9_053.0, 3_668.0]),
    ("mysql-5.7", 12, 64, [783.1, 223.3, 9_406.0, 4_115.0]),
    ("mysql-8.0", 2, 1, [54.69, 44.98, 2_868.0, 6_187.0]),
    ("mysql-8.0", 2, 4, [182.6, 32.53, 4_460.0, 4_758.0]),
    ("mysql-8.0", 2, 16, [311.1, 69.29, 7_299.0, 5_258.0]),
    ("mysql-8.0", 2, 32, [418.8, 101.1, 9_680.0, 5_438.0]),
    ("mysql-8.0", 2, 64, [532.7, 161.5, 12_240.0, 6_015.0]),
    ("mysql-8.0", 12, 1, [131.8, 11.65, 1_660.0, 3_501.0]),
    ("mysql-8.0", 12, 4, [295.0, 20.37, 3_652.0, 4_694.0]),
    ("mysql-8.0", 12, 16, [508.3, 46.63, 6_162.0, 4_865.0]),
    ("mysql-8.0", 12, 32, [652.5, 73.13, 7_830.0, 5_339.0]),
    ("mysql-8.0", 12, 64, [831.7, 116.8, 9_946.0, 6_038.0]),
];

impl PublishedCell {
    /// The profile of the drive (plans/percona-2026.device.toml).
    pub const DRIVE: &str = "percona-2026-drive";

    /// The counterpart of a lab's cell with data on that drive: it has the same engine and
    /// connections, and a pool of the same share of the database.
    pub fn of(cell: &NewCell) -> Option<PublishedCell> {
        let is_on = |place: &CellPlace| place.role == DATA && place.device == PublishedCell::DRIVE;
        if !cell.places.iter().any(is_on) || cell.workload != OltpMix::ReadWriteUniform.name() {
            return None;
        }
        let size = |name: &str| {
            let (_, text) = cell.settings.iter().find(|(known, _)| known == name)?;
            Some(parse_size(text)? as f64)
        };
        let times_larger = ROWS / (size("tables")? * size("table_size")?);
        let gb = size("innodb_buffer_pool_size")? * times_larger / (1_u64 << 30) as f64;
        let is_same = |(engine, pool_gb, connections, _): &&StudyRow| {
            let is_pool = (gb / f64::from(*pool_gb) - 1.0).abs() <= POOL_WITHIN;
            cell.engine == *engine && is_pool && cell.connections == *connections
        };
        let (engine, pool_gb, connections, published) = *STUDY.iter().find(is_same)?;
        let [per_s, p95_ms, reads_per_s, writes_per_s] = published;
        let figures = [per_s, reads_per_s / per_s, writes_per_s / per_s, p95_ms];
        Some(PublishedCell { engine, pool_gb, connections, times_larger, figures })
    }

    /// `mysql-5.7, pool of 2 GB, 16 connections`.
    pub fn in_words(&self) -> String {
        let connections = counted(self.connections as usize, "connection", "connections");
        format!("{}, pool of {} GB, {connections}", self.engine, self.pool_gb)
    }
}

#[cfg(test)]
mod tests {
    use super::{PublishedCell, STUDY};
    use store::NewCell;

    fn cell(engine: &str, pool: &str, connections: u32) -> NewCell {
        let settings =
            [("innodb_buffer_pool_size", pool), ("tables", "20"), ("table_size", "200000")];
        NewCell {
            engine: engine.to_owned(),
            workload: "sysbench-oltp-uniform".to_owned(),
            connections,
            places: vec![testkit::place("data", "percona-2026-drive")],
            settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            ..NewCell::default()
        }
    }

    #[test]
    fn a_cell_is_matched_by_engine_pool_and_connections() {
        let found = PublishedCell::of(&cell("mysql-8.0", "82M", 16)).unwrap();
        assert_eq!(found.in_words(), "mysql-8.0, pool of 2 GB, 16 connections");
        assert_eq!(found.times_larger, 25.0);
        assert_eq!(found.figures, [311.1, 7_299.0 / 311.1, 5_258.0 / 311.1, 69.29]);
        let others =
            [("percona-8.0", "82M", 16), ("mysql-8.0", "164M", 16), ("mysql-8.0", "82M", 8)];
        for (engine, pool, connections) in others {
            assert_eq!(PublishedCell::of(&cell(engine, pool, connections)), None, "{pool}");
        }
        // MySQL rounds 492M up to it.
        let rounded = PublishedCell::of(&cell("mysql-8.0", "512M", 1)).unwrap();
        assert_eq!((rounded.pool_gb, rounded.figures[3]), (12, 11.65));
    }

    #[test]
    fn a_pool_counts_as_a_share_of_the_database() {
        let mut larger = cell("mysql-5.7", "164M", 64);
        larger.settings[2].1 = "400000".to_owned();
        let found = PublishedCell::of(&larger).unwrap();
        assert_eq!((found.pool_gb, found.times_larger), (2, 12.5));
        larger.settings.clear();
        assert_eq!(PublishedCell::of(&larger), None);
    }

    #[test]
    fn another_drive_or_workload_has_no_counterpart() {
        let mut other = cell("mysql-5.7", "82M", 64);
        other.workload = "sysbench-oltp-read-only".to_owned();
        assert_eq!(PublishedCell::of(&other), None);
        let mut other = cell("mysql-5.7", "82M", 64);
        other.places[0].role = "redo".to_owned();
        assert_eq!(PublishedCell::of(&other), None);
    }

    /// The other columns are in no file of the repository.
    #[test]
    fn reads_and_writes_are_those_of_the_drives_log() {
        let text = include_str!("../../../storage/tests/percona-2026.csv");
        let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
        let logged = rows.map(|row| {
            let cells: Vec<&str> = row.split(',').collect();
            let (release, _) = cells[1].rsplit_once('.').unwrap();
            let of = |n: usize| cells[n].parse::<f64>().unwrap();
            (format!("{}-{release}", cells[0]), [of(2), of(3), of(4), of(6)])
        });
        let told = STUDY.map(|(engine, pool_gb, connections, [.., reads, writes])| {
            (engine.to_owned(), [f64::from(pool_gb), f64::from(connections), reads, writes])
        });
        assert_eq!(logged.collect::<Vec<_>>(), told);
    }
}
