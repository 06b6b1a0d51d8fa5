//! Reads earlier schemas, which used other names.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Study;
use crate::study::PlanRecord;

/// Names of schema 1 and 2 for parts of a trial's configuration, and the corresponding names in a specification.
/// Times were numbers of seconds and have no counterpart.
const NAMES: [(&str, &str); 33] = [
    ("workload", "workload.kind"),
    ("cache.keys", "workload.keys"),
    ("cache.key_prefix", "workload.key-prefix"),
    ("cache.key_size_bytes", "workload.key-size"),
    ("cache.value_size_bytes", "workload.value-size"),
    ("cache.data_set.name", "workload.data-set"),
    ("cache.data_set.scaling", "workload.scale"),
    ("cache.popularity", "workload.popularity"),
    ("cache.mix_percent", "workload.mix"),
    ("cache.protocol", "workload.protocol"),
    ("cache.expiry_s", "workload.expiry"),
    ("cache.on_miss", "workload.on-miss"),
    ("cache.udp", "workload.udp"),
    ("cache.cluster.placement", "workload.placement"),
    ("cache.cluster.servers", "found.servers"),
    ("cache.sources", "found.sources"),
    ("web.files", "workload.files"),
    ("web.files_seed", "workload.files-seed"),
    ("web.popularity", "workload.popularity"),
    ("web.method", "workload.method"),
    ("web.headers", "workload.header"),
    ("web.verify", "workload.verify"),
    ("web.requests_per_connection", "workload.requests-per-connection"),
    ("web.urls", "found.servers"),
    ("web.pages", "found.pages"),
    ("arrivals", "generator.arrivals"),
    ("binding", "generator.binding"),
    ("pace", "generator.pace"),
    ("clients", "generator.clients"),
    ("connections", "generator.connections"),
    ("depth", "generator.depth"),
    ("threads", "generator.threads"),
    ("io_reason", "found.io_reason"),
];

/// The configuration of a trial of schema 1 or 2, under the names of a specification if the meaning is the same.
pub(crate) fn renamed(earlier: &Value) -> Value {
    let mut rest = earlier.clone();
    let moved: Vec<(&str, Value)> =
        NAMES.iter().filter_map(|(old, new)| Some((*new, take(&mut rest, old)?))).collect();
    for (new, value) in moved {
        put(&mut rest, new, value);
    }
    rest
}

/// Removes the value at `path` from `tree`; `None` for a branch, since the path then names only a part of it.
fn take(tree: &mut Value, path: &str) -> Option<Value> {
    let fields = tree.as_object_mut()?;
    match path.split_once('.') {
        Some((name, below)) => take(fields.get_mut(name)?, below),
        None => fields.remove(path),
    }
}

/// Puts a value at `path` of `tree`, unless a value blocks the path.
fn put(tree: &mut Value, path: &str, value: Value) {
    let Some(fields) = tree.as_object_mut() else { return };
    match path.split_once('.') {
        Some((name, below)) => put(fields.entry(name).or_insert_with(|| Map::new().into()), below, value),
        None => drop(fields.insert(path.into(), value)),
    }
}

/// A study of schema 1, with its configuration in today's fields; parts without a field, or under other names, stay in
/// `earlier`.
pub(crate) fn study(mut study: Study) -> Study {
    let Value::Object(mut config) = study.earlier.take() else { return study };
    study.claims_not_measurable = field(&mut config, "claims_not_measurable").unwrap_or_default();
    study.remote_host = field(&mut config, "elsewhere");
    study.agents = field(&mut config, "agents").unwrap_or_default();
    study.plan = plan(&mut config);
    if !config.is_empty() {
        study.earlier = config.into();
    }
    study
}

/// Removes a field if it has today's type.
fn field<T: DeserializeOwned>(config: &mut Map<String, Value>, name: &str) -> Option<T> {
    let value = serde_json::from_value(config.get(name)?.clone()).ok()?;
    config.remove(name);
    Some(value)
}

/// Removes the plan if its specifications use today's names: an unknown name would be ignored silently.
fn plan(config: &mut Map<String, Value>) -> Option<PlanRecord> {
    let plan: PlanRecord = serde_json::from_value(config.clone().into()).ok()?;
    let Ok(Value::Object(again)) = serde_json::to_value(&plan) else { return None };
    if !again.iter().all(|(name, value)| config.get(name).is_some_and(|then| holds(value, then))) {
        return None;
    }
    // The form is a field of the study itself.
    config.retain(|name, _| !again.contains_key(name) && name != "form");
    Some(plan)
}

/// Whether all of `then` is in `now`, which may have newer fields.
fn holds(now: &Value, then: &Value) -> bool {
    match (now, then) {
        (Value::Object(now), Value::Object(then)) => {
            then.iter().all(|(name, then)| now.get(name).is_some_and(|now| holds(now, then)))
        }
        (Value::Array(now), Value::Array(then)) => {
            now.len() == then.len() && now.iter().zip(then).all(|(now, then)| holds(now, then))
        }
        _ => now == then,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_means_the_same_has_the_name_of_today() {
        let check = |earlier: Value, expect: Value| assert_eq!(renamed(&earlier), expect);
        check(
            json!({ "workload": "cache", "cache": { "keys": 5, "cluster": { "placement": "ketama" }, "seed": 1 },
                    "connections": 8, "window_s": 1.5, "seed": 1 }),
            json!({ "workload": { "kind": "cache", "keys": 5, "placement": "ketama" },
                    "cache": { "cluster": {}, "seed": 1 }, "generator": { "connections": 8 }, "window_s": 1.5, "seed": 1 }),
        );
        check(json!({ "load": { "rate_rps": 5.0 } }), json!({ "load": { "rate_rps": 5.0 } }));
        check(Value::Null, Value::Null);
        check(json!("text"), json!("text"));
    }

    #[test]
    fn a_study_has_what_its_configuration_said() {
        let read = |config: Value| study(Study { earlier: config, ..Study::default() });
        let point = |mut experiment: Value| {
            let mut whole = spec::Spec::default().to_json();
            whole.as_object_mut().unwrap().append(experiment.as_object_mut().unwrap());
            json!({ "series": "s", "x": 50.0, "experiment": whole })
        };
        let plan = |points: Vec<Value>| {
            json!({ "form": "quick", "blocks": 3, "references_per_block": 2, "tolerance": 0.05,
                    "assumed_maximum_rps": null, "points": points, "pairs": [], "references": [] })
        };
        let mut config = plan(vec![point(json!({ "seed": 7 }))]);
        config["claims_not_measurable"] = json!({ "c": "one core" });
        config["elsewhere"] = json!("on b");
        config["agents"] = json!({ "agents": ["a:1"] });
        let found = read(config);
        assert_eq!(found.plan.as_ref().unwrap().points[0].spec.seed, 7);
        assert_eq!((found.claims_not_measurable["c"].as_str(), found.agents.agents.len()), ("one core", 1));
        assert_eq!((found.remote_host.as_deref(), found.earlier), (Some("on b"), Value::Null));
        // A name that is unknown in specifications is not lost.
        let other = plan(vec![point(json!({ "server": "sphinx" }))]);
        let found = read(other.clone());
        assert_eq!((found.plan, found.earlier), (None, other));
    }
}
