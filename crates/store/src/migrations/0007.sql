-- Format 7: warm-ups and windows of automatic length.

ALTER TABLE cell ADD COLUMN warmup_auto INTEGER NOT NULL DEFAULT 0 CHECK (warmup_auto IN (0, 1));
ALTER TABLE cell ADD COLUMN window_auto INTEGER NOT NULL DEFAULT 0 CHECK (window_auto IN (0, 1));
ALTER TABLE cell ADD COLUMN precision_share REAL;

ALTER TABLE repeat ADD COLUMN warmup_measured_ns INTEGER;
ALTER TABLE repeat ADD COLUMN warmup_steady INTEGER CHECK (warmup_steady IN (0, 1));
ALTER TABLE repeat ADD COLUMN window_precision_share REAL;
