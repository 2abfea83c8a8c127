//! What is in flight behind a statement that fails: the server runs it in a transaction of its own,
//! which must not stay.

use crate::support::{Held, connect_options, lent, until, without_its_rows};
use base::{Connect, Random, Warehouses};
use spec::{Isolation, Style};
use std::sync::mpsc::channel;
use std::time::Duration;
use tpcc::transactions::{Outcome, PreparedSession, StatementSet, TransactionError, procedures};
use tpcc::{Input, InputSource, RunConstants, Transaction};
use wire::Connector;

/// Everything that a New-Order changes.
const STATE: &str = "SELECT (SELECT SUM(d_next_o_id) FROM district), (SELECT COUNT(*) FROM \
    orders), (SELECT COUNT(*) FROM new_orders), (SELECT COUNT(*) FROM order_line), (SELECT \
    SUM(s_ytd) FROM stock), (SELECT SUM(s_order_cnt) FROM stock), (SELECT SUM(s_quantity) FROM \
    stock)";

fn order() -> Input {
    let constants = RunConstants::for_run(Some(1), 1);
    let mut source = InputSource::new(Random::new(3, &[]), constants, Warehouses(1), None);
    loop {
        match source.input_of(Transaction::NewOrder) {
            Input::NewOrder(order) if !order.rolls_back => return Input::NewOrder(order),
            _ => {}
        }
    }
}

/// Tries the order twice, each time when it is told to, and sends back how it ended.
fn tries(
    dsn: &str,
    style: Style,
    input: Input,
    begin: std::sync::mpsc::Receiver<()>,
    ended: std::sync::mpsc::Sender<Result<Outcome, TransactionError>>,
) {
    let connector = Connector::new(connect_options(dsn)).unwrap();
    reactor::block_on(async {
        let mut session = connector.connect().await.unwrap();
        if style == Style::Procedures {
            procedures::install(&mut session).await.unwrap();
        }
        let isolation = Isolation::RepeatableRead;
        let statements = StatementSet::Clauses { style, isolation };
        let mut terminal = PreparedSession::open(session, statements).await.unwrap();
        while begin.recv().is_ok() {
            ended.send(terminal.run(&input).await).unwrap();
        }
    })
    .unwrap();
}

/// The order has the district and waits to insert its row into a gap that another session holds;
/// that one has written far more and asks for the district, so InnoDB rolls back the order while
/// the rest of it is in flight.
fn a_deadlock_in_the_middle(style: Style) {
    let server = lent();
    let input = order();
    let Input::NewOrder(new_order) = input else { panic!("it is a New-Order") };
    let district = new_order.district;
    let mut other = Held::open(&server.dsn);
    let mut watcher = Held::open(&server.dsn);
    let before = watcher.query(STATE);
    let rows_updated = |watcher: &mut Held| -> u64 {
        let status = watcher.query("SHOW GLOBAL STATUS LIKE 'Innodb_rows_updated'");
        status[0].split_once('|').unwrap().1.parse().unwrap()
    };
    let (begin, begins) = channel();
    let (ends, ended) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| tries(&server.dsn, style, input, begins, ends));
        other.query("START TRANSACTION");
        other.query("UPDATE item SET i_im_id = i_im_id + 1 WHERE i_id <= 2000");
        other.query(&format!(
            "SELECT o_id FROM orders WHERE o_w_id = 1 AND o_d_id = {district} AND o_id > 3000 FOR \
             UPDATE"
        ));
        let updated = rows_updated(&mut watcher);
        begin.send(()).unwrap();
        let waits =
            "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
        until("the order waits for the gap", || {
            // The table is made anew only for who has not asked for a tenth of a second.
            std::thread::sleep(Duration::from_millis(150));
            watcher.query(waits)[0] == "1"
        });
        other.query(&format!(
            "SELECT d_id FROM district WHERE d_w_id = 1 AND d_id = {district} FOR UPDATE"
        ));
        // What was in flight may wait for this session's locks.
        other.query("ROLLBACK");
        let Err(TransactionError::Statement(error)) = ended.recv().unwrap() else {
            panic!("the order is the victim of the deadlock");
        };
        assert!(error.is_deadlock(), "{error}");
        if style == Style::Pipelined {
            // The updates of stock behind the failed statement were executed.
            let lines = new_order.lines().len() as u64;
            assert!(rows_updated(&mut watcher) >= updated + lines);
        }
        assert_eq!(watcher.query(STATE), before, "nothing of the order stays");
        begin.send(()).unwrap();
        assert_eq!(ended.recv().unwrap().map(without_its_rows), Ok(Outcome::Committed));
        drop(begin);
    });
    let rise = |column: usize| {
        let value =
            |state: &[String]| -> i64 { state[0].split('|').nth(column).unwrap().parse().unwrap() };
        value(&watcher.query(STATE)) - value(&before)
    };
    let mut rise = rise;
    let lines = new_order.lines().len() as i64;
    assert_eq!([0, 1, 2, 3, 5].map(&mut rise), [1, 1, 1, lines, lines]);
}

#[test]
fn pipelined() {
    a_deadlock_in_the_middle(Style::Pipelined);
}

#[test]
fn batched() {
    a_deadlock_in_the_middle(Style::Batched);
}

#[test]
fn statements() {
    a_deadlock_in_the_middle(Style::Statements);
}

#[test]
fn procedures() {
    a_deadlock_in_the_middle(Style::Procedures);
}
