//! Servers of one database, side by side.

use analyse::{NodeColumn, NodeFigures, node_columns};
use std::fmt::Write;

/// How each node kept up with the others, and what was read from it; nothing where there was one.
pub(super) fn nodes(out: &mut String, nodes: &[NodeFigures]) {
    let columns = node_columns(nodes);
    if columns.is_empty() {
        return;
    }
    let title = |column: &NodeColumn| match column.unit {
        "" => format!("{:>18}", column.title),
        unit => format!("{:>18}", format!("{} {unit}", column.title)),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(out, "\nnode{}", columns.iter().map(title).collect::<String>());
    for (row, node) in nodes.iter().enumerate() {
        let value = |column: &NodeColumn| match column.values[row] {
            Some(value) => format!("{value:>18.*}", column.decimals),
            None => format!("{:>18}", "-"),
        };
        let _ = writeln!(out, "{:<4}{}", node.node, columns.iter().map(value).collect::<String>());
    }
}
