-- Format 15: labs on several machines.

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

-- Repeats of all cells that a plan asks for, by which a lab of shards knows what it lacks; NULL where there is no plan,
-- and in earlier formats.
ALTER TABLE lab ADD COLUMN turns INTEGER CHECK (turns > 0);
