//! The words of the program and the sources of its numbers.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::run::{finish, refuses, taillight, text};

fn explained(words: &[&str]) -> String {
    let output = finish(taillight(&["explain"]).args(words));
    assert!(output.status.success(), "{words:?}: {}", text(&output));
    text(&output)
}

#[test]
fn without_a_word_it_lists_topics_and_each_of_them_is_one() {
    let list = explained(&[]);
    let topics: Vec<&str> =
        list.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect();
    for topic in ["cache", "web", "qos", "verdicts", "knobs", "sphinx", "studies"] {
        assert!(topics.contains(&topic), "{topic}: {list}");
    }
    for topic in topics {
        assert!(explained(&[topic]).lines().count() > 2, "{topic}");
    }
}

#[test]
fn a_field_has_its_value_its_option_and_its_source() {
    let check = |word: &str, says: &[&str]| {
        let told = explained(&[word]);
        assert!(says.iter().all(|part| told.contains(part)), "{word}: {told}");
    };
    check(
        "generator.connections",
        &["generator.connections = 64", "(--connections)", "source: ours, because"],
    );
    check("load.rate", &["load.rate = none", "(--rate)", "source: ours, because"]);
    check("connections", &["generator.connections = 64"]);
    check("qos", &["qos.target = windowed p99<1ms", "IISWC'17 §III-B", "qos.window = 100 ms"]);
    check("verdicts", &["verdicts.lag-share = 10 %", "host_disturbed", "verdicts.errors = 0.1 %"]);
    check("search", &["sweep.repeats = 3", "peak.tolerance = 5 %", "search.sustained = 99 %"]);
    check("sphinx", &["sphinx.memory-limit = 64 MiB", "source: memcached's default"]);
    check("ycsb-b", &["ycsb-b.mix = get:95,set:5", "SoCC 2010"]);
    check("irq.affinity", &["IISWC'17 §III-B", "cache-server-apart.irq.affinity = others"]);
    check("lxc", &["(--form lxc)", "IISWC'17 §III-B"]);
}

#[test]
fn an_unknown_word_is_refused_with_near_ones() {
    refuses(
        &mut taillight(&["explain", "conections"]),
        2,
        &["nothing is called 'conections'", "did you mean connections"],
    );
    refuses(&mut taillight(&["explain", "qwertzuiop"]), 2, &["taillight explain lists the topics"]);
    refuses(&mut taillight(&["explain", "no/such.json"]), 1, &["cannot read no/such.json"]);
}

#[test]
fn every_number_of_a_resolved_specification_has_its_source() {
    let folder = TempDir::new().unwrap();
    let check = |name: &str, load: &[&str]| {
        let resolved = finish(taillight(load).arg("--resolve"));
        assert!(resolved.status.success(), "{load:?}: {}", text(&resolved));
        let file = folder.path().join(format!("{name}.json"));
        fs::write(&file, &resolved.stdout).unwrap();
        let told: Value = serde_json::from_str(&explained(&["--json", file.to_str().unwrap()])).unwrap();
        let entries = told["explained"]["sections"][0]["entries"].as_array().unwrap();
        let whole: Value = serde_json::from_slice(&resolved.stdout).unwrap();
        for (section, value) in whole.as_object().unwrap() {
            let numbers = value.as_object().into_iter().flatten().filter(|(_, value)| is_number(value));
            for (key, value) in numbers {
                let place = format!("{section}.{key}");
                let entry = entries.iter().find(|entry| entry["name"] == *place);
                let entry = entry.unwrap_or_else(|| panic!("{name}: {place} = {value} is not explained"));
                assert!(entry["source"].as_str().is_some_and(|source| source.len() > 10), "{entry}");
            }
        }
    };
    check("cache", &["load", "cache", "--rate", "2k", "--preset", "etc", "--threads", "2"]);
    check("web", &["load", "web", "--rate", "2k", "--target", "http://127.0.0.1:8080", "--files", "10x4KiB"]);
    check("null", &["load", "null", "--rate", "2k", "--target", "127.0.0.1:8080"]);
}

/// Whether a value is a number, or a quantity that is written with its unit.
fn is_number(value: &Value) -> bool {
    value.is_number() || value.as_str().is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()))
}

#[test]
fn an_experiment_in_toml_is_explained_too() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("t.toml");
    fs::write(&file, "[load]\nloads = [\"10%\", \"70%\"]\n[generator]\nconnections = 16\n").unwrap();
    let told = explained(&[file.to_str().unwrap()]);
    for part in [
        "load.loads = 10%, 70%",
        "generator.connections = 16",
        "this file. Of the default, 64: ours, because",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    fs::write(&file, "[generator]\nconections = 16\n").unwrap();
    refuses(
        taillight(&["explain"]).arg(&file),
        1,
        &["is not a specification", "generator.conections", "did you mean 'connections'?"],
    );
}
