//! Places for files, probing with fio, preparing the shim. An empty room, built by the devices issue.
