-- Format 10: several servers may be driven together in one cell (`instances` of a plan, `--instances N`), each with a database of `warehouses`;
-- connections are divided among them, and numbers of a repeat are those of all servers together.
ALTER TABLE cell ADD COLUMN instances INTEGER NOT NULL DEFAULT 1 CHECK (instances > 0);

-- What each of several servers did in the window; no rows where there was one server.
CREATE TABLE instance_result (
    repeat_id  INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    instance   INTEGER NOT NULL CHECK (instance > 0),
    new_orders INTEGER NOT NULL CHECK (new_orders >= 0),
    PRIMARY KEY (repeat_id, instance)
) STRICT, WITHOUT ROWID;
