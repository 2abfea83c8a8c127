//! What a session of the server can wait for in other threads.

crate::named! {
    /// Why the server blocked a thread that serves a client, or let it sleep.
    #[derive(PartialOrd, Ord)]
    pub enum WaitCause {
        /// A page that it reads itself; of a server whose I/O nobody counts.
        Read = "read",
        RowLock = "row_lock",
        /// The flush of the redo log, or of the binary log, at COMMIT.
        Commit = "commit",
        /// Room in the redo log or its buffer: a checkpoint has to advance, or a write to end.
        RedoRoom = "redo_room",
        /// A page that others read, write or change.
        PageLatch = "page_latch",
        /// A tree whose shape others change.
        IndexLatch = "index_latch",
        /// A latch of whose function the program has no name, such as MariaDB's.
        Latch = "latch",
        /// A free page of the buffer pool.
        FreePage = "free_page",
        /// A slot of the doublewrite buffer, or its batch.
        Doublewrite = "doublewrite",
        /// Leave to begin: `innodb_thread_concurrency`, `innodb_max_purge_lag`.
        Admission = "admission",
        /// Metadata locks, tables to open, the dictionary.
        Metadata = "metadata",
        /// Replicas that confirm, or a cluster that certifies.
        Replication = "replication",
        /// The statement asked for it: SLEEP().
        Asked = "asked",
        /// The program has no names for these places.
        Unnamed = "unnamed",
    }
}
