//! Columns whose types changed during a run on a server that describes them only once.

use crate::error::{LabResult, WhileDoing};
use base::{Session, value_of};
use wire::Connection;

/// Names and types of the columns of a session's schema, such as `stock.s_quantity` and `smallint`.
pub(crate) type Columns = Vec<(String, String)>;

const COLUMNS: &str = "SELECT CONCAT(table_name, '.', column_name), column_type \
    FROM information_schema.columns WHERE table_schema = DATABASE()";

/// # Errors
/// Where the server refuses.
pub(crate) async fn columns(session: &mut Connection) -> LabResult<Columns> {
    let answer = session.query(COLUMNS).await.doing("reading the columns of tables")?;
    Ok(answer.rows().map(|row| (row.text(0), row.text(1))).collect())
}

/// How the binary protocol sends values of a type, and in how many bytes; 0 where these stand
/// before a value.
fn sent_as(column_type: &str) -> (&'static str, u8) {
    let end = column_type.find(['(', ' ']).unwrap_or(column_type.len());
    match (&column_type[..end], column_type.contains("unsigned")) {
        ("tinyint", false) => ("integer", 1),
        ("tinyint", true) => ("unsigned", 1),
        ("smallint", false) => ("integer", 2),
        ("smallint", true) | ("year", _) => ("unsigned", 2),
        ("mediumint" | "int", false) => ("integer", 4),
        ("mediumint" | "int", true) => ("unsigned", 4),
        ("bigint", false) => ("integer", 8),
        ("bigint", true) => ("unsigned", 8),
        ("float", _) => ("float", 4),
        ("double", _) => ("float", 8),
        ("date" | "datetime" | "timestamp", _) => ("date", 0),
        ("time", _) => ("time", 0),
        _ => ("bytes", 0),
    }
}

/// Columns whose values were read as what they were before, in words. Where a value has another
/// length than before, the first such row is an error, and statements are prepared anew.
pub(crate) fn misread(before: &Columns, after: &Columns) -> Option<String> {
    let changed = after.iter().filter_map(|(name, now)| {
        let earlier = value_of(before, name)?;
        let (was_sent, is_sent) = (sent_as(earlier), sent_as(now));
        let is_misread = was_sent.1 == is_sent.1 && was_sent.0 != is_sent.0;
        is_misread.then(|| format!("{name} from {earlier} to {now}"))
    });
    let changed: Vec<String> = changed.collect();
    (!changed.is_empty()).then(|| {
        format!(
            "columns changed their types during the run ({}), and this server describes them only \
             once: their values were taken for those of the old type; run it again",
            changed.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::misread;

    #[test]
    fn what_has_an_equal_length_and_another_meaning_is_misread() {
        let column = |of: &str| vec![("stock.s_quantity".to_owned(), of.to_owned())];
        for (before, after, is_misread) in [
            ("int", "int", false),
            ("int(11)", "mediumint", false),
            ("varchar(16)", "decimal(6,2)", false),
            ("datetime", "timestamp(6)", false),
            // The row has another length.
            ("smallint", "int", false),
            ("int", "double", false),
            ("date", "bigint", false),
            ("int", "float", true),
            ("int", "int unsigned", true),
            ("bigint unsigned", "double", true),
            ("year", "smallint", true),
            ("datetime", "varchar(30)", true),
            ("time(6)", "datetime", true),
        ] {
            let told = misread(&column(before), &column(after));
            assert_eq!(told.is_some(), is_misread, "{before}, {after}");
        }
        let told = misread(&column("int"), &column("float unsigned")).unwrap();
        assert!(told.contains("(stock.s_quantity from int to float unsigned)"), "{told}");
        assert_eq!(misread(&column("int"), &Vec::new()), None, "it is gone");
    }
}
