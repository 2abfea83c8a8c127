//! What is known of a server when it is advised. Everything in here was read, and nothing changed.

use analyse::{Account, Part};
use base::{ServerRelease, redo_log_bytes};
use std::collections::BTreeMap;

/// Names and values as a server tells them.
pub type NamedValues = BTreeMap<String, String>;

/// A server, its machine, its device and its load.
#[derive(Clone, Debug)]
pub struct ServerSnapshot {
    pub server: ServerRelease,
    /// `SHOW GLOBAL VARIABLES`.
    pub variables: NamedValues,
    pub watch: StatusWatch,
    /// Bytes of tables and indexes of InnoDB; `None` where nobody may look.
    pub data_bytes: Option<u64>,
    /// The machine of the server; `None` where it is another one than this.
    pub machine: Option<ServerMachine>,
    /// The device of the data; `None` where it was neither named nor probed.
    pub device: Option<AdvisedDevice>,
    /// Is the redo log on a device of its own? `None` where that is not known.
    pub redo_is_apart: Option<bool>,
    /// Of a transaction, from the last stored run against this server.
    pub account: Option<Account>,
}

/// Two readings of `SHOW GLOBAL STATUS`.
#[derive(Clone, Debug, Default)]
pub struct StatusWatch {
    /// Between the two.
    pub seconds: f64,
    pub first: NamedValues,
    pub last: NamedValues,
}

/// The machine that the server runs on.
#[derive(Clone, Debug, Default)]
pub struct ServerMachine {
    pub memory_bytes: u64,
    pub cores: u32,
    pub numa_nodes: u32,
    /// `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    pub swappiness: Option<u32>,
    /// Where the data is.
    pub file_system: Option<MountedFileSystem>,
}

/// A file system, and the block device below it.
#[derive(Clone, Debug, Default)]
pub struct MountedFileSystem {
    /// `ext4`, `xfs`.
    pub kind: String,
    pub mount_point: String,
    pub options: Vec<String>,
    /// The scheduler in use: `mq-deadline`, `none`.
    pub scheduler: Option<String>,
}

/// What the device gives, from its profile or a probe.
#[derive(Clone, Debug)]
pub struct AdvisedDevice {
    pub name: String,
    pub is_disk: bool,
    /// Sustained random requests of 4 KiB; `None` where it was not probed.
    pub random_read_iops: Option<f64>,
    pub random_write_iops: Option<f64>,
}

impl ServerSnapshot {
    /// A variable's value; `None` where the server has no such variable.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// A variable's value as a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.text(name)?.trim().parse().ok()
    }

    /// The share of a part of a transaction's time; `None` where that was not divided.
    pub fn share_of(&self, part: Part) -> Option<f64> {
        self.account.map(|account| account.share(part))
    }

    /// Is a switch on? `None` where the server has no such variable.
    pub fn is_on(&self, name: &str) -> Option<bool> {
        let value = self.text(name)?;
        Some(["ON", "1", "YES", "TRUE"].iter().any(|on| value.eq_ignore_ascii_case(on)))
    }

    /// By how much a counter rose in a second of the watch.
    pub fn per_s(&self, counter: &str) -> Option<f64> {
        let value = |values: &NamedValues| values.get(counter)?.parse::<f64>().ok();
        let rise = value(&self.watch.last)? - value(&self.watch.first)?;
        // Somebody set it back where it fell.
        (self.watch.seconds > 0.0 && rise >= 0.0).then(|| rise / self.watch.seconds)
    }

    /// What the server says of itself at the end of the watch.
    pub fn status(&self, name: &str) -> Option<f64> {
        self.watch.last.get(name)?.parse().ok()
    }

    /// The share that `part` has of the rise of `whole`.
    pub fn share(&self, part: &str, whole: &str) -> Option<f64> {
        let whole = self.per_s(whole).filter(|whole| *whole > 0.0)?;
        Some(self.per_s(part)? / whole)
    }

    /// Is it a device without an arm?
    pub fn is_solid_state(&self) -> Option<bool> {
        self.device.as_ref().map(|device| !device.is_disk)
    }

    /// Does InnoDB read and write its data through the page cache?
    pub fn data_is_buffered(&self) -> Option<bool> {
        // MariaDB 11.0 made of one variable four.
        if let Some(buffered) = self.is_on("innodb_data_file_buffering") {
            return Some(buffered);
        }
        // O_DIRECT, O_DIRECT_NO_FSYNC, XtraDB's ALL_O_DIRECT, and what Windows has.
        let method = self.text("innodb_flush_method")?.to_ascii_uppercase();
        Some(!method.contains("O_DIRECT") && !method.ends_with("UNBUFFERED"))
    }

    /// Bytes of the redo log.
    pub fn redo_bytes(&self) -> Option<f64> {
        redo_log_bytes(|name| self.number(name), |name| self.status(name))
    }

    pub fn page_bytes(&self) -> f64 {
        self.number("innodb_page_size").unwrap_or(16384.0)
    }

    pub fn pool_bytes(&self) -> Option<f64> {
        self.number("innodb_buffer_pool_size")
    }
}
