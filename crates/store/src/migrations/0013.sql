-- Format 13: private servers that are kept to some cores, and dilated time.

-- How many; NULL where they were kept to none, as in earlier formats.
ALTER TABLE cell ADD COLUMN cores INTEGER CHECK (cores > 0);

-- Which CPUs the servers of a repeat had, as their kernel told, and which mydyno had meanwhile.
ALTER TABLE repeat ADD COLUMN server_cpus TEXT;
ALTER TABLE repeat ADD COLUMN driver_cpus TEXT;

-- How many times slower than real clocks those of the repeat ran; its numbers are in their time.
ALTER TABLE repeat ADD COLUMN dilation REAL NOT NULL DEFAULT 1 CHECK (dilation >= 1);
