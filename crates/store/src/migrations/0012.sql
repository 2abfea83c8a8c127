-- Format 12: workloads that are not TPC-C: their types of transactions, and cells without
-- warehouses; ramps that a share of retried tries ends.

-- The types of transactions of a cell's workload, in the workload's order. Throughput counts the
-- primary ones. Earlier formats knew no types but TPC-C's.
CREATE TABLE cell_transaction (
    cell_id           INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    ordinal           INTEGER NOT NULL,
    name              TEXT    NOT NULL,
    is_primary        INTEGER NOT NULL CHECK (is_primary IN (0, 1)),
    row_bytes         INTEGER,
    PRIMARY KEY (cell_id, name)
) STRICT, WITHOUT ROWID;
INSERT INTO cell_transaction (cell_id, ordinal, name, is_primary, row_bytes)
    SELECT cell.id, type.column1, type.column2, type.column3, type.column4 FROM cell, (VALUES
        (1, 'new_order', 1, 3727), (2, 'payment', 0, 885), (3, 'order_status', 0, 0),
        (4, 'delivery', 0, 12270), (5, 'stock_level', 0, 0)) AS type;

-- SQLite cannot drop a NOT NULL, so the tables of cells and of loads are made anew. Foreign keys are
-- not enforced while a file is brought up to date.
CREATE TABLE new_cell (
    id                  INTEGER PRIMARY KEY,
    lab_id              INTEGER NOT NULL REFERENCES lab (id) ON DELETE CASCADE,
    ordinal             INTEGER NOT NULL,
    engine              TEXT    NOT NULL,
    server_version      TEXT    NOT NULL,
    flavour             TEXT    NOT NULL,
    transport           TEXT    NOT NULL,
    target              TEXT    NOT NULL,
    workload            TEXT    NOT NULL,
    throughput_metric   TEXT    NOT NULL CHECK (throughput_metric IN ('nopm', 'tpm')),
    style               TEXT    NOT NULL,
    warehouses          INTEGER,
    connections         INTEGER NOT NULL,
    home                INTEGER CHECK (home IN (0, 1)),
    foreign_keys        INTEGER CHECK (foreign_keys IN (0, 1)),
    warmup_ns           INTEGER NOT NULL,
    window_ns           INTEGER NOT NULL,
    interval_ns         INTEGER NOT NULL,
    seed                INTEGER NOT NULL,
    result_metadata     TEXT CHECK (result_metadata IN ('always', 'cached', 'omitted')),
    terminals           INTEGER,
    inactive_warehouses INTEGER,
    rate_asked          TEXT,
    arrivals            TEXT CHECK (arrivals IN ('poisson', 'uniform')),
    schemas             INTEGER NOT NULL DEFAULT 1 CHECK (schemas > 0),
    warmup_auto         INTEGER NOT NULL DEFAULT 0 CHECK (warmup_auto IN (0, 1)),
    window_auto         INTEGER NOT NULL DEFAULT 0 CHECK (window_auto IN (0, 1)),
    precision_share     REAL,
    partitions          INTEGER NOT NULL DEFAULT 0,
    instances           INTEGER NOT NULL DEFAULT 1 CHECK (instances > 0),
    isolation           TEXT,
    history_key         INTEGER,
    UNIQUE (lab_id, ordinal)
) STRICT;
INSERT INTO new_cell
    SELECT id, lab_id, ordinal, engine, server_version, flavour, transport, target, workload, 'nopm',
        style, warehouses, connections, home, foreign_keys, warmup_ns, window_ns, interval_ns, seed,
        result_metadata, terminals, inactive_warehouses, rate_asked, arrivals, schemas, warmup_auto,
        window_auto, precision_share, partitions, instances, isolation, history_key
    FROM cell;
DROP TABLE cell;
ALTER TABLE new_cell RENAME TO cell;

CREATE TABLE new_load (
    id                    INTEGER PRIMARY KEY,
    lab_id                INTEGER REFERENCES lab (id) ON DELETE SET NULL,
    target                TEXT    NOT NULL,
    engine                TEXT    NOT NULL,
    server_version        TEXT    NOT NULL,
    warehouses            INTEGER,
    seed                  INTEGER NOT NULL,
    threads               INTEGER NOT NULL,
    method                TEXT    NOT NULL CHECK (method IN ('local_infile', 'inserts')),
    foreign_keys          INTEGER CHECK (foreign_keys IN (0, 1)),
    started_utc_ns        INTEGER NOT NULL,
    finished_utc_ns       INTEGER NOT NULL,
    duration_ns           INTEGER NOT NULL,
    total_rows            INTEGER NOT NULL,
    total_bytes           INTEGER NOT NULL,
    client_cpu_ns         INTEGER NOT NULL,
    client_peak_rss_bytes INTEGER,
    partitions            INTEGER NOT NULL DEFAULT 0,
    history_key           INTEGER
) STRICT;
INSERT INTO new_load SELECT * FROM load;
DROP TABLE load;
ALTER TABLE new_load RENAME TO load;

-- What each of several servers did in the window is counted in the workload's primary transactions.
ALTER TABLE instance_result RENAME COLUMN new_orders TO primary_transactions;

-- No ramp of an earlier format had this condition.
ALTER TABLE ramp ADD COLUMN stop_retries_share REAL;
