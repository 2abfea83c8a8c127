use super::*;
use base::Warehouses;
use std::collections::BTreeSet;

fn source(warehouses: u32, home: Option<u32>) -> InputSource {
    let constants = RunConstants::for_run(Some(157), 1);
    InputSource::new(Random::new(5, &[]), constants, Warehouses(warehouses), home)
}

impl NewOrder {
    /// One of these lines, in the order of processing.
    pub(crate) fn of_lines(customer: CustomerId, entered: DateTime, of: &[OrderLine]) -> NewOrder {
        let items: Vec<u32> = of.iter().map(|line| line.item).collect();
        let mut order = NewOrder { entered, ..NewOrder::of_items(customer, &items) };
        order.lines[..of.len()].copy_from_slice(of);
        order
    }
}

#[test]
fn every_23_cards_are_one_set() {
    let mut source = source(3, None);
    for _ in 0..50 {
        let mut counts = [0; 5];
        for _ in 0..23 {
            let card = source.deal();
            source.input_of(card);
            counts[card.index()] += 1;
        }
        assert_eq!(counts, [10, 10, 1, 1, 1]);
    }
}

/// By the typical lengths of rows of clause 4.2.2: a New-Order changes a district and ten stocks,
/// and adds an order with its ten lines; a Delivery is ten orders' worth.
#[test]
fn transactions_change_rows_of_typical_length() {
    let bytes = Transaction::ALL.map(Transaction::row_bytes);
    assert_eq!(bytes, [95 + 24 + 8 + 3_600, 89 + 95 + 655 + 46, 0, 10 * (8 + 24 + 540 + 655), 0]);
}

/// What waited in the queue of deferred Deliveries is dated when it is done (clause 2.7.4.2).
#[test]
fn a_delivery_has_the_time_of_its_try() {
    let mut source = source(1, None);
    let drawn = source.input_of(Transaction::Delivery);
    let later = DateTime { year: 2100, ..DateTime::now() };
    let Input::Delivery(tried) = drawn.tried_at(|| later) else {
        panic!("a Delivery stays one");
    };
    assert_eq!(tried.delivered, later);
    // What was entered keeps its time.
    let entered = source.input_of(Transaction::Payment);
    assert_eq!(entered.tried_at(|| later), entered);
}

#[test]
fn orders_follow_clause_2_4_1() {
    let mut source = source(4, None);
    let (mut rolled_back, mut lengths) = (0, [0u32; 16]);
    for _ in 0..100_000 {
        let Input::NewOrder(order) = source.input_of(Transaction::NewOrder) else { panic!() };
        let lines = order.lines();
        lengths[lines.len()] += 1;
        rolled_back += u32::from(order.rolls_back);
        let mut numbers: Vec<u32> = lines.iter().map(|line| line.number).collect();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(1..=lines.len() as u32));
        assert!(lines.iter().all(|line| (1..=10).contains(&line.quantity)));
        let unused = lines.iter().filter(|line| line.item == UNUSED_ITEM).count();
        assert_eq!(unused, usize::from(order.rolls_back));
        if order.rolls_back {
            let last = lines[lines.len() - 1];
            assert_eq!((last.item, last.number), (UNUSED_ITEM, lines.len() as u32));
        }
        let used = &lines[..lines.len() - unused];
        assert!(used.is_sorted_by_key(|line| (line.supply_warehouse, line.item)));
    }
    // 1,000 expected, standard deviation 31.
    assert!((850..1_150).contains(&rolled_back), "{rolled_back}");
    // 9,091 expected of each length, standard deviation 91.
    assert!(lengths[5..].iter().all(|n| (8_600..9_600).contains(n)), "{lengths:?}");
    assert_eq!(lengths[..5].iter().sum::<u32>(), 0);
}

#[test]
fn other_warehouses_are_uniform_and_never_home() {
    let mut source = source(5, Some(3));
    let mut seen = [0u32; 6];
    for _ in 0..200_000 {
        let Input::Payment(payment) = source.input_of(Transaction::Payment) else { panic!() };
        assert_eq!(payment.warehouse, 3);
        assert!((100..=500_000).contains(&payment.amount.0));
        if payment.customer_warehouse == 3 {
            assert_eq!(payment.customer_district, payment.district);
        }
        seen[payment.customer_warehouse as usize] += 1;
    }
    // 15 % of 200,000 over four others: 7,500 each, standard deviation 85.
    for other in [1, 2, 4, 5] {
        assert!((7_000..8_000).contains(&seen[other]), "{seen:?}");
    }
}

/// The supplying and the paying warehouses of a shard's inputs, by warehouse.
fn used_by_a_shard(mut source: InputSource) -> [u32; 10] {
    let mut used = [0; 10];
    for _ in 0..20_000 {
        match source.next_input() {
            Input::NewOrder(order) => {
                assert!((4..=6).contains(&order.warehouse));
                let lines = order.lines();
                for line in lines {
                    used[line.supply_warehouse as usize] += 1;
                }
                assert!(lines.is_sorted_by_key(|line| line.item == UNUSED_ITEM));
            }
            Input::Payment(payment) => {
                assert!((4..=6).contains(&payment.warehouse));
                used[payment.customer_warehouse as usize] += 1;
            }
            Input::OrderStatus(status) => assert!((4..=6).contains(&status.warehouse)),
            Input::Delivery(delivery) => assert!((4..=6).contains(&delivery.warehouse)),
            Input::StockLevel(level) => assert!((4..=6).contains(&level.warehouse)),
        }
    }
    used
}

#[test]
fn inputs_stay_in_their_shard_unless_transactions_may_leave_it() {
    let constants = RunConstants::for_run(Some(157), 1);
    let range = WarehouseRange::between((4, 6)).unwrap();
    let source = || InputSource::new(Random::new(5, &[]), constants, range, None);
    let used = used_by_a_shard(source());
    assert!(used[..4].iter().chain(&used[7..]).all(|count| *count == 0), "{used:?}");
    assert!(used[4..7].iter().all(|count| *count > 1_000), "{used:?}");
    let all = WarehouseRange::all(Warehouses(9));
    let used = used_by_a_shard(source().with_remote(all));
    assert!(used[1..].iter().all(|count| *count > 100) && used[0] == 0, "{used:?}");
}

#[test]
fn one_warehouse_has_no_remote_work() {
    let mut source = source(1, None);
    for _ in 0..10_000 {
        match source.next_input() {
            Input::NewOrder(order) => assert_eq!(order.remote_lines(), 0),
            Input::Payment(payment) => assert_eq!(payment.customer_warehouse, 1),
            _ => {}
        }
    }
}

#[test]
fn whole_amounts_leave_all_other_inputs_as_they_are() {
    let mut source = source(3, None);
    let mut whole = source.clone().with_whole_amounts(Random::new(6, &[]));
    let mut amounts = BTreeSet::new();
    for _ in 0..100_000 {
        let pair = (source.input_of(Transaction::Payment), whole.input_of(Transaction::Payment));
        let (Input::Payment(payment), Input::Payment(other)) = pair else { panic!() };
        assert_eq!(other.amount.0 % 100, 0);
        amounts.insert(other.amount.0 / 100);
        assert_eq!(payment.customer, other.customer);
    }
    assert_eq!((amounts.first(), amounts.last()), (Some(&1), Some(&5_000)));
}

#[test]
fn a_terminals_stock_levels_have_one_district() {
    let mut terminal = source(3, Some(2)).with_stock_level_district(7);
    let mut others = [false; 11];
    for _ in 0..23_000 {
        match terminal.next_input() {
            Input::StockLevel(level) => assert_eq!((level.warehouse, level.district), (2, 7)),
            Input::NewOrder(order) => others[order.district as usize] = true,
            _ => {}
        }
    }
    assert_eq!(others.iter().filter(|seen| **seen).count(), 10);
}

#[test]
fn sixty_percent_name_the_customer() {
    let mut source = source(2, None);
    let mut by_name = 0;
    for _ in 0..50_000 {
        let Input::OrderStatus(input) = source.input_of(Transaction::OrderStatus) else { panic!() };
        match input.customer {
            CustomerKey::LastName(number) => {
                assert!(number < 1_000);
                by_name += 1;
            }
            CustomerKey::Number(number) => assert!((1..=3_000).contains(&number)),
        }
    }
    assert!((29_500..30_500).contains(&by_name), "{by_name}");
}
