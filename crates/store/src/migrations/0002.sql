-- Format 2: terminals, schedules, and what clause 5 says of them.

ALTER TABLE cell ADD COLUMN result_metadata TEXT CHECK (result_metadata IN ('always', 'cached', 'omitted'));
ALTER TABLE cell ADD COLUMN terminals INTEGER;
ALTER TABLE cell ADD COLUMN inactive_warehouses INTEGER;
ALTER TABLE cell ADD COLUMN rate_asked TEXT;
ALTER TABLE cell ADD COLUMN arrivals TEXT CHECK (arrivals IN ('poisson', 'uniform'));

ALTER TABLE repeat ADD COLUMN capacity_per_s REAL;
ALTER TABLE repeat ADD COLUMN rate_per_s REAL;
ALTER TABLE repeat ADD COLUMN ceiling_nopm REAL;
ALTER TABLE repeat ADD COLUMN ceiling_deviation_nopm REAL;
ALTER TABLE repeat ADD COLUMN efficiency REAL;

CREATE TABLE interval_schedule (
    repeat_id         INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    phase             TEXT    NOT NULL CHECK (phase IN ('warmup', 'window', 'drain')),
    start_offset_ns   INTEGER NOT NULL,
    end_offset_ns     INTEGER NOT NULL,
    offered           INTEGER NOT NULL,
    late              INTEGER NOT NULL,
    skipped           INTEGER NOT NULL,
    PRIMARY KEY (repeat_id, start_offset_ns, phase)
) STRICT, WITHOUT ROWID;

CREATE TABLE interval_time (
    id                INTEGER PRIMARY KEY,
    repeat_id         INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    phase             TEXT    NOT NULL CHECK (phase IN ('warmup', 'window', 'drain')),
    start_offset_ns   INTEGER NOT NULL,
    end_offset_ns     INTEGER NOT NULL,
    kind              TEXT    NOT NULL CHECK (kind IN ('lag', 'service', 'acknowledgement', 'keying', 'think')),
    transaction_type  TEXT,
    occurrences       INTEGER NOT NULL,
    sum_ns            INTEGER NOT NULL,
    max_ns            INTEGER NOT NULL,
    out_of_bounds     INTEGER NOT NULL,
    histogram_ns      BLOB
) STRICT;
CREATE INDEX interval_time_by_repeat ON interval_time (repeat_id, start_offset_ns);

CREATE TABLE verdict (
    repeat_id         INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    ordinal           INTEGER NOT NULL,
    name              TEXT    NOT NULL,
    title             TEXT    NOT NULL,
    clause            TEXT    NOT NULL,
    unit              TEXT    NOT NULL CHECK (unit IN ('s', 'share', 'average', 'nopm_per_warehouse')),
    value             REAL,
    allowed_low       REAL,
    allowed_high      REAL,
    chance_low        REAL,
    chance_high       REAL,
    verdict           TEXT    NOT NULL CHECK (verdict IN ('within', 'chance', 'outside', 'no_data')),
    PRIMARY KEY (repeat_id, name)
) STRICT, WITHOUT ROWID;
