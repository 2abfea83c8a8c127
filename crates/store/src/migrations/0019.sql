-- Format 19: labs in which what came out decided what was measured next.

ALTER TABLE lab ADD COLUMN adaptive INTEGER NOT NULL DEFAULT 0 CHECK (adaptive IN (0, 1));
UPDATE lab SET adaptive = 1
WHERE (plan IS NULL AND name = 'advise') OR command_line LIKE '%mydyno tune %';
