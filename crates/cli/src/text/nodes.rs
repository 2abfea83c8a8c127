//! Servers of one database, side by side.

use super::table::Table;
use analyse::{NodeFigures, node_columns};

/// How each node kept up with the others, and what was read from it; nothing where there was one.
pub(super) fn nodes(out: &mut String, nodes: &[NodeFigures]) {
    let columns = node_columns(nodes);
    if columns.is_empty() {
        return;
    }
    let mut table = Table::of(0..nodes.len()).words("node", |row| nodes[*row].node.to_string());
    for column in columns {
        let title = format!("{} {}", column.title, column.unit);
        table = table.numbers(title.trim_end(), |row| match column.values[*row] {
            Some(value) => format!("{value:.*}", column.decimals),
            None => "-".to_owned(),
        });
    }
    out.push('\n');
    *out += &table.text();
}
