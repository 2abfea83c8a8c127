//! Where tpcc-mysql does otherwise than the clauses of TPC-C or than its own words, and what became
//! of it here.

/// What this workload does about a deviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is part of the load that published numbers were measured with.
    Kept,
    /// Done as it should be, with the same statements.
    Fixed,
}

/// One deviation of tpcc-mysql.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    pub decision: Decision,
    /// A few words, for a list of all.
    pub short: &'static str,
    /// What it is, whole.
    pub text: &'static str,
}

/// Checks that cannot hold in a database that this workload has driven, by what it keeps.
pub const FAILING_CHECKS: [&str; 4] = ["C12", "X1", "X2", "X4"];

macro_rules! deviations {
    ($($decision:ident $short:literal: $text:literal;)+) => {
        [$(Deviation { decision: Decision::$decision, short: $short, text: $text }),+]
    };
}

/// All of them: New-Order, Payment, Order-Status, Delivery, Stock-Level, then the driver.
pub const DEVIATIONS: [Deviation; 22] = deviations! {
    Kept "no s_ytd, s_order_cnt, s_remote_cnt":
        "New-Order does not keep s_ytd, s_order_cnt and s_remote_cnt (check X1 fails)";
    Kept "stock falls to 1":
        "New-Order refills stock only where nothing would remain, not where less than 10 would \
         (check X2 fails, and Stock-Level finds more low stock)";
    Kept "ol_amount with tax and discount":
        "ol_amount includes taxes and discount; the total of an order is not used";
    Kept "ol_number in order of processing":
        "lines are numbered in the order of processing, by warehouse and item, not as entered; all \
         ten s_dist columns are read";
    Fixed "unused item last":
        "the unused item of a rolled-back order is met last; tpcc-mysql meets it before lines of \
         higher warehouses";
    Fixed "o_all_local with one warehouse":
        "with one warehouse o_all_local is 1; tpcc-mysql sets 0 in about a tenth of the orders";
    Kept "no c_ytd_payment, c_payment_cnt":
        "Payment does not keep c_ytd_payment and c_payment_cnt (checks C12 and X4 fail)";
    Kept "whole amounts, h_data without spaces":
        "payments are whole units of 1 to 5000; h_data is both names run together, with the four \
         spaces behind them and only where both names have ten characters";
    Fixed "c_data of bad credit is written":
        "a payment of a customer with bad credit reads c_data with a lock and changes it; \
         tpcc-mysql reads it without, builds the new text and writes the old one, so its UPDATE \
         changes less";
    Fixed "money is exact":
        "money is exact decimals; tpcc-mysql reads and writes c_balance and ol_amount as 32-bit \
         floats, which lose cents from 131072 up";
    Fixed "Order-Status of the customer found":
        "Order-Status by last name shows the order of the customer found and reads c_id for it; \
         tpcc-mysql shows that of another, random customer";
    Fixed "no order delivered twice":
        "Delivery reads the oldest open order with a lock and checks that its DELETE found it; \
         tpcc-mysql does neither and delivers some orders twice under concurrency";
    Kept "COMMIT per district, no queue":
        "Delivery commits after each district and runs at once, without a queue and a result file";
    Fixed "Delivery goes on where it failed":
        "a new try of a Delivery goes on with the district that failed, and one that ends with a \
         skipped district commits; tpcc-mysql begins again with district 1 and leaves the \
         transaction open";
    Kept "Stock-Level item by item":
        "Stock-Level asks for each item of the last 20 orders in a statement of its own, and adds \
         nothing up";
    Kept "no terminals":
        "any warehouse for each transaction and any district for each Stock-Level; no home \
         warehouse, no keying and think time";
    Fixed "a deck per connection":
        "each connection deals its own deck of 23 cards, as the clauses ask; in tpcc-mysql all \
         share one behind a lock";
    Fixed "constants of NURand":
        "the constants of NURand are drawn once per run from the seed and, where the load's is \
         known, at the distance that clause 2.1.6.1 asks for; in tpcc-mysql they are whatever is \
         on the stack";
    Fixed "inputs by seed":
        "inputs come from the seed, so a run can be repeated; tpcc-mysql draws from /dev/urandom";
    Fixed "rows are checked":
        "every change must find its rows, else the transaction is rolled back and counted as an \
         error (clause 2.3.6)";
    Fixed "retries pause, connections reconnect":
        "a transaction is tried up to 100 times with growing random pauses, which its response \
         time includes, and a lost connection is opened again; tpcc-mysql tries 2000 times without \
         a pause and never reconnects";
    Fixed "measured window":
        "counters are exact, limits are seconds, and only what ended in the window counts; in \
         tpcc-mysql counters lose updates, limits of 5 s are 5 ms, and warm-up is in averages and \
         the first interval";
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failing_check_has_a_deviation_that_is_kept() {
        for check in FAILING_CHECKS {
            assert!(crate::CHECKS.iter().any(|known| known.name == check), "{check}");
            assert!(
                DEVIATIONS.iter().any(|deviation| deviation.decision == Decision::Kept
                    && deviation.text.contains(check)),
                "{check}"
            );
        }
    }

    #[test]
    fn the_page_tells_the_whole_list() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tpcc-mysql.md");
        let page = std::fs::read_to_string(path).unwrap();
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        for deviation in DEVIATIONS {
            assert!(page.contains(deviation.text), "docs/tpcc-mysql.md lacks: {}", deviation.text);
        }
    }
}
