use super::digest::{Digest, DigestOptions};
use super::read::ObservedDigests;
use super::statement::statement_of;
use super::tables::{ColumnFacts, KeyFacts, TableFacts};
use super::write::{DigestText, LeftOut};
use crate::file;

fn column(name: &str, column_type: &str, length: Option<u64>) -> ColumnFacts {
    let (name, column_type) = (name.to_owned(), column_type.to_owned());
    ColumnFacts { name, column_type, length, ..ColumnFacts::default() }
}

fn key(is_unique: bool, columns: &[(usize, u64)]) -> KeyFacts {
    let columns = columns.iter().map(|(place, values)| (*place, Some(*values))).collect();
    KeyFacts { is_unique, columns }
}

/// People with an id and an e-mail address, and what they bought.
fn tables() -> Vec<TableFacts> {
    let mut id = column("id", "bigint(20) unsigned", None);
    id.range = Some((11, 5010));
    let person = TableFacts {
        name: "person".to_owned(),
        rows: 4_800,
        row_bytes: 100,
        columns: vec![
            id,
            column("email", "varchar(60)", Some(60)),
            column("state", "enum('a','b','c')", Some(1)),
            column("note", "text", Some(65_535)),
            column("born", "date", None),
        ],
        keys: vec![key(true, &[(0, 4_800)]), key(true, &[(1, 4_700)]), key(false, &[(2, 3)])],
        create: "CREATE TABLE `person` (\n  `id` bigint NOT NULL,\n  `email` varchar(60),\n  \
                 KEY `a` (`id`),\n  CONSTRAINT `x` FOREIGN KEY (`id`) REFERENCES `other` (`id`)\n) \
                 ENGINE=InnoDB AUTO_INCREMENT=5011 COMMENT='it''s'"
            .to_owned(),
        ..TableFacts::default()
    };
    let mut number = column("number", "smallint(6)", None);
    number.range = Some((1, 4));
    let mut owner = column("person", "bigint(20)", None);
    owner.range = Some((11, 5010));
    let bought = TableFacts {
        name: "bought".to_owned(),
        rows: 20_000,
        row_bytes: 40,
        columns: vec![owner, number, column("price", "decimal(10,2)", None)],
        keys: vec![key(true, &[(0, 5_000), (1, 20_000)])],
        create: "CREATE TABLE `bought` (\n  `person` bigint\n) ENGINE=InnoDB".to_owned(),
        ..TableFacts::default()
    };
    let view = TableFacts { name: "seen".to_owned(), is_view: true, ..TableFacts::default() };
    vec![person, bought, view]
}

fn digest(text: &str) -> Digest {
    let (calls, rows_examined, rows_sent) = (100, 5_000, 700);
    Digest { text: text.to_owned(), calls, rows_examined, rows_sent, ..Digest::default() }
}

/// The file that digests make, and the lines of it behind the tables.
fn made_of(digests: Vec<Digest>) -> (String, String) {
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    let tables = tables();
    for (place, digest) in digests.iter().enumerate() {
        match statement_of(digest, "shop", &tables, 1024) {
            Ok(statement) => kept.push((place, statement)),
            Err(why) => left_out.push(LeftOut { place, why }),
        }
    }
    let schema = "shop".to_owned();
    let observed = ObservedDigests { schema, digests, tables, ..ObservedDigests::default() };
    let options = DigestOptions { top: 16, rows_max: 10_000, samples: false };
    let text = DigestText { observed: &observed, kept: &kept, left_out: &left_out, options };
    let text = text.written();
    let transactions = text.find("[[transaction]]").map_or("", |at| &text[at..]).to_owned();
    (text, transactions)
}

/// The statement and the parameters of one digest.
fn one(digest: Digest) -> String {
    let (text, transaction) = made_of(vec![digest]);
    file::read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    transaction
}

#[test]
fn values_come_from_the_columns_that_they_are_compared_with() {
    for (text, parts) in [
        (
            "SELECT * FROM `person` WHERE `id` = ?",
            &["`id` = :id", "name = \"select_person\"\nweight = 100", "from = 11, to = 5010"][..],
        ),
        // MariaDB has no quotes around names that are keywords elsewhere.
        (
            "SELECT COUNT ( * ) FROM `shop` . `person` `p` WHERE `p` . `email` = ? AND ID > ?",
            &["SELECT COUNT(*) FROM `person` `p`", "length = 41, from = 0, to = 4999", "ID > :id"],
        ),
        (
            "SELECT `note` FROM `person` WHERE `id` BETWEEN ? AND ? ORDER BY ? LIMIT ?, ...",
            &["ORDER BY 1 LIMIT :offset, :limit", "of = \"id\", plus = 49", "from = 7, to = 7"],
        ),
        (
            "SELECT ? FROM `person` WHERE `id` >= ? AND `id` < ? AND `state` IN (...)",
            &["SELECT :value", "of = \"id\", plus = 49", ":state, :state_2, :state_3", "a default"],
        ),
        ("SELECT `id` FROM PERSON WHERE `id` = ?", &["SELECT `id` FROM person WHERE `id` = :id"]),
        ("SELECT `id` FROM `person` WHERE `id` IN (...)", &[":id_49, :id_50)"]),
        (
            "UPDATE `person` AS `p` JOIN `bought` SET `note` = ? , `born` = ? WHERE ? = `p` . `id`",
            &["name = \"update_person\"", "string = { length = 41 }", "2025-03-01", "to = 5010"],
        ),
        (
            "UPDATE `bought` SET `price` = `price` + ? WHERE `person` = ? AND `number` = ?",
            &["`price` + :amount", "from = 11, to = 2510", "from = 1, to = 4"],
        ),
        (
            "SELECT `ifnull` ( `note` , ? ) FROM `person` WHERE `born` > NOW (?) - INTERVAL ? DAY",
            &["`ifnull` (`note`, :value)", "NOW(6) - INTERVAL :amount DAY"],
        ),
        (
            "SELECT `note` FROM `person` WHERE `email` LIKE ? AND `note` = (_charset) ?",
            &["one_of = ['a%']", "`note` = :note"],
        ),
    ] {
        let made = one(digest(text));
        for part in parts {
            assert!(made.contains(part), "{text}: {part} is not in\n{made}");
        }
    }
}

#[test]
fn rows_are_inserted_behind_those_that_are_there() {
    let insert = |text: &str| one(Digest { rows_affected: 300, ..digest(text) });
    let made = insert("INSERT INTO `person` ( `id` , `email` ) VALUES (...) /* , ... */");
    let rows = "(`id`, `email`) VALUES (:id, :email), (:id_2, :email_2), (:id_3, :email_3)\"";
    assert!(made.contains(&rows.replace('"', "'")), "{made}");
    assert!(
        made.contains("from = 5011, to = 1000000000011")
            && made.contains("from = 5000, to = 999999999999")
    );
    let made = insert(
        "INSERT INTO `bought` VALUES ( ?, ... , `f` ( ) ) ON DUPLICATE KEY UPDATE \
                       `price` = `price` + ?",
    );
    assert!(made.contains("VALUES (:person, :number, `f` ()) ON"), "{made}");
    assert!(made.contains("from = 11, to = 2510") && made.contains("from = 5, to = 32767"));
    let made = insert("REPLACE INTO `person` SET `id` = ? , `state` = ?");
    assert!(made.contains("from = 5011") && made.contains("from = 1, to = 3"), "{made}");
}

#[test]
fn tables_are_made_like_those_of_the_server() {
    let (text, _) =
        made_of(vec![digest("SELECT ? FROM `person` JOIN `bought` WHERE `number` = ?")]);
    let file = file::read(&text).unwrap();
    assert_eq!(file.setup.len(), 4);
    for part in [
        "# bought: about 20000 rows of 40 bytes, of which 10000 are made (--rows-max)",
        // Without what others refer to, and the counter.
        "  KEY `a` (`id`)\n) ENGINE=InnoDB COMMENT='it''s'",
        "VALUES (11 + :row, LPAD(:row, 41, '0'), 1 + :c3, :c4, '2025-01-01' + INTERVAL :c5 DAY)",
        "VALUES (11 + (:row DIV 4) % 2500, 1 + :row % 4, 0 + :c3)",
        "times = 5000",
        "times = 10000",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn what_is_left_out_is_told_with_its_share() {
    let (text, transactions) = made_of(vec![
        Digest { calls: 300, ..digest("COMMIT") },
        digest("SELECT `id` FROM `person` WHERE `id` = ?"),
        digest("SHOW TABLES"),
        digest("SELECT @@`version`"),
        digest("SELECT * FROM `mysql` . `user`"),
        digest("SELECT * FROM `seen`"),
        digest("SELECT * FROM `gone`"),
        digest("SELECT `a` FROM `person` WHERE ..."),
        digest("CALL `p` (...)"),
        digest("INSERT INTO `bought` SELECT * FROM `person`"),
    ]);
    assert_eq!(transactions.matches("[[transaction]]").count(), 1);
    for part in [
        "# 1 of 10 digests of schema shop are in the workload: 8.3 % of 1200 calls",
        "#  25.0 % COMMIT: begins or ends a transaction",
        "SHOW TABLES: no statement that reads or changes rows",
        "SELECT @@`version`: uses variables",
        "another schema, mysql",
        "reads the view seen",
        "there is no table gone (any more)",
        "cut off",
        "calls a procedure",
        "copies rows",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn samples_say_what_statistics_do_not() {
    let sample = Some("select note from person where note = 'it''s' and id in (1,2,3,4) limit 9");
    let text = "SELECT `note` FROM `person` WHERE `note` = ? AND `id` IN (...) LIMIT ?";
    let made = one(Digest { sample: sample.map(str::to_owned), ..digest(text) });
    assert!(
        made.contains("one_of = [\"it's\"]") || made.contains("one_of = ['''it's''']"),
        "{made}"
    );
    assert!(made.contains("IN (:id, :id_2, :id_3, :id_4)") && made.contains("to = 5010"), "{made}");
}
