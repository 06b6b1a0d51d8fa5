use maud::{Markup, html};
use results::study::{Entry, Row, Table};

use crate::number;
use crate::page;
use crate::quantity::{quantity, quantity_range};

pub(super) fn tables(tables: &[Table]) -> Markup {
    let body = html! { @for one in tables { (table(one)) } };
    html! { @if !tables.is_empty() { (page::section("tables", "Tables", body)) } }
}

/// Text in place of an empty table.
pub(crate) const NOTHING: &str = "nothing of it was measured";

/// A table without its empty columns; `None` if it has no figures.
pub(crate) fn filled(table: &Table) -> Option<Table> {
    let is_nothing =
        |cell: &Entry| matches!(cell, Entry::Text(text) if text.is_empty() || text == number::NONE);
    let stays = |column: &usize| {
        table.rows.iter().any(|row| row.cells.get(*column).is_some_and(|cell| !is_nothing(cell)))
    };
    let columns: Vec<usize> = (0..table.columns.len()).filter(stays).collect();
    // A figure has an interval, or is a publication's; a place has neither.
    let is_figure = |cell: &Entry| matches!(cell, Entry::Quantity { low: Some(_), .. });
    let has_figure = table.rows.iter().any(|row| row.published || row.cells.iter().any(is_figure));
    if columns.len() == table.columns.len() {
        return Some(table.clone());
    }
    let of = |row: &Row| columns.iter().filter_map(|at| row.cells.get(*at)).cloned().collect();
    has_figure.then(|| Table {
        columns: columns.iter().map(|at| table.columns[*at].clone()).collect(),
        rows: table.rows.iter().map(|row| Row { published: row.published, cells: of(row) }).collect(),
        ..table.clone()
    })
}

fn table(table: &Table) -> Markup {
    let Some(table) = &filled(table) else {
        return html! { p { (table.title) ": " (NOTHING) "." } };
    };
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

/// The text of a cell, without its interval.
pub(crate) fn entry(cell: &Entry) -> String {
    match cell {
        Entry::Quantity { value, unit, .. } => quantity(*value, unit),
        Entry::Text(text) if text.is_empty() => number::NONE.into(),
        Entry::Text(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_without_anything_are_left_out() {
        let figure = Entry::Quantity { value: 1.0, unit: "%".into(), low: Some(0.5), high: Some(2.0) };
        let (place, nothing) = (Entry::quantity(20.0, "%"), Entry::from("–"));
        let rows = |rows: &[&[&Entry]]| -> Vec<Row> {
            let cells = |row: &&[&Entry]| row.iter().map(|cell| (*cell).clone()).collect();
            rows.iter().map(|row| Row { published: false, cells: cells(row) }).collect()
        };
        let table = |columns: &[&str], rows| {
            let columns = columns.iter().map(|name| (*name).to_owned()).collect();
            Table { id: "t".into(), columns, rows, ..Table::default() }
        };
        let columns = ["load", "a", "b"];
        let part = table(&columns, rows(&[&[&place, &nothing, &figure], &[&place, &nothing, &nothing]]));
        let expect = table(&["load", "b"], rows(&[&[&place, &figure], &[&place, &nothing]]));
        assert_eq!(filled(&part), Some(expect));
        let whole = table(&columns, rows(&[&[&place, &figure, &nothing], &[&place, &nothing, &figure]]));
        assert_eq!(filled(&whole), Some(whole.clone()));
        assert_eq!(filled(&table(&columns, rows(&[&[&place, &nothing, &nothing]]))), None);
        let words = Entry::from("yes");
        let said = table(&["load", "a"], rows(&[&[&place, &words]]));
        assert_eq!(filled(&said), Some(said.clone()));
    }
}
