use std::collections::BTreeMap;

use maud::{Markup, html};
use results::Experiment;
use serde_json::Value;

use crate::number;

/// The resolved configuration: values that all trials share, and values that differ.
pub(crate) fn configuration(experiment: &Experiment) -> Markup {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for trial in &experiment.trials {
        for (name, value) in flat(&trial.configuration()) {
            let seen = values.entry(name).or_default();
            if !seen.contains(&value) {
                seen.push(value);
            }
        }
    }
    let rows: Vec<(String, String)> = values.into_iter().map(|(name, seen)| (name, words(&seen))).collect();
    html! {
        @if rows.is_empty() { p.muted { "No trial recorded its configuration." } }
        (table(&rows))
    }
}

/// Up to four values; of more, their number and range.
fn words(seen: &[String]) -> String {
    if seen.len() <= 4 {
        return seen.join(" · ");
    }
    let mut numbers: Vec<f64> = seen.iter().filter_map(|text| text.parse().ok()).collect();
    numbers.sort_by(f64::total_cmp);
    match (numbers.first(), numbers.last()) {
        (Some(low), Some(high)) if numbers.len() == seen.len() => {
            format!("{} values from {} to {}", seen.len(), number::short(*low), number::short(*high))
        }
        _ => format!("{} · … ({} values)", seen[..3].join(" · "), seen.len()),
    }
}

/// Facts about the machine.
pub(crate) fn host(host: &Value) -> Markup {
    html! {
        @if flat(host).is_empty() { p.muted { "The result holds no facts about the machine." } }
        (record(host))
    }
}

/// Any record as rows; long lists in it are folded.
pub(crate) fn record(value: &Value) -> Markup {
    let (rows, lists) = folded(flat(value));
    html! {
        (table(&rows))
        @for (name, items) in &lists {
            details {
                summary { (name) " (" (items.len()) ")" }
                dl.facts { @for (i, item) in items.iter().enumerate() { div { dt { (i) } dd { (item) } } } }
            }
        }
    }
}

type Rows = Vec<(String, String)>;

/// Lists of records with more items than this are folded.
const SHORT: usize = 4;

/// Takes long lists of records out of `rows`, an item of one becoming one line: `number 64 · name eth0-TxRx-0`.
fn folded(rows: Rows) -> (Rows, Vec<(String, Vec<String>)>) {
    let mut kept = Rows::new();
    let mut lists: BTreeMap<String, Vec<(usize, Rows)>> = BTreeMap::new();
    for (path, value) in rows {
        let Some((list, item, field)) = in_a_list(&path) else {
            kept.push((path, value));
            continue;
        };
        let items = lists.entry(list.to_owned()).or_default();
        match items.last_mut() {
            Some((last, fields)) if *last == item => fields.push((field.to_owned(), value)),
            _ => items.push((item, vec![(field.to_owned(), value)])),
        }
    }
    let mut long = Vec::new();
    for (list, items) in lists {
        if items.len() <= SHORT {
            let path = |item: usize, field: &str| format!("{list}.{item}.{field}");
            kept.extend(
                items
                    .into_iter()
                    .flat_map(|(item, fields)| {
                        fields.into_iter().map(move |(field, value)| (item, field, value)).collect::<Vec<_>>()
                    })
                    .map(|(item, field, value)| (path(item, &field), value)),
            );
        } else {
            let line =
                |fields: Rows| fields.iter().map(|(f, v)| format!("{f} {v}")).collect::<Vec<_>>().join(" · ");
            long.push((list, items.into_iter().map(|(_, fields)| line(fields)).collect()));
        }
    }
    (kept, long)
}

/// `caches.0.level` as `caches`, 0, `level`: for nested lists the outer one.
fn in_a_list(path: &str) -> Option<(&str, usize, &str)> {
    let mut start = 0;
    for word in path.split('.') {
        let end = start + word.len();
        if start > 0
            && let Ok(item) = word.parse()
        {
            return Some((&path[..start - 1], item, path.get(end + 1..)?));
        }
        start = end + 1;
    }
    None
}

/// How the result was made: command, version, seed, time, targets.
pub(crate) fn provenance(experiment: &Experiment) -> Markup {
    let mut rows = vec![
        ("taillight".to_owned(), experiment.version.clone()),
        ("schema".to_owned(), experiment.schema.to_string()),
        ("seed".to_owned(), experiment.seed.to_string()),
        ("started".to_owned(), experiment.created.clone()),
        ("took".to_owned(), number::micros(Some(1e6 * experiment.elapsed_s))),
        ("result".to_owned(), experiment.name.clone()),
    ];
    for target in &experiment.targets {
        let mut facts = vec![target.version.clone(), target.address.clone()];
        if !target.cpus.is_empty() {
            facts.push(format!("pinned to processors {}", list(target.cpus.iter())));
        }
        if !target.command.is_empty() {
            facts.push(shell_words(&target.command));
        }
        facts.retain(|fact| !fact.is_empty());
        rows.push((format!("target {}", target.name), facts.join(" · ")));
    }
    if let Some(generator) = experiment.trials.last().map(|trial| &trial.generator) {
        let pinned = if generator.cpus.is_empty() {
            "not pinned".to_owned()
        } else {
            format!("pinned to processors {}", list(generator.cpus.iter()))
        };
        let threads = number::plural(generator.threads as usize, "thread");
        let connections = number::plural(generator.connections as usize, "connection");
        let facts = [
            format!("{threads}, {connections} of depth {}", generator.depth),
            pinned,
            format!("pace {}", generator.pace),
            generator.io.clone(),
        ];
        rows.push(("generator".to_owned(), facts.join(" · ")));
    }
    html! {
        @if !experiment.command.is_empty() {
            p { "To repeat it:" }
            pre { code { (shell_words(&experiment.command)) } }
        }
        (table(&rows))
    }
}

fn table(rows: &[(String, String)]) -> Markup {
    // Short lists read better in one column than in two of four lines each.
    let columns = if rows.len() > 8 { "facts columns" } else { "facts" };
    html! {
        @if !rows.is_empty() {
            dl class=(columns) { @for (name, value) in rows { div { dt { (name) } dd { (value) } } } }
        }
    }
}

/// The leaves of `value` with the path to each: `server.threads`, `2`. A list of plain values is one leaf.
fn flat(value: &Value) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    flatten(value, "", &mut rows);
    rows
}

fn flatten(value: &Value, path: &str, rows: &mut Vec<(String, String)>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| flatten(value, &below(name), rows)),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            items.iter().enumerate().for_each(|(i, item)| flatten(item, &below(&i.to_string()), rows));
        }
        Value::Array(items) => rows.push((path.into(), list(items.iter().map(plain)))),
        // A missing record has no row; a missing field has one.
        Value::Null if path.is_empty() => {}
        leaf => rows.push((path.into(), plain(leaf))),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => number::NONE.into(),
        // 3000.0 on disk is 3000 to a reader.
        Value::Number(n) if n.is_f64() => n.as_f64().map_or_else(String::new, |n| n.to_string()),
        other => other.to_string(),
    }
}

fn list(items: impl Iterator<Item = impl ToString>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

/// `command` as a shell reads it back.
pub(crate) fn shell_words(command: &[String]) -> String {
    let quoted = command.iter().map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_becomes_rows() {
        let value = json!({"b": {"x": 1, "y": [1, 2]}, "a": null, "c": [{"z": "t"}]});
        let expect = [("a", "–"), ("b.x", "1"), ("b.y", "1, 2"), ("c.0.z", "t")];
        assert_eq!(flat(&value), expect.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(flat(&Value::Null), []);
    }

    #[test]
    fn long_lists_are_folded() {
        let items = |n: usize| (0..n).map(|i| json!({"a": i, "b": {"c": [{"d": i}]}})).collect::<Vec<_>>();
        let (rows, lists) = folded(flat(&json!({"few": items(1), "many": items(5), "plain": 1})));
        let expect = [("plain", "1"), ("few.0.a", "0"), ("few.0.b.c.0.d", "0")];
        assert_eq!(rows, expect.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!((lists.len(), lists[0].0.as_str(), lists[0].1.len()), (1, "many", 5));
        assert_eq!(lists[0].1[3], "a 3 · b.c.0.d 3");
    }

    #[test]
    fn commands_are_quoted_for_a_shell() {
        let check = |words: &[&str], expect: &str| {
            assert_eq!(shell_words(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()), expect);
        };
        check(&["taillight", "sweep", "--qos", "p99<1ms"], "taillight sweep --qos 'p99<1ms'");
        check(&["a", "", "it's"], r"a '' 'it'\''s'");
    }

    #[test]
    fn many_values_are_summed_up() {
        let check = |seen: &[&str], expect: &str| {
            assert_eq!(words(&seen.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()), expect);
        };
        check(&["1"], "1");
        check(&["b", "a"], "b · a");
        check(&["30", "10", "20", "50", "40"], "5 values from 10 to 50");
        check(&["a", "b", "c", "d", "e"], "a · b · c · … (5 values)");
    }
}
