-- Connections of a run may be spread over several schemas of one server (`--schemas K`).
ALTER TABLE cell ADD COLUMN schemas INTEGER NOT NULL DEFAULT 1 CHECK (schemas > 0);
