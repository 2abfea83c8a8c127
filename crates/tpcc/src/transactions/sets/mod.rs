//! As few statements as possible, each on a set of rows: style `batched`.

mod delivery;
mod new_order;
mod payment;
mod reads;
mod statements;

use super::{Failure, Outcome};
use crate::input::Input;
use base::{Session, SessionError};
use statements::Statements;

pub(super) struct Sets {
    statements: Statements,
    /// Text under construction: h_data, c_data.
    text: Vec<u8>,
}

impl Sets {
    pub(super) const PREPARED: u32 = Statements::COUNT;

    pub(super) async fn prepare<S: Session>(session: &mut S) -> Result<Sets, SessionError> {
        Ok(Sets {
            statements: Statements::prepare(session).await?,
            text: Vec::with_capacity(1_024),
        })
    }

    pub(super) async fn run<S: Session>(
        &mut self,
        session: &mut S,
        input: &Input,
    ) -> Result<Outcome, Failure> {
        match input {
            Input::NewOrder(order) => self.new_order(session, order).await,
            Input::Payment(payment) => self.payment(session, payment).await,
            Input::OrderStatus(status) => self.order_status(session, status).await,
            Input::Delivery(delivery) => self.delivery(session, delivery).await,
            Input::StockLevel(level) => self.stock_level(session, level).await,
        }
    }
}
