-- Format 11: where the response time of transactions goes.

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
