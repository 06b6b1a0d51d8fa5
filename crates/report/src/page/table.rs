//! Tables of records, by columns that read them.

use maud::{Markup, html};

/// A column: its head, and the cell of a row.
pub(crate) type Column<R> = (&'static str, fn(&R) -> String);

/// A table with a caption; empty without rows. The first `words` columns are text, and a load is named in its first row
/// only.
pub(crate) fn table(caption: &str, words: usize, heads: &[&str], rows: &[Vec<String>]) -> Markup {
    drawn(None, caption, words, heads, rows)
}

/// The same table of `rows` by their `columns`.
pub(crate) fn table_of<R>(
    caption: &str,
    words: usize,
    rows: impl IntoIterator<Item = R>,
    columns: &[Column<R>],
) -> Markup {
    table(caption, words, &heads(columns), &cells(rows, columns))
}

/// A table of what probes saw: with narrow heads, and every row named.
pub(crate) fn probe_table<R>(
    caption: &str,
    words: usize,
    rows: impl IntoIterator<Item = R>,
    columns: &[Column<R>],
) -> Markup {
    drawn(Some("looked"), caption, words, &heads(columns), &cells(rows, columns))
}

fn heads<R>(columns: &[Column<R>]) -> Vec<&'static str> {
    columns.iter().map(|(head, _)| *head).collect()
}

fn cells<R>(rows: impl IntoIterator<Item = R>, columns: &[Column<R>]) -> Vec<Vec<String>> {
    rows.into_iter().map(|row| columns.iter().map(|(_, cell)| cell(&row)).collect()).collect()
}

fn drawn(class: Option<&str>, caption: &str, words: usize, heads: &[&str], rows: &[Vec<String>]) -> Markup {
    let text = |i: usize| (i < words).then_some("text");
    let is_repeated = |i: usize| class.is_none() && i > 0 && rows[i - 1][0] == rows[i][0];
    html! {
        @if !rows.is_empty() {
            div.scroll {
                table class=[class] {
                    caption { (caption) }
                    thead { tr { @for (i, head) in heads.iter().enumerate() { th class=[text(i)] { (head) } } } }
                    tbody {
                        @for (i, row) in rows.iter().enumerate() {
                            tr {
                                th.text scope="row" { @if !is_repeated(i) { (row[0]) } }
                                @for (j, cell) in row.iter().enumerate().skip(1) { td class=[text(j)] { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
