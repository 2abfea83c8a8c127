//! What keeps C10, X1 and X4 linear in the number of warehouses on a database without foreign keys.
//!
//! These three ask for the history of a warehouse's customers and for the lines that a warehouse
//! supplied, wherever they were entered. The foreign keys' indexes answer that; without them each
//! statement of one warehouse would read the whole table. So each side is first reduced to one
//! number per warehouse: a sum of its values, each times a coefficient of its row's key (CRC-32, on
//! both sides alike). One pass over each table gives all of them. Warehouses whose numbers agree
//! hold; the others are suspects, and the statements of `list` name their rows. Sums of several
//! shards add up, so the same shows what holds over all of them.
//!
//! A single wrong row cannot hide, as no coefficient is 0; several wrong rows of one warehouse
//! cancel out by chance once in billions.

use crate::probe;
use crate::shards::ShardSession;
use base::{Session, SessionError, SessionResult};
use std::collections::{BTreeMap, BTreeSet};

/// Are there indexes by which history and order_line are found by customer's and by supplying
/// warehouse?
pub(super) async fn is_indexed<S: Session>(session: &mut S) -> SessionResult<bool> {
    let sql = "SELECT COUNT(DISTINCT table_name) FROM information_schema.statistics WHERE \
               table_schema=DATABASE() AND seq_in_index=1 AND ((table_name='history' AND \
               column_name='h_c_w_id') OR (table_name='order_line' AND \
               column_name='ol_supply_w_id'))";
    Ok(probe::count(session, sql).await? == 2)
}

fn missing(what: &str) -> SessionError {
    SessionError::Unexpected(format!("the server's answer lacks {what}"))
}

/// Sums of a warehouse; integers, money in hundredths. Up to 10^5 rows of values below 10^10, times
/// 2^32: above 64 bits.
type WarehouseSums<const N: usize> = BTreeMap<u32, [i128; N]>;

/// Adds rows of a warehouse and `N` sums.
async fn add<const N: usize, S: Session>(
    session: &mut S,
    sql: &str,
    sums: &mut WarehouseSums<N>,
) -> SessionResult<()> {
    for row in session.query(sql).await?.rows() {
        let warehouse = u32::try_from(row.int(0)?).map_err(|_| missing("a warehouse's number"))?;
        let of_warehouse = sums.entry(warehouse).or_insert([0; N]);
        for (i, sum) in of_warehouse.iter_mut().enumerate() {
            let text = row.text(i + 1);
            *sum += text.parse::<i128>().map_err(|_| missing("a sum that is an integer"))?;
        }
    }
    Ok(())
}

/// Runs `sql` for each warehouse, where it lies, in place of `{w}` and collects the sums.
async fn add_all<const N: usize, S: Session>(
    parts: &mut [ShardSession<'_, S>],
    sql: &str,
) -> SessionResult<WarehouseSums<N>> {
    let mut sums = WarehouseSums::new();
    for part in parts {
        for warehouse in part.range.iter() {
            add(part.session, &sql.replace("{w}", &warehouse.to_string()), &mut sums).await?;
        }
    }
    Ok(sums)
}

/// The warehouses whose sums differ.
fn differing<const N: usize, S>(
    parts: &[ShardSession<'_, S>],
    left: &WarehouseSums<N>,
    right: &WarehouseSums<N>,
) -> BTreeSet<u32> {
    let of = |sums: &WarehouseSums<N>, warehouse| sums.get(&warehouse).copied().unwrap_or([0; N]);
    let all = parts.iter().flat_map(|part| part.range.iter());
    all.filter(|w| of(left, *w) != of(right, *w)).collect()
}

/// Lines since the load, by who supplied them. The district list makes it ten short ranges of the
/// primary key.
const SUPPLIED: &str = "SELECT ol_supply_w_id, SUM(CAST(CRC32(ol_i_id) AS SIGNED)*ol_quantity) AS \
    a, SUM(CRC32(ol_i_id)) AS b, SUM(IF(ol_supply_w_id<>ol_w_id,CRC32(ol_i_id),0)) AS c FROM \
    order_line WHERE ol_w_id={w} AND ol_d_id IN (1,2,3,4,5,6,7,8,9,10) AND ol_o_id>3000 GROUP BY \
    ol_supply_w_id";
const STOCK: &str = "SELECT {w}, COALESCE(SUM(CRC32(s_i_id)*s_ytd),0) AS a, \
     COALESCE(SUM(CAST(CRC32(s_i_id) AS SIGNED)*s_order_cnt),0) AS b, \
     COALESCE(SUM(CAST(CRC32(s_i_id) AS SIGNED)*s_remote_cnt),0) AS c FROM stock WHERE s_w_id={w}";

/// X1: warehouses whose stock counters are not what was supplied.
pub(super) async fn stock_suspects<S: Session>(
    parts: &mut [ShardSession<'_, S>],
) -> SessionResult<BTreeSet<u32>> {
    let supplied: WarehouseSums<3> = add_all(parts, SUPPLIED).await?;
    let stock: WarehouseSums<3> = add_all(parts, STOCK).await?;
    Ok(differing(parts, &supplied, &stock))
}

const PAID: &str = "SELECT h_c_w_id+0 AS w, CAST(100*SUM(CRC32(h_c_id*32+h_c_d_id)*h_amount) AS \
    DECIMAL(65,0)) AS a, SUM(CRC32(h_c_id*32+h_c_d_id)) AS b FROM history GROUP BY h_c_w_id+0";
const PAYERS: &str = "SELECT {w}, CAST(100*COALESCE(SUM(CRC32(c_id*32+c_d_id)*c_ytd_payment),0) AS \
    DECIMAL(65,0)) AS a, COALESCE(SUM(CAST(CRC32(c_id*32+c_d_id) AS SIGNED)*c_payment_cnt),0) AS b \
    FROM customer WHERE c_w_id={w}";
const BALANCES: &str = "SELECT {w}, CAST(100*COALESCE(SUM(CRC32(c_id*32+c_d_id)*c_balance),0) AS \
    DECIMAL(65,0)) AS a FROM customer WHERE c_w_id={w}";
const BOUGHT: &str = "SELECT STRAIGHT_JOIN {w}, \
    CAST(100*COALESCE(SUM(CRC32(o.o_c_id*32+o.o_d_id)*l.ol_amount),0) AS DECIMAL(65,0)) AS a FROM \
    orders o JOIN order_line l ON l.ol_w_id=o.o_w_id AND l.ol_d_id=o.o_d_id AND l.ol_o_id=o.o_id \
    WHERE o.o_w_id={w} AND l.ol_delivery_d IS NOT NULL";

/// X4: warehouses whose customers' payments are not those of history; and what the customers of
/// each warehouse paid by history, sum and count.
pub(super) async fn payment_suspects<S: Session>(
    parts: &mut [ShardSession<'_, S>],
) -> SessionResult<(BTreeSet<u32>, WarehouseSums<2>)> {
    let mut paid: WarehouseSums<2> = WarehouseSums::new();
    for part in parts.iter_mut() {
        add(part.session, PAID, &mut paid).await?;
    }
    let payers: WarehouseSums<2> = add_all(parts, PAYERS).await?;
    Ok((differing(parts, &paid, &payers), paid))
}

/// C10: warehouses whose customers' balances are not what they bought less what they paid.
pub(super) async fn balance_suspects<S: Session>(
    parts: &mut [ShardSession<'_, S>],
    paid: &WarehouseSums<2>,
) -> SessionResult<BTreeSet<u32>> {
    let balances: WarehouseSums<1> = add_all(parts, BALANCES).await?;
    let mut owed: WarehouseSums<1> = add_all(parts, BOUGHT).await?;
    for (&warehouse, [amount, _]) in paid {
        owed.entry(warehouse).or_insert([0])[0] -= amount;
    }
    Ok(differing(parts, &balances, &owed))
}
