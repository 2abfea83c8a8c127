//! tpcc
