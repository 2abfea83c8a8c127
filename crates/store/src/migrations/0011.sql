-- Format 11: transactions count by their end, and where their response time goes; blocks of a lab.

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

-- A transaction counts for the interval in which it ended, whenever it began. In earlier formats one that ended in the
-- window and began before it is in no interval.

-- New orders that ended in the window and are in no interval: 0 since this format, NULL where an earlier one does not
-- tell. Of a measurement of an earlier format they are those that the driver saw committed and no interval has;
-- without the deliberate rollbacks among them, of which there is one in a hundred.
ALTER TABLE repeat ADD COLUMN new_orders_left_out INTEGER DEFAULT 0 CHECK (new_orders_left_out >= 0);
UPDATE repeat SET new_orders_left_out = CASE
    -- The closed loop that found the capacity is among those committed, and has no intervals.
    WHEN capacity_per_s IS NULL THEN max(0, committed_new_orders -
        (SELECT coalesce(sum(committed), 0) FROM interval WHERE repeat_id = repeat.id AND transaction_type = 'new_order'))
    END
    WHERE measured_window_ns IS NOT NULL;
INSERT INTO note (repeat_id, note)
    SELECT id, CASE WHEN new_orders_left_out IS NULL
        THEN 'measured by an earlier mydyno, which left out what began before the window and ended in it: all rates, NOPM '
            || 'too, are low by about the response time divided by the window'
        ELSE 'measured by an earlier mydyno, which left out what began before the window and ended in it: NOPM has the '
            || new_orders_left_out || ' new orders added that the driver counted besides; other rates are low, and costs '
            || 'per transaction high, by about the response time divided by the window; percentiles are of the rest'
        END
    FROM repeat WHERE status = 'done' AND new_orders_left_out IS NOT 0;

-- Of workload tpcc-spec: new orders that began and ended in the window, by which clauses 4.1.3 and 5.4.2 judge.
ALTER TABLE repeat ADD COLUMN new_orders_within_window INTEGER CHECK (new_orders_within_window >= 0);
UPDATE repeat SET new_orders_within_window =
        (SELECT coalesce(sum(committed + rolled_back), 0) FROM interval
         WHERE repeat_id = repeat.id AND transaction_type = 'new_order' AND phase = 'window')
    WHERE measured_window_ns IS NOT NULL AND cell_id IN (SELECT id FROM cell WHERE terminals IS NOT NULL);

-- Of workload tpcc-spec: deliveries that were queued or under way at the end of the window.
ALTER TABLE repeat ADD COLUMN pending_deliveries INTEGER CHECK (pending_deliveries >= 0);

-- What the inputs of a repeat derive from, and how many threads of the driver carried its
-- connections: NULL in older files and where it was never driven. An older repeat has the seed of its cell.
ALTER TABLE repeat ADD COLUMN seed INTEGER;
ALTER TABLE repeat ADD COLUMN driver_threads INTEGER;

-- Inactive warehouses are those of clause 4.2.2, with rows and without terminals; of older files they are not known. What
-- these have there is the opposite, warehouses with terminals and without rows: terminals / 10 - warehouses. Such
-- terminals prove nothing of clause 4.1.3. Plans had none of either.
UPDATE cell SET inactive_warehouses = NULL WHERE lab_id IN (SELECT id FROM lab WHERE plan IS NULL);
DELETE FROM verdict WHERE name = 'nopm_per_warehouse' AND repeat_id IN (
    SELECT r.id FROM repeat AS r JOIN cell AS c ON c.id = r.cell_id WHERE c.terminals <> 10 * c.warehouses
);
UPDATE repeat SET efficiency = NULL WHERE cell_id IN (SELECT id FROM cell WHERE terminals <> 10 * warehouses);

-- How well the capacity is known that a rate is a share of: NULL in older files, where nobody looked.
ALTER TABLE repeat ADD COLUMN capacity_precision_share REAL;

-- The isolation level of the sessions, and whether HISTORY had a primary key, which TPC-C does not
-- give it and clusters demand.
ALTER TABLE cell ADD COLUMN isolation TEXT;
ALTER TABLE cell ADD COLUMN history_key INTEGER;
ALTER TABLE load ADD COLUMN history_key INTEGER;
