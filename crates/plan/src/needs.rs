//! What a lab needs of a machine: memory, disk and time. Estimates, to refuse early what cannot be,
//! and to plan a night by.

use crate::error::{PlanError, PlanProblem};
use crate::plan::{Plan, PlannedCell};
use base::Warehouses;
use spec::{Cell, DatabaseKind, PopulationSpec};
use std::time::Duration;
use tpcc::population::database_bytes_estimate;

/// Memory of a server beside its pool, and of the driver (docs/scale.md).
const MEMORY_BESIDE_BYTES: u64 = 240 << 20;
/// Memory that is left to everything else.
const MEMORY_SPARE_BYTES: u64 = 784 << 20;
/// The pool of the server that loads an image.
const LOADING_POOL_BYTES: u64 = 1 << 30;
/// Undo and temporary files grow while a server runs: what is there before is two thirds of what
/// may be needed.
const GROWTH_PERCENT: u64 = 150;
/// Least and most of each of the two redo files of the server that loads an image.
const LOADING_REDO_FILE_MIN: u64 = 16 << 20;
const LOADING_REDO_FILE_MAX: u64 = 1 << 30;
/// Start and stop of a server, connecting, and what is asked of it before and after.
const SERVER_TIME: Duration = Duration::from_secs(5);
/// Beside its pool, of each server after the first.
const MEMORY_PER_SERVER_BYTES: u64 = 256 << 20;
/// Of copying a data directory, syncing it and dropping it from the page cache.
const COPY_BYTES_PER_S: u64 = 400 << 20;
/// The checks after a run, and loading, with two cores.
const CHECK_TIME_PER_WAREHOUSE: Duration = Duration::from_secs(1);
const LOAD_TIME_PER_WAREHOUSE: Duration = Duration::from_secs(3);

/// Bytes of the tables of a database; 0 of what a file's setup makes, which nobody knows.
pub fn tables_bytes(population: &PopulationSpec) -> u64 {
    let &PopulationSpec { foreign_keys, partitions, .. } = population;
    let warehouses = Warehouses(population.range().count());
    match &population.database {
        DatabaseKind::Tpcc => database_bytes_estimate(warehouses, foreign_keys, partitions),
        DatabaseKind::Script(database) => oltp::database_bytes_estimate(database),
    }
}

/// How large a database is: its warehouses or, of one that has none, those that take as much room;
/// 1 at least.
pub fn size_in_warehouses(population: &PopulationSpec) -> Warehouses {
    const OF_WAREHOUSE_BYTES: u64 = 100_000_000;
    population.tpcc_warehouses().unwrap_or_else(|| {
        let count = tables_bytes(population).div_ceil(OF_WAREHOUSE_BYTES).max(1);
        Warehouses(u32::try_from(count).unwrap_or(u32::MAX))
    })
}

/// Of the servers of a cell, their preset and variables considered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Of all of them together, who divide it.
    pub pool_bytes: u64,
    /// Of each.
    pub redo_bytes: u64,
}

/// Where the files of a cell's servers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// In mydyno's own directory.
    Home,
    Memory,
    /// In a directory that the plan names, whose room is asked for apart.
    Elsewhere,
}

/// What one cell needs while it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellNeeds {
    /// Of each of its servers.
    pub tables_bytes: u64,
    pub instances: u32,
    pub sizes: Sizes,
    pub files: Files,
    /// Of one repeat.
    pub duration: Duration,
}

impl CellNeeds {
    /// Of `cell`.
    pub fn of(cell: &PlannedCell, sizes: Sizes, files: Files) -> CellNeeds {
        let Cell { server, load, lengths, .. } = &cell.what;
        let points = load.connections.points_max();
        let dilated = (lengths.warmup.expected() + lengths.window.expected()) * points;
        let measuring = dilated.mul_f64(server.dilate().most().factor());
        let duration = SERVER_TIME + measuring;
        let needs = CellNeeds { tables_bytes: 0, instances: 1, sizes, files, duration };
        let Some(private) = server.private() else { return needs };
        let tables_bytes = tables_bytes(&private.population);
        let copy =
            Duration::from_secs(tables_bytes.saturating_add(sizes.redo_bytes) / COPY_BYTES_PER_S);
        let checks = CHECK_TIME_PER_WAREHOUSE * size_in_warehouses(&private.population).0;
        let of_each = SERVER_TIME + copy + checks;
        CellNeeds {
            tables_bytes,
            instances: private.instances,
            duration: of_each * private.instances + measuring,
            ..needs
        }
    }

    /// Bytes of its clones, as they grow.
    fn clone_bytes(&self) -> u64 {
        let fresh = self.tables_bytes.saturating_add(self.sizes.redo_bytes);
        let all = fresh.saturating_mul(self.instances.into());
        all.saturating_mul(GROWTH_PERCENT) / 100
    }

    /// Memory while it runs.
    pub fn memory_bytes(&self) -> u64 {
        let files = self.bytes_in(Files::Memory);
        let others = u64::from(self.instances.saturating_sub(1));
        MEMORY_BESIDE_BYTES
            .saturating_add(MEMORY_PER_SERVER_BYTES * others)
            .saturating_add(self.sizes.pool_bytes)
            .saturating_add(files)
    }

    /// Disk while it runs, in mydyno's own directory, beside images.
    pub fn disk_bytes(&self) -> u64 {
        self.bytes_in(Files::Home)
    }

    fn bytes_in(&self, files: Files) -> u64 {
        if self.files == files { self.clone_bytes() } else { 0 }
    }
}

/// A populated data directory that a lab has to make first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingImage {
    pub engine: String,
    pub population: PopulationSpec,
    pub page_size_bytes: u32,
    /// Server variables that it is made with.
    pub settings: Vec<(String, String)>,
}

/// Bytes of each of the two redo files of the server that loads an image: enough that it seldom
/// waits for a checkpoint. The servers of clones make files of the size that they are asked for.
pub fn loading_redo_file_bytes(population: &PopulationSpec) -> u64 {
    let bytes = tables_bytes(population) / 8;
    bytes.next_multiple_of(1 << 20).clamp(LOADING_REDO_FILE_MIN, LOADING_REDO_FILE_MAX)
}

impl MissingImage {
    /// Bytes of it on disk.
    pub fn disk_bytes(&self) -> u64 {
        let redo_bytes = loading_redo_file_bytes(&self.population).saturating_mul(2);
        tables_bytes(&self.population).saturating_add(redo_bytes)
    }

    /// Memory while it is loaded.
    fn memory_bytes(&self) -> u64 {
        MEMORY_BESIDE_BYTES + tables_bytes(&self.population).min(LOADING_POOL_BYTES)
    }

    fn duration(&self) -> Duration {
        SERVER_TIME + LOAD_TIME_PER_WAREHOUSE * size_in_warehouses(&self.population).0
    }
}

/// What the machine has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Of the file system of mydyno's own directory; `None` where it is not known.
    pub disk_free_bytes: Option<u64>,
    /// `None` where it is not known.
    pub memory_available_bytes: Option<u64>,
    /// Of images that are kept; one that is being made may be too much.
    pub images_max_bytes: u64,
}

/// What a lab needs for all repeats that it has to make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Images that are to be made, as far as they are kept at a time, and the largest clone.
    pub disk_bytes: u64,
    /// Of the cell, or of the load of an image, that needs most.
    pub memory_bytes: u64,
    pub duration: Duration,
}

impl Plan {
    /// What these repeats need, each with its cell, and the images that have to be made for them.
    ///
    /// # Errors
    /// Where a cell needs more than the machine has, or the repeats more time than the plan allows.
    pub fn needs(
        &self,
        repeats: &[&(PlannedCell, CellNeeds)],
        images: &[MissingImage],
        host: &Host,
    ) -> Result<Needs, PlanError> {
        let of_images = images.iter().map(MissingImage::disk_bytes);
        let largest_bytes = largest(of_images.clone());
        let kept_bytes = host.images_max_bytes.saturating_add(largest_bytes);
        let images_bytes = of_images.fold(0, u64::saturating_add).min(kept_bytes);
        for (cell, needs) in repeats {
            self.require_memory(cell, needs, host)?;
            self.require_disk(cell, images_bytes.saturating_add(needs.disk_bytes()), host)?;
        }
        let each = repeats.iter().map(|(_, needs)| needs);
        let measuring: Duration = each.clone().map(|needs| needs.duration).sum();
        let loads: Duration = images.iter().map(MissingImage::duration).sum();
        let needs = Needs {
            disk_bytes: largest(each.clone().map(CellNeeds::disk_bytes))
                .saturating_add(images_bytes),
            memory_bytes: largest(each.map(CellNeeds::memory_bytes))
                .max(largest(images.iter().map(MissingImage::memory_bytes))),
            duration: measuring + loads,
        };
        let of_times = repeats.first().map_or("about", |(cell, _)| cell.what.estimate_word());
        match &self.time_limit {
            Some(limit) if needs.duration > *limit.get_ref() => {
                let why = format!(
                    "the lab takes {of_times} {} ({} repeats), which is more than its time limit; \
                     take fewer cells or repeats, a shorter window, or a longer limit",
                    humantime::format_duration(Duration::from_secs(needs.duration.as_secs())),
                    repeats.len()
                );
                Err(self.source.error(PlanProblem::new(limit.span(), why)))
            }
            _ => Ok(needs),
        }
    }

    fn require_disk(&self, cell: &PlannedCell, bytes: u64, host: &Host) -> Result<(), PlanError> {
        let Some(free) = host.disk_free_bytes.filter(|free| bytes > *free) else { return Ok(()) };
        let why = format!(
            "it needs {} of disk for its files and the images of this plan, and mydyno's \
             directory has {}; take fewer warehouses, or free some space (`mydyno server images` \
             lists databases that it keeps)",
            gigabytes(bytes),
            gigabytes(free)
        );
        Err(self.refuse(cell, "warehouses", &why))
    }

    fn require_memory(
        &self,
        cell: &PlannedCell,
        needs: &CellNeeds,
        host: &Host,
    ) -> Result<(), PlanError> {
        let wanted = needs.memory_bytes().saturating_add(MEMORY_SPARE_BYTES);
        let available = host.memory_available_bytes.filter(|available| wanted > *available);
        let Some(available) = available else { return Ok(()) };
        let pool = "set.innodb_buffer_pool_size";
        let is_set = cell.settings.iter().any(|setting| setting.name() == pool);
        let why = format!(
            "it needs {} of memory ({} of them the buffer pool) beside the {} that are left to \
             others, and {} are available; take a smaller pool or fewer warehouses",
            gigabytes(needs.memory_bytes()),
            gigabytes(needs.sizes.pool_bytes),
            gigabytes(MEMORY_SPARE_BYTES),
            gigabytes(available)
        );
        Err(self.refuse(cell, if is_set { pool } else { "warehouses" }, &why))
    }
}

fn largest(of: impl Iterator<Item = u64>) -> u64 {
    of.max().unwrap_or(0)
}

/// Bytes for people.
pub fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::{MissingImage, size_in_warehouses};
    use base::Warehouses;
    use spec::{DatabaseKind, PopulationSpec, SbtestTables, ScriptDatabase};

    #[test]
    fn an_image_has_room_for_its_partitions() {
        let of = |partitions| MissingImage {
            engine: "mysql-5.7".to_owned(),
            population: PopulationSpec {
                warehouses: Warehouses(1),
                foreign_keys: false,
                partitions,
                ..PopulationSpec::default()
            },
            page_size_bytes: 16 << 10,
            settings: Vec::new(),
        };
        // Seven tables of a thousand files, with the warehouse in one of them.
        let added = of(1_000).disk_bytes() - of(0).disk_bytes();
        assert!((600 << 20..1 << 30).contains(&added), "{added}");
    }

    #[test]
    fn other_databases_are_as_large_as_some_warehouses() {
        let of = |database| {
            size_in_warehouses(&PopulationSpec { database, ..PopulationSpec::default() }).0
        };
        let sbtest = |count, rows| ScriptDatabase::Sbtest(SbtestTables { count, rows });
        assert_eq!(of(DatabaseKind::Tpcc), 10);
        assert_eq!(of(DatabaseKind::Script(sbtest(1, 10_000))), 1);
        assert_eq!(of(DatabaseKind::Script(sbtest(4, 1_000_000))), 10);
        assert_eq!(of(DatabaseKind::Script(ScriptDatabase::File("own.toml".to_owned()))), 1);
    }
}
