-- Format 5: what was sampled beside the load, raw; rates and shares are computed on reading.

CREATE TABLE metric (
    id                INTEGER PRIMARY KEY,
    repeat_id         INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    source            TEXT    NOT NULL CHECK (source IN ('host', 'process', 'server', 'shim', 'power')),
    name              TEXT    NOT NULL,
    label             TEXT    NOT NULL,
    kind              TEXT    NOT NULL CHECK (kind IN ('counter', 'gauge')),
    UNIQUE (repeat_id, source, name, label)
) STRICT;

CREATE TABLE sample (
    metric_id         INTEGER NOT NULL REFERENCES metric (id) ON DELETE CASCADE,
    at_offset_ns      INTEGER NOT NULL,
    value             INTEGER NOT NULL,
    PRIMARY KEY (metric_id, at_offset_ns)
) STRICT, WITHOUT ROWID;

CREATE TABLE server_status (
    repeat_id         INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    phase             TEXT    NOT NULL CHECK (phase IN ('start', 'end')),
    name              TEXT    NOT NULL,
    value             TEXT    NOT NULL,
    PRIMARY KEY (repeat_id, name, phase)
) STRICT, WITHOUT ROWID;
