//! The tests of clause 3: atomicity (3.2), isolation (3.4) and durability (3.5), by the
//! transactions of style `statements` as a run sends them. Consistency (3.3) is what
//! [`crate::checks`] proves.
//!
//! A test opens its own sessions, lets one of them stop in its transaction (`halting`) and another
//! one go on, and tells what each has read. Whether a session waits is the server's word
//! (`actor`), not a matter of time.

mod actor;
mod atomicity;
mod durability;
mod finding;
mod fixture;
mod halting;
mod isolation;

pub use durability::{order_until_lost, what_survived};
pub use finding::{AcidError, AcidFinding, AcidResult, AcidTest, AcidVerdict, Phenomenon, Seen};

use actor::End;
use base::{Connect, Random, WarehouseRange};
use fixture::Fixture;
use spec::Isolation;

/// D1, which needs a server that may be killed; see [`order_until_lost`] and [`what_survived`].
pub const DURABILITY: AcidTest = AcidTest {
    name: "D1",
    title: "after a kill -9 under load every acknowledged order is there",
    clause: "3.5.3.2",
};

/// [`run_acid_tests`], from each test's name and clause, what must hold, and what runs it.
macro_rules! tests {
    ($($name:ident $clause:literal $title:literal => $run:ident($($how:expr)?);)+) => {
        /// Runs the tests of atomicity and isolation at a level, on rows of a warehouse of `range`
        /// that `random` names. Nobody else may change the database meanwhile, and transactions are
        /// left in it as a run leaves them: all checks hold before and after. `progress` hears of
        /// each test that begins.
        ///
        /// # Errors
        /// Where the server is lost. What it refuses fails the test, with its words as evidence.
        pub async fn run_acid_tests<C: Connect>(
            connect: &C,
            (range, random): (WarehouseRange, Random),
            isolation: Isolation,
            progress: &mut dyn FnMut(AcidTest),
        ) -> AcidResult<Vec<AcidFinding>> {
            let mut fixture = Fixture::open(connect, (range, random), isolation).await?;
            let mut findings = Vec::new();
            $(
                let test = AcidTest { name: stringify!($name), title: $title, clause: $clause };
                progress(test);
                let ran = fixture.$run($($how)?).await;
                findings.push(finding(ran, test, isolation)?);
            )+
            C::close(fixture.onlooker.0).await;
            Ok(findings)
        }
    };
}

tests! {
    A1 "3.2.2.1" "a Payment that commits changes warehouse, district, customer and history"
        => committed();
    A2 "3.2.2.2" "a Payment that rolls back leaves them as they were, to the byte"
        => rolled_back();
    I1 "3.4.2.1"
        "Order-Status beside a New-Order of the customer that commits: it sees no order too early"
        => read_beside_an_order(End::Commit);
    I2 "3.4.2.2"
        "Order-Status beside a New-Order of the customer that rolls back: it never sees the order"
        => read_beside_an_order(End::Rollback);
    I3 "3.4.2.3" "two New-Orders of a customer have order numbers in sequence"
        => two_orders();
    I4 "3.4.2.4" "a New-Order beside one that rolls back takes its order number"
        => order_beside_a_rollback();
    I5 "3.4.2.5" "Payment beside a Delivery that commits: c_balance has both"
        => pay_beside_a_delivery(End::Commit);
    I6 "3.4.2.6" "Payment beside a Delivery that rolls back: c_balance has the payment"
        => pay_beside_a_delivery(End::Rollback);
    I7 "3.4.2.7" "a New-Order reads the same price of an item twice, though it changes"
        => prices_twice();
    I8 "3.4.2.8" "a Delivery that found no open order finds none when it reads again"
        => open_orders_twice();
    I9 "3.4.2.9" "an Order-Status finds the same last order when it reads again"
        => last_order_twice();
}

/// What a test found; what the server refuses fails it, and only a lost server ends all.
fn finding(ran: AcidResult<Seen>, test: AcidTest, isolation: Isolation) -> AcidResult<AcidFinding> {
    match ran {
        Ok(seen) => Ok(seen.finding(test, isolation)),
        Err(error) if error.is_loss() => Err(error),
        Err(error) => {
            let (verdict, evidence) = (AcidVerdict::Failed, vec![error.to_string()]);
            Ok(AcidFinding { test, isolation, verdict, phenomenon: None, evidence })
        }
    }
}

#[cfg(test)]
mod tests;
