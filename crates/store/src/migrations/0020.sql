-- Format 20: what was in flight at the end of a window, where connections were in it, and when
-- nothing ended.

-- Transactions of one type that were in flight at the end of the window.
CREATE TABLE in_flight (
    repeat_id        INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    transaction_type TEXT    NOT NULL,
    transactions     INTEGER NOT NULL,
    sum_ns           INTEGER NOT NULL,
    max_ns           INTEGER NOT NULL,
    out_of_bounds    INTEGER NOT NULL,
    histogram_ns     BLOB,
    PRIMARY KEY (repeat_id, transaction_type)
) STRICT, WITHOUT ROWID;

-- Where the connections were in the window.
CREATE TABLE connection_time (
    repeat_id          INTEGER PRIMARY KEY REFERENCES repeat (id) ON DELETE CASCADE,
    in_transactions_ns INTEGER NOT NULL,
    idle_ns            INTEGER NOT NULL,
    error_pauses_ns    INTEGER NOT NULL,
    lost_ns            INTEGER NOT NULL
) STRICT;

-- Times of the window in which nothing ended.
CREATE TABLE silence (
    repeat_id       INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    ordinal         INTEGER NOT NULL CHECK (ordinal > 0),
    start_offset_ns INTEGER NOT NULL,
    end_offset_ns   INTEGER NOT NULL,
    in_flight       INTEGER NOT NULL,
    PRIMARY KEY (repeat_id, ordinal)
) STRICT, WITHOUT ROWID;
