//! What the server says of itself, as a run reads it: compared with other readings of the same
//! server, and with work of known size.

use crate::support::{
    Bed, Documented, Held, OBSERVED, PATIENCE, alive, connect_options, execute, monitor, mydyno,
    number, other_reading, read, table, until, value,
};
use base::{Connect, Session, SessionError};
use observe::{Readings, SampleSource, Sampled, Sampler, ServerSource};
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};
use store::MetricKind;
use wire::{ConnectOptions, Connector, Password};

const BIG_ROWS: i64 = 1 << 13;
const PAD_BYTES: i64 = 1_000;
/// Both count only some deadlocks, depending on who is the victim.
const MYSQL_LACKS: [&str; 1] = ["deadlocks"];
const XTRADB_LACKS: [&str; 1] = ["deadlocks"];
/// MariaDB 10.11 has them neither in its status nor, switched on, under these names in
/// INNODB_METRICS.
const MARIADB_LACKS: [&str; 6] = [
    "log_fsyncs",
    "log_pending_fsyncs",
    "rows_read",
    "rows_inserted",
    "rows_updated",
    "rows_deleted",
];

/// Everything with one server of the engine, which lacks some metrics. Prints what a reading has
/// and costs, and how long each step took.
#[expect(clippy::print_stdout, reason = "it is for who asks for it by --nocapture")]
fn whole(engine: &'static str, lacks: &[&str]) {
    let mut bed = Bed::start(engine);
    let delivered = bed.read();
    let table = table(engine, &delivered);
    // mydyno starts servers with performance_schema off.
    let is_lacking =
        |one: &Documented| lacks.contains(&one.name.as_str()) || one.needs_performance_schema;
    for one in &bed.documented {
        let is_told = delivered.contains_key(&one.name);
        assert!(is_told != is_lacking(one), "{}: {table}", one.name);
    }
    bed.documented.retain(|one| !is_lacking(one));
    type Step = (&'static str, fn(&mut Bed));
    let steps: [Step; 15] = [
        ("statements", statements),
        ("storage", storage),
        ("a wait of known length", a_wait_of_known_length),
        ("a wait that times out", a_wait_that_times_out),
        ("deadlocks", deadlocks),
        ("history", a_history_that_cannot_be_purged),
        ("sessions and tables", sessions_and_tables),
        ("other readings", agrees_with_other_readings),
        ("checkpoint", the_checkpoint_at_rest),
        ("no privileges", without_privileges),
        ("the whole status", the_whole_status),
        ("sampler", in_a_sampler),
        ("good-bye", says_good_bye),
        ("stands still", stands_still),
        ("killed", is_killed_and_comes_back),
    ];
    let mut told = table + &cost(&mut bed);
    for (title, step) in steps {
        let start = Instant::now();
        bed.is_alone();
        step(&mut bed);
        told += &format!("  {title}: {:?}\n", start.elapsed());
    }
    println!("{told}");
}

engines! {
    whole;
    test: mariadb_10_11(&MARIADB_LACKS);
    soak: mysql_5_7(&MYSQL_LACKS), mysql_8_0(&MYSQL_LACKS), xtradb_5_6(&XTRADB_LACKS);
}

/// Each metric lies between a reading before and one behind it, and there are no others.
fn agrees_with_other_readings(bed: &mut Bed) {
    let mut session = Held::open(&bed.dsn);
    let mut flutter = Vec::new();
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let before = other_reading(&mut session, &bed.documented);
        let read = bed.read();
        let behind = other_reading(&mut session, &bed.documented);
        assert!(read.keys().eq(before.keys()), "{read:?}\n{before:?}");
        flutter.clear();
        for one in &bed.documented {
            let Some((kind, value)) = read.get(&one.name) else {
                continue;
            };
            assert_eq!(*kind, one.kind, "{}", one.name);
            let (a, b) = (before[&one.name], behind[&one.name]);
            let told = format!("{} {}: {value} not in {a}..={b}", bed.engine, one.name);
            let is_between = (a.min(b)..=a.max(b)).contains(value);
            assert!(is_between || *kind == MetricKind::Gauge, "{told}");
            if !is_between {
                flutter.push(told);
            }
        }
        if flutter.is_empty() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("{flutter:?}");
}

fn statements(bed: &mut Bed) {
    const COMMITS: i64 = 20;
    const ROLLBACKS: i64 = 3;
    const SELECTS: i64 = 7;
    const DELETES: i64 = 5;
    const EXECUTIONS: i64 = 9;
    let mut session = Held::open(&bed.dsn);
    let mut sqls = Vec::new();
    let insert = |id: i64| format!("INSERT INTO work VALUES ({id}, 0, REPEAT('x', {PAD_BYTES}))");
    for id in 0..COMMITS + ROLLBACKS {
        let end = if id < COMMITS { "COMMIT" } else { "ROLLBACK" };
        let update = format!("UPDATE work SET n = n + 1 WHERE id = {id}");
        sqls.extend(["START TRANSACTION".to_owned(), insert(id), update, end.to_owned()]);
    }
    sqls.extend((0..SELECTS).map(|id| format!("SELECT pad FROM work WHERE id = {id}")));
    sqls.extend((0..DELETES).map(|id| format!("DELETE FROM work WHERE id = {}", 10 + id)));
    let sent_bytes: usize = sqls.iter().map(String::len).sum();
    let statements = sqls.len() as i64 + EXECUTIONS;
    let rows = COMMITS + ROLLBACKS;
    let at_least = [
        ("questions", statements),
        ("com_select", SELECTS),
        ("bytes_received", sent_bytes as i64),
        ("bytes_sent", SELECTS * PAD_BYTES),
        ("rows_inserted", rows),
        ("rows_updated", rows),
        ("rows_deleted", DELETES),
        ("rows_read", rows + SELECTS + DELETES),
        ("buffer_pool_read_requests", rows),
        ("log_write_requests", rows),
        ("log_writes", COMMITS),
        ("log_fsyncs", COMMITS),
        ("log_written_bytes", COMMITS * PAD_BYTES),
        ("log_lsn_bytes", COMMITS * PAD_BYTES),
    ];
    let exactly = [
        ("com_commit", COMMITS),
        ("com_rollback", ROLLBACKS),
        ("com_insert", rows),
        ("com_update", rows),
        ("com_delete", DELETES),
        ("com_stmt_execute", EXECUTIONS),
        ("deadlocks", 0),
        ("row_lock_waits", 0),
    ];
    let readings = bed.readings;
    let before = bed.read();
    bed.rises(&at_least, &exactly, |bed| {
        for sql in &sqls {
            session.query(sql);
        }
        execute_prepared(&bed.dsn, EXECUTIONS);
        bed.is_one_of(2);
    });
    let after = bed.read();
    let readings = bed.readings - readings;
    // What the readings themselves are: at most three statements each, one of them a SELECT; and
    // the end of a session.
    let questions = after["questions"].1 - before["questions"].1;
    assert!(questions <= statements + 3 * readings + 1, "{questions}");
    let selects = after["com_select"].1 - before["com_select"].1;
    assert!(selects <= SELECTS + readings, "{selects}");
}

fn execute_prepared(dsn: &str, times: i64) {
    let connector = Connector::new(connect_options(dsn)).unwrap();
    reactor::block_on(async {
        let mut session = connector.connect().await.unwrap();
        let statement = session.prepare_kind("do", "DO 1").await.unwrap();
        for _ in 0..times {
            session.execute(statement, &[]).await.unwrap();
        }
        Connector::close(session).await;
    })
    .unwrap();
}

/// A table larger than the pool is made, changed and looked at here and there.
fn storage(bed: &mut Bed) {
    // At the least 512 pages leave the pool, of which some are still being written at the end.
    const CHANGED: i64 = 250;
    const READ: i64 = 100;
    let mut session = Held::open(&bed.dsn);
    let page_bytes = value(&bed.dsn, "SELECT @@innodb_page_size").parse::<i64>().unwrap();
    assert_eq!(bed.gauge("page_size_bytes"), page_bytes);
    session.query(
        "CREATE TABLE big (id INT PRIMARY KEY, n INT NOT NULL, pad VARCHAR(4000) NOT \
        NULL) ENGINE = InnoDB",
    );
    let filled = [("rows_inserted", BIG_ROWS), ("pages_created", BIG_ROWS / 4)];
    bed.rises(&filled, &[], |_| {
        session.query("INSERT INTO big VALUES (0, 0, REPEAT('y', 4000))");
        for doubling in 0..BIG_ROWS.ilog2() {
            let by = 1 << doubling;
            session.query(&format!("INSERT INTO big SELECT id + {by}, n, pad FROM big"));
        }
    });
    let changed = [
        ("rows_updated", BIG_ROWS),
        ("pages_read", CHANGED),
        ("pages_written", CHANGED),
        ("buffer_pool_pages_flushed", CHANGED),
        ("doublewrite_pages", CHANGED),
        ("doublewrite_writes", 1),
        ("data_writes", 1),
        ("data_fsyncs", 1),
        ("data_written_bytes", 2 * CHANGED * page_bytes),
    ];
    bed.rises(&changed, &[], |_| {
        session.query("UPDATE big SET n = n + 1");
    });
    let read = [
        ("rows_read", 5 * READ),
        ("buffer_pool_read_requests", 5 * READ),
        ("buffer_pool_reads", READ),
        ("pages_read", READ),
        ("data_reads", READ),
        ("data_read_bytes", READ * page_bytes),
    ];
    bed.rises(&read, &[], |_| {
        for k in 0..5 * READ {
            let id = k * 4_099 % BIG_ROWS;
            assert_eq!(session.query(&format!("SELECT n FROM big WHERE id = {id}")), ["1"]);
        }
    });
    let pool = value(&bed.dsn, "SELECT @@innodb_buffer_pool_size").parse::<i64>().unwrap();
    let read = bed.read();
    let pages = |of: &str| read[&format!("buffer_pool_pages_{of}")].1;
    let total_bytes = pages("total") * page_bytes;
    assert!((pool * 8 / 10..=pool).contains(&total_bytes), "{total_bytes} of {pool}");
    assert!(pages("data") + pages("free") <= pages("total"));
    assert!(pages("dirty") <= pages("data"));
    assert!(pages("data") > 0);
    assert!(pages("total") < BIG_ROWS / 4, "the table has not to fit into the pool");
}

/// Changes a row that `holder` keeps locked, in a thread, and calls `meanwhile` while that waits.
/// Returns how it ended.
fn behind_a_lock(
    bed: &mut Bed,
    before: &[&str],
    meanwhile: impl FnOnce(&mut Bed, &mut Held),
) -> Result<(), SessionError> {
    let dsn = bed.dsn.clone();
    let mut holder = Held::open(&dsn);
    holder.query("START TRANSACTION");
    holder.query("UPDATE work SET n = n + 1 WHERE id = 1");
    thread::scope(|scope| {
        let (ready, is_ready) = channel();
        let waiter = scope.spawn(move || {
            let mut session = Held::open(&dsn);
            for sql in before {
                session.query(sql);
            }
            ready.send(()).unwrap();
            let ended = session.try_query("UPDATE work SET n = n + 1 WHERE id = 1");
            session.query("ROLLBACK");
            ended.map(|_| ())
        });
        is_ready.recv().unwrap();
        until("it waits for the row", || bed.gauge("row_lock_current_waits") == 1);
        assert!(bed.gauge("threads_running") >= 2);
        meanwhile(bed, &mut holder);
        let ended = waiter.join().unwrap();
        holder.query("ROLLBACK");
        assert_eq!(bed.gauge("row_lock_current_waits"), 0);
        drop(holder);
        bed.is_alone();
        ended
    })
}

fn a_wait_of_known_length(bed: &mut Bed) {
    const WAIT: Duration = Duration::from_millis(500);
    let start = Instant::now();
    let before = bed.read();
    let at_least = [("row_lock_time_ms", WAIT.as_millis() as i64)];
    let exactly = [("row_lock_waits", 1), ("deadlocks", 0), ("lock_wait_timeouts", 0)];
    bed.rises(&at_least, &exactly, |bed| {
        let ended = behind_a_lock(bed, &[], |_, holder| {
            thread::sleep(WAIT);
            holder.query("COMMIT");
        });
        assert_eq!(ended, Ok(()));
    });
    let waited_ms = bed.read()["row_lock_time_ms"].1 - before["row_lock_time_ms"].1;
    assert!(waited_ms <= start.elapsed().as_millis() as i64, "{waited_ms}");
}

fn a_wait_that_times_out(bed: &mut Bed) {
    // Long enough that it is seen before it ends.
    let at_least = [("row_lock_time_ms", 2_000)];
    let exactly = [("row_lock_waits", 1), ("lock_wait_timeouts", 1), ("deadlocks", 0)];
    bed.rises(&at_least, &exactly, |bed| {
        let patience = ["SET SESSION innodb_lock_wait_timeout = 3"];
        let ended = behind_a_lock(bed, &patience, |bed, _| {
            until("it gives up", || bed.gauge("row_lock_current_waits") == 0);
        });
        assert!(ended.unwrap_err().is_lock_wait_timeout());
    });
}

/// One whose victim is the transaction that closes the cycle, and one whose victim waits already,
/// because it has changed less.
fn deadlocks(bed: &mut Bed) {
    let exactly = [("deadlocks", 2), ("lock_wait_timeouts", 0)];
    bed.rises(&[], &exactly, |bed| {
        for is_holder_heavy in [false, true] {
            let (waiter, holder) = deadlock(bed, is_holder_heavy);
            assert_eq!((waiter, holder), (is_holder_heavy, !is_holder_heavy));
        }
    });
}

/// Returns whether the one that waited first was the victim, and whether the one that came behind
/// it was.
fn deadlock(bed: &mut Bed, is_holder_heavy: bool) -> (bool, bool) {
    let mut holder_ended = Ok(());
    let second = ["START TRANSACTION", "UPDATE work SET n = n + 1 WHERE id = 2"];
    let waiter_ended = behind_a_lock(bed, &second, |_, holder| {
        if is_holder_heavy {
            holder.query("UPDATE work SET n = n + 1 WHERE id BETWEEN 4 AND 9");
        }
        let sql = "UPDATE work SET n = n + 1 WHERE id = 2";
        holder_ended = holder.try_query(sql).map(|_| ());
        holder.query("ROLLBACK");
    });
    let is_victim =
        |ended: &Result<(), SessionError>| ended.as_ref().is_err_and(SessionError::is_deadlock);
    (is_victim(&waiter_ended), is_victim(&holder_ended))
}

fn a_history_that_cannot_be_purged(bed: &mut Bed) {
    const TRANSACTIONS: i64 = 30;
    let mut old = Held::open(&bed.dsn);
    old.query("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    old.query("SELECT COUNT(*) FROM work");
    let mut session = Held::open(&bed.dsn);
    for _ in 0..TRANSACTIONS {
        session.query("UPDATE work SET n = n + 1 WHERE id = 2");
    }
    let entries = bed.gauge("history_list_entries");
    assert!((TRANSACTIONS..1_000).contains(&entries), "{entries}");
    old.query("COMMIT");
}

fn sessions_and_tables(bed: &mut Bed) {
    let at_least = [("tmp_disk_tables", 1), ("opened_tables", 1)];
    let exactly = [("binlog_cache_disk_use", 1), ("threads_connected", 3)];
    let mut held = Vec::new();
    bed.rises(&at_least, &exactly, |bed| {
        held.extend((0..3).map(|_| Held::open(&bed.dsn)));
        let session = &mut held[0];
        session.query("SET SESSION big_tables = 1");
        session.query("SELECT n, COUNT(*) FROM work GROUP BY n ORDER BY COUNT(*)");
        session.query("FLUSH TABLES");
        session.query("START TRANSACTION");
        // Large in the binary log whether that has the rows or the statements.
        let pad = "z".repeat(PAD_BYTES as usize);
        for id in 200..210 {
            session.query(&format!("INSERT INTO work VALUES ({id}, 0, '{pad}')"));
        }
        session.query("COMMIT");
    });
}

/// Nothing changes any more: the monitor that another session reads says the same.
fn the_checkpoint_at_rest(bed: &mut Bed) {
    let mut session = Held::open(&bed.dsn);
    let mut log = || {
        let monitor = monitor(&mut session);
        (monitor["Log sequence number"], monitor["Last checkpoint at"])
    };
    until("the log is at rest and read as it is", || {
        let (lsn, checkpoint) = log();
        let read = bed.read();
        let same = (read["log_lsn_bytes"].1, read["checkpoint_age_bytes"].1);
        log() == (lsn, checkpoint) && same == (lsn, lsn - checkpoint)
    });
}

fn without_privileges(bed: &mut Bed) {
    let sql = "CREATE USER plain@'%' IDENTIFIED BY 'pl:in'";
    execute(&bed.server.dsn, [sql]);
    let mut source = ServerSource::new(ConnectOptions {
        user: "plain".to_owned(),
        password: Password::new("pl:in"),
        ..connect_options(&bed.server.dsn)
    });
    let status = Held::open(&bed.dsn).query("SHOW GLOBAL STATUS");
    let is_in_status = |one: &Documented| {
        let named = |place: &String| status.iter().any(|row| row.starts_with(&format!("{place}|")));
        one.places.iter().any(named)
    };
    let expected = bed.documented.iter().filter(|one| is_in_status(one));
    let mut expected: Vec<&String> = expected.map(|one| &one.name).collect();
    expected.sort();
    for _ in 0..2 {
        let read = read(&mut source).unwrap();
        assert_eq!(read.keys().collect::<Vec<_>>(), expected);
    }
}

fn the_whole_status(bed: &mut Bed) {
    let connector = Connector::new(connect_options(&bed.dsn)).unwrap();
    let status = reactor::block_on(async {
        let mut session = connector.connect().await.unwrap();
        let status = observe::global_status(&mut session).await.unwrap();
        Connector::close(session).await;
        status
    });
    let names: Vec<String> = status.unwrap().into_iter().map(|(name, _)| name).collect();
    let other = Held::open(&bed.dsn).query("SHOW GLOBAL STATUS");
    let others: Vec<&str> = other.iter().map(|row| row.split_once('|').unwrap().0).collect();
    assert_eq!(names, others);
    assert!(names.len() > 200, "{}", names.len());
}

fn in_a_sampler(bed: &mut Bed) {
    let source = ServerSource::new(connect_options(&bed.dsn));
    let start = base::Instant::now();
    let mut sampler =
        Sampler::start(vec![Box::new(source)], start, Duration::from_millis(100)).unwrap();
    let mut sampled = Vec::new();
    until("there are samples", || {
        sampled.extend(sampler.take());
        sampled.len() >= 5
    });
    sampled.extend(sampler.stop());
    let mut last_ns = 0;
    for one in sampled {
        let Sampled::Batch(batch) = one else { panic!("{one:?}") };
        assert!(batch.at_offset_ns > last_ns);
        last_ns = batch.at_offset_ns;
        assert!(batch.values.len() > 40, "{batch:?}");
    }
}

/// A source is one session, which ends in good order with it.
fn says_good_bye(bed: &mut Bed) {
    let mut watcher = Held::open(&bed.dsn);
    let mut aborted = || watcher.query("SHOW GLOBAL STATUS LIKE 'Aborted_clients'");
    let before = aborted();
    let mut second = ServerSource::new(connect_options(&bed.dsn));
    for _ in 0..3 {
        read(&mut second).unwrap();
    }
    // The source of the bed, the watcher, and this one.
    assert_eq!(bed.gauge("threads_connected"), 3);
    drop(second);
    until("the session has ended", || bed.gauge("threads_connected") == 2);
    assert_eq!(aborted(), before);
}

/// What a reading costs this thread, and that it makes no temporary table on disk.
fn cost(bed: &mut Bed) -> String {
    const READINGS: u32 = 100;
    let cpu = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap())
    };
    let before = bed.gauge("tmp_disk_tables");
    let (start, cpu_start) = (Instant::now(), cpu());
    for _ in 0..READINGS {
        bed.read();
    }
    let (elapsed, used) = (start.elapsed() / READINGS, (cpu() - cpu_start) / READINGS);
    assert_eq!(bed.gauge("tmp_disk_tables"), before);
    format!("  a reading takes {elapsed:?}, {used:?} of it CPU of this thread\n")
}

/// Reads while the server does not answer; returns how long after the stop the reading was given
/// up.
fn given_up_after(source: &mut ServerSource) -> Duration {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let stopper = scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
            Instant::now()
        });
        let mut into = Readings::default();
        assert!(source.read(&mut into, &stop).is_err());
        let ended = Instant::now();
        assert!(into.values().is_empty());
        ended - stopper.join().unwrap()
    })
}

fn stands_still(bed: &mut Bed) {
    bed.read();
    bed.signal(Signal::STOP);
    let in_a_statement = given_up_after(&mut bed.source);
    let in_the_login = given_up_after(&mut bed.source);
    bed.signal(Signal::CONT);
    // Without the stop it would be for ever.
    let limit = Duration::from_secs(20);
    assert!(in_a_statement < limit, "{in_a_statement:?}");
    assert!(in_the_login < limit, "{in_the_login:?}");
    bed.read();
}

fn is_killed_and_comes_back(bed: &mut Bed) {
    let before = bed.read();
    bed.signal(Signal::KILL);
    until("it is gone", || !alive(bed.server.pid));
    for _ in 0..2 {
        let error = read(&mut bed.source).unwrap_err();
        assert!(error.starts_with("cannot read the server's status: "), "{error}");
    }
    let port = bed.server.port.to_string();
    let name = &bed.server.name;
    let mut again = vec!["server", "start", "--engine", bed.engine, "--name", name];
    again.extend(["--port", &port, "--json"]);
    for setting in &OBSERVED {
        again.extend(["--set", setting]);
    }
    let started = mydyno(&again).run().exits(0).json();
    bed.server.pid = u32::try_from(number(&started, "/pid")).unwrap();
    let after = bed.read();
    assert!(after.keys().eq(before.keys()));
    assert!(after["com_commit"].1 < before["com_commit"].1, "it counts anew");
}
