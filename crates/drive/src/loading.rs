//! What the loads of all workloads tell.

/// How far a load has come.
#[derive(Clone, Copy, Debug)]
pub struct LoadProgress {
    /// Bytes of rows generated and sent, those of an earlier, killed load included.
    pub bytes: u64,
    pub bytes_total: u64,
    /// Index builds done and to do, foreign keys counted as one; of a file, its statements.
    pub steps: u32,
    pub steps_total: u32,
}
