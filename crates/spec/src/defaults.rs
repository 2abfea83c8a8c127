//! What holds where nothing is said: the only table of defaults, for the command line, plans and
//! tests.

use crate::length::Length;
use crate::load::{Isolation, Spacing, Style};
use crate::workload::WorkloadKind;
use base::{Dilation, Warehouses};
use std::time::Duration;

/// Of a private server.
pub const ENGINE: &str = "mysql-5.7";
/// Of a plan's server; `run` and `ramp` translate none where none is named.
pub const PRESET: &str = "default";
/// Of a private server, and of `mydyno load`.
pub const WAREHOUSES: Warehouses = Warehouses(10);
/// Of the population.
pub const POPULATION_SEED: u64 = 1;
/// How far an automatic dilation goes.
pub const DILATE_MAX: Dilation = Dilation::whole(16);
pub const WORKLOAD: WorkloadKind = WorkloadKind::Tpcc;
pub const STYLE: Style = Style::Statements;
/// The weakest level that TPC-C takes (clause 3.4.1); workload `tpcc-mysql` keeps the server's.
pub const ISOLATION: Isolation = Isolation::RepeatableRead;
/// Of a closed or open loop; terminals have a connection each.
pub const CONNECTIONS: u32 = 8;
pub const SPACING: Spacing = Spacing::Poisson;
pub const WARMUP: Length = Length::fixed(Duration::from_secs(10));
pub const WINDOW: Length = Length::fixed(Duration::from_secs(60));
/// Of each point of a ramp.
pub const WINDOW_OF_POINT: Length = Length::fixed(Duration::from_secs(30));
/// The longest automatic warm-up.
pub const WARMUP_AUTO_MOST: Duration = Duration::from_secs(30 * 60);
/// The longest automatic window.
pub const WINDOW_AUTO_MOST: Duration = Duration::from_secs(60 * 60);
/// Of an automatic window: see [`crate::parse_precision`].
pub const PRECISION_SHARE: f64 = 0.02;
pub const INTERVAL: Duration = Duration::from_secs(1);
/// Of a plan's cells.
pub const REPEATS: u32 = 3;
/// Of a plan, from which its populations, orders and inputs derive.
pub const PLAN_SEED: u64 = 1;
/// Of the tries of a cell of a plan or a point of a ramp: beyond it the white papers print NA.
pub const LOCK_WAIT_TIMEOUTS_MAX_SHARE: f64 = 0.01;
