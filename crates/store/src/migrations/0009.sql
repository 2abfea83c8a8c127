-- Format 9: ramps: what is to end one, and which measurements are its points; what it found is computed on reading.

CREATE TABLE ramp (
    id                      INTEGER PRIMARY KEY,
    lab_id                  INTEGER NOT NULL REFERENCES lab (id) ON DELETE CASCADE,
    ordinal                 INTEGER NOT NULL,
    repeat                  INTEGER NOT NULL,
    connections_start       INTEGER NOT NULL,
    connections_step        INTEGER NOT NULL,
    connections_max         INTEGER NOT NULL,
    points_max              INTEGER NOT NULL,
    stop_cpu_busy_share     REAL,
    stop_kink_elasticity    REAL,
    stop_plateau_elasticity REAL,
    finished_utc_ns         INTEGER,
    UNIQUE (lab_id, ordinal, repeat)
) STRICT;

CREATE TABLE ramp_response_limit (
    ramp_id          INTEGER NOT NULL REFERENCES ramp (id) ON DELETE CASCADE,
    transaction_type TEXT    NOT NULL,
    p90_us           REAL    NOT NULL,
    PRIMARY KEY (ramp_id, transaction_type)
) STRICT, WITHOUT ROWID;

CREATE TABLE ramp_point (
    repeat_id INTEGER PRIMARY KEY REFERENCES repeat (id) ON DELETE CASCADE,
    ramp_id   INTEGER NOT NULL REFERENCES ramp (id) ON DELETE CASCADE
) STRICT;
