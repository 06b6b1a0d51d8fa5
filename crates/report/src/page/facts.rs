use std::collections::BTreeMap;

use maud::{Markup, html};
use results::Experiment;
use serde_json::Value;

use crate::{distinct, number};

/// The resolved configuration: values that all trials share, and values that differ.
pub(crate) fn configuration(experiment: &Experiment) -> Markup {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in experiment.trials.iter().flat_map(|trial| flat(&trial.configuration())) {
        values.entry(name).or_default().push(value);
    }
    let rows: Rows = values.into_iter().map(|(name, seen)| (name, words(&distinct(seen)))).collect();
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
    let mut facts = Facts::default();
    facts.take(value, "", false);
    html! {
        (table(&[facts.rows, facts.of_lists].concat()))
        @for (name, items) in &facts.long {
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

/// The leaves of a record with the path to each: `server.threads`, `2`. A list of plain values is one leaf.
#[derive(Default)]
struct Facts {
    rows: Rows,
    /// Of short lists of records.
    of_lists: Rows,
    /// Names of long lists of records, and their items, each in one line: `number 64 · name eth0-TxRx-0`.
    long: Vec<(String, Vec<String>)>,
}

impl Facts {
    /// Adds the leaves of `value`; no list within a list is folded.
    fn take(&mut self, value: &Value, path: &str, in_list: bool) {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let leaf = match value {
            Value::Object(fields) => {
                return fields.iter().for_each(|(name, value)| self.take(value, &below(name), in_list));
            }
            Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                if in_list || items.len() <= SHORT {
                    let items = items.iter().enumerate();
                    return items.for_each(|(i, item)| self.take(item, &below(&i.to_string()), true));
                }
                let line = |item: &Value| {
                    let fields = flat(item).into_iter().map(|(field, value)| format!("{field} {value}"));
                    fields.collect::<Vec<_>>().join(" · ")
                };
                return self.long.push((path.into(), items.iter().map(line).collect()));
            }
            Value::Array(items) => list(items.iter().map(plain)),
            // A missing record has no row; a missing field has one.
            Value::Null if path.is_empty() => return,
            leaf => plain(leaf),
        };
        let rows = if in_list { &mut self.of_lists } else { &mut self.rows };
        rows.push((path.into(), leaf));
    }
}

/// All leaves of `value`.
fn flat(value: &Value) -> Rows {
    let mut facts = Facts::default();
    facts.take(value, "", true);
    facts.of_lists
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
        let mut facts = vec![
            format!("{threads}, {connections} of depth {}", generator.depth),
            pinned,
            format!("pace {}", generator.pace),
            generator.io.clone(),
        ];
        facts.extend(generator.receive_times.map(|times| timed_by(times.kernel_share)));
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

/// The clock that ended the response times; the kernel stamps no answers on Unix sockets, and sheds stamps while the
/// generator has no time left.
fn timed_by(kernel_share: f64) -> String {
    if kernel_share >= 1.0 {
        "answers timed by the kernel".into()
    } else if kernel_share <= 0.0 {
        "answers timed when they were read".into()
    } else {
        let share = number::percent_of_all(kernel_share);
        format!("{share} of the answers timed by the kernel, others when read")
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
        let mut facts = Facts::default();
        facts.take(&json!({"few": items(1), "many": items(5), "plain": 1}), "", false);
        let rows = [facts.rows, facts.of_lists].concat();
        let expect = [("plain", "1"), ("few.0.a", "0"), ("few.0.b.c.0.d", "0")];
        assert_eq!(rows, expect.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let lists = facts.long;
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
    fn the_clock_of_the_answers_is_named() {
        let check = |share: f64, expect: &str| assert_eq!(timed_by(share), expect);
        check(1.0, "answers timed by the kernel");
        check(0.0, "answers timed when they were read");
        check(0.5, "50 % of the answers timed by the kernel, others when read");
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
