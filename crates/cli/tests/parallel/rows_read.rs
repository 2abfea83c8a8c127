//! Style `procedures` finds a customer by name as the other styles do, whatever the server's
//! default character set.

use crate::support::{QUICK, Server, connect_options, query};
use base::{Connect, Random, Session, Warehouses};
use spec::{Isolation, Style};
use tpcc::input::CustomerKey;
use tpcc::transactions::{Outcome, PreparedSession, StatementSet, procedures};
use tpcc::{Input, InputSource, RunConstants, Transaction};
use wire::Connector;

const PAYMENTS: usize = 100;

/// Payments by name, as they come.
fn payments() -> impl Iterator<Item = Input> {
    let constants = RunConstants::for_run(Some(1), 1);
    let mut source = InputSource::new(Random::new(3, &[]), constants, Warehouses(1), None);
    let all = std::iter::from_fn(move || Some(source.input_of(Transaction::Payment)));
    let by_name = |input: &Input| match input {
        Input::Payment(payment) => matches!(payment.customer, CustomerKey::LastName(_)),
        _ => false,
    };
    all.filter(by_name).take(PAYMENTS)
}

/// Rows and index entries that a new session reads for so many payments and what comes before the
/// first.
fn rows_read(dsn: &str, style: Style, payments: impl Iterator<Item = Input>) -> i64 {
    let connector = Connector::new(connect_options(dsn)).unwrap();
    reactor::block_on(async {
        let session = connector.connect().await.unwrap();
        let isolation = Isolation::RepeatableRead;
        let statements = StatementSet::Clauses { style, isolation };
        let mut terminal = PreparedSession::open(session, statements).await.unwrap();
        for payment in payments {
            assert_eq!(terminal.run(&payment).await, Ok(Outcome::Committed));
        }
        let mut session = terminal.into_session();
        let status = "SHOW SESSION STATUS LIKE 'Handler_read%'";
        let answer = session.query(status).await.unwrap();
        answer.rows().map(|row| row.int(1).unwrap()).sum()
    })
    .unwrap()
}

fn read_per_payment(dsn: &str, style: Style) -> f64 {
    // The first one opens procedures; before it, the first one that the server sees opens tables.
    rows_read(dsn, style, payments().take(1));
    let first = rows_read(dsn, style, payments().take(1));
    let all = rows_read(dsn, style, payments().chain(payments().take(1)));
    (all - first) as f64 / PAYMENTS as f64
}

fn install_procedures(dsn: &str) {
    let connector = Connector::new(connect_options(dsn)).unwrap();
    let installed = reactor::block_on(async {
        let mut session = connector.connect().await.unwrap();
        procedures::install(&mut session).await
    });
    assert_eq!(installed.unwrap(), Ok(true));
}

fn equal_on(engine: &str) {
    let mut settings: Vec<&str> = match engine {
        "mariadb-10.11" => vec!["innodb_flush_log_at_trx_commit=0", "innodb_log_file_size=16M"],
        _ => QUICK.to_vec(),
    };
    settings.push("character_set_server=utf8mb4");
    let server = Server::start_with(engine, &settings, &["-w", "1"]);
    install_procedures(&server.dsn);
    let read = [Style::Statements, Style::Batched, Style::Procedures]
        .map(|style| read_per_payment(&server.dsn, style));
    let [statements, batched, procedures] = read;
    for other in [statements, batched] {
        let ratio = procedures / other;
        assert!((0.9..1.1).contains(&ratio), "{engine}: {read:?}");
    }
    // A text of the procedures is of the type that it is compared with.
    let types = "SELECT DISTINCT collation_name FROM information_schema.parameters \
                 WHERE specific_schema = DATABASE() AND collation_name IS NOT NULL";
    assert_eq!(query(&server.dsn, types), ["latin1_bin"]);
}

engines! {
    equal_on;
    test: mysql_5_7;
    soak: mysql_8_0, mariadb_10_11, xtradb_5_6;
}
