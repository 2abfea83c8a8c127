//! As few statements as possible, each on a set of rows: style `batched`.

mod delivery;
mod new_order;
mod statements;

use super::on_session::OnSession;
use super::outcome::{Outcome, StepResult};
use super::rules::{Payer, append_customer_data, has_bad_credit, middle_row, only_row, show_lines};
use super::sql;
use crate::input::{CustomerKey, LINES_MAX, OrderStatus, Payment, StockLevel};
use crate::prepared::{DistrictStatements, prepare_all};
use crate::schema::DISTRICTS;
use base::{Param, Session, SessionResult, StatementId};
use statements::{Statements, marks};
use std::hint::black_box;

/// Fewest lines that an order writes: five, one of them unused.
const LINES_MIN: usize = 4;
const INSERTS: usize = LINES_MAX - LINES_MIN + 1;

pub(super) struct Sets {
    statements: Statements,
    /// The locking read of one stock row: warehouse, item.
    stock: DistrictStatements,
    /// The same for all lines of one warehouse: warehouse, items.
    stocks: DistrictStatements,
    /// Inserts so many lines more than `LINES_MIN`, from 0.
    insert_lines: [StatementId; INSERTS],
    /// Text under construction: h_data, c_data.
    text: Vec<u8>,
}

impl Sets {
    pub(super) const PREPARED: u32 = Statements::COUNT + 2 * DISTRICTS + INSERTS as u32;

    pub(super) async fn prepare<S: Session>(session: &mut S) -> SessionResult<Sets> {
        let items = format!("IN ({})", marks(LINES_MAX));
        Ok(Sets {
            statements: Statements::prepare(session).await?,
            stock: prepare_all(session, "lock_stock", |d| sql::stock(d, "", "= ?")).await?,
            stocks: prepare_all(session, "lock_stocks", |d| sql::stock(d, ", s_i_id", &items))
                .await?,
            insert_lines: prepare_all(session, "insert_order_lines", |n| {
                sql::insert_lines(LINES_MIN - 1 + n)
            })
            .await?,
            text: Vec::with_capacity(1_024),
        })
    }
}

impl<S: Session> OnSession<'_, S, Sets> {
    /// Payment (clause 2.5): three round trips, one more where the customer is named by last name.
    pub(crate) async fn payment(&mut self, payment: &Payment) -> StepResult<Outcome> {
        let Statements { select_customers_by_name, lock_customer, .. } = self.set.statements;
        let payer = Payer { by_name: select_customers_by_name, lock: lock_customer };
        self.pay_warehouse_and_district(payment)?;
        payer.ask(self.session, payment)?;
        self.read_names().await?;
        let customer = payer.number(self.session, payment).await?;
        self.pay(payment, customer).await?;
        self.end(Outcome::Committed).await
    }

    fn pay_warehouse_and_district(&mut self, payment: &Payment) -> StepResult {
        let amount = Param::Cents(payment.amount);
        let (w, d) = (Param::from(payment.warehouse), Param::from(payment.district));
        self.ask(self.set.statements.update_warehouse, &[amount, w])?;
        self.ask(self.set.statements.update_district, &[amount, w, d])?;
        self.ask(self.set.statements.select_addresses, &[w, w, d])
    }

    /// Leaves h_data, w_name + 4 spaces + d_name, in `text`.
    async fn read_names(&mut self) -> StepResult {
        self.changed("the payment's warehouse").await?;
        self.changed("the payment's district").await?;
        let answer = self.session.answer().await?;
        let row = only_row(&answer, "the payment's warehouse and district")?;
        self.set.text.clear();
        self.set.text.extend_from_slice(row.bytes(0)?);
        self.set.text.extend_from_slice(b"    ");
        self.set.text.extend_from_slice(row.bytes(6)?);
        Ok(())
    }

    /// Reads the customer, then writes customer and history together.
    async fn pay(&mut self, payment: &Payment, customer: u32) -> StepResult {
        let answer = self.session.answer().await?;
        let row = only_row(&answer, "the paying customer")?;
        // h_data is at the beginning of `text`; c_data is built behind it.
        let h_data = self.set.text.len();
        let bad_credit = has_bad_credit(&row)?;
        if bad_credit {
            append_customer_data(&mut self.set.text, payment, customer, row.bytes(14)?);
        }
        let (h_data, c_data) = self.set.text.split_at(h_data);
        let amount = Param::Cents(payment.amount);
        let [w, d, c] = payment.customer_key(customer);
        if bad_credit {
            let changes = [amount, amount, Param::Text(c_data), w, d, c];
            self.session.queue(self.set.statements.update_customer_data, &changes)?;
        } else {
            let changes = [amount, amount, w, d, c];
            self.session.queue(self.set.statements.update_customer, &changes)?;
        }
        let history = payment.history_row([c, d, w], h_data);
        self.session.queue(self.set.statements.insert_history, &history)?;
        self.changed("the paying customer").await?;
        self.changed("the payment's history").await
    }

    /// Order-Status (clause 2.6).
    pub(crate) async fn order_status(&mut self, status: &OrderStatus) -> StepResult<Outcome> {
        let (w, d) = (Param::from(status.warehouse), Param::from(status.district));
        let customer = Param::from(status.customer);
        let last_order = self.set.statements.select_last_order_lines;
        match status.customer {
            CustomerKey::Number(_) => {
                self.ask(self.set.statements.select_balance, &[w, d, customer])?;
                self.ask(last_order, &[w, d, customer, w, d])?;
                black_box(self.next_row("the customer").await?.cents(1)?);
            }
            CustomerKey::LastName(_) => {
                let by_name = self.set.statements.select_balance_by_name;
                let answer = self.session.execute(by_name, &[w, d, customer]).await?;
                let row = middle_row(&answer)?;
                black_box(row.cents(1)?);
                let c = Param::Int(row.int(0)?);
                self.ask(last_order, &[w, d, c, w, d])?;
            }
        }
        // Every customer has an order from the population on (clause 4.3.3.1).
        let answer = self.session.answer().await?;
        show_lines(&answer, 3, "the customer's last order and its lines")?;
        self.end(Outcome::Committed).await
    }

    /// Stock-Level (clause 2.8).
    pub(crate) async fn stock_level(&mut self, level: &StockLevel) -> StepResult<Outcome> {
        let (w, d) = (Param::from(level.warehouse), Param::from(level.district));
        let range = [w, d, w, d, Param::from(level.threshold)];
        let low_stock = self.set.statements.select_low_stock;
        black_box(self.row(low_stock, &range, "the count of low stock").await?.int(0)?);
        self.end(Outcome::Committed).await
    }
}
