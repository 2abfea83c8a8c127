-- Format 18: faults of devices, and pages.

ALTER TABLE drill ADD COLUMN reaction TEXT;
ALTER TABLE drill ADD COLUMN client_errors INTEGER;
ALTER TABLE drill ADD COLUMN said TEXT;
ALTER TABLE drill ADD COLUMN torn_pages INTEGER;
ALTER TABLE drill ADD COLUMN corrupt_pages INTEGER;
