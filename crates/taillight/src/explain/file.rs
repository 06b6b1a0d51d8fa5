//! Where each value of a specification in a file comes from.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use spec::{Explained, Origin};

use super::fields::shown;
use spec::{Chapter, Entry, Section};

/// Every value of the specification in a file: JSON as `load --resolve` and `run --resolve` print it, or TOML.
///
/// Errors: it cannot be read, or is not a specification; with the place.
pub(super) fn chapter(file: &Path) -> Result<Chapter> {
    let name = file.display();
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    let whole = if file.extension().is_some_and(|extension| extension == "toml") {
        let table: toml::Table = toml::from_str(&text).with_context(|| format!("{name} is not TOML"))?;
        serde_json::to_value(table)?
    } else {
        serde_json::from_str(&text).with_context(|| format!("{name} is not JSON"))?
    };
    let entries = entries(whole).with_context(|| format!("{name} is not a specification"))?;
    Ok(Chapter::of([Section::new(&format!("{name}: each value and where it comes from"), entries)]))
}

fn entries(mut whole: Value) -> Result<Vec<Entry>> {
    // A whole plan: all of its points have the same but for what its axis sets.
    if let Some(experiment) = whole.pointer_mut("/points/0/experiment") {
        whole = experiment.take();
    }
    let loads = take(&mut whole, "load", "loads");
    let repeats = take(&mut whole, "time", "repeats");
    let explained = lab::read_spec(whole)?.explained();
    let mut entries: Vec<Entry> = explained.into_iter().map(entry).collect();
    if let Some(loads) = loads {
        // Each in place of the one load.
        entries.retain(|entry| entry.name != "load.share");
        entries.push(of_experiment("load.loads", &loads, "Loads, as shares of the maximum throughput."));
    }
    entries.extend(
        repeats.map(|repeats| of_experiment("time.repeats", &repeats, "Blocks: how often each load is run.")),
    );
    Ok(entries)
}

/// Removes and returns a field of an experiment's file that is not part of a specification.
fn take(whole: &mut Value, section: &str, key: &str) -> Option<Value> {
    whole.get_mut(section)?.as_object_mut()?.remove(key)
}

fn of_experiment(name: &str, value: &Value, meaning: &str) -> Entry {
    Entry::of_value(name, shown(value), meaning, "this file; a specification has one load and one trial")
}

fn entry(of: Explained) -> Entry {
    let Explained { field, value, origin, source, form } = of;
    let source = match (origin, &field.default) {
        (Origin::Default, _) => source,
        (Origin::Preset(preset), _) => format!("preset {preset}: {source}"),
        (Origin::Given, Some(default)) => format!("this file. Of the default, {}: {source}", shown(default)),
        (Origin::Given, None) => format!("this file, or resolved for it: {source}"),
    };
    // One size for all needs no explanation.
    let form = form.filter(|form| form.name() != "fixed");
    let form = form.map_or_else(String::new, |form| format!("; {}: {}", form.syntax, form.source));
    Entry {
        name: field.path,
        value: Some(shown(&value)),
        option: field.option,
        meaning: field.meaning,
        source: format!("{source}{form}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(whole: Value) -> Vec<Entry> {
        entries(whole).unwrap()
    }

    fn source<'a>(of: &'a [Entry], name: &str) -> &'a str {
        &of.iter().find(|entry| entry.name == name).unwrap_or_else(|| panic!("{name}")).source
    }

    #[test]
    fn a_value_is_the_files_a_presets_or_the_default() {
        let told = told(json!({
            "workload": { "preset": "ycsb-b", "keys": 7 },
            "load": { "rate": "20k" },
            "generator": { "connections": 16, "threads": 1 },
        }));
        assert!(source(&told, "workload.mix").starts_with("preset ycsb-b: YCSB"));
        assert!(
            source(&told, "workload.keys").starts_with("this file. Of the default, 100000: ours, because")
        );
        assert!(
            source(&told, "generator.threads").starts_with("this file, or resolved for it: ours, because")
        );
        assert!(source(&told, "time.window").starts_with("ours, because"));
        assert!(source(&told, "workload.popularity").contains("; zipf:ALPHA: Cooper"));
    }

    #[test]
    fn a_plan_and_an_experiment_are_read_too() {
        let plan = json!({ "points": [{ "experiment": { "generator": { "depth": 4 } } }] });
        assert!(source(&told(plan), "generator.depth").starts_with("this file. Of the default, 1: mutilate"));
        let experiment = json!({ "load": { "loads": ["10%", "70%"] }, "time": { "repeats": 5 } });
        let told = told(experiment);
        let value =
            |name: &str| told.iter().find(|entry| entry.name == name).and_then(|entry| entry.value.clone());
        assert_eq!(value("load.loads").as_deref(), Some("10%, 70%"));
        assert_eq!((value("time.repeats").as_deref(), value("load.share")), (Some("5"), None));
    }

    #[test]
    fn a_mistake_is_named_with_its_place() {
        let error = format!("{:#}", entries(json!({ "generator": { "conections": 1 } })).unwrap_err());
        assert!(error.contains("generator.conections") && error.contains("connections"), "{error}");
    }
}
