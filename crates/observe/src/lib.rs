//! What the host is and has, and what happens beside the load: samplers of the host, its processes,
//! the server and the devices. They run in threads of their own and never in the driver's.

mod canary;
mod error;
mod exporter_source;
mod host;
mod host_source;
mod instrument_source;
mod losses;
mod meter_source;
mod node_source;
mod perf_source;
mod power_source;
mod proc_file;
mod process_source;
pub mod quiet;
mod readings;
mod replica;
mod sampler;
mod server_source;
mod shim_source;
mod summed_sources;
mod symbols;
mod threads;
mod wait_causes;
mod wait_instruments;
mod waits;

pub use canary::canary;
pub use error::{ObserveError, ObserveResult};
pub use exporter_source::ExporterSource;
pub use host::{Mount, file_system, first_line, host_facts, mount_of, peak_rss_bytes};
pub use host_source::HostSource;
pub use instrument_source::InstrumentSource;
pub use meter_source::MeterSource;
pub use node_source::NodeSource;
pub use perf_source::PerfSource;
pub use power_source::RaplSource;
pub use process_source::{ProcessSource, ThreadSource};
pub use readings::{Readings, SampleSource, Sampled};
pub use replica::{ReplicaStatus, replica_status};
pub use sampler::Sampler;
pub use server_source::{ServerSource, global_status};
pub use shim_source::ShimSource;
pub use summed_sources::summed;
