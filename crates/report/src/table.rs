//! Tables as HTML: of rows whose columns are described once.

use analyse::{Table, TableColumn};
use maud::{Markup, Render, html};

/// What stands in a cell of a table.
pub struct TableContent(Markup);

impl<T: Render> From<T> for TableContent {
    fn from(shown: T) -> TableContent {
        TableContent(shown.render())
    }
}

/// A table of a page; the cells of its first column are what the rows are about.
pub fn shown<R>(caption: impl Render, table: Table<R, TableContent>) -> Markup {
    shown_as("", caption, table)
}

/// The same in a class of the style sheet.
pub fn shown_as<R>(class: &str, caption: impl Render, table: Table<R, TableContent>) -> Markup {
    let caption = caption.render();
    let rows = table.rows().len();
    let columns = &table.columns;
    html! {
        div.scroll { table class=[(!class.is_empty()).then_some(class)] {
            @if !caption.0.is_empty() { caption { (caption) } }
            thead { tr { @for column in columns {
                th class=[class_of(column)] scope="col" {
                    (column.title) @if !column.unit.is_empty() { span.unit { (column.unit) } }
                }
            } } }
            tbody { @for row in 0..rows { tr { @for (place, column) in columns.iter().enumerate() {
                @let content = &column.cells[row].0;
                @if place == 0 { th class=[class_of(column)] scope="row" { (content) } }
                @else { td class=[class_of(column)] { (content) } }
            } } } }
        } }
    }
}

fn class_of<C>(column: &TableColumn<C>) -> Option<&'static str> {
    column.is_number.then_some("num")
}
