-- Format 14: how large the database of a repeat was.

-- Bytes of its tables and indexes before the run; NULL where the server did not tell, and in
-- earlier formats.
ALTER TABLE repeat ADD COLUMN data_bytes INTEGER CHECK (data_bytes >= 0);
