//! Is a database whole that another tool loaded? It has no `mydyno_load` to ask, and to count all
//! rows would take as long as a check. So the last row that each loader writes for a warehouse is
//! looked up by its key, warehouse by warehouse in one statement: tools load in the order of keys,
//! and a load that was killed lacks these rows.

use crate::schema::{CUSTOMERS, DISTRICTS, ITEMS, Table};
use base::{Session, SessionResult, Warehouses};
use std::collections::BTreeSet;

/// Columns that a schema with all nine tables lacks, as `orders.o_all_local`.
///
/// # Errors
/// Where the server refuses.
pub async fn missing_columns<S: Session>(session: &mut S) -> SessionResult<Vec<String>> {
    let sql = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = \
        DATABASE()";
    let answer = session.query(sql).await?;
    let name = |table: &str, column: &str| format!("{table}.{column}").to_ascii_lowercase();
    let found: BTreeSet<_> = answer.rows().map(|row| name(&row.text(0), &row.text(1))).collect();
    let wanted = Table::ALL.into_iter().flat_map(|table| {
        table.columns().iter().map(move |column| name(table.name(), column.name))
    });
    Ok(wanted.filter(|column| !found.contains(column)).collect())
}

/// The two secondary indexes without which the profiles crawl, as far as they are missing:
/// tpcc-mysql makes them in a script of its own, `add_fkey_idx.sql`.
///
/// # Errors
/// Where the server refuses.
pub async fn missing_indexes<S: Session>(session: &mut S) -> SessionResult<Vec<&'static str>> {
    // The primary keys begin alike, so the third column tells.
    let sql = "SELECT DISTINCT LOWER(column_name) FROM information_schema.statistics \
               WHERE table_schema = DATABASE() AND seq_in_index = 3 \
               AND ((table_name = 'customer' AND column_name = 'c_last') \
               OR (table_name = 'orders' AND column_name = 'o_c_id'))";
    let answer = session.query(sql).await?;
    let found: BTreeSet<String> = answer.rows().map(|row| row.text(0)).collect();
    let wanted = [
        ("c_last", "customer (c_w_id, c_d_id, c_last, c_first)"),
        ("o_c_id", "orders (o_w_id, o_d_id, o_c_id, o_id)"),
    ];
    let missing = wanted.into_iter().filter(|(column, _)| !found.contains(*column));
    Ok(missing.map(|(_, index)| index).collect())
}

/// What follows the warehouse in the key of the last row that a loader writes for a warehouse.
/// History has no key, and the open orders of the load may all be delivered.
const LAST_ROWS: [(Table, &[u32]); 5] = [
    (Table::District, &[DISTRICTS]),
    (Table::Stock, &[ITEMS]),
    (Table::Customer, &[DISTRICTS, CUSTOMERS]),
    (Table::Orders, &[DISTRICTS, CUSTOMERS]),
    (Table::OrderLine, &[DISTRICTS, CUSTOMERS, 1]),
];

/// How many warehouses have the row of `table` whose key ends like this.
fn last_rows_sql(table: Table, end: &[u32]) -> String {
    let key = table.primary_key();
    let end = key[1..].iter().zip(end).map(|(column, value)| format!(" AND {column} = {value}"));
    let end: String = end.collect();
    format!("SELECT COUNT(*) FROM warehouse JOIN {table} ON {} = w_id{end}", key[0])
}

/// What a database of `warehouses` lacks of a whole one, in words; nothing where it is whole.
///
/// # Errors
/// Where the server refuses.
pub async fn gaps<S: Session>(
    session: &mut S,
    warehouses: Warehouses,
) -> SessionResult<Vec<String>> {
    let mut gaps = Vec::new();
    if count(session, "SELECT COALESCE(MAX(w_id), 0) FROM warehouse").await?
        != i64::from(warehouses.0)
    {
        gaps.push(format!("its warehouses are not numbered 1 to {warehouses}"));
    }
    let items = count(session, &format!("SELECT COUNT(*) FROM item WHERE i_id <= {ITEMS}")).await?;
    if items != i64::from(ITEMS) {
        gaps.push(format!("item has {items} of {ITEMS} rows"));
    }
    for (table, end) in LAST_ROWS {
        let whole = count(session, &last_rows_sql(table, end)).await?;
        if whole != i64::from(warehouses.0) {
            gaps.push(format!("{table} is whole in {whole} of {warehouses} warehouses"));
        }
    }
    if count(session, "SELECT COUNT(*) FROM (SELECT h_w_id FROM history LIMIT 1) AS h").await? == 0
    {
        gaps.push("history is empty".to_owned());
    }
    Ok(gaps)
}

/// The number that SQL selects; 0 where there is no row.
pub(crate) async fn count<S: Session>(session: &mut S, sql: &str) -> SessionResult<i64> {
    Ok(session.query(sql).await?.int()?.unwrap_or(0))
}
