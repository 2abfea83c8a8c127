-- Format 13: dilated time.

-- How many times slower than real clocks those of the repeat ran; its numbers are in their time.
ALTER TABLE repeat ADD COLUMN dilation REAL NOT NULL DEFAULT 1 CHECK (dilation >= 1);
