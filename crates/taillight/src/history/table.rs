//! The history as CSV, for Apache Otava and spreadsheets.

use std::collections::BTreeMap;

use export::quoted;

use super::file::{History, HistoryEntry, Unit};

/// A row for each result, the oldest first: its time, commit and name, and the value of each figure; empty without it.
pub(super) fn csv(history: &History) -> String {
    let figures = history.entries.iter().flat_map(|entry| &entry.figures);
    let figures: BTreeMap<&str, Unit> = figures.map(|(name, kept)| (name.as_str(), kept.unit)).collect();
    let heads = figures.iter().map(|(name, unit)| format!("{name} ({})", unit.name()));
    let heads = ["time", "commit", "result"].map(str::to_owned).into_iter().chain(heads);
    let row = |entry: &HistoryEntry| {
        let own = [&entry.created, &entry.commit, &entry.result].map(|text| quoted(text));
        let value =
            |name: &&str| entry.figures.get(*name).map_or_else(String::new, |kept| kept.value.to_string());
        own.into_iter().chain(figures.keys().map(value)).collect::<Vec<_>>().join(",")
    };
    let heads = heads.map(|head| quoted(&head)).collect::<Vec<_>>().join(",");
    let rows = std::iter::once(heads).chain(history.entries.iter().map(row));
    rows.map(|row| row + "\r\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_a_row_and_a_figure_a_column() {
        let line = |commit: &str, figures: &str| {
            format!(
                r#"{{"schema":1,"commit":"{commit}","result":"a, b","created":"2026-12-01T10:00:00Z","machine":"","figures":{{{figures}}}}}"#
            )
        };
        let figure = |name: &str, value: f64, unit: &str| {
            format!(r#""{name}":{{"value":{value},"low":1,"high":9,"usable":true,"n":3,"unit":"{unit}"}}"#)
        };
        let p99 = figure("s at 50 % p99", 2.5, "µs");
        let both = format!("{},{p99}", figure("s peak", 8.0, "rps"));
        let history = History::parse(&[line("c1", &p99), line("c2", &both)].join("\n")).unwrap();
        let rows = [
            "time,commit,result,s at 50 % p99 (µs),s peak (rps)",
            "2026-12-01T10:00:00Z,c1,\"a, b\",2.5,",
            "2026-12-01T10:00:00Z,c2,\"a, b\",2.5,8",
            "",
        ];
        assert_eq!(csv(&history), rows.join("\r\n"));
    }
}
