-- One row in every table, whose keys are not those that they get in the output.
INSERT INTO lab (id, name, plan, command_line, mydyno_version, status, started_utc_ns, finished_utc_ns, process, turns)
    VALUES (7, 'test', 'plan', 'mydyno lab run', '0.1.0', 'interrupted', 5, 90, 'boot:1:2', 4);
INSERT INTO host_fact VALUES (7, 1, 'host_name', 'node-7');
INSERT INTO block (lab_id, block, started_utc_ns, machine) VALUES (7, 1, 6, 1);
INSERT INTO cell (id, lab_id, ordinal, engine, server_version, flavour, transport, target, workload, throughput_metric, style,
        warehouses, connections, home, foreign_keys, warmup_ns, window_ns, interval_ns, seed)
    VALUES (70, 7, 9, 'mysql-5.7', '5.7.22', 'mysql', 'tcp', '', 'tpcc', 'nopm', 'statements', 1, 8, 0, 1, 0, 1, 1, 1);
INSERT INTO cell_setting VALUES (70, 'a', 'b');
INSERT INTO cell_place VALUES (70, 'data', 'disk', 1, '5 % used', 'memory', 'figures');
INSERT INTO cell_transaction VALUES (70, 1, 'new_order', 1, 1);
INSERT INTO cell_preset VALUES (70, 'config-1', 10);
INSERT INTO preset_variable VALUES (70, 1, 'v', '1', 'kept', NULL, NULL, NULL);
INSERT INTO repeat (id, cell_id, ordinal, attempt, status, reason_code, started_utc_ns, process, block)
    VALUES (700, 70, 3, 1, 'failed', 'server_died', 8, 'boot:1:2', 1);
INSERT INTO ramp (id, lab_id, ordinal, repeat, connections_start, connections_step, connections_max, points_max)
    VALUES (71, 7, 1, 3, 1, 1, 8, 3);
INSERT INTO ramp_response_limit VALUES (71, 'new_order', 5.0);
INSERT INTO ramp_point VALUES (700, 71);
INSERT INTO load (id, lab_id, target, engine, server_version, warehouses, seed, threads, method, foreign_keys,
        started_utc_ns, finished_utc_ns, duration_ns, total_rows, total_bytes, client_cpu_ns)
    VALUES (72, 7, '', 'mysql-5.7', '5.7.22', 1, 1, 1, 'inserts', 1, 5, 6, 1, 10, 10, 10);
INSERT INTO load_table VALUES (72, 1, 'stock', 10, 'sum');
INSERT INTO check_result VALUES (73, NULL, 700, NULL, 'c', 'c', '3.3.2.1', 1, 0, '[]', 1);
INSERT INTO note VALUES (74, NULL, 700, 'a note');
INSERT INTO server_variable VALUES (700, 'start', 'v', '1');
INSERT INTO server_status VALUES (700, 'start', 's', '1');
INSERT INTO interval VALUES (75, 700, 'window', 0, 1, 'new_order', 1, 0, 0, 0, 0, 0, 1, 1, 0, NULL);
INSERT INTO interval_schedule VALUES (700, 'window', 0, 1, 1, 0, 0);
INSERT INTO interval_time VALUES (76, 700, 'window', 0, 1, 'lag', NULL, 1, 1, 1, 0, NULL);
INSERT INTO failure VALUES (700, 'payment', '1205', 1, 'lock');
INSERT INTO input_counter VALUES (700, 1, 'i', 'i', 'share', 1, 2, 0.5, NULL, NULL, NULL, NULL, 'within', 1);
INSERT INTO verdict VALUES (700, 1, 'v', 'v', '5.2', 's', 1.0, NULL, NULL, NULL, NULL, 'within', 1);
INSERT INTO role_io VALUES (700, 'data', 1, 1, 1, 1, 1, 1, 1, 1);
INSERT INTO role_request VALUES (700, 'data', 'read', 1, 1, 1, 1, 0, NULL, 1, 1, 0, NULL);
INSERT INTO shim VALUES (700, '{}', 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
INSERT INTO metric VALUES (77, 700, 'host', 'cpu', '', 'gauge');
INSERT INTO sample VALUES (77, 1, 5);
INSERT INTO instance_result VALUES (700, 1, 5);
INSERT INTO transaction_time VALUES (700, 'payment', 1, 1, 1, 1);
INSERT INTO in_flight VALUES (700, 'payment', 1, 1, 1, 0, NULL);
INSERT INTO connection_time VALUES (700, 1, 1, 1, 1);
INSERT INTO silence VALUES (700, 1, 1, 2, 1, 3, 1);
INSERT INTO statement_time VALUES (700, 'payment', 'update', 1, 1, 1, 0, NULL);
INSERT INTO host_before VALUES (700, 0.5, 0.0, 1.0);
INSERT INTO drill VALUES (700, 'kill', 1, NULL, 0, NULL, NULL, NULL, NULL, NULL, 'stopped', 1, NULL, 2, 3);
INSERT INTO drill_witness VALUES (700, 1, 'new_order', 5, 0, 0, 0);
INSERT INTO fleet_rank VALUES (700, 1, 'node-7', 1, 5, 6, 7, 8, 9, 10, NULL);
INSERT INTO replica VALUES (700, 1, 9, 2, 5);
