//! The results file as its readers and writers see it: what is written comes back, also from files
//! of several machines and of killed processes.

mod blocks;
mod common;
mod damaged;
mod devices;
mod docs;
mod file;
mod merge;
mod rows;
mod samples;
mod statements;
mod terminals;
mod workloads;
