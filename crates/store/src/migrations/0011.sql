-- Format 11: where the response time of transactions goes; blocks of a lab.

-- One type of the transactions that the window counts: its response times, and what of them
-- passed without a statement.
CREATE TABLE transaction_time (
    repeat_id        INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    transaction_type TEXT    NOT NULL,
    transactions     INTEGER NOT NULL,
    response_sum_ns  INTEGER NOT NULL,
    queued_sum_ns    INTEGER NOT NULL,
    paused_sum_ns    INTEGER NOT NULL,
    PRIMARY KEY (repeat_id, transaction_type)
) STRICT, WITHOUT ROWID;

-- The statements of the same transactions, by what they do.
CREATE TABLE statement_time (
    repeat_id        INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    transaction_type TEXT    NOT NULL,
    statement_kind   TEXT    NOT NULL,
    executions       INTEGER NOT NULL,
    sum_ns           INTEGER NOT NULL,
    max_ns           INTEGER NOT NULL,
    out_of_bounds    INTEGER NOT NULL,
    histogram_ns     BLOB,
    PRIMARY KEY (repeat_id, transaction_type, statement_kind)
) STRICT, WITHOUT ROWID;

-- Blocks: what one call of `mydyno lab run` measured of one repeat of its cells. What is measured
-- later, by --redo or when a lab goes on, has a block of its own.
CREATE TABLE block (
    lab_id                     INTEGER NOT NULL REFERENCES lab (id) ON DELETE CASCADE,
    block                      INTEGER NOT NULL CHECK (block > 0),
    started_utc_ns             INTEGER NOT NULL,
    canary_cpu_ns              INTEGER,
    canary_memory_ns           INTEGER,
    canary_wake_up_latency_ns  INTEGER,
    PRIMARY KEY (lab_id, block)
) STRICT, WITHOUT ROWID;
-- NULL in files of an earlier format and outside labs: the block is then the repeat's ordinal.
ALTER TABLE repeat ADD COLUMN block INTEGER;

-- What else the host did just before a repeat.
CREATE TABLE host_before (
    repeat_id        INTEGER PRIMARY KEY REFERENCES repeat (id) ON DELETE CASCADE,
    others_cpu_share REAL    NOT NULL,
    steal_share      REAL    NOT NULL,
    disk_bytes_per_s REAL    NOT NULL
) STRICT;
