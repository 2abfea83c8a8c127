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
pub use finding::{AcidError, AcidFinding, AcidTest, AcidVerdict, Phenomenon, Seen};

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

/// The tests that [`run_acid_tests`] runs.
pub const ACID_TESTS: [AcidTest; 11] = [
    atomicity::COMMITTED,
    atomicity::ROLLED_BACK,
    isolation::I1,
    isolation::I2,
    isolation::I3,
    isolation::I4,
    isolation::I5,
    isolation::I6,
    isolation::I7,
    isolation::I8,
    isolation::I9,
];

/// Runs the tests of atomicity and isolation at a level, on rows of a warehouse of `range` that
/// `random` names. Nobody else may change the database meanwhile, and transactions are left in it
/// as a run leaves them: all checks hold before and after. `progress` hears of each test that
/// begins.
///
/// # Errors
/// Where the server is lost. What it refuses fails the test, with its words as evidence.
pub async fn run_acid_tests<C: Connect>(
    connect: &C,
    (range, random): (WarehouseRange, Random),
    isolation: Isolation,
    progress: &mut dyn FnMut(AcidTest),
) -> Result<Vec<AcidFinding>, AcidError> {
    let mut fixture = Fixture::open(connect, (range, random), isolation).await?;
    let mut findings = Vec::new();
    for test in ACID_TESTS {
        progress(test);
        findings.push(match run_test(&mut fixture, test).await {
            Ok(seen) => seen.finding(test, isolation),
            Err(error) if error.is_loss() => return Err(error),
            Err(error) => AcidFinding {
                verdict: AcidVerdict::Failed,
                ..Seen::of(error.to_string()).finding(test, isolation)
            },
        });
    }
    fixture.close().await;
    Ok(findings)
}

async fn run_test<C: Connect>(
    fixture: &mut Fixture<'_, C>,
    test: AcidTest,
) -> Result<Seen, AcidError> {
    match test {
        atomicity::COMMITTED => atomicity::committed(fixture).await,
        atomicity::ROLLED_BACK => atomicity::rolled_back(fixture).await,
        isolation::I1 => isolation::read_beside_an_order(fixture, End::Commit).await,
        isolation::I2 => isolation::read_beside_an_order(fixture, End::Rollback).await,
        isolation::I3 => isolation::two_orders(fixture).await,
        isolation::I4 => isolation::order_beside_a_rollback(fixture).await,
        isolation::I5 => isolation::pay_beside_a_delivery(fixture, End::Commit).await,
        isolation::I6 => isolation::pay_beside_a_delivery(fixture, End::Rollback).await,
        isolation::I7 => isolation::prices_twice(fixture).await,
        isolation::I8 => isolation::open_orders_twice(fixture).await,
        _ => isolation::last_order_twice(fixture).await,
    }
}
