-- Format 15: labs on several machines, and runs from several.

-- Facts by machine. In earlier formats a lab had one.
CREATE TABLE new_host_fact (
    lab_id            INTEGER NOT NULL REFERENCES lab (id) ON DELETE CASCADE,
    machine           INTEGER NOT NULL CHECK (machine > 0),
    key               TEXT    NOT NULL,
    value             TEXT    NOT NULL,
    PRIMARY KEY (lab_id, machine, key)
) STRICT, WITHOUT ROWID;
INSERT INTO new_host_fact SELECT lab_id, 1, key, value FROM host_fact;
DROP TABLE host_fact;
ALTER TABLE new_host_fact RENAME TO host_fact;

ALTER TABLE block ADD COLUMN machine INTEGER NOT NULL DEFAULT 1 CHECK (machine > 0);

-- Repeats of all cells that a plan asks for, by which a lab of shards knows what it lacks; NULL
-- where there is no plan, and in earlier formats.
ALTER TABLE lab ADD COLUMN turns INTEGER CHECK (turns > 0);

-- The ranks of a fleet that drove a repeat together.
CREATE TABLE fleet_rank (
    repeat_id             INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    rank                  INTEGER NOT NULL,
    host                  TEXT    NOT NULL,
    driver_threads        INTEGER NOT NULL,
    client_cpu_ns         INTEGER NOT NULL,
    run_wait_ns           INTEGER NOT NULL,
    network_bytes         INTEGER NOT NULL,
    clock_error_ns        INTEGER NOT NULL,
    start_late_ns         INTEGER NOT NULL,
    primary_transactions  INTEGER NOT NULL,
    lost                  TEXT,
    PRIMARY KEY (repeat_id, rank)
) STRICT, WITHOUT ROWID;
