//! The published JSON schema is that of the types, and real results of every version keep to it.

mod validator;

use results::{Experiment, SCHEMA};
use serde_json::{Value, json};
use validator::problems;

const OLD: [(&str, &str); 4] = [
    ("v1-experiment", include_str!("fixtures/v1-experiment.json")),
    ("v1-load", include_str!("fixtures/v1-load.json")),
    ("v1-sweep", include_str!("fixtures/v1-sweep.json")),
    ("v1-live", include_str!("fixtures/v1-live.json")),
];

fn published() -> Value {
    let path = format!("{}/../../docs/reference/result-schema-v{SCHEMA}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    assert!(
        published() == results::json_schema(),
        "docs/reference/result-schema-v{SCHEMA}.json is stale: \
         cargo run -p results --example schema > docs/reference/result-schema-v{SCHEMA}.json"
    );
}

#[test]
fn results_keep_to_the_schema() {
    let schema = published();
    for (name, text) in OLD {
        let then: Value = serde_json::from_str(text).unwrap();
        assert_eq!(problems(&schema, &then), Vec::<String>::new(), "{name}");
        let read: Experiment = serde_json::from_str(text).unwrap();
        let now = serde_json::to_value(Experiment { schema: SCHEMA, ..read }).unwrap();
        assert_eq!(problems(&schema, &now), Vec::<String>::new(), "{name} as it is written today");
    }
}

#[test]
fn a_result_with_everything_keeps_to_the_schema() {
    let mut experiment: Experiment = serde_json::from_str(OLD[1].1).unwrap();
    experiment.schema = SCHEMA;
    experiment.trials = vec![validator::full_trial()];
    let value = serde_json::to_value(&experiment).unwrap();
    assert_eq!(problems(&published(), &value), Vec::<String>::new());
    assert_eq!(serde_json::from_value::<Experiment>(value).unwrap(), experiment);
}

#[test]
fn what_breaks_the_schema_is_seen() {
    let schema = published();
    let good = serde_json::to_value(serde_json::from_str::<Experiment>(OLD[1].1).unwrap()).unwrap();
    let check = |pointer: &str, value: Value, expect: &str| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value;
        let found = problems(&schema, &bad).join("; ");
        assert!(found.contains(expect), "{pointer}: {found}");
    };
    check("/seed", json!("1"), "seed");
    check("/seed", json!(-1), "seed");
    check("/kind", json!("sweeep"), "kind");
    check("/trials/0/verdict", json!({"kind": "fine"}), "verdict");
    check("/trials/0/offered_rps", json!(null), "offered_rps");
    check("/trials/0/curve/0", json!([1.0]), "curve");
    check("/trials/0/loop_kind", json!("ajar"), "loop_kind");
    check("/trials/0", json!({}), "required");
}
