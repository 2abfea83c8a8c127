//! The nine tables of clause 1.3 as InnoDB tables, their keys, indexes and foreign keys.
//!
//! Names and order of columns are those of tpcc-mysql's `create_table.sql`, so that its programs
//! run on our database and ours on theirs; our types are wider where its own are too narrow (taxes
//! and discounts of four decimals, warehouse numbers above 32,767, counters that outlive a long
//! run; w_ytd and d_ytd of 14 digits, because without think time one warehouse takes the four
//! million payments that fill 12).
//!
//! Character set: every table is `latin1` with collation `latin1_bin`, whatever the server's
//! default. Every value of TPC-C is ASCII, so this costs nothing in meaning, and it makes rows the
//! same bytes on every engine and version (default `latin1` in MySQL 5.7, `utf8mb4` in 8.0), orders
//! names the same way (the row at position ceil(n/2) by c_first is the same customer everywhere),
//! tells ORIGINAL from original (clause 2.4.2.2), and spares the server conversions.
//!
//! Secondary indexes and foreign keys come after the rows: one ALTER builds all indexes of a table
//! by sorting, which is several times faster than keeping them while rows arrive.

use std::fmt;

/// Districts of a warehouse (clause 1.2.1).
pub const DISTRICTS: u32 = 10;
/// Customers of a district (clause 1.2.1); as many orders and history rows are loaded.
pub const CUSTOMERS: u32 = 3_000;
/// Items, and stock rows of a warehouse (clause 1.2.1).
pub const ITEMS: u32 = 100_000;
/// Lowest order of a district that is not delivered yet at load (clause 4.3.3.1).
pub const FIRST_OPEN_ORDER: u32 = 2_101;

/// A column: its name and its type as DDL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub ddl: &'static str,
}

/// What is said of a table.
struct TableSpec {
    name: &'static str,
    /// Of a chunk: of a warehouse, or of the items.
    rows: u64,
    /// Of a row as a line, in the mean.
    row_bytes: u64,
    primary_key: &'static [&'static str],
    columns: &'static [Column],
}

/// `Table` and `TABLES`: of each table its name, rows of a chunk x bytes of a row, primary key, and
/// columns with their types.
macro_rules! tables {
    ($($table:ident $name:literal $rows:literal x $row_bytes:literal ($($key:ident),*) {
        $($column:ident $ddl:literal,)+
    })+) => {
        /// A table of TPC-C, in an order in which rows may be loaded with foreign keys checked.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Table {
            $($table),+
        }

        impl Table {
            /// All tables, parents before children.
            pub const ALL: [Table; TABLES.len()] = [$(Table::$table),+];
        }

        /// By the place of the table in [`Table::ALL`].
        const TABLES: [TableSpec; [$($name),+].len()] = [$(TableSpec {
            name: $name,
            rows: $rows,
            row_bytes: $row_bytes,
            primary_key: &[$(stringify!($key)),*],
            columns: &[$(Column { name: stringify!($column), ddl: $ddl }),+],
        }),+];
    };
}

tables! {
    Item "item" 100_000 x 76 (i_id) {
        i_id "INT NOT NULL",
        i_im_id "INT NOT NULL",
        i_name "VARCHAR(24) NOT NULL",
        i_price "DECIMAL(5,2) NOT NULL",
        i_data "VARCHAR(50) NOT NULL",
    }
    Warehouse "warehouse" 1 x 90 (w_id) {
        w_id "INT NOT NULL",
        w_name "VARCHAR(10) NOT NULL",
        w_street_1 "VARCHAR(20) NOT NULL",
        w_street_2 "VARCHAR(20) NOT NULL",
        w_city "VARCHAR(20) NOT NULL",
        w_state "CHAR(2) NOT NULL",
        w_zip "CHAR(9) NOT NULL",
        w_tax "DECIMAL(4,4) NOT NULL",
        w_ytd "DECIMAL(14,2) NOT NULL",
    }
    District "district" 10 x 96 (d_w_id, d_id) {
        d_id "TINYINT NOT NULL",
        d_w_id "INT NOT NULL",
        d_name "VARCHAR(10) NOT NULL",
        d_street_1 "VARCHAR(20) NOT NULL",
        d_street_2 "VARCHAR(20) NOT NULL",
        d_city "VARCHAR(20) NOT NULL",
        d_state "CHAR(2) NOT NULL",
        d_zip "CHAR(9) NOT NULL",
        d_tax "DECIMAL(4,4) NOT NULL",
        d_ytd "DECIMAL(14,2) NOT NULL",
        d_next_o_id "INT NOT NULL",
    }
    Stock "stock" 100_000 x 306 (s_w_id, s_i_id) {
        s_i_id "INT NOT NULL",
        s_w_id "INT NOT NULL",
        s_quantity "SMALLINT NOT NULL",
        s_dist_01 "CHAR(24) NOT NULL",
        s_dist_02 "CHAR(24) NOT NULL",
        s_dist_03 "CHAR(24) NOT NULL",
        s_dist_04 "CHAR(24) NOT NULL",
        s_dist_05 "CHAR(24) NOT NULL",
        s_dist_06 "CHAR(24) NOT NULL",
        s_dist_07 "CHAR(24) NOT NULL",
        s_dist_08 "CHAR(24) NOT NULL",
        s_dist_09 "CHAR(24) NOT NULL",
        s_dist_10 "CHAR(24) NOT NULL",
        s_ytd "DECIMAL(8,0) NOT NULL",
        s_order_cnt "INT NOT NULL",
        s_remote_cnt "INT NOT NULL",
        s_data "VARCHAR(50) NOT NULL",
    }
    Customer "customer" 30_000 x 573 (c_w_id, c_d_id, c_id) {
        c_id "INT NOT NULL",
        c_d_id "TINYINT NOT NULL",
        c_w_id "INT NOT NULL",
        c_first "VARCHAR(16) NOT NULL",
        c_middle "CHAR(2) NOT NULL",
        c_last "VARCHAR(16) NOT NULL",
        c_street_1 "VARCHAR(20) NOT NULL",
        c_street_2 "VARCHAR(20) NOT NULL",
        c_city "VARCHAR(20) NOT NULL",
        c_state "CHAR(2) NOT NULL",
        c_zip "CHAR(9) NOT NULL",
        c_phone "CHAR(16) NOT NULL",
        c_since "DATETIME NOT NULL",
        c_credit "CHAR(2) NOT NULL",
        c_credit_lim "DECIMAL(12,2) NOT NULL",
        c_discount "DECIMAL(4,4) NOT NULL",
        c_balance "DECIMAL(12,2) NOT NULL",
        c_ytd_payment "DECIMAL(12,2) NOT NULL",
        c_payment_cnt "INT NOT NULL",
        c_delivery_cnt "INT NOT NULL",
        c_data "VARCHAR(500) NOT NULL",
    }
    History "history" 30_000 x 58 () {
        h_c_id "INT NOT NULL",
        h_c_d_id "TINYINT NOT NULL",
        h_c_w_id "INT NOT NULL",
        h_d_id "TINYINT NOT NULL",
        h_w_id "INT NOT NULL",
        h_date "DATETIME NOT NULL",
        h_amount "DECIMAL(6,2) NOT NULL",
        h_data "VARCHAR(24) NOT NULL",
    }
    Orders "orders" 30_000 x 41 (o_w_id, o_d_id, o_id) {
        o_id "INT NOT NULL",
        o_d_id "TINYINT NOT NULL",
        o_w_id "INT NOT NULL",
        o_c_id "INT NOT NULL",
        o_entry_d "DATETIME NOT NULL",
        o_carrier_id "TINYINT",
        o_ol_cnt "TINYINT NOT NULL",
        o_all_local "TINYINT NOT NULL",
    }
    NewOrders "new_orders" 9_000 x 9 (no_w_id, no_d_id, no_o_id) {
        no_o_id "INT NOT NULL",
        no_d_id "TINYINT NOT NULL",
        no_w_id "INT NOT NULL",
    }
    OrderLine "order_line" 300_000 x 67 (ol_w_id, ol_d_id, ol_o_id, ol_number) {
        ol_o_id "INT NOT NULL",
        ol_d_id "TINYINT NOT NULL",
        ol_w_id "INT NOT NULL",
        ol_number "TINYINT NOT NULL",
        ol_i_id "INT NOT NULL",
        ol_supply_w_id "INT NOT NULL",
        ol_delivery_d "DATETIME",
        ol_quantity "TINYINT NOT NULL",
        ol_amount "DECIMAL(6,2) NOT NULL",
        ol_dist_info "CHAR(24) NOT NULL",
    }
}

impl Table {
    fn spec(self) -> &'static TableSpec {
        &TABLES[self as usize]
    }

    /// Its name in the database.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Its columns, in order (clause 1.3.1).
    pub fn columns(self) -> &'static [Column] {
        self.spec().columns
    }

    /// The columns of its primary key, in order. HISTORY has none (clause 1.3.1), unless it is
    /// given [`HISTORY_KEY`].
    pub fn primary_key(self) -> &'static [&'static str] {
        self.spec().primary_key
    }

    /// Rows of a chunk as loaded; about so many for order_line, where it depends on the seed
    /// (clause 4.3.3.1).
    pub fn rows_estimate(self) -> u64 {
        self.spec().rows
    }

    /// Bytes of a chunk as lines, within some percent.
    pub fn bytes_estimate(self) -> u64 {
        self.rows_estimate() * self.spec().row_bytes
    }

    fn column_list(self) -> String {
        let names: Vec<_> = self.columns().iter().map(|column| column.name).collect();
        names.join(",")
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What ends each CREATE TABLE; see the head of this file for the character set.
const TABLE_OPTIONS: &str = "ENGINE=InnoDB DEFAULT CHARSET=latin1 COLLATE=latin1_bin";

/// The surrogate key of HISTORY, for servers that demand one of every table: a column behind all
/// others that no SQL names.
const HISTORY_KEY: &str = "h_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY";

/// Most partitions of a table: each is a file that the server holds open.
pub const PARTITIONS_MAX: u32 = 1_024;

/// What a table is split by, where it can be: its warehouse, which begins every primary key but
/// that of the items. A server wants the column of the partitions in every unique key.
pub fn partition_column(table: Table) -> Option<&'static str> {
    let key = table.primary_key();
    key.first().copied().filter(|_| table != Table::Item)
}

/// CREATE TABLE of one table with its primary key and nothing else, for the load. Where
/// `partitions` is not 0, a table that can be is split into so many. With `history_key` HISTORY has
/// a primary key too. `options` win over those that all tables have.
pub fn create_sql(table: Table, partitions: u32, history_key: bool, options: &str) -> String {
    let mut parts: Vec<String> =
        table.columns().iter().map(|column| format!("{} {}", column.name, column.ddl)).collect();
    match table {
        Table::History if history_key => parts.push(HISTORY_KEY.to_owned()),
        Table::History => {}
        _ => parts.push(format!("PRIMARY KEY ({})", table.primary_key().join(","))),
    }
    let by = match partition_column(table) {
        Some(column) if partitions > 0 => {
            format!(" PARTITION BY HASH ({column}) PARTITIONS {partitions}")
        }
        _ => String::new(),
    };
    let options = if options.is_empty() { String::new() } else { format!(" {options}") };
    format!("CREATE TABLE {table} (\n  {}\n) {TABLE_OPTIONS}{options}{by}", parts.join(",\n  "))
}

/// LOAD DATA LOCAL of rows as `Population::rows` writes them. LOCAL turns duplicate keys and bad
/// values into warnings: compare the rows stored with those that the source counted.
pub fn load_sql(table: Table) -> String {
    format!(
        "LOAD DATA LOCAL INFILE 'mydyno' INTO TABLE {table} CHARACTER SET latin1 FIELDS TERMINATED \
         BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({})",
        table.column_list()
    )
}

/// The head of a multi-row INSERT, up to and with `VALUES `.
pub fn insert_head(table: Table) -> String {
    format!("INSERT INTO {table} ({}) VALUES ", table.column_list())
}

/// The foreign keys of a table (clause 1.3.1), by name, as tpcc-mysql has it, and columns, with the
/// parent, whose primary key they are.
fn foreign_keys(table: Table) -> &'static [(&'static str, &'static str, Table)] {
    use Table::{
        Customer, District, History, Item, NewOrders, OrderLine, Orders, Stock, Warehouse,
    };
    match table {
        District => &[("fkey_district_1", "d_w_id", Warehouse)],
        Customer => &[("fkey_customer_1", "c_w_id,c_d_id", District)],
        History => &[
            ("fkey_history_1", "h_c_w_id,h_c_d_id,h_c_id", Customer),
            ("fkey_history_2", "h_w_id,h_d_id", District),
        ],
        NewOrders => &[("fkey_new_orders_1", "no_w_id,no_d_id,no_o_id", Orders)],
        Orders => &[("fkey_orders_1", "o_w_id,o_d_id,o_c_id", Customer)],
        OrderLine => &[
            ("fkey_order_line_1", "ol_w_id,ol_d_id,ol_o_id", Orders),
            ("fkey_order_line_2", "ol_supply_w_id,ol_i_id", Stock),
        ],
        Stock => &[("fkey_stock_1", "s_w_id", Warehouse), ("fkey_stock_2", "s_i_id", Item)],
        Warehouse | Item => &[],
    }
}

/// The secondary indexes of a table, by name and columns: those that the transactions need
/// (customer by name, orders by customer), and with `foreign_keys` those that the foreign keys need
/// and no other key serves.
fn indexes(table: Table, foreign_keys: bool) -> &'static [(&'static str, &'static str)] {
    match (table, foreign_keys) {
        (Table::Customer, _) => &[("idx_customer", "c_w_id,c_d_id,c_last,c_first")],
        (Table::Orders, _) => &[("idx_orders", "o_w_id,o_d_id,o_c_id,o_id")],
        (Table::Stock, true) => &[("fkey_stock_2", "s_i_id")],
        (Table::OrderLine, true) => &[("fkey_order_line_2", "ol_supply_w_id,ol_i_id")],
        (Table::History, true) => {
            &[("fkey_history_1", "h_c_w_id,h_c_d_id,h_c_id"), ("fkey_history_2", "h_w_id,h_d_id")]
        }
        _ => &[],
    }
}

/// One ALTER TABLE that adds all secondary indexes of a table; `None` where it has none. For a
/// database that was loaded in primary-key order: one pass over the rows serves all of them.
pub fn indexes_sql(table: Table, foreign_keys: bool) -> Option<String> {
    let indexes = indexes(table, foreign_keys).iter();
    altered(table, indexes.map(|(name, columns)| format!("ADD INDEX {name} ({columns})")))
}

/// One ALTER TABLE that adds all foreign keys of a table; `None` where it has none. Run it after
/// all rows and [`indexes_sql`], in a session with `foreign_key_checks=0`: then no engine copies
/// the table or reads its rows.
pub fn foreign_keys_sql(table: Table) -> Option<String> {
    let keys = foreign_keys(table).iter().map(|(name, columns, parent)| {
        let key = parent.primary_key().join(",");
        format!("ADD CONSTRAINT {name} FOREIGN KEY ({columns}) REFERENCES {parent} ({key})")
    });
    altered(table, keys)
}

/// One ALTER TABLE of all these parts; `None` where there is none.
fn altered(table: Table, parts: impl Iterator<Item = String>) -> Option<String> {
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("ALTER TABLE {table} {}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_keys_agree() {
        for table in Table::ALL {
            let names: Vec<_> = table.columns().iter().map(|column| column.name).collect();
            let known = |list: &str| list.split(',').all(|name| names.contains(&name));
            assert!(table.primary_key().iter().all(|name| names.contains(name)));
            for (_, columns) in indexes(table, true) {
                assert!(known(columns), "{columns}");
            }
            for key in foreign_keys(table) {
                let (_, columns, parent) = key;
                assert!(known(columns), "{key:?}");
                let of_parent = parent.primary_key().len();
                assert_eq!(columns.split(',').count(), of_parent, "{key:?}");
                assert!(*parent < table, "{table} is loaded before {parent}");
            }
        }
    }

    #[test]
    fn every_foreign_key_has_an_index_of_its_own_columns_first() {
        for table in Table::ALL {
            let primary = table.primary_key().join(",");
            for key in foreign_keys(table) {
                let served = |columns: &str| columns.starts_with(key.1);
                let mut indexes = indexes(table, true).iter();
                assert!(served(&primary) || indexes.any(|(_, columns)| served(columns)), "{key:?}");
            }
        }
    }

    #[test]
    fn statements_read_well() {
        assert_eq!(
            create_sql(Table::NewOrders, 0, true, ""),
            "CREATE TABLE new_orders (\n  no_o_id INT NOT NULL,\n  no_d_id TINYINT NOT NULL,\n  \
             no_w_id INT NOT NULL,\n  PRIMARY KEY (no_w_id,no_d_id,no_o_id)\n) ENGINE=InnoDB \
             DEFAULT CHARSET=latin1 COLLATE=latin1_bin"
        );
        assert!(!create_sql(Table::History, 0, false, "").contains("PRIMARY"));
        assert!(create_sql(Table::History, 0, true, "").contains(HISTORY_KEY));
        let own = create_sql(Table::Stock, 2, false, "KEY_BLOCK_SIZE=8");
        assert!(
            own.ends_with("latin1_bin KEY_BLOCK_SIZE=8 PARTITION BY HASH (s_w_id) PARTITIONS 2")
        );
        let partitioned = Table::ALL.map(|table| create_sql(table, 8, false, ""));
        let ends = |(table, sql): (Table, &String)| {
            let by = sql.split_once(" PARTITION BY ")?.1.to_owned();
            Some(format!("{table}: {by}"))
        };
        let split: Vec<String> =
            Table::ALL.into_iter().zip(&partitioned).filter_map(ends).collect();
        // All but item, which belongs to no warehouse, and history, which has no key.
        assert_eq!(split.len(), 7);
        assert_eq!(split[1], "district: HASH (d_w_id) PARTITIONS 8");
        assert_eq!(
            load_sql(Table::NewOrders),
            "LOAD DATA LOCAL INFILE 'mydyno' INTO TABLE new_orders CHARACTER SET latin1 FIELDS \
             TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' \
             (no_o_id,no_d_id,no_w_id)"
        );
        assert_eq!(
            indexes_sql(Table::History, true).as_deref(),
            Some(
                "ALTER TABLE history ADD INDEX fkey_history_1 (h_c_w_id,h_c_d_id,h_c_id), \
                 ADD INDEX fkey_history_2 (h_w_id,h_d_id)"
            )
        );
        assert_eq!(indexes_sql(Table::History, false), None);
        assert!(indexes_sql(Table::Orders, false).is_some());
        assert_eq!(
            foreign_keys_sql(Table::Stock).as_deref(),
            Some(
                "ALTER TABLE stock ADD CONSTRAINT fkey_stock_1 FOREIGN KEY (s_w_id) REFERENCES \
                 warehouse (w_id), ADD CONSTRAINT fkey_stock_2 FOREIGN KEY (s_i_id) REFERENCES \
                 item (i_id)"
            )
        );
        assert_eq!(foreign_keys_sql(Table::Item), None);
    }
}
