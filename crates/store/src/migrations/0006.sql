-- Format 6: what became of a preset on the server of a cell.

CREATE TABLE cell_preset (
    cell_id              INTEGER PRIMARY KEY REFERENCES cell (id) ON DELETE CASCADE,
    name                 TEXT    NOT NULL,
    scaled_to_warehouses INTEGER
) STRICT;

CREATE TABLE preset_variable (
    cell_id         INTEGER NOT NULL REFERENCES cell_preset (cell_id) ON DELETE CASCADE,
    ordinal         INTEGER NOT NULL,
    variable        TEXT    NOT NULL,
    asked           TEXT    NOT NULL,
    fate            TEXT    NOT NULL CHECK (fate IN ('kept', 'renamed', 'folded', 'scaled', 'clamped', 'added', 'placed',
                                                     'unknown', 'overridden')),
    became_variable TEXT,
    became_value    TEXT,
    reason          TEXT,
    PRIMARY KEY (cell_id, ordinal)
) STRICT, WITHOUT ROWID;
