use maud::{Markup, html};
use results::study::{Entry, Row, Table};

use crate::number;
use crate::page;
use crate::quantity::{quantity, quantity_range};

pub(super) fn tables(tables: &[Table]) -> Markup {
    let body = html! { @for one in tables { (table(one)) } };
    html! { @if !tables.is_empty() { (page::section("tables", "Tables", body)) } }
}

fn table(table: &Table) -> Markup {
    let both = table.rows.iter().any(|row| row.published) && table.rows.iter().any(|row| !row.published);
    html! {
        div.scroll {
            table {
                caption {
                    (table.title)
                    @if !table.source.is_empty() { ". In italics the published rows: " (table.source) }
                    @if let Some(words) = &table.overloaded { ". " (words) }
                }
                thead { tr {
                    @for (i, column) in table.columns.iter().enumerate() { th.text[words(table, i)] { (column) } }
                    @if both { th.text { "from" } }
                } }
                tbody { @for row in &table.rows {
                    tr.published[row.published] {
                        @for (i, cell) in row.cells.iter().enumerate() { (data(table, cell, i)) }
                        @if both { td.text { (if row.published { "published" } else { "here" }) } }
                    }
                } }
            }
        }
    }
}

/// Whether a column holds words, which are set from the left.
fn words(table: &Table, column: usize) -> bool {
    let entry = |row: &Row| matches!(row.cells.get(column), Some(Entry::Quantity { .. }));
    !table.rows.iter().any(entry)
}

fn data(table: &Table, cell: &Entry, column: usize) -> Markup {
    let interval = match cell {
        Entry::Quantity { low: Some(low), high: Some(high), unit, .. } if low < high => {
            Some(quantity_range(*low, *high, unit))
        }
        _ => None,
    };
    html! {
        td.text[words(table, column)] {
            (entry(cell))
            @if let Some(interval) = &interval { small { (interval) } }
        }
    }
}

/// What stands in a cell, without its interval.
pub(crate) fn entry(cell: &Entry) -> String {
    match cell {
        Entry::Quantity { value, unit, .. } => quantity(*value, unit),
        Entry::Text(text) if text.is_empty() => number::NONE.into(),
        Entry::Text(text) => text.clone(),
    }
}
