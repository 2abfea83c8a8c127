//! Faults to plant into a consistent database. Each comes with its repair.

/// A fault in warehouse 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The check that it is for.
    pub check: &'static str,
    /// What is wrong then.
    pub title: &'static str,
    /// Every check that fails by it.
    pub fails: &'static [&'static str],
    /// Statements that plant it, for a session with `foreign_key_checks=0`.
    pub plant: &'static [&'static str],
    /// Statements that take it back.
    pub repair: &'static [&'static str],
}

/// At least one fault for each check, and one more for the second half of those that have two. They
/// need open orders in district 1 of warehouse 1, which a new database has.
pub const FAULTS: &[Fault] = &[
    Fault {
        check: "C1",
        title: "a payment is missing in a district",
        fails: &["C1", "C9"],
        plant: &["UPDATE district SET d_ytd=d_ytd-0.01 WHERE d_w_id=1 AND d_id=1"],
        repair: &["UPDATE district SET d_ytd=d_ytd+0.01 WHERE d_w_id=1 AND d_id=1"],
    },
    Fault {
        check: "C2",
        title: "an order number was given out without its order",
        fails: &["C2"],
        plant: &["UPDATE district SET d_next_o_id=d_next_o_id+1 WHERE d_w_id=1 AND d_id=10"],
        repair: &["UPDATE district SET d_next_o_id=d_next_o_id-1 WHERE d_w_id=1 AND d_id=10"],
    },
    Fault {
        check: "C3",
        title: "an order long delivered is open again",
        fails: &["C3", "C5", "C11"],
        plant: &["INSERT INTO new_orders (no_o_id,no_d_id,no_w_id) VALUES (1,1,1)"],
        repair: &["DELETE FROM new_orders WHERE no_w_id=1 AND no_d_id=1 AND no_o_id=1"],
    },
    Fault {
        check: "C4",
        title: "an order says that it has one line more",
        fails: &["C4", "C6"],
        plant: &["UPDATE orders SET o_ol_cnt=o_ol_cnt+1 WHERE o_w_id=1 AND o_d_id=1 AND o_id=1"],
        repair: &["UPDATE orders SET o_ol_cnt=o_ol_cnt-1 WHERE o_w_id=1 AND o_d_id=1 AND o_id=1"],
    },
    Fault {
        check: "C5",
        title: "a delivered order has no carrier",
        fails: &["C5", "C7"],
        plant: &["UPDATE orders SET o_carrier_id=NULL WHERE o_w_id=1 AND o_d_id=2 AND o_id=1"],
        repair: &["UPDATE orders SET o_carrier_id=7 WHERE o_w_id=1 AND o_d_id=2 AND o_id=1"],
    },
    Fault {
        check: "C5",
        title: "an open order does not exist",
        fails: &["C2", "C3", "C5", "C11"],
        plant: &["INSERT INTO new_orders (no_o_id,no_d_id,no_w_id) VALUES (2000000000,1,1)"],
        repair: &["DELETE FROM new_orders WHERE no_w_id=1 AND no_d_id=1 AND no_o_id=2000000000"],
    },
    Fault {
        check: "C6",
        title: "a line moved from one order's count to another's",
        fails: &["C6"],
        plant: &[
            "UPDATE orders SET o_ol_cnt=o_ol_cnt+1 WHERE o_w_id=1 AND o_d_id=1 AND o_id=1",
            "UPDATE orders SET o_ol_cnt=o_ol_cnt-1 WHERE o_w_id=1 AND o_d_id=1 AND o_id=2",
        ],
        repair: &[
            "UPDATE orders SET o_ol_cnt=o_ol_cnt-1 WHERE o_w_id=1 AND o_d_id=1 AND o_id=1",
            "UPDATE orders SET o_ol_cnt=o_ol_cnt+1 WHERE o_w_id=1 AND o_d_id=1 AND o_id=2",
        ],
    },
    Fault {
        check: "C6",
        title: "a line's order does not exist",
        fails: &["C4", "C6", "X1"],
        plant: &["INSERT INTO order_line \
             (ol_o_id,ol_d_id,ol_w_id,ol_number,ol_i_id,ol_supply_w_id,ol_quantity,ol_amount,\
              ol_dist_info) VALUES (2000000000,1,1,1,1,1,5,1.00,'orphan')"],
        repair: &["DELETE FROM order_line WHERE ol_w_id=1 AND ol_d_id=1 AND ol_o_id=2000000000"],
    },
    Fault {
        check: "C7",
        title: "one line of a delivered order was forgotten",
        fails: &["C7"],
        plant: &[
            "UPDATE order_line SET ol_delivery_d=NULL WHERE ol_w_id=1 AND ol_d_id=1 AND ol_o_id=1 \
             AND ol_number=5",
        ],
        repair: &["UPDATE order_line SET ol_delivery_d='2026-01-01 00:00:00' \
             WHERE ol_w_id=1 AND ol_d_id=1 AND ol_o_id=1 AND ol_number=5"],
    },
    Fault {
        check: "C8",
        title: "a payment reached warehouse and district but not history",
        fails: &["C8", "C9"],
        plant: &[
            "UPDATE warehouse SET w_ytd=w_ytd+5.55 WHERE w_id=1",
            "UPDATE district SET d_ytd=d_ytd+5.55 WHERE d_w_id=1 AND d_id=3",
        ],
        repair: &[
            "UPDATE warehouse SET w_ytd=w_ytd-5.55 WHERE w_id=1",
            "UPDATE district SET d_ytd=d_ytd-5.55 WHERE d_w_id=1 AND d_id=3",
        ],
    },
    Fault {
        check: "C9",
        title: "a payment was counted in the wrong district",
        fails: &["C9"],
        plant: &[
            "UPDATE district SET d_ytd=d_ytd+5.55 WHERE d_w_id=1 AND d_id=3",
            "UPDATE district SET d_ytd=d_ytd-5.55 WHERE d_w_id=1 AND d_id=4",
        ],
        repair: &[
            "UPDATE district SET d_ytd=d_ytd-5.55 WHERE d_w_id=1 AND d_id=3",
            "UPDATE district SET d_ytd=d_ytd+5.55 WHERE d_w_id=1 AND d_id=4",
        ],
    },
    Fault {
        check: "C10",
        title: "a payment is not in history",
        fails: &["C10", "X4"],
        plant: &["UPDATE customer SET c_balance=c_balance-3.21, c_ytd_payment=c_ytd_payment+3.21 \
             WHERE c_w_id=1 AND c_d_id=1 AND c_id=1"],
        repair: &[
            "UPDATE customer SET c_balance=c_balance+3.21, c_ytd_payment=c_ytd_payment-3.21 \
             WHERE c_w_id=1 AND c_d_id=1 AND c_id=1",
        ],
    },
    Fault {
        check: "C11",
        title: "a delivery was counted twice",
        fails: &["C11", "X5"],
        plant: &[
            "UPDATE customer SET c_delivery_cnt=c_delivery_cnt+1 WHERE c_w_id=1 AND c_d_id=5 AND \
             c_id=3000",
        ],
        repair: &[
            "UPDATE customer SET c_delivery_cnt=c_delivery_cnt-1 WHERE c_w_id=1 AND c_d_id=5 AND \
             c_id=3000",
        ],
    },
    Fault {
        check: "C12",
        title: "a customer was credited an order that was not delivered",
        fails: &["C10", "C12"],
        plant: &["UPDATE customer SET c_balance=c_balance+100 WHERE c_w_id=1 AND c_d_id=10 AND \
             c_id=3000"],
        repair: &["UPDATE customer SET c_balance=c_balance-100 WHERE c_w_id=1 AND c_d_id=10 AND \
             c_id=3000"],
    },
    Fault {
        check: "X1",
        title: "a remote line was not counted as remote",
        fails: &["X1"],
        plant: &["UPDATE stock SET s_remote_cnt=s_remote_cnt+1 WHERE s_w_id=1 AND s_i_id=100000"],
        repair: &["UPDATE stock SET s_remote_cnt=s_remote_cnt-1 WHERE s_w_id=1 AND s_i_id=100000"],
    },
    Fault {
        check: "X1",
        title: "what two items gave was booked on each other",
        fails: &["X1"],
        plant: &[
            "UPDATE stock SET s_ytd=s_ytd+5 WHERE s_w_id=1 AND s_i_id=1",
            "UPDATE stock SET s_ytd=s_ytd-5 WHERE s_w_id=1 AND s_i_id=2",
        ],
        repair: &[
            "UPDATE stock SET s_ytd=s_ytd-5 WHERE s_w_id=1 AND s_i_id=1",
            "UPDATE stock SET s_ytd=s_ytd+5 WHERE s_w_id=1 AND s_i_id=2",
        ],
    },
    Fault {
        check: "X2",
        title: "the stock was not refilled in time",
        fails: &["X2"],
        plant: &["UPDATE stock SET s_quantity=s_quantity-100 WHERE s_w_id=1 AND s_i_id=50000"],
        repair: &["UPDATE stock SET s_quantity=s_quantity+100 WHERE s_w_id=1 AND s_i_id=50000"],
    },
    Fault {
        check: "X3",
        title: "an order of home lines says that it has a remote one",
        fails: &["X3"],
        plant: &["UPDATE orders SET o_all_local=0 WHERE o_w_id=1 AND o_d_id=1 AND o_id=1"],
        repair: &["UPDATE orders SET o_all_local=1 WHERE o_w_id=1 AND o_d_id=1 AND o_id=1"],
    },
    Fault {
        check: "X4",
        title: "a payment was not counted",
        fails: &["X4"],
        plant: &[
            "UPDATE customer SET c_payment_cnt=c_payment_cnt-1 WHERE c_w_id=1 AND c_d_id=7 AND \
             c_id=700",
        ],
        repair: &[
            "UPDATE customer SET c_payment_cnt=c_payment_cnt+1 WHERE c_w_id=1 AND c_d_id=7 AND \
             c_id=700",
        ],
    },
    Fault {
        check: "X5",
        title: "a delivery was counted for another customer",
        fails: &["X5"],
        plant: &[
            "UPDATE customer SET c_delivery_cnt=c_delivery_cnt+1 WHERE c_w_id=1 AND c_d_id=5 AND \
             c_id=1",
            "UPDATE customer SET c_delivery_cnt=c_delivery_cnt-1 WHERE c_w_id=1 AND c_d_id=5 AND \
             c_id=2",
        ],
        repair: &[
            "UPDATE customer SET c_delivery_cnt=c_delivery_cnt-1 WHERE c_w_id=1 AND c_d_id=5 AND \
             c_id=1",
            "UPDATE customer SET c_delivery_cnt=c_delivery_cnt+1 WHERE c_w_id=1 AND c_d_id=5 AND \
             c_id=2",
        ],
    },
    Fault {
        check: "X6",
        title: "an order has lost its number, and its lines went with it",
        fails: &["X6"],
        plant: &[
            "UPDATE orders SET o_id=0 WHERE o_w_id=1 AND o_d_id=9 AND o_id=1",
            "UPDATE order_line SET ol_o_id=0 WHERE ol_w_id=1 AND ol_d_id=9 AND ol_o_id=1",
        ],
        repair: &[
            "UPDATE orders SET o_id=1 WHERE o_w_id=1 AND o_d_id=9 AND o_id=0",
            "UPDATE order_line SET ol_o_id=1 WHERE ol_w_id=1 AND ol_d_id=9 AND ol_o_id=0",
        ],
    },
];

#[test]
fn every_check_has_a_fault_that_makes_it_fail() {
    let names = tpcc::CHECKS.map(|check| check.name);
    for name in names {
        assert!(FAULTS.iter().any(|fault| fault.check == name), "{name}");
    }
    for fault in FAULTS {
        assert!(fault.fails.contains(&fault.check), "{fault:?}");
        assert!(fault.fails.iter().all(|name| names.contains(name)));
    }
}
