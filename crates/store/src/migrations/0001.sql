-- Format 1. Described for readers in docs/results-file.md; a test compares the two.
-- Instants are `*_utc_ns` (nanoseconds since 1970-01-01 UTC), durations `*_ns`, offsets count from the start of the run.

CREATE TABLE lab (
    id                INTEGER PRIMARY KEY,
    name              TEXT    NOT NULL,
    plan              TEXT,
    command_line      TEXT    NOT NULL,
    mydyno_version    TEXT    NOT NULL,
    status            TEXT    NOT NULL CHECK (status IN ('running', 'done', 'failed', 'interrupted')),
    reason            TEXT,
    started_utc_ns    INTEGER NOT NULL,
    finished_utc_ns   INTEGER,
    process           TEXT    NOT NULL
) STRICT;

CREATE TABLE host_fact (
    lab_id            INTEGER NOT NULL REFERENCES lab (id) ON DELETE CASCADE,
    key               TEXT    NOT NULL,
    value             TEXT    NOT NULL,
    PRIMARY KEY (lab_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE cell (
    id                INTEGER PRIMARY KEY,
    lab_id            INTEGER NOT NULL REFERENCES lab (id) ON DELETE CASCADE,
    ordinal           INTEGER NOT NULL,
    engine            TEXT    NOT NULL,
    server_version    TEXT    NOT NULL,
    flavour           TEXT    NOT NULL,
    transport         TEXT    NOT NULL,
    target            TEXT    NOT NULL,
    workload          TEXT    NOT NULL,
    style             TEXT    NOT NULL,
    warehouses        INTEGER NOT NULL,
    connections       INTEGER NOT NULL,
    home              INTEGER NOT NULL CHECK (home IN (0, 1)),
    foreign_keys      INTEGER NOT NULL CHECK (foreign_keys IN (0, 1)),
    warmup_ns         INTEGER NOT NULL,
    window_ns         INTEGER NOT NULL,
    interval_ns       INTEGER NOT NULL,
    seed              INTEGER NOT NULL,
    UNIQUE (lab_id, ordinal)
) STRICT;

CREATE TABLE cell_setting (
    cell_id           INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    name              TEXT    NOT NULL,
    value             TEXT    NOT NULL,
    PRIMARY KEY (cell_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE repeat (
    id                            INTEGER PRIMARY KEY,
    cell_id                       INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    ordinal                       INTEGER NOT NULL,
    attempt                       INTEGER NOT NULL,
    status                        TEXT    NOT NULL CHECK (status IN ('running', 'done', 'failed', 'skipped')),
    reason_code                   TEXT,
    reason                        TEXT,
    started_utc_ns                INTEGER NOT NULL,
    window_started_utc_ns         INTEGER,
    window_ended_utc_ns           INTEGER,
    finished_utc_ns               INTEGER,
    measured_window_ns            INTEGER,
    interrupted                   INTEGER NOT NULL DEFAULT 0 CHECK (interrupted IN (0, 1)),
    client_cpu_ns                 INTEGER,
    client_peak_rss_bytes         INTEGER,
    statements                    INTEGER,
    committed_new_orders          INTEGER,
    in_doubt_new_orders           INTEGER,
    district_next_o_id_sum_before INTEGER,
    district_next_o_id_sum_after  INTEGER,
    reconnects                    INTEGER,
    my_cnf                        TEXT,
    log_tail                      TEXT,
    process                       TEXT    NOT NULL,
    UNIQUE (cell_id, ordinal, attempt),
    CHECK (status NOT IN ('failed', 'skipped') OR reason_code IS NOT NULL),
    CHECK (status <> 'done' OR measured_window_ns IS NOT NULL)
) STRICT;

CREATE TABLE server_variable (
    repeat_id         INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    phase             TEXT    NOT NULL CHECK (phase IN ('start', 'end')),
    name              TEXT    NOT NULL,
    value             TEXT    NOT NULL,
    PRIMARY KEY (repeat_id, name, phase)
) STRICT, WITHOUT ROWID;

CREATE TABLE interval (
    id                   INTEGER PRIMARY KEY,
    repeat_id            INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    phase                TEXT    NOT NULL CHECK (phase IN ('warmup', 'window', 'drain')),
    start_offset_ns      INTEGER NOT NULL,
    end_offset_ns        INTEGER NOT NULL,
    transaction_type     TEXT    NOT NULL,
    committed            INTEGER NOT NULL,
    rolled_back          INTEGER NOT NULL,
    deadlocks            INTEGER NOT NULL,
    lock_wait_timeouts   INTEGER NOT NULL,
    other_retries        INTEGER NOT NULL,
    errors               INTEGER NOT NULL,
    latency_sum_ns       INTEGER NOT NULL,
    latency_max_ns       INTEGER NOT NULL,
    latency_out_of_bounds INTEGER NOT NULL,
    latency_histogram_ns BLOB
) STRICT;
CREATE INDEX interval_by_repeat ON interval (repeat_id, start_offset_ns);

CREATE TABLE failure (
    repeat_id         INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    transaction_type  TEXT    NOT NULL,
    error_code        TEXT    NOT NULL,
    occurrences       INTEGER NOT NULL,
    first_message     TEXT    NOT NULL,
    PRIMARY KEY (repeat_id, transaction_type, error_code)
) STRICT, WITHOUT ROWID;

CREATE TABLE input_counter (
    repeat_id         INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    ordinal           INTEGER NOT NULL,
    name              TEXT    NOT NULL,
    title             TEXT    NOT NULL,
    unit              TEXT    NOT NULL CHECK (unit IN ('share', 'average')),
    hits              INTEGER NOT NULL,
    trials            INTEGER NOT NULL,
    value             REAL,
    allowed_low       REAL,
    allowed_high      REAL,
    chance_low        REAL,
    chance_high       REAL,
    verdict           TEXT    NOT NULL CHECK (verdict IN ('within', 'chance', 'outside', 'no_data')),
    PRIMARY KEY (repeat_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE load (
    id                INTEGER PRIMARY KEY,
    lab_id            INTEGER REFERENCES lab (id) ON DELETE SET NULL,
    target            TEXT    NOT NULL,
    engine            TEXT    NOT NULL,
    server_version    TEXT    NOT NULL,
    warehouses        INTEGER NOT NULL,
    seed              INTEGER NOT NULL,
    threads           INTEGER NOT NULL,
    method            TEXT    NOT NULL CHECK (method IN ('local_infile', 'inserts')),
    foreign_keys      INTEGER NOT NULL CHECK (foreign_keys IN (0, 1)),
    started_utc_ns    INTEGER NOT NULL,
    finished_utc_ns   INTEGER NOT NULL,
    duration_ns       INTEGER NOT NULL,
    total_rows        INTEGER NOT NULL,
    total_bytes       INTEGER NOT NULL,
    client_cpu_ns     INTEGER NOT NULL,
    client_peak_rss_bytes INTEGER
) STRICT;

CREATE TABLE load_table (
    load_id           INTEGER NOT NULL REFERENCES load (id) ON DELETE CASCADE,
    ordinal           INTEGER NOT NULL,
    table_name        TEXT    NOT NULL,
    table_rows        INTEGER NOT NULL,
    checksum          TEXT    NOT NULL,
    PRIMARY KEY (load_id, table_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE check_result (
    id                INTEGER PRIMARY KEY,
    lab_id            INTEGER REFERENCES lab (id) ON DELETE CASCADE,
    repeat_id         INTEGER REFERENCES repeat (id) ON DELETE CASCADE,
    load_id           INTEGER REFERENCES load (id) ON DELETE CASCADE,
    name              TEXT    NOT NULL,
    title             TEXT    NOT NULL,
    clause            TEXT    NOT NULL,
    passed            INTEGER NOT NULL CHECK (passed IN (0, 1)),
    offending_rows    INTEGER NOT NULL,
    examples_json     TEXT    NOT NULL,
    duration_ns       INTEGER NOT NULL,
    CHECK ((lab_id IS NOT NULL) + (repeat_id IS NOT NULL) + (load_id IS NOT NULL) = 1)
) STRICT;
CREATE INDEX check_result_by_repeat ON check_result (repeat_id);

CREATE TABLE note (
    id                INTEGER PRIMARY KEY,
    lab_id            INTEGER REFERENCES lab (id) ON DELETE CASCADE,
    repeat_id         INTEGER REFERENCES repeat (id) ON DELETE CASCADE,
    note              TEXT    NOT NULL,
    CHECK ((lab_id IS NOT NULL) + (repeat_id IS NOT NULL) = 1)
) STRICT;
