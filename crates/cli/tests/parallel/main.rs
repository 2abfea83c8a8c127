//! The real binary against real servers. These tests run beside each other, on a machine that is
//! busy with the others: what needs it to itself is in `serial`, which cargo runs before or after.

// First, for its macros.
#[macro_use]
#[path = "../support/mod.rs"]
mod support;

mod acid;
mod advised;
mod bad_input;
mod clusters;
mod compare;
mod connections;
mod contrib;
mod cores;
mod crashes;
mod deaths;
mod defaults;
mod devices;
mod digests;
mod dilated;
mod emulation;
mod engines;
mod failing;
mod failovers;
mod faults;
mod fleet;
mod foreign;
mod haproxies;
mod help;
mod images;
mod installation;
mod instances;
mod labs;
mod lengths;
mod live;
mod loads;
mod logins;
mod meters;
mod observed;
mod oltp;
mod output;
mod pacing;
mod pipelines;
mod plans;
mod presets;
mod private_clusters;
mod proven;
mod ramps;
mod refusals;
mod renderings;
mod replicas;
mod report;
mod rows_read;
mod same_work;
mod secrets;
mod seeds;
mod served;
mod shards;
mod sheets;
mod silences;
mod slurm;
mod stalls;
mod stops;
mod strangers;
mod styles;
mod thresholds;
mod time_functions;
mod tpcc_mysql;
mod trouble;
mod tuned;
mod waits;
mod warehouse_shards;
