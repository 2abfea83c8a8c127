-- Format 17: drills.

-- What survived the end of a repeat's server.
CREATE TABLE drill (
    repeat_id       INTEGER PRIMARY KEY REFERENCES repeat (id) ON DELETE CASCADE,
    fault           TEXT    NOT NULL,
    recovery_ns     INTEGER,
    damage          TEXT,
    lost_span_ns    INTEGER,
    unstable_writes INTEGER,
    lost_writes     INTEGER,
    torn_writes     INTEGER,
    lost_names      INTEGER,
    forced_writes   INTEGER
) STRICT;

-- What the driver was told, held against the database that recovered.
CREATE TABLE drill_witness (
    repeat_id     INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    ordinal       INTEGER NOT NULL CHECK (ordinal > 0),
    name          TEXT    NOT NULL,
    acknowledged  INTEGER NOT NULL,
    in_doubt      INTEGER NOT NULL,
    lost          INTEGER NOT NULL,
    unexplained   INTEGER NOT NULL,
    PRIMARY KEY (repeat_id, ordinal)
) STRICT, WITHOUT ROWID;
