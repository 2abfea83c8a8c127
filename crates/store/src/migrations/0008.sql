-- Format 8: partitions of the tables; what tells the figures of an emulated device from others of its name.

ALTER TABLE cell ADD COLUMN partitions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE load ADD COLUMN partitions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cell_place ADD COLUMN profile_fingerprint TEXT;
