//! What the host is and has, read from /proc and /sys. The samplers of host, server, devices and power come with their
//! issue.

mod host;

pub use host::{host_facts, peak_rss_bytes};
