-- Format 4: where the files of a cell are, and what its storage did.

CREATE TABLE cell_place (
    cell_id           INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    role              TEXT    NOT NULL CHECK (role IN ('data', 'redo', 'undo', 'doublewrite', 'binlog', 'temp')),
    device            TEXT    NOT NULL,
    emulated          INTEGER NOT NULL CHECK (emulated IN (0, 1)),
    backing           TEXT    NOT NULL,
    PRIMARY KEY (cell_id, role)
) STRICT, WITHOUT ROWID;

CREATE TABLE role_io (
    repeat_id         INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    role              TEXT    NOT NULL CHECK (role IN ('data', 'redo', 'undo', 'doublewrite', 'binlog', 'temp')),
    counted_ns        INTEGER NOT NULL,
    outstanding_max   INTEGER NOT NULL,
    busy_ns           INTEGER NOT NULL,
    outstanding_ns    INTEGER NOT NULL,
    judged            INTEGER NOT NULL,
    within_tolerance  INTEGER NOT NULL,
    late_ns           INTEGER NOT NULL,
    overruns          INTEGER NOT NULL,
    PRIMARY KEY (repeat_id, role)
) STRICT, WITHOUT ROWID;

CREATE TABLE role_request (
    repeat_id             INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    role                  TEXT    NOT NULL CHECK (role IN ('data', 'redo', 'undo', 'doublewrite', 'binlog', 'temp')),
    kind                  TEXT    NOT NULL CHECK (kind IN ('read', 'write', 'flush')),
    requests              INTEGER NOT NULL,
    bytes                 INTEGER NOT NULL,
    response_sum_ns       INTEGER NOT NULL,
    response_max_ns       INTEGER NOT NULL,
    response_histogram_ns BLOB,
    service_sum_ns        INTEGER NOT NULL,
    service_max_ns        INTEGER NOT NULL,
    service_histogram_ns  BLOB,
    PRIMARY KEY (repeat_id, role, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE shim (
    repeat_id         INTEGER PRIMARY KEY REFERENCES repeat (id) ON DELETE CASCADE,
    setup             TEXT    NOT NULL,
    cache_hits        INTEGER NOT NULL,
    cache_misses      INTEGER NOT NULL,
    cache_pages       INTEGER NOT NULL,
    cache_dirty_pages INTEGER NOT NULL,
    uring_refused     INTEGER NOT NULL,
    model_full        INTEGER NOT NULL,
    files_unseen      INTEGER NOT NULL,
    maps_refused      INTEGER NOT NULL,
    model_ns          INTEGER NOT NULL,
    model_calls       INTEGER NOT NULL,
    spin_ns           INTEGER NOT NULL
) STRICT;
