-- Format 16: several servers with one database.

-- Reads from the replicas of a repeat.
CREATE TABLE replica (
    repeat_id     INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    node          INTEGER NOT NULL CHECK (node > 0),
    reads         INTEGER NOT NULL,
    stale_reads   INTEGER NOT NULL,
    stale_max_ns  INTEGER NOT NULL,
    PRIMARY KEY (repeat_id, node)
) STRICT, WITHOUT ROWID;
