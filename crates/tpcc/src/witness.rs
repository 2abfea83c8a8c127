//! What the driver was told: every transaction that the server acknowledged, kept beside the server
//! as clause 3.5.4 asks (its "success file"), and held against the database once that has
//! recovered.
//!
//! A transaction is known by what its rows say of it: an order by its district, customer and number
//! of lines, a payment by its two districts and its amount, a delivery by its warehouse, its
//! carrier, of which there are ten, and its second. Rows alike are counted, so this asks nothing of
//! the server that a style of statements does not tell. That nothing is there by half is for the
//! checks of the database.

use crate::input::Input;
use crate::schema::{CUSTOMERS, DISTRICTS, FIRST_OPEN_ORDER};
use crate::transactions::Outcome;
use base::limits::WITNESSED_MAX;
use base::{DateTime, Session, SessionResult, clock, lock};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;
use store::StoredWitness;

/// What rows say of a transaction that changes any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Witnessed {
    /// A place in [`WITNESSED`]: [`ORDER`], [`PAYMENT`] or [`DELIVERY`].
    kind: usize,
    /// The columns by which [`rows_of_transactions`] knows it; 0 behind the last.
    columns: [i64; COLUMNS_MAX],
}

const ORDER: usize = 0;
const PAYMENT: usize = 1;
const DELIVERY: usize = 2;
const COLUMNS_MAX: usize = 5;

impl Witnessed {
    /// `None` of a transaction that only reads or rolls back.
    fn of(input: &Input) -> Option<Witnessed> {
        let (kind, columns) = match input {
            Input::NewOrder(order) if !order.rolls_back => {
                let lines = order.lines().len() as u32;
                (ORDER, [order.warehouse, order.district, order.customer, lines, 0].map(i64::from))
            }
            Input::Payment(payment) => {
                let [w, d] = [payment.warehouse, payment.district].map(i64::from);
                let of = [payment.customer_warehouse, payment.customer_district].map(i64::from);
                (PAYMENT, [w, d, of[0], of[1], payment.amount.0])
            }
            Input::Delivery(delivery) => {
                let [w, carrier] = [delivery.warehouse, delivery.carrier].map(i64::from);
                (DELIVERY, [w, carrier, number_of(delivery.delivered), 0, 0])
            }
            Input::NewOrder(_) | Input::OrderStatus(_) | Input::StockLevel(_) => return None,
        };
        Some(Witnessed { kind, columns })
    }
}

/// A date as `date + 0` gives it: YYYYMMDDhhmmss.
fn number_of(date: DateTime) -> i64 {
    let DateTime { year, month, day, hour, minute, second } = date;
    let parts = [month, day, hour, minute, second];
    parts.iter().fold(i64::from(year), |number, part| number * 100 + i64::from(*part))
}

/// Names of what is counted, by their place in [`WitnessReport::rows`]; deliveries in orders that
/// were delivered.
const WITNESSED: [&str; 3] = ["new_order", "payment", "delivered_orders"];

/// A transaction, as the driver was told of it.
#[derive(Clone, Copy, Debug)]
struct WitnessRecord {
    key: Witnessed,
    rows: u32,
    /// False where the connection was lost at COMMIT: it may be there or not.
    is_acknowledged: bool,
    /// Since the witness began.
    at: Duration,
}

/// What all connections of a run were told.
#[derive(Debug)]
pub struct Witness {
    began: clock::Instant,
    /// Rows that were there already.
    before: HashMap<Witnessed, u32>,
    told: Mutex<Vec<WitnessRecord>>,
}

/// What became of all that the driver was told.
#[derive(Clone, Debug, PartialEq)]
pub struct WitnessReport {
    pub rows: [StoredWitness; WITNESSED.len()],
    /// From the first acknowledgement of what is lost to the last one of all. Where some rows of a
    /// kind that are alike are lost, those told last are taken for them.
    pub lost_span: Duration,
}

impl Witness {
    /// Begins with a database that nobody else changes from now on.
    ///
    /// # Errors
    /// Where the database does not answer, or is not one of TPC-C.
    pub async fn begin<S: Session>(session: &mut S) -> SessionResult<Witness> {
        let before = rows_of_transactions(session).await?;
        Ok(Witness { began: clock::Instant::now(), before, told: Mutex::default() })
    }

    /// A transaction has ended well.
    pub(crate) fn acknowledged(&self, input: &Input, outcome: Outcome) {
        let rows = match outcome {
            Outcome::Delivered { skipped_districts } => DISTRICTS - skipped_districts,
            _ => 1,
        };
        self.add(input, rows, true);
    }

    /// A connection was lost while its transaction was committed.
    pub(crate) fn in_doubt(&self, input: &Input) {
        let rows = if matches!(input, Input::Delivery(_)) { DISTRICTS } else { 1 };
        self.add(input, rows, false);
    }

    fn add(&self, input: &Input, rows: u32, is_acknowledged: bool) {
        if let Some(key) = Witnessed::of(input) {
            let at = self.began.elapsed();
            let mut told = lock(&self.told);
            told.push(WitnessRecord { key, rows, is_acknowledged, at });
        }
    }

    /// Has it as many transactions as it may hold? Then it is time to end the load.
    pub fn is_full(&self) -> bool {
        lock(&self.told).len() >= WITNESSED_MAX
    }

    /// Holds all that was told against the database.
    ///
    /// # Errors
    /// As [`Witness::begin`].
    pub async fn compare_with<S: Session>(&self, session: &mut S) -> SessionResult<WitnessReport> {
        let found = rows_of_transactions(session).await?;
        let told = lock(&self.told);
        Ok(compare(&told, since(found, &self.before)))
    }
}

/// Rows that were not there before.
fn since(
    mut found: HashMap<Witnessed, u32>,
    before: &HashMap<Witnessed, u32>,
) -> HashMap<Witnessed, u32> {
    for (key, rows) in &mut found {
        *rows = rows.saturating_sub(before.get(key).copied().unwrap_or(0));
    }
    found
}

/// Rows of each transaction, but those of orders that every database has from its load.
async fn rows_of_transactions<S: Session>(
    session: &mut S,
) -> SessionResult<HashMap<Witnessed, u32>> {
    let orders = format!(
        "SELECT o_w_id, o_d_id, o_c_id, o_ol_cnt, COUNT(*) FROM orders WHERE o_id > {CUSTOMERS} \
         GROUP BY o_w_id, o_d_id, o_c_id, o_ol_cnt"
    );
    let payments = "SELECT h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_amount, COUNT(*) FROM history \
                    GROUP BY h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_amount";
    let deliveries = format!(
        "SELECT o_w_id, o_carrier_id, CAST(ol_delivery_d AS UNSIGNED), COUNT(*) FROM orders JOIN \
         order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id AND ol_number = 1 \
         WHERE o_id >= {FIRST_OPEN_ORDER} AND o_carrier_id IS NOT NULL AND ol_delivery_d IS NOT \
         NULL GROUP BY o_w_id, o_carrier_id, ol_delivery_d"
    );
    // With the decimals of each column but the last.
    let kinds: [(&str, &[u32]); WITNESSED.len()] =
        [(&orders, &[0; 4]), (payments, &[0, 0, 0, 0, 2]), (&deliveries, &[0; 3])];
    let mut found = HashMap::new();
    for (kind, (sql, decimals)) in kinds.into_iter().enumerate() {
        for row in session.query(sql).await?.rows() {
            let mut columns = [0; COLUMNS_MAX];
            for (at, decimals) in decimals.iter().enumerate() {
                columns[at] = row.decimal(at, *decimals)?;
            }
            let rows = u32::try_from(row.int(decimals.len())?).unwrap_or(u32::MAX);
            found.insert(Witnessed { kind, columns }, rows);
        }
    }
    Ok(found)
}

/// `found` has the rows of each transaction in the database.
fn compare(told: &[WitnessRecord], mut found: HashMap<Witnessed, u32>) -> WitnessReport {
    let named = |name: &str| StoredWitness { name: name.to_owned(), ..StoredWitness::default() };
    let mut report = WitnessReport { rows: WITNESSED.map(named), lost_span: Duration::ZERO };
    let mut lost_from = None;
    // In the order of their acknowledgements, so that what a row is missing for came last.
    for told in told.iter().filter(|told| told.is_acknowledged) {
        let held = &mut report.rows[told.key.kind];
        held.acknowledged += u64::from(told.rows);
        let there = found.get_mut(&told.key);
        let taken = there.map_or(0, |there| {
            let taken = told.rows.min(*there);
            *there -= taken;
            taken
        });
        if taken < told.rows {
            held.lost += u64::from(told.rows - taken);
            lost_from.get_or_insert(told.at);
        }
    }
    for told in told.iter().filter(|told| !told.is_acknowledged) {
        report.rows[told.key.kind].in_doubt += u64::from(told.rows);
        if let Some(there) = found.get_mut(&told.key) {
            *there = there.saturating_sub(told.rows);
        }
    }
    for (key, rows) in found {
        report.rows[key.kind].unexplained += u64::from(rows);
    }
    let last = told.iter().rfind(|told| told.is_acknowledged).map(|told| told.at);
    if let Some((last, from)) = last.zip(lost_from) {
        report.lost_span = last.saturating_sub(from);
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CustomerId;
    use crate::input::{CustomerKey, Delivery, NewOrder, OrderLine, Payment, StockLevel};
    use crate::tests::scripted::{Reply, ScriptedServer, now};
    use base::Cents;

    /// Of two orders of a customer one is missing, a payment has an amount in cents, and a delivery
    /// has skipped three districts.
    #[test]
    fn what_was_told_is_held_against_the_rows_that_came() {
        let lines = [OrderLine { item: 5, supply_warehouse: 1, quantity: 1, number: 1 }; 5];
        let customer = CustomerId { warehouse: 1, district: 2, number: 3 };
        let order = Input::NewOrder(NewOrder::of_lines(customer, AT, &lines));
        let payment = Input::Payment(Payment {
            warehouse: 1,
            district: 2,
            customer_warehouse: 3,
            customer_district: 4,
            customer: CustomerKey::Number(7),
            amount: Cents(1_250),
            entered: AT,
        });
        let delivery = Input::Delivery(Delivery { warehouse: 1, carrier: 4, delivered: AT });
        let database = |orders: u32, payments: u32, delivered: u32| {
            let rows = |row: String, count: u32| {
                Reply::rows((count > 0).then(|| format!("{row}|{count}")))
            };
            ScriptedServer::of_replies(vec![
                ("ol_delivery_d", rows(format!("1|4|{}", number_of(AT)), delivered)),
                ("FROM orders WHERE o_id > 3000", rows("1|2|3|5".to_owned(), orders)),
                ("FROM history", rows("1|2|3|4|12.50".to_owned(), payments)),
            ])
        };
        let witness = now(Witness::begin(&mut database(1, 4, 0).session())).unwrap();
        witness.acknowledged(&order, Outcome::Ordered(3001));
        witness.acknowledged(&order, Outcome::Ordered(3002));
        witness.acknowledged(&payment, Outcome::Committed);
        witness.acknowledged(&delivery, Outcome::Delivered { skipped_districts: 3 });
        witness.in_doubt(&delivery);
        witness.in_doubt(&payment);
        let level = StockLevel { warehouse: 1, district: 2, threshold: 15 };
        witness.acknowledged(&Input::StockLevel(level), Outcome::OrdersBelow(3003));
        let report = now(witness.compare_with(&mut database(2, 6, 18).session())).unwrap();
        let counts = report.rows.map(|of| [of.acknowledged, of.in_doubt, of.lost, of.unexplained]);
        assert_eq!(counts, [[2, 0, 1, 0], [1, 1, 0, 0], [7, 10, 0, 1]]);
    }

    const ORDER: Witnessed = Witnessed { kind: 0, columns: [1, 2, 3, 7, 0] };
    const AT: DateTime = DateTime { year: 2026, month: 11, day: 28, hour: 1, minute: 2, second: 3 };

    const DELIVERY: Witnessed = Witnessed { kind: 2, columns: [1, 4, 1, 0, 0] };

    /// Is all there that was acknowledged, and nothing else?
    fn is_kept(report: &WitnessReport) -> bool {
        report.rows.iter().all(|held| held.lost == 0 && held.unexplained == 0)
    }

    fn told(key: Witnessed, rows: u32, at_ms: u64) -> WitnessRecord {
        WitnessRecord { key, rows, is_acknowledged: true, at: Duration::from_millis(at_ms) }
    }

    fn in_doubt(key: Witnessed, rows: u32) -> WitnessRecord {
        WitnessRecord { is_acknowledged: false, ..told(key, rows, 99) }
    }

    #[test]
    fn it_is_full_when_it_holds_all_that_it_may() {
        let told = vec![told(ORDER, 1, 1); WITNESSED_MAX - 1];
        let witness = Witness {
            began: clock::Instant::now(),
            before: HashMap::new(),
            told: Mutex::new(told),
        };
        assert!(!witness.is_full());
        witness.add(
            &Input::Delivery(Delivery { warehouse: 1, carrier: 4, delivered: AT }),
            1,
            true,
        );
        assert!(witness.is_full());
    }

    #[test]
    fn what_is_there_is_kept() {
        let all = [told(ORDER, 1, 1), told(DELIVERY, 9, 2), in_doubt(ORDER, 1)];
        for orders in [1, 2] {
            let report = compare(&all, HashMap::from([(ORDER, orders), (DELIVERY, 9)]));
            assert!(is_kept(&report), "{report:?}");
            assert_eq!(report.rows[0].acknowledged, 1);
            assert_eq!(report.rows[0].in_doubt, 1);
            assert_eq!(report.rows[2].acknowledged, 9);
        }
    }

    #[test]
    fn what_is_not_there_is_lost_from_its_last_telling() {
        let all = [told(ORDER, 1, 100), told(DELIVERY, 9, 200), told(ORDER, 1, 300)];
        let last = told(DELIVERY, 1, 450);
        let report =
            compare(&[&all[..], &[last]].concat(), HashMap::from([(ORDER, 1), (DELIVERY, 10)]));
        assert_eq!(report.rows[0].lost, 1);
        assert_eq!(report.lost_span, Duration::from_millis(150));
        assert!(!is_kept(&report));
        let report = compare(&all, HashMap::from([(ORDER, 2), (DELIVERY, 4)]));
        assert_eq!(report.rows[2].lost, 5);
    }

    /// With one warehouse there are ten carriers: a delivery in doubt, which is there, must not
    /// stand for a row of an earlier one with its carrier.
    #[test]
    fn a_row_that_is_lost_is_not_hidden_by_a_delivery_in_doubt() {
        let delivery = |second| {
            let delivered = DateTime { second, ..AT };
            Input::Delivery(Delivery { warehouse: 1, carrier: 4, delivered })
        };
        let key = |second| Witnessed::of(&delivery(second)).unwrap();
        let told = [told(key(3), 10, 1), in_doubt(key(5), 10)];
        let mut found = HashMap::new();
        for (key, rows) in [(key(3), 9), (key(5), 10)] {
            *found.entry(key).or_default() += rows;
        }
        let report = compare(&told, found);
        assert_eq!(report.rows[2].lost, 1, "{report:?}");
        assert_eq!(number_of(AT), 20_261_128_010_203);
    }

    #[test]
    fn what_nobody_was_told_of_is_unexplained() {
        let report = compare(&[told(ORDER, 1, 1)], HashMap::from([(ORDER, 2)]));
        assert_eq!(report.rows[0].unexplained, 1);
        assert!(!is_kept(&report));
    }

    #[test]
    fn what_was_there_before_is_of_nobody() {
        let other = Witnessed { kind: 0, columns: [1, 2, 9, 7, 0] };
        let before = HashMap::from([(ORDER, 2), (other, 1)]);
        let found = since(HashMap::from([(ORDER, 3), (other, 1)]), &before);
        assert!(is_kept(&compare(&[told(ORDER, 1, 1)], found)));
    }
}
