-- Format 15: the ranks of a fleet that drove a repeat together.

CREATE TABLE fleet_rank (
    repeat_id             INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    rank                  INTEGER NOT NULL,
    host                  TEXT    NOT NULL,
    driver_threads        INTEGER NOT NULL,
    client_cpu_ns         INTEGER NOT NULL,
    run_wait_ns           INTEGER NOT NULL,
    network_bytes         INTEGER NOT NULL,
    clock_error_ns        INTEGER NOT NULL,
    start_late_ns         INTEGER NOT NULL,
    primary_transactions  INTEGER NOT NULL,
    lost                  TEXT,
    PRIMARY KEY (repeat_id, rank)
) STRICT, WITHOUT ROWID;
