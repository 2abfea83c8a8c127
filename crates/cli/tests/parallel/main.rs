//! The real binary against real servers. These tests run beside each other, on a machine that is
//! busy with the others: what needs it to itself is in `serial`, which cargo runs before or after.

mod advised;
mod bad_input;
mod clusters;
mod compare;
mod connections;
mod contrib;
mod cores;
mod deaths;
mod devices;
mod dilated;
mod emulation;
mod engines;
mod failing;
mod faults;
mod fleet;
mod foreign;
mod help;
mod images;
mod instances;
mod labs;
mod lengths;
mod live;
mod loads;
mod meters;
mod observed;
mod oltp;
mod output;
mod pacing;
mod pipelines;
mod plans;
mod presets;
mod proven;
mod ramps;
mod report;
mod rows_read;
mod same_work;
mod seeds;
mod shards;
mod stalls;
mod styles;
#[path = "../support/mod.rs"]
mod support;
mod tpcc_mysql;
mod trouble;
mod tuned;
