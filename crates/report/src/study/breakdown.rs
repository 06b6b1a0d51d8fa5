use maud::{Markup, html};
use results::study::{Entry, Row, Table};

use crate::figure::{Shares, shares};
use crate::page;

/// The prefix of the ids of tables whose rows are shares of a request's time.
const BREAKDOWN: &str = "breakdown";
/// The column of the total.
const TOTAL: &str = "total";
/// Columns before the shares: the series and the place.
const WORDS: usize = 2;

/// The time of traced requests, for a study with tables of it: their rows as bars.
pub(super) fn breakdowns(tables: &[Table]) -> Markup {
    let drawn: Vec<Markup> =
        tables.iter().filter(|table| table.id.starts_with(BREAKDOWN)).filter_map(drawn).collect();
    html! {
        @if !drawn.is_empty() {
            (page::section("breakdown", "Where the time goes", html! { div.figures { @for one in &drawn { (one) } } }))
        }
    }
}

fn drawn(table: &Table) -> Option<Markup> {
    let total = table.columns.iter().position(|column| column == TOTAL);
    let places: Vec<usize> = (WORDS..table.columns.len()).filter(|place| Some(*place) != total).collect();
    let names: Vec<&str> = places.iter().map(|place| table.columns[*place].as_str()).collect();
    let bars: Vec<Shares> = table
        .rows
        .iter()
        .map(|row| Shares {
            label: place(row).join(" · "),
            percent: places.iter().map(|place| figure(row, *place)).collect(),
            total_us: total.and_then(|place| figure(row, place)),
        })
        .filter(|bar| bar.percent.iter().any(Option::is_some))
        .collect();
    (!bars.is_empty()).then(|| shares(&table.title, &names, &bars))
}

/// The series of a row and its load, in the first two cells.
pub(super) fn place(row: &Row) -> [String; WORDS] {
    let [series, load] = [0, 1].map(|i| row.cells.get(i).map_or(String::new(), super::entry));
    [if row.published { format!("{series} (published)") } else { series }, load]
}

/// The number in the cell `i` of a row.
pub(super) fn figure(row: &Row, i: usize) -> Option<f64> {
    match row.cells.get(i)? {
        Entry::Quantity { value, .. } => Some(*value),
        Entry::Text(text) => text.replace(['\u{a0}', ' ', '%'], "").parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_shares_become_bars() {
        let ours = |load: &str, plot: f64| Row {
            published: false,
            cells: vec![
                "browse".into(),
                load.into(),
                Entry::quantity(60.0, "%"),
                Entry::quantity(plot, "%"),
                Entry::quantity(9_000.0, "µs"),
            ],
        };
        let published =
            Row { published: true, cells: ["CAL'18", "low", "", "10.3", ""].map(Entry::from).to_vec() };
        let nothing = Row { published: false, cells: ["rent", "low", "", "", ""].map(Entry::from).to_vec() };
        let table = Table {
            id: "breakdown-services".into(),
            title: "By service".into(),
            columns: ["", "load", "php", "movies-db", "total"].map(str::to_owned).to_vec(),
            rows: vec![ours("low", 20.0), ours("high", 40.0), published, nothing],
            ..Table::default()
        };
        let html = breakdowns(std::slice::from_ref(&table)).into_string().replace('\u{a0}', " ");
        for expect in [
            ">By service<",
            "browse · low",
            "browse · high",
            "CAL'18 (published) · low",
            "9.00 ms",
            ">others<",
        ] {
            assert!(html.contains(expect), "{expect} is not in {html}");
        }
        assert!(!html.contains("rent"));
        assert_eq!(breakdowns(&[Table { id: "shares".into(), ..table }]).into_string(), "");
    }
}
