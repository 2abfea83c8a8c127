-- The results file, for readers described in docs/results-file.md; a test compares the two.
-- Instants are `*_utc_ns` (nanoseconds since 1970-01-01 UTC), durations `*_ns`, and offsets count
-- from the start of the run.

-- One execution of a plan, or of one command that measures.
CREATE TABLE lab (
    id              INTEGER PRIMARY KEY,
    name            TEXT    NOT NULL,
    plan            TEXT,
    command_line    TEXT    NOT NULL,
    mydyno_version  TEXT    NOT NULL,
    status          TEXT    NOT NULL CHECK (status IN ('running', 'done', 'failed', 'interrupted')),
    reason          TEXT,
    started_utc_ns  INTEGER NOT NULL,
    finished_utc_ns INTEGER,
    process         TEXT    NOT NULL,
    turns           INTEGER CHECK (turns > 0),
    adaptive        INTEGER NOT NULL DEFAULT 0 CHECK (adaptive IN (0, 1))
) STRICT;

-- The machines that measured, each as it was when it came to the lab.
CREATE TABLE host_fact (
    lab_id  INTEGER NOT NULL REFERENCES lab (id) ON DELETE CASCADE,
    machine INTEGER NOT NULL CHECK (machine > 0),
    key     TEXT    NOT NULL,
    value   TEXT    NOT NULL,
    PRIMARY KEY (lab_id, machine, key)
) STRICT, WITHOUT ROWID;

-- One combination of the matrix.
CREATE TABLE cell (
    id                  INTEGER PRIMARY KEY,
    lab_id              INTEGER NOT NULL REFERENCES lab (id) ON DELETE CASCADE,
    ordinal             INTEGER NOT NULL,
    engine              TEXT    NOT NULL,
    server_version      TEXT    NOT NULL,
    flavour             TEXT    NOT NULL,
    transport           TEXT    NOT NULL,
    target              TEXT    NOT NULL,
    workload            TEXT    NOT NULL,
    throughput_metric   TEXT    NOT NULL CHECK (throughput_metric IN ('nopm', 'tpm')),
    style               TEXT    NOT NULL,
    warehouses          INTEGER,
    connections         INTEGER NOT NULL,
    home                INTEGER CHECK (home IN (0, 1)),
    foreign_keys        INTEGER CHECK (foreign_keys IN (0, 1)),
    warmup_ns           INTEGER NOT NULL,
    window_ns           INTEGER NOT NULL,
    interval_ns         INTEGER NOT NULL,
    seed                INTEGER NOT NULL,
    result_metadata     TEXT    CHECK (result_metadata IN ('always', 'cached', 'omitted')),
    terminals           INTEGER,
    inactive_warehouses INTEGER,
    rate_asked          TEXT,
    arrivals            TEXT    CHECK (arrivals IN ('poisson', 'uniform')),
    schemas             INTEGER NOT NULL DEFAULT 1 CHECK (schemas > 0),
    warmup_auto         INTEGER NOT NULL DEFAULT 0 CHECK (warmup_auto IN (0, 1)),
    window_auto         INTEGER NOT NULL DEFAULT 0 CHECK (window_auto IN (0, 1)),
    precision_share     REAL,
    partitions          INTEGER NOT NULL DEFAULT 0,
    instances           INTEGER NOT NULL DEFAULT 1 CHECK (instances > 0),
    isolation           TEXT,
    history_key         INTEGER,
    cores               INTEGER CHECK (cores > 0),
    UNIQUE (lab_id, ordinal)
) STRICT;

-- The types of transactions of a cell's workload.
CREATE TABLE cell_transaction (
    cell_id    INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    is_primary INTEGER NOT NULL CHECK (is_primary IN (0, 1)),
    row_bytes  INTEGER,
    PRIMARY KEY (cell_id, name)
) STRICT, WITHOUT ROWID;

-- What else tells a cell from its neighbours.
CREATE TABLE cell_setting (
    cell_id INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    name    TEXT    NOT NULL,
    value   TEXT    NOT NULL,
    PRIMARY KEY (cell_id, name)
) STRICT, WITHOUT ROWID;

-- The preset that the server of a cell was started with; no row where there was none, or where
-- mydyno did not start the server.
CREATE TABLE cell_preset (
    cell_id              INTEGER PRIMARY KEY REFERENCES cell (id) ON DELETE CASCADE,
    name                 TEXT    NOT NULL,
    scaled_to_warehouses INTEGER
) STRICT;

-- What became of each variable of a preset on that server.
CREATE TABLE preset_variable (
    cell_id         INTEGER NOT NULL REFERENCES cell_preset (cell_id) ON DELETE CASCADE,
    ordinal         INTEGER NOT NULL,
    variable        TEXT    NOT NULL,
    asked           TEXT    NOT NULL,
    fate            TEXT    NOT NULL
        CHECK (fate IN ('kept', 'renamed', 'folded', 'scaled', 'clamped', 'added', 'placed',
        'unknown', 'overridden')),
    became_variable TEXT,
    became_value    TEXT,
    reason          TEXT,
    PRIMARY KEY (cell_id, ordinal)
) STRICT, WITHOUT ROWID;

-- Where the files of a cell are, by what they are for; no rows where no place was asked for and
-- nothing was counted.
CREATE TABLE cell_place (
    cell_id             INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    role                TEXT    NOT NULL
        CHECK (role IN ('data', 'redo', 'undo', 'doublewrite', 'binlog', 'temp')),
    device              TEXT    NOT NULL,
    emulated            INTEGER NOT NULL CHECK (emulated IN (0, 1)),
    used                TEXT,
    backing             TEXT    NOT NULL,
    profile_fingerprint TEXT,
    PRIMARY KEY (cell_id, role)
) STRICT, WITHOUT ROWID;

-- One measurement of a cell.
CREATE TABLE repeat (
    id                            INTEGER PRIMARY KEY,
    cell_id                       INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
    ordinal                       INTEGER NOT NULL,
    attempt                       INTEGER NOT NULL,
    status                        TEXT    NOT NULL
        CHECK (status IN ('running', 'done', 'failed', 'skipped')),
    reason_code                   TEXT,
    reason                        TEXT,
    started_utc_ns                INTEGER NOT NULL,
    window_started_utc_ns         INTEGER,
    window_ended_utc_ns           INTEGER,
    finished_utc_ns               INTEGER,
    measured_window_ns            INTEGER,
    interrupted                   INTEGER NOT NULL DEFAULT 0 CHECK (interrupted IN (0, 1)),
    client_cpu_ns                 INTEGER,
    client_peak_rss_bytes         INTEGER,
    statements                    INTEGER,
    committed_new_orders          INTEGER,
    in_doubt_new_orders           INTEGER,
    district_next_o_id_sum_before INTEGER,
    district_next_o_id_sum_after  INTEGER,
    reconnects                    INTEGER,
    my_cnf                        TEXT,
    log_tail                      TEXT,
    process                       TEXT    NOT NULL,
    capacity_per_s                REAL,
    rate_per_s                    REAL,
    ceiling_nopm                  REAL,
    ceiling_deviation_nopm        REAL,
    efficiency                    REAL,
    warmup_measured_ns            INTEGER,
    warmup_steady                 INTEGER CHECK (warmup_steady IN (0, 1)),
    window_precision_share        REAL,
    block                         INTEGER NOT NULL,
    new_orders_within_window      INTEGER CHECK (new_orders_within_window >= 0),
    pending_deliveries            INTEGER CHECK (pending_deliveries >= 0),
    seed                          INTEGER,
    driver_threads                INTEGER,
    capacity_precision_share      REAL,
    server_cpus                   TEXT,
    driver_cpus                   TEXT,
    dilation                      REAL    NOT NULL DEFAULT 1 CHECK (dilation > 0),
    data_bytes                    INTEGER CHECK (data_bytes >= 0),
    UNIQUE (cell_id, ordinal, attempt),
    CHECK (status NOT IN ('failed', 'skipped') OR reason_code IS NOT NULL),
    CHECK (status <> 'done' OR measured_window_ns IS NOT NULL)
) STRICT;

-- What one call of `mydyno lab run` measured of one repeat of its cells.
CREATE TABLE block (
    lab_id                    INTEGER NOT NULL REFERENCES lab (id) ON DELETE CASCADE,
    block                     INTEGER NOT NULL CHECK (block > 0),
    started_utc_ns            INTEGER NOT NULL,
    canary_cpu_ns             INTEGER,
    canary_memory_ns          INTEGER,
    canary_wake_up_latency_ns INTEGER,
    machine                   INTEGER NOT NULL DEFAULT 1 CHECK (machine > 0),
    PRIMARY KEY (lab_id, block)
) STRICT, WITHOUT ROWID;

-- What else the host did in the moment before a repeat.
CREATE TABLE host_before (
    repeat_id        INTEGER PRIMARY KEY REFERENCES repeat (id) ON DELETE CASCADE,
    others_cpu_share REAL    NOT NULL,
    steal_share      REAL    NOT NULL,
    disk_bytes_per_s REAL    NOT NULL
) STRICT;

-- The ranks of a fleet that drove a repeat together (`mydyno run --fleet`); none where one process
-- drove it.
CREATE TABLE fleet_rank (
    repeat_id            INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    rank                 INTEGER NOT NULL,
    host                 TEXT    NOT NULL,
    driver_threads       INTEGER NOT NULL,
    client_cpu_ns        INTEGER NOT NULL,
    run_wait_ns          INTEGER NOT NULL,
    network_bytes        INTEGER NOT NULL,
    clock_error_ns       INTEGER NOT NULL,
    start_late_ns        INTEGER NOT NULL,
    primary_transactions INTEGER NOT NULL,
    lost                 TEXT,
    PRIMARY KEY (repeat_id, rank)
) STRICT, WITHOUT ROWID;

-- The end of a repeat's server by a fault, and what came of it (`mydyno crash`, `[crash]`).
CREATE TABLE drill (
    repeat_id       INTEGER PRIMARY KEY REFERENCES repeat (id) ON DELETE CASCADE,
    fault           TEXT    NOT NULL,
    recovery_ns     INTEGER,
    damage          TEXT,
    lost_span_ns    INTEGER,
    unstable_writes INTEGER,
    lost_writes     INTEGER,
    torn_writes     INTEGER,
    lost_names      INTEGER,
    forced_writes   INTEGER,
    reaction        TEXT,
    client_errors   INTEGER,
    said            TEXT,
    torn_pages      INTEGER,
    corrupt_pages   INTEGER
) STRICT;

-- What the driver was told until then, held against the database that recovered.
CREATE TABLE drill_witness (
    repeat_id    INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    ordinal      INTEGER NOT NULL CHECK (ordinal > 0),
    name         TEXT    NOT NULL,
    acknowledged INTEGER NOT NULL,
    in_doubt     INTEGER NOT NULL,
    lost         INTEGER NOT NULL,
    unexplained  INTEGER NOT NULL,
    PRIMARY KEY (repeat_id, ordinal)
) STRICT, WITHOUT ROWID;

-- What was read from each replica of a repeat (`--topology primary-replicas`), the warm-up
-- included.
CREATE TABLE replica (
    repeat_id    INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    node         INTEGER NOT NULL CHECK (node > 0),
    reads        INTEGER NOT NULL,
    stale_reads  INTEGER NOT NULL,
    stale_max_ns INTEGER NOT NULL,
    PRIMARY KEY (repeat_id, node)
) STRICT, WITHOUT ROWID;

-- One rise of connections.
CREATE TABLE ramp (
    id                      INTEGER PRIMARY KEY,
    lab_id                  INTEGER NOT NULL REFERENCES lab (id) ON DELETE CASCADE,
    ordinal                 INTEGER NOT NULL,
    repeat                  INTEGER NOT NULL,
    connections_start       INTEGER NOT NULL,
    connections_step        INTEGER NOT NULL,
    connections_max         INTEGER NOT NULL,
    points_max              INTEGER NOT NULL,
    stop_cpu_busy_share     REAL,
    stop_kink_elasticity    REAL,
    stop_plateau_elasticity REAL,
    finished_utc_ns         INTEGER,
    stop_retries_share      REAL,
    UNIQUE (lab_id, ordinal, repeat)
) STRICT;

-- Response times that end a ramp.
CREATE TABLE ramp_response_limit (
    ramp_id          INTEGER NOT NULL REFERENCES ramp (id) ON DELETE CASCADE,
    transaction_type TEXT    NOT NULL,
    p90_us           REAL    NOT NULL,
    PRIMARY KEY (ramp_id, transaction_type)
) STRICT, WITHOUT ROWID;

-- Which repeats are points of a ramp; in the order of `repeat_id` they were measured.
CREATE TABLE ramp_point (
    repeat_id INTEGER PRIMARY KEY REFERENCES repeat (id) ON DELETE CASCADE,
    ramp_id   INTEGER NOT NULL REFERENCES ramp (id) ON DELETE CASCADE
) STRICT;

-- What each of several servers of a cell did in the window; no rows where there was one.
CREATE TABLE instance_result (
    repeat_id            INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    instance             INTEGER NOT NULL CHECK (instance > 0),
    primary_transactions INTEGER NOT NULL CHECK (primary_transactions >= 0),
    PRIMARY KEY (repeat_id, instance)
) STRICT, WITHOUT ROWID;

-- `SHOW GLOBAL VARIABLES`, before and after the window.
CREATE TABLE server_variable (
    repeat_id INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    phase     TEXT    NOT NULL CHECK (phase IN ('start', 'end')),
    name      TEXT    NOT NULL,
    value     TEXT    NOT NULL,
    PRIMARY KEY (repeat_id, name, phase)
) STRICT, WITHOUT ROWID;

-- `SHOW GLOBAL STATUS`, whole, before and after the window.
CREATE TABLE server_status (
    repeat_id INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    phase     TEXT    NOT NULL CHECK (phase IN ('start', 'end')),
    name      TEXT    NOT NULL,
    value     TEXT    NOT NULL,
    PRIMARY KEY (repeat_id, name, phase)
) STRICT, WITHOUT ROWID;

-- What was sampled each second beside the load; docs/metrics.md lists the names.
CREATE TABLE metric (
    id        INTEGER PRIMARY KEY,
    repeat_id INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    source    TEXT    NOT NULL CHECK (source IN ('host', 'process', 'server', 'shim', 'power')),
    name      TEXT    NOT NULL,
    label     TEXT    NOT NULL,
    kind      TEXT    NOT NULL CHECK (kind IN ('counter', 'gauge')),
    UNIQUE (repeat_id, source, name, label)
) STRICT;

-- The values, as they were read.
CREATE TABLE sample (
    metric_id    INTEGER NOT NULL REFERENCES metric (id) ON DELETE CASCADE,
    at_offset_ns INTEGER NOT NULL,
    value        INTEGER NOT NULL,
    PRIMARY KEY (metric_id, at_offset_ns)
) STRICT, WITHOUT ROWID;

-- One transaction type in one interval of the run, about a second long.
CREATE TABLE interval (
    id                    INTEGER PRIMARY KEY,
    repeat_id             INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    phase                 TEXT    NOT NULL CHECK (phase IN ('warmup', 'window', 'drain')),
    start_offset_ns       INTEGER NOT NULL,
    end_offset_ns         INTEGER NOT NULL,
    transaction_type      TEXT    NOT NULL,
    committed             INTEGER NOT NULL,
    rolled_back           INTEGER NOT NULL,
    deadlocks             INTEGER NOT NULL,
    lock_wait_timeouts    INTEGER NOT NULL,
    other_retries         INTEGER NOT NULL,
    errors                INTEGER NOT NULL,
    latency_sum_ns        INTEGER NOT NULL,
    latency_max_ns        INTEGER NOT NULL,
    latency_out_of_bounds INTEGER NOT NULL,
    latency_histogram_ns  BLOB
) STRICT;
CREATE INDEX interval_by_repeat ON interval (repeat_id, start_offset_ns);

-- How an open loop kept its schedule in one interval; only for runs with `rate_asked`.
CREATE TABLE interval_schedule (
    repeat_id       INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    phase           TEXT    NOT NULL CHECK (phase IN ('warmup', 'window', 'drain')),
    start_offset_ns INTEGER NOT NULL,
    end_offset_ns   INTEGER NOT NULL,
    offered         INTEGER NOT NULL,
    late            INTEGER NOT NULL,
    skipped         INTEGER NOT NULL,
    PRIMARY KEY (repeat_id, start_offset_ns, phase)
) STRICT, WITHOUT ROWID;

-- Other times than response times in one interval, where there are any.
CREATE TABLE interval_time (
    id               INTEGER PRIMARY KEY,
    repeat_id        INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    phase            TEXT    NOT NULL CHECK (phase IN ('warmup', 'window', 'drain')),
    start_offset_ns  INTEGER NOT NULL,
    end_offset_ns    INTEGER NOT NULL,
    kind             TEXT    NOT NULL
        CHECK (kind IN ('lag', 'service', 'acknowledgement', 'keying', 'think')),
    transaction_type TEXT,
    occurrences      INTEGER NOT NULL,
    sum_ns           INTEGER NOT NULL,
    max_ns           INTEGER NOT NULL,
    out_of_bounds    INTEGER NOT NULL,
    histogram_ns     BLOB
) STRICT;
CREATE INDEX interval_time_by_repeat ON interval_time (repeat_id, start_offset_ns);

-- The transactions of one type that the window counts, and what of their response times passed
-- without a statement.
CREATE TABLE transaction_time (
    repeat_id        INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    transaction_type TEXT    NOT NULL,
    transactions     INTEGER NOT NULL,
    response_sum_ns  INTEGER NOT NULL,
    queued_sum_ns    INTEGER NOT NULL,
    paused_sum_ns    INTEGER NOT NULL,
    PRIMARY KEY (repeat_id, transaction_type)
) STRICT, WITHOUT ROWID;

-- The statements of the same transactions, by what they do; those of failed tries of a transaction
-- count too.
CREATE TABLE statement_time (
    repeat_id        INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    transaction_type TEXT    NOT NULL,
    statement_kind   TEXT    NOT NULL,
    executions       INTEGER NOT NULL,
    sum_ns           INTEGER NOT NULL,
    max_ns           INTEGER NOT NULL,
    out_of_bounds    INTEGER NOT NULL,
    histogram_ns     BLOB,
    PRIMARY KEY (repeat_id, transaction_type, statement_kind)
) STRICT, WITHOUT ROWID;

-- What the clauses ask of a run with terminals, and what came of it.
CREATE TABLE verdict (
    repeat_id    INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    ordinal      INTEGER NOT NULL,
    name         TEXT    NOT NULL,
    title        TEXT    NOT NULL,
    clause       TEXT    NOT NULL,
    unit         TEXT    NOT NULL CHECK (unit IN ('s', 'share', 'average', 'nopm_per_warehouse')),
    value        REAL,
    allowed_low  REAL,
    allowed_high REAL,
    chance_low   REAL,
    chance_high  REAL,
    verdict      TEXT    NOT NULL CHECK (verdict IN ('within', 'chance', 'outside', 'no_data')),
    passed       INTEGER CHECK (passed IN (0, 1)),
    PRIMARY KEY (repeat_id, name)
) STRICT, WITHOUT ROWID;

-- What a server asked of its storage in the window, by what the file is for; no rows where the shim
-- was not there to count.
CREATE TABLE role_io (
    repeat_id        INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    role             TEXT    NOT NULL
        CHECK (role IN ('data', 'redo', 'undo', 'doublewrite', 'binlog', 'temp')),
    counted_ns       INTEGER NOT NULL,
    outstanding_max  INTEGER NOT NULL,
    busy_ns          INTEGER NOT NULL,
    outstanding_ns   INTEGER NOT NULL,
    judged           INTEGER NOT NULL,
    within_tolerance INTEGER NOT NULL,
    late_ns          INTEGER NOT NULL,
    overruns         INTEGER NOT NULL,
    PRIMARY KEY (repeat_id, role)
) STRICT, WITHOUT ROWID;

-- The same by kind of request.
CREATE TABLE role_request (
    repeat_id              INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    role                   TEXT    NOT NULL
        CHECK (role IN ('data', 'redo', 'undo', 'doublewrite', 'binlog', 'temp')),
    kind                   TEXT    NOT NULL CHECK (kind IN ('read', 'write', 'flush')),
    requests               INTEGER NOT NULL,
    bytes                  INTEGER NOT NULL,
    response_sum_ns        INTEGER NOT NULL,
    response_max_ns        INTEGER NOT NULL,
    response_out_of_bounds INTEGER NOT NULL,
    response_histogram_ns  BLOB,
    service_sum_ns         INTEGER NOT NULL,
    service_max_ns         INTEGER NOT NULL,
    service_out_of_bounds  INTEGER NOT NULL,
    service_histogram_ns   BLOB,
    PRIMARY KEY (repeat_id, role, kind)
) STRICT, WITHOUT ROWID;

-- What the shim was told, and what it counted for the whole server process; one row for each repeat
-- that ran under it.
CREATE TABLE shim (
    repeat_id         INTEGER PRIMARY KEY REFERENCES repeat (id) ON DELETE CASCADE,
    setup             TEXT    NOT NULL,
    cache_hits        INTEGER NOT NULL,
    cache_misses      INTEGER NOT NULL,
    cache_pages       INTEGER NOT NULL,
    cache_dirty_pages INTEGER NOT NULL,
    uring_refused     INTEGER NOT NULL,
    model_full        INTEGER NOT NULL,
    files_unseen      INTEGER NOT NULL,
    maps_refused      INTEGER NOT NULL,
    model_ns          INTEGER NOT NULL,
    model_calls       INTEGER NOT NULL,
    spin_ns           INTEGER NOT NULL
) STRICT;

-- Failed tries by type and error, over the whole run.
CREATE TABLE failure (
    repeat_id        INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    transaction_type TEXT    NOT NULL,
    error_code       TEXT    NOT NULL,
    occurrences      INTEGER NOT NULL,
    first_message    TEXT    NOT NULL,
    PRIMARY KEY (repeat_id, transaction_type, error_code)
) STRICT, WITHOUT ROWID;

-- Transactions of one type that were in flight at the end of the window.
CREATE TABLE in_flight (
    repeat_id        INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    transaction_type TEXT    NOT NULL,
    transactions     INTEGER NOT NULL,
    sum_ns           INTEGER NOT NULL,
    max_ns           INTEGER NOT NULL,
    out_of_bounds    INTEGER NOT NULL,
    histogram_ns     BLOB,
    PRIMARY KEY (repeat_id, transaction_type)
) STRICT, WITHOUT ROWID;

-- Where the connections were in the window.
CREATE TABLE connection_time (
    repeat_id          INTEGER PRIMARY KEY REFERENCES repeat (id) ON DELETE CASCADE,
    in_transactions_ns INTEGER NOT NULL,
    idle_ns            INTEGER NOT NULL,
    error_pauses_ns    INTEGER NOT NULL,
    lost_ns            INTEGER NOT NULL
) STRICT;

-- Times in which transactions were in flight and none ended, of more than 1 s and ten median
-- response times, that lie in the window at least in part; the 100 longest of a repeat.
CREATE TABLE silence (
    repeat_id       INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    ordinal         INTEGER NOT NULL CHECK (ordinal > 0),
    start_offset_ns INTEGER NOT NULL,
    end_offset_ns   INTEGER NOT NULL,
    in_flight       INTEGER NOT NULL,
    failures        INTEGER NOT NULL,
    is_over         INTEGER NOT NULL CHECK (is_over IN (0, 1)),
    PRIMARY KEY (repeat_id, ordinal)
) STRICT, WITHOUT ROWID;

-- Clause-5 counters of the inputs that were generated.
CREATE TABLE input_counter (
    repeat_id    INTEGER NOT NULL REFERENCES repeat (id) ON DELETE CASCADE,
    ordinal      INTEGER NOT NULL,
    name         TEXT    NOT NULL,
    title        TEXT    NOT NULL,
    unit         TEXT    NOT NULL CHECK (unit IN ('share', 'average')),
    hits         INTEGER NOT NULL,
    trials       INTEGER NOT NULL,
    value        REAL,
    allowed_low  REAL,
    allowed_high REAL,
    chance_low   REAL,
    chance_high  REAL,
    verdict      TEXT    NOT NULL CHECK (verdict IN ('within', 'chance', 'outside', 'no_data')),
    passed       INTEGER CHECK (passed IN (0, 1)),
    PRIMARY KEY (repeat_id, name)
) STRICT, WITHOUT ROWID;

-- One population of a database.
CREATE TABLE load (
    id                    INTEGER PRIMARY KEY,
    lab_id                INTEGER REFERENCES lab (id) ON DELETE SET NULL,
    target                TEXT    NOT NULL,
    engine                TEXT    NOT NULL,
    server_version        TEXT    NOT NULL,
    warehouses            INTEGER,
    seed                  INTEGER NOT NULL,
    threads               INTEGER NOT NULL,
    method                TEXT    NOT NULL CHECK (method IN ('local_infile', 'inserts')),
    foreign_keys          INTEGER CHECK (foreign_keys IN (0, 1)),
    started_utc_ns        INTEGER NOT NULL,
    finished_utc_ns       INTEGER NOT NULL,
    duration_ns           INTEGER NOT NULL,
    total_rows            INTEGER NOT NULL,
    total_bytes           INTEGER NOT NULL,
    client_cpu_ns         INTEGER NOT NULL,
    client_peak_rss_bytes INTEGER,
    partitions            INTEGER NOT NULL DEFAULT 0,
    history_key           INTEGER
) STRICT;

-- The tables of a population.
CREATE TABLE load_table (
    load_id    INTEGER NOT NULL REFERENCES load (id) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,
    table_name TEXT    NOT NULL,
    table_rows INTEGER NOT NULL,
    checksum   TEXT    NOT NULL,
    PRIMARY KEY (load_id, table_name)
) STRICT, WITHOUT ROWID;

-- Consistency conditions and invariants, after a repeat, after a load, or of a database by itself
-- (then it belongs to the lab).
CREATE TABLE check_result (
    id             INTEGER PRIMARY KEY,
    lab_id         INTEGER REFERENCES lab (id) ON DELETE CASCADE,
    repeat_id      INTEGER REFERENCES repeat (id) ON DELETE CASCADE,
    load_id        INTEGER REFERENCES load (id) ON DELETE CASCADE,
    name           TEXT    NOT NULL,
    title          TEXT    NOT NULL,
    clause         TEXT    NOT NULL,
    passed         INTEGER NOT NULL CHECK (passed IN (0, 1)),
    offending_rows INTEGER NOT NULL,
    examples_json  TEXT    NOT NULL,
    duration_ns    INTEGER NOT NULL,
    CHECK ((lab_id IS NOT NULL) + (repeat_id IS NOT NULL) + (load_id IS NOT NULL) = 1)
) STRICT;
CREATE INDEX check_result_by_repeat ON check_result (repeat_id);

-- Deviations, warnings, settings that were dropped.
CREATE TABLE note (
    id        INTEGER PRIMARY KEY,
    lab_id    INTEGER REFERENCES lab (id) ON DELETE CASCADE,
    repeat_id INTEGER REFERENCES repeat (id) ON DELETE CASCADE,
    note      TEXT    NOT NULL,
    CHECK ((lab_id IS NOT NULL) + (repeat_id IS NOT NULL) = 1)
) STRICT;
