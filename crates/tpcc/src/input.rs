//! What a terminal's user enters: the inputs of clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1 and 2.8.1, and
//! the card deck of 5.2.4.2.

use crate::random::{RunConstants, last_name, last_name_number};
use crate::schema::{DISTRICTS, ITEMS};
use base::{Cents, DateTime, Param, Random, WarehouseRange, named};
use drive::TransactionInfo;
use std::fmt;
use std::iter::repeat_n;

named! {
    /// The five transaction types, in the order in which every tool of the field counts them.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Transaction {
        NewOrder = "new_order",
        Payment = "payment",
        OrderStatus = "order_status",
        Delivery = "delivery",
        StockLevel = "stock_level",
    }
}

impl Transaction {
    /// The five as the driver knows them, by [`Transaction::index`]. Throughput is that of
    /// New-Order; Delivery is deferred (clause 2.7.2).
    pub const TYPES: &'static [TransactionInfo] = &[
        Transaction::NewOrder.info(),
        Transaction::Payment.info(),
        Transaction::OrderStatus.info(),
        Transaction::Delivery.info(),
        Transaction::StockLevel.info(),
    ];

    const fn info(self) -> TransactionInfo {
        TransactionInfo {
            name: self.name(),
            is_primary: matches!(self, Transaction::NewOrder),
            is_deferred: matches!(self, Transaction::Delivery),
            share: DECK_CARDS[self as usize] as f64 / DECK_SIZE as f64,
            row_bytes: Some(self.row_bytes()),
        }
    }

    /// Bytes of rows that one transaction changes, as long as clause 4.2.2 says rows typically are.
    pub const fn row_bytes(self) -> u64 {
        const NEW_ORDER: u64 = 8;
        const ORDER: u64 = 24;
        const ORDER_LINE: u64 = 54;
        const STOCK: u64 = 306;
        const DISTRICT: u64 = 95;
        const WAREHOUSE: u64 = 89;
        const CUSTOMER: u64 = 655;
        const HISTORY: u64 = 46;
        // Lines of an order in the mean (clause 2.4.1.3), and orders that a Delivery delivers: one
        // for each district (clause 2.7.4.2).
        const LINES: u64 = 10;
        const DELIVERED: u64 = 10;
        match self {
            Transaction::NewOrder => DISTRICT + ORDER + NEW_ORDER + LINES * (ORDER_LINE + STOCK),
            Transaction::Payment => WAREHOUSE + DISTRICT + CUSTOMER + HISTORY,
            Transaction::Delivery => {
                DELIVERED * (NEW_ORDER + ORDER + LINES * ORDER_LINE + CUSTOMER)
            }
            Transaction::OrderStatus | Transaction::StockLevel => 0,
        }
    }

    /// Position in [`Transaction::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }
}

/// Most lines of an order.
pub const LINES_MAX: usize = 15;
/// An item number that no database has (clause 2.4.1.5: an unused one).
pub const UNUSED_ITEM: u32 = ITEMS + 1;

/// One line of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderLine {
    pub item: u32,
    pub supply_warehouse: u32,
    pub quantity: u32,
    /// The line's place as entered, 1..=15.
    pub number: u32,
}

impl OrderLine {
    /// What it costs at this price of a piece.
    pub(crate) fn amount(&self, price: Cents) -> Cents {
        Cents(i64::from(self.quantity) * price.0)
    }
}

/// Input of New-Order (clause 2.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    pub warehouse: u32,
    pub district: u32,
    pub customer: u32,
    pub entered: DateTime,
    lines: [OrderLine; LINES_MAX],
    line_count: u32,
    /// The last line as entered has an unused item, so the order must be rolled back (clause
    /// 2.4.1.4).
    pub rolls_back: bool,
}

/// A customer, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CustomerId {
    pub warehouse: u32,
    pub district: u32,
    pub number: u32,
}

impl fmt::Display for CustomerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CustomerId { warehouse, district, number } = self;
        write!(f, "customer {number} of district {district} of warehouse {warehouse}")
    }
}

impl NewOrder {
    /// An order that is entered now: a piece of each of these items, [`LINES_MAX`] at most, from
    /// its own warehouse, in the order of processing.
    pub fn of_items(customer: CustomerId, items: &[u32]) -> NewOrder {
        let CustomerId { warehouse, district, number } = customer;
        let mut lines = [OrderLine::default(); LINES_MAX];
        for ((line, item), number) in lines.iter_mut().zip(items).zip(1..) {
            *line = OrderLine { item: *item, supply_warehouse: warehouse, quantity: 1, number };
        }
        NewOrder {
            warehouse,
            district,
            customer: number,
            entered: DateTime::now(),
            lines,
            line_count: items.len().min(LINES_MAX) as u32,
            rolls_back: items.contains(&UNUSED_ITEM),
        }
    }

    /// The lines in the order of processing: by supplying warehouse and item, so that two orders
    /// take their stock rows in one order and do not deadlock, but an unused item last (clause
    /// 2.4.2.3).
    pub fn lines(&self) -> &[OrderLine] {
        &self.lines[..self.line_count as usize]
    }

    /// Is the stock row of this line that of the line before? An item may be ordered twice.
    pub fn repeats(&self, index: usize) -> bool {
        let key = |line: &OrderLine| (line.supply_warehouse, line.item);
        let lines = self.lines();
        index > 0 && key(&lines[index - 1]) == key(&lines[index])
    }

    /// Lines that another warehouse supplies.
    pub fn remote_lines(&self) -> u32 {
        self.lines().iter().filter(|line| line.supply_warehouse != self.warehouse).count() as u32
    }

    /// The values of its row in ORDERS, in the order of the INSERTs.
    pub(crate) fn order_row(&self, id: i64) -> [Param<'static>; 7] {
        [
            Param::Int(id),
            self.district.into(),
            self.warehouse.into(),
            self.customer.into(),
            Param::Time(self.entered),
            Param::Int(self.lines().len() as i64),
            Param::Int(i64::from(self.remote_lines() == 0)),
        ]
    }

    /// The values of a line's row in ORDER_LINE, in the order of the INSERTs.
    pub(crate) fn line_row<'a>(
        &self,
        id: i64,
        line: &OrderLine,
        (amount, dist_info): (Cents, &'a [u8]),
    ) -> [Param<'a>; 9] {
        [
            Param::Int(id),
            self.district.into(),
            self.warehouse.into(),
            line.number.into(),
            line.item.into(),
            line.supply_warehouse.into(),
            line.quantity.into(),
            Param::Cents(amount),
            Param::Text(dist_info),
        ]
    }
}

/// How the customer is named (clauses 2.5.1.2, 2.6.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomerKey {
    Number(u32),
    /// The number 0..=999 of a last name.
    LastName(u32),
}

/// What stands for the customer in a statement: a number or a last name.
impl From<CustomerKey> for Param<'_> {
    fn from(key: CustomerKey) -> Self {
        match key {
            CustomerKey::Number(number) => number.into(),
            CustomerKey::LastName(number) => Param::Text(last_name(number)),
        }
    }
}

/// Input of Payment (clause 2.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    pub warehouse: u32,
    pub district: u32,
    pub customer_warehouse: u32,
    pub customer_district: u32,
    pub customer: CustomerKey,
    pub amount: Cents,
    pub entered: DateTime,
}

impl Payment {
    /// The key of the paying customer, by number or by last name.
    pub(crate) fn customer_key(&self, customer: impl Into<Param<'static>>) -> [Param<'static>; 3] {
        [self.customer_warehouse.into(), self.customer_district.into(), customer.into()]
    }

    /// The values of its row in HISTORY: the key of the customer, in whatever order, and what
    /// follows it in the INSERTs.
    pub(crate) fn history_row<'a>(
        &self,
        [first, second, third]: [Param<'a>; 3],
        h_data: &'a [u8],
    ) -> [Param<'a>; 8] {
        [
            first,
            second,
            third,
            self.district.into(),
            self.warehouse.into(),
            Param::Time(self.entered),
            Param::Cents(self.amount),
            Param::Text(h_data),
        ]
    }
}

/// Input of Order-Status (clause 2.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStatus {
    pub warehouse: u32,
    pub district: u32,
    pub customer: CustomerKey,
}

/// Input of Delivery (clause 2.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub warehouse: u32,
    pub carrier: u32,
    /// OL_DELIVERY_D, the time at which the transaction is done (clause 2.7.4.2): a Delivery may
    /// have waited in its queue for long, see [`Input::tried_at`].
    pub delivered: DateTime,
}

/// Input of Stock-Level (clause 2.8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockLevel {
    pub warehouse: u32,
    pub district: u32,
    pub threshold: u32,
}

/// Input of any transaction. A retry uses it again unchanged, but for the time of a Delivery.
#[expect(
    clippy::large_enum_variant,
    reason = "one input lives per connection; a box would allocate per transaction"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery(Delivery),
    StockLevel(StockLevel),
}

impl Input {
    /// The input of a try that begins now. What was entered keeps its time; a Delivery is done when
    /// it is tried.
    pub fn tried_at(&self, now: impl FnOnce() -> DateTime) -> Input {
        match *self {
            Input::Delivery(delivery) => Input::Delivery(Delivery { delivered: now(), ..delivery }),
            other => other,
        }
    }
}

/// Cards of each type in a deck (clause 5.2.4.2).
pub const DECK_CARDS: [u32; 5] = [10, 10, 1, 1, 1];
/// Cards of a deck.
pub const DECK_SIZE: u32 = 23;

/// Draws the inputs of one connection, with a deck of its own.
#[derive(Clone, Debug)]
pub struct InputSource {
    random: Random,
    constants: RunConstants,
    /// Those that transactions are for.
    range: WarehouseRange,
    /// Those whose stock and customers they may use beside their own warehouse's.
    remote: WarehouseRange,
    home: Option<u32>,
    /// The district of every Stock-Level, where it is fixed.
    stock_level_district: Option<u32>,
    /// Draws the amounts of Payments as tpcc-mysql has them, where that is asked for.
    whole_amounts: Option<Box<Random>>,
    /// One set of cards (clause 5.2.4.2).
    deck: Vec<Transaction>,
    dealt: usize,
}

impl InputSource {
    /// Inputs over the warehouses of `range`: any of them per transaction, or always `home`.
    /// `random` is the connection's own stream; `constants` are the same for all connections of a
    /// run (clause 2.1.6).
    pub fn new(
        random: Random,
        constants: RunConstants,
        range: impl Into<WarehouseRange>,
        home: Option<u32>,
    ) -> InputSource {
        let range = range.into();
        let cards = Transaction::ALL.into_iter().zip(DECK_CARDS);
        InputSource {
            random,
            constants,
            range,
            remote: range,
            home,
            stock_level_district: None,
            whole_amounts: None,
            deck: cards.flat_map(|(of, count)| repeat_n(of, count as usize)).collect(),
            dealt: DECK_SIZE as usize,
        }
    }

    /// The same with remote order lines and payments of all these warehouses, among which its own
    /// are: those of other shards too.
    pub fn with_remote(mut self, remote: WarehouseRange) -> InputSource {
        self.remote = remote;
        self
    }

    /// The same with one district for every Stock-Level: that of the terminal (clause 2.8.1.1).
    pub fn with_stock_level_district(mut self, district: u32) -> InputSource {
        self.stock_level_district = Some(district);
        self
    }

    /// The same with Payments of 1 to 5,000 without cents, as tpcc-mysql draws them. `random` is a
    /// stream of its own, so that all other inputs stay the same.
    pub fn with_whole_amounts(mut self, random: Random) -> InputSource {
        self.whole_amounts = Some(Box::new(random));
        self
    }

    /// The next card and its input.
    pub fn next_input(&mut self) -> Input {
        let transaction = self.deal();
        self.input_of(transaction)
    }

    /// The next card.
    pub fn deal(&mut self) -> Transaction {
        if self.dealt == self.deck.len() {
            self.random.shuffle(&mut self.deck);
            self.dealt = 0;
        }
        let transaction = self.deck[self.dealt];
        self.dealt += 1;
        transaction
    }

    /// Fresh input for a transaction of this type.
    pub fn input_of(&mut self, transaction: Transaction) -> Input {
        let any = self.range.first()..=self.range.last();
        let warehouse = self.home.unwrap_or_else(|| self.random.between(any));
        match transaction {
            Transaction::NewOrder => Input::NewOrder(self.new_order(warehouse)),
            Transaction::Payment => Input::Payment(self.payment(warehouse)),
            Transaction::OrderStatus => Input::OrderStatus(OrderStatus {
                warehouse,
                district: self.district(),
                customer: self.customer_key(),
            }),
            Transaction::Delivery => Input::Delivery(Delivery {
                warehouse,
                carrier: self.random.between(1..=10),
                delivered: DateTime::now(),
            }),
            Transaction::StockLevel => Input::StockLevel(StockLevel {
                warehouse,
                district: self.stock_level_district.unwrap_or_else(|| self.district()),
                threshold: self.random.between(10..=20),
            }),
        }
    }

    fn district(&mut self) -> u32 {
        self.random.between(1..=DISTRICTS)
    }

    /// Clauses 2.5.1.2 and 2.6.1.2: 60 % by last name.
    fn customer_key(&mut self) -> CustomerKey {
        if self.random.between(1..=100) <= 60 {
            CustomerKey::LastName(last_name_number(self.constants.c_last, &mut self.random))
        } else {
            CustomerKey::Number(self.constants.customer(&mut self.random))
        }
    }

    /// Uniform over the other warehouses; the only one where there is only one.
    fn other_warehouse(&mut self, warehouse: u32) -> u32 {
        if self.remote.count() == 1 {
            return warehouse;
        }
        let drawn = self.random.between(self.remote.first()..=self.remote.last() - 1);
        drawn + u32::from(drawn >= warehouse)
    }

    fn new_order(&mut self, warehouse: u32) -> NewOrder {
        let district = self.district();
        let customer = self.constants.customer(&mut self.random);
        let line_count = self.random.between(5..=LINES_MAX as u32);
        let rolls_back = self.random.between(1..=100) == 1;
        let mut lines = [OrderLine::default(); LINES_MAX];
        for (index, line) in lines[..line_count as usize].iter_mut().enumerate() {
            let remote = self.random.between(1..=100) == 1;
            *line = OrderLine {
                item: self.constants.item(&mut self.random),
                supply_warehouse: if remote { self.other_warehouse(warehouse) } else { warehouse },
                quantity: self.random.between(1..=10),
                number: index as u32 + 1,
            };
        }
        let used = line_count as usize - usize::from(rolls_back);
        if rolls_back {
            lines[used].item = UNUSED_ITEM;
        }
        lines[..used].sort_unstable_by_key(|line| (line.supply_warehouse, line.item, line.number));
        let entered = DateTime::now();
        NewOrder { warehouse, district, customer, entered, lines, line_count, rolls_back }
    }

    fn payment(&mut self, warehouse: u32) -> Payment {
        let district = self.district();
        let local = self.random.between(1..=100) <= 85;
        let (customer_warehouse, customer_district) = if local {
            (warehouse, district)
        } else {
            (self.other_warehouse(warehouse), self.district())
        };
        let customer = self.customer_key();
        let mut cents = self.random.between(100..=500_000);
        if let Some(random) = &mut self.whole_amounts {
            cents = random.between(1..=5_000) * 100;
        }
        Payment {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer,
            amount: Cents(i64::from(cents)),
            entered: DateTime::now(),
        }
    }
}

#[cfg(test)]
mod tests;
