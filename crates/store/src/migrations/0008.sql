-- Format 8: what tells the figures of an emulated device from others of its name.

ALTER TABLE cell_place ADD COLUMN profile_fingerprint TEXT;
