//! The sequence of statements, over a session that has an answer for each and no database.

use super::{PREPARED_STATEMENTS, STOCK_MIN};
use crate::InputSource;
use crate::input::{
    CustomerKey, Delivery, Input, OrderLine, OrderStatus, Payment, StockLevel, Transaction,
};
use crate::random::RunConstants;
use crate::transactions::rules::{PriceRates, stock_after};
use crate::transactions::{Outcome, PreparedSession, StatementSet, Statements, TransactionError};
use base::{
    Answer, Cents, DateTime, Param, Random, RowSource, Session, SessionError, SqlValue,
    StatementId, Warehouses,
};
use spec::Style;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Remembers what it was sent.
#[derive(Default)]
struct Recorded {
    prepared: Vec<String>,
    /// What prepared statements do, each with its SQL.
    kinds: Vec<(&'static str, String)>,
    sent: Vec<String>,
    queued: Vec<String>,
    cells: Vec<SqlValue>,
    text: Vec<u8>,
    /// The answer to `select_next_order`, `lock_oldest_order` and the like.
    order: i64,
    items: i64,
    credit: &'static str,
    /// The n-th statement from here on is a deadlock.
    deadlock_in: Option<usize>,
}

impl Recorded {
    fn push(&mut self, text: &str) {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(text.as_bytes());
        let len = text.len() as u32;
        self.cells.push(SqlValue::Bytes { start, len });
    }

    /// One row of the columns that this SELECT names.
    fn row(&mut self, sql: &str) {
        let list = sql["SELECT ".len()..].split(" FROM ").next().unwrap();
        for column in list.split(", ") {
            match column {
                "COALESCE(o_carrier_id" | "0)" => self.cells.push(SqlValue::Int(0)),
                "o_id" | "no_o_id" | "d_next_o_id" => {
                    self.cells.push(SqlValue::Int(self.order));
                }
                "c_credit" => self.push(self.credit),
                "c_discount" | "d_tax" | "w_tax" => self.push("0.10"),
                "c_balance" | "i_price" | "ol_amount" | "SUM(ol_amount)" => self.push("12.50"),
                "s_quantity" | "c_id" | "COUNT(c_id)" | "COUNT(*)" | "o_c_id" | "ol_i_id"
                | "ol_supply_w_id" | "ol_quantity" => self.cells.push(SqlValue::Int(7)),
                "w_name" | "d_name" => self.push("0123456789"),
                _ => self.push("text"),
            }
        }
    }
}

impl Session for Recorded {
    fn queue(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<(), SessionError> {
        let sql = self.prepared[statement.0 as usize].clone();
        assert_eq!(sql.matches('?').count(), params.len(), "{sql}");
        // The only unused item.
        let unused = params == [Param::Int(100_001)];
        self.queued.push(if unused { "SELECT nothing".to_owned() } else { sql });
        Ok(())
    }

    fn queue_query(&mut self, sql: &str) -> Result<(), SessionError> {
        self.queued.push(sql.to_owned());
        Ok(())
    }

    async fn answer(&mut self) -> Result<Answer<'_>, SessionError> {
        let sql = self.queued.remove(0);
        self.sent.push(sql.clone());
        self.cells.clear();
        self.text.clear();
        let mut width = 0;
        if let Some(left) = self.deadlock_in {
            self.deadlock_in = left.checked_sub(1);
            if left == 0 {
                return Err(SessionError::Server {
                    code: 1213,
                    sqlstate: "40001".to_owned(),
                    message: "deadlock".to_owned(),
                });
            }
        }
        if sql.starts_with("SELECT DISTINCT") {
            width = 1;
            self.cells.extend((1..=self.items).map(SqlValue::Int));
        } else if sql != "SELECT nothing" && sql.starts_with("SELECT ") {
            self.row(&sql);
            width = self.cells.len();
        }
        Ok(Answer {
            last_insert_id: 0,
            affected_rows: 1,
            width,
            cells: &self.cells,
            bytes: &self.text,
            more: false,
        })
    }

    async fn discard(&mut self) -> Result<(), SessionError> {
        self.queued.clear();
        Ok(())
    }

    fn unanswered(&self) -> usize {
        self.queued.len()
    }

    fn set_pipelined(&mut self, _: bool) {}

    async fn prepare_kind(
        &mut self,
        kind: &'static str,
        sql: &str,
    ) -> Result<StatementId, SessionError> {
        self.kinds.push((kind, sql.to_owned()));
        self.prepared.push(sql.to_owned());
        Ok(StatementId(self.prepared.len() as u32 - 1))
    }

    async fn forget_prepared(&mut self) -> Result<(), SessionError> {
        self.prepared.clear();
        Ok(())
    }

    async fn all_prepared(&mut self) -> Result<(), SessionError> {
        Ok(())
    }

    fn statements(&self) -> u64 {
        self.sent.len() as u64
    }

    async fn load_local(
        &mut self,
        _sql: &str,
        _rows: &mut dyn RowSource,
    ) -> Result<u64, SessionError> {
        panic!("no transaction loads")
    }
}

/// A session that answers at once never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

fn terminal() -> PreparedSession<Recorded> {
    let session = Recorded { order: 3_001, items: 180, credit: "GC", ..Recorded::default() };
    let statements = StatementSet::TpccMysql { isolation: None };
    let mut terminal = now(PreparedSession::open(session, statements)).unwrap();
    assert_eq!(terminal.session.sent, ["SET SESSION autocommit = 0"]);
    assert_eq!(terminal.session.prepared.len(), PREPARED_STATEMENTS as usize);
    terminal.session.sent.clear();
    terminal
}

/// Results show kinds of statements by these names.
#[test]
fn kinds_begin_with_the_verb_of_their_sql() {
    let mut sessions = vec![terminal().into_session()];
    for style in Style::ALL {
        let isolation = spec::Isolation::RepeatableRead;
        let statements = StatementSet::Clauses { style, isolation };
        let opened = PreparedSession::open(Recorded::default(), statements);
        sessions.push(now(opened).unwrap().into_session());
    }
    for session in sessions {
        assert_eq!(session.kinds.len(), session.prepared.len());
        for (kind, sql) in &session.kinds {
            let verb = match sql.split(' ').next().unwrap() {
                "SELECT" if sql.ends_with("FOR UPDATE") => "lock".to_owned(),
                verb => verb.to_lowercase(),
            };
            assert_eq!(kind.split('_').next(), Some(verb.as_str()), "{kind}: {sql}");
        }
    }
}

/// What was sent, as `verb table`, a lock marked with `!`.
fn sent(terminal: &mut PreparedSession<Recorded>) -> Vec<String> {
    let short = |sql: String| {
        let words: Vec<&str> = sql.split(' ').collect();
        let lock = if sql.ends_with("FOR UPDATE") { "!" } else { "" };
        let behind = |word| words.iter().position(|w| *w == word).map(|at| words[at + 1]);
        let table = match words[0] {
            "SELECT" | "DELETE" => behind("FROM"),
            "INSERT" => behind("INTO"),
            "UPDATE" => Some(words[1]),
            _ => None,
        };
        let table = table.unwrap_or("").trim_end_matches(',');
        format!("{} {table}{lock}", words[0]).trim_end().to_owned()
    };
    std::mem::take(&mut terminal.session.sent).into_iter().map(short).collect()
}

fn new_order(rolls_back: bool) -> crate::input::NewOrder {
    let constants = RunConstants::for_run(None, 1);
    let mut source = InputSource::new(Random::new(1, &[]), constants, Warehouses(2), None);
    loop {
        if let Input::NewOrder(order) = source.input_of(Transaction::NewOrder)
            && order.rolls_back == rolls_back
        {
            return order;
        }
    }
}

#[test]
fn new_order_is_5_statements_and_4_for_each_line() {
    let mut terminal = terminal();
    let order = new_order(false);
    let outcome = now(terminal.run(&Input::NewOrder(order)));
    assert_eq!(outcome, Ok(Outcome::Committed));
    let mut wanted = vec![
        "SELECT customer",
        "SELECT district!",
        "UPDATE district",
        "INSERT orders",
        "INSERT new_orders",
    ];
    for _ in order.lines() {
        wanted.extend(["SELECT item", "SELECT stock!", "UPDATE stock", "INSERT order_line"]);
    }
    wanted.push("COMMIT");
    assert_eq!(sent(&mut terminal), wanted);
}

#[test]
fn an_unused_item_rolls_back_after_all_others() {
    let mut terminal = terminal();
    let order = new_order(true);
    let outcome = now(terminal.run(&Input::NewOrder(order)));
    assert_eq!(outcome, Ok(Outcome::RolledBack));
    let sent = sent(&mut terminal);
    assert_eq!(sent.len(), 5 + 4 * (order.lines().len() - 1) + 2);
    assert_eq!(sent.last().unwrap(), "ROLLBACK");
}

#[test]
fn payment_is_7_statements_and_more_by_name_and_for_bad_credit() {
    let payment = |customer| {
        Input::Payment(Payment {
            warehouse: 1,
            district: 2,
            customer_warehouse: 1,
            customer_district: 2,
            customer,
            amount: Cents(1_200),
            entered: DateTime::now(),
        })
    };
    let mut terminal = terminal();
    now(terminal.run(&payment(CustomerKey::Number(5)))).unwrap();
    let begin = ["UPDATE warehouse", "SELECT warehouse", "UPDATE district", "SELECT district"];
    let end = ["UPDATE customer", "INSERT history", "COMMIT"];
    let mut wanted = begin.to_vec();
    wanted.push("SELECT customer!");
    wanted.extend(end);
    assert_eq!(sent(&mut terminal), wanted);

    terminal.session.credit = "BC";
    now(terminal.run(&payment(CustomerKey::LastName(5)))).unwrap();
    let mut wanted = begin.to_vec();
    wanted.extend(["SELECT customer", "SELECT customer", "SELECT customer!", "SELECT customer!"]);
    wanted.extend(end);
    assert_eq!(sent(&mut terminal), wanted);
    let Statements::TpccMysql(of) = &terminal.statements else { panic!("another set") };
    assert_eq!(of.text, b"01234567890123456789    ");
}

#[test]
fn order_status_and_stock_level() {
    let status = |customer| Input::OrderStatus(OrderStatus { warehouse: 1, district: 2, customer });
    let mut terminal = terminal();
    now(terminal.run(&status(CustomerKey::Number(5)))).unwrap();
    let wanted = ["SELECT customer", "SELECT orders", "SELECT order_line", "COMMIT"];
    assert_eq!(sent(&mut terminal), wanted);
    now(terminal.run(&status(CustomerKey::LastName(5)))).unwrap();
    assert_eq!(sent(&mut terminal).len(), wanted.len() + 1);

    let level = Input::StockLevel(StockLevel { warehouse: 1, district: 2, threshold: 15 });
    now(terminal.run(&level)).unwrap();
    let sent = sent(&mut terminal);
    assert_eq!(sent[..2], ["SELECT district", "SELECT order_line"]);
    assert_eq!(sent.len(), 2 + 180 + 1);
}

const DISTRICT: [&str; 8] = [
    "SELECT new_orders!",
    "DELETE new_orders",
    "SELECT orders",
    "UPDATE orders",
    "UPDATE order_line",
    "SELECT order_line",
    "UPDATE customer",
    "COMMIT",
];

#[test]
fn a_delivery_commits_each_district_and_goes_on_where_it_failed() {
    let delivery =
        Input::Delivery(Delivery { warehouse: 1, carrier: 3, delivered: DateTime::now() });
    let mut terminal = terminal();
    now(terminal.run(&delivery)).unwrap();
    assert_eq!(sent(&mut terminal), DISTRICT.repeat(10));

    // The second statement of the fourth district is a deadlock.
    terminal.begin();
    terminal.session.deadlock_in = Some(3 * DISTRICT.len() + 1);
    let failed = now(terminal.run(&delivery));
    assert!(matches!(failed, Err(TransactionError::Statement(ref error)) if error.is_deadlock()));
    let first = sent(&mut terminal);
    assert_eq!(first.len(), 3 * DISTRICT.len() + 3);
    assert_eq!(first.last().unwrap(), "ROLLBACK");
    let outcome = now(terminal.run(&delivery));
    assert_eq!(outcome, Ok(Outcome::Delivered { skipped_districts: 0 }));
    assert_eq!(sent(&mut terminal), DISTRICT.repeat(7));
    terminal.begin();
    now(terminal.run(&delivery)).unwrap();
    assert_eq!(sent(&mut terminal), DISTRICT.repeat(10));
}

#[test]
fn amounts_have_taxes_and_discount() {
    let amount = |rates: PriceRates, quantity, cents| {
        rates.total(OrderLine { quantity, ..OrderLine::default() }.amount(Cents(cents)))
    };
    let rates = PriceRates { discount: 5_000, taxes: 2_000 };
    assert_eq!(amount(rates, 10, 1_000), Cents(6_000));
    let odd = PriceRates { discount: 1_200, taxes: 1_900 + 1_100 };
    // 7 * 33.33 * 1.3 * 0.88 = 266.906...
    assert_eq!(amount(odd, 7, 3_333), Cents(26_691));
}

#[test]
fn stock_falls_to_one() {
    assert_eq!(stock_after(11, 10, STOCK_MIN), 1);
    assert_eq!(stock_after(10, 10, STOCK_MIN), 91);
    assert_eq!(stock_after(1, 10, STOCK_MIN), 82);
}
