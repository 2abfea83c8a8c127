//! The library preloaded into mysqld. An empty room, built by the devices issue.
