use maud::{Markup, html};
use results::study::{Row, Table};

use super::breakdown::{figure, place};
use crate::figure::{STAGES, StageTimes, stages as drawn};
use crate::observed::grown;
use crate::page;

/// The time by stage, for a study with a table of stages: the table's rows as bars, and the stage that grew.
pub(super) fn stages(tables: &[Table]) -> Markup {
    let staged: Vec<StageTimes> =
        tables.iter().filter(|table| table.id == "stages").flat_map(times).collect();
    let body = html! {
        @for sentence in grown(&staged) { p { (page::unbroken(&sentence)) } }
        div.figures { (drawn(&staged)) }
    };
    html! { @if !staged.is_empty() { (page::section("stages", "Where the time goes", body)) } }
}

/// The rows that have stages: first the series, then the load, then the times in columns named after the stages.
fn times(table: &Table) -> Vec<StageTimes> {
    let of = |row: &Row| {
        let column = |name: &str| figure(row, table.columns.iter().position(|column| column == name)?);
        let us = STAGES.each_ref().map(|stage| column(stage.label));
        let [subject, label] = place(row);
        us.iter().any(Option::is_some).then(|| StageTimes { subject, label, us, total: column("total") })
    };
    table.rows.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use results::study::Entry;

    use super::*;

    #[test]
    fn rows_with_stages_become_bars_and_words() {
        let quantity = |value: f64| Entry::quantity(value, "µs");
        let ours = |load: &str, epoll: f64| Row {
            published: false,
            cells: vec![
                "Memcached".into(),
                load.into(),
                quantity(5.0),
                quantity(epoll),
                quantity(5.0 + epoll),
            ],
        };
        let published = |load: &str, epoll: &str, total: &str| Row {
            published: true,
            cells: ["Xeon", load, "6", epoll, total].map(Entry::from).to_vec(),
        };
        let nothing =
            Row { published: false, cells: ["Other", "10 %", "–", "–", "–"].map(Entry::from).to_vec() };
        let table = Table {
            id: "stages".into(),
            columns: ["", "load", "network", "epoll", "total"].map(str::to_owned).to_vec(),
            rows: vec![
                ours("10 %", 5.0),
                ours("90 %", 95.0),
                published("10 %", "3", "9"),
                published("90 %", "1 994", "2 000"),
                nothing,
            ],
            ..Table::default()
        };
        let html = stages(std::slice::from_ref(&table)).into_string().replace('\u{a0}', " ");
        for expect in [
            "Memcached: from 10 % to 90 % a request’s time in the server went from 10.0 µs to 100 µs. 100 % of that growth is \
             in epoll",
            "Xeon (published): from 10 % to 90 %",
            "Memcached · 90 %",
            "Xeon (published) · 10 %",
        ] {
            assert!(html.contains(expect), "{expect} is not in {html}");
        }
        assert!(!html.contains("Other"));
        assert_eq!(stages(&[Table { id: "shares".into(), ..table }]).into_string(), "");
    }
}
