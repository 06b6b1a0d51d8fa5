//! Reading a specification from a file, with errors that name the place.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use units::ParseError;

use crate::workload::Kind;
use crate::{Generator, Load, QosTarget, Spec, Target, TargetName, Time, Workload};

/// An error in a specification: the place, and the correction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(pub String);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}

/// Sections, in the order in which a person thinks of them.
pub(crate) const SECTIONS: [&str; 10] =
    ["target", "workload", "load", "generator", "knobs", "client-knobs", "probes", "qos", "time", "seed"];

impl Spec {
    /// Reads the parsed content of a file, TOML or JSON. Missing fields have their defaults; a missing kind of workload
    /// follows from the server. `workloads` names the workloads that a target answers, the usual one first, or an empty
    /// list for all. It refuses a target that does not exist.
    ///
    /// Errors: a key that is unknown, with the nearest one; a value that its field does not take; a quantity without
    /// its unit; a target that does not exist; a workload that the target does not answer.
    pub fn read(
        whole: Value,
        workloads: &dyn Fn(&TargetName) -> Result<Vec<&'static str>, ParseError>,
    ) -> Result<Spec, SpecError> {
        let mut whole = object("", whole)?;
        let mut part = |name: &str| whole.remove(name).unwrap_or(Value::Null);
        let parts = SECTIONS.map(&mut part);
        if let Some(key) = whole.keys().next() {
            return Err(unknown_key(key, key, &SECTIONS));
        }
        let [target, workload, load, generator, knobs, client_knobs, probes, qos, time, seed] = parts;
        let target: Target = section("target", target)?;
        let answers = workloads(&target.server).map_err(|e| SpecError(format!("target.server: {e}")))?;
        let (workload, given) = workload_of(&target, &answers, workload)?;
        let (generator, time) = (object("generator", generator)?, object("time", time)?);
        let qos = object("qos", qos)?;
        let is_judged = qos.contains_key("target");
        let qos: QosTarget = section("qos", Value::Object(qos))?;
        let qos = if is_judged { qos } else { workload.usual_qos() };
        // Times that are not given have the workload's defaults.
        let usual_time = match serde_json::to_value(workload.usual_time()) {
            Ok(Value::Object(usual)) => usual.into_iter(),
            _ => Map::default().into_iter(),
        };
        let is_given = |name: &str| {
            given.iter().any(|key| key == name) || generator.contains_key(name) || time.contains_key(name)
        };
        let mut spec = Spec {
            target,
            workload,
            load: section::<Load>("load", load)?,
            generator: section::<Generator>("generator", Value::Object(generator.clone()))?,
            knobs: value("knobs", one_or_many(knobs))?,
            client_knobs: value("client-knobs", one_or_many(client_knobs))?,
            probes: value("probes", probes)?,
            qos,
            time: section::<Time>("time", Value::Object(usual_time.chain(time.clone()).collect()))?,
            seed: if seed.is_null() { 1 } else { value("seed", seed)? },
        };
        if let Some(preset) = spec.workload.preset() {
            let complete = preset.parameters.iter().all(|p| is_given(p.option.trim_start_matches('-')));
            if !complete {
                spec.apply(&preset, is_given)?;
            }
        }
        spec.check()?;
        Ok(spec)
    }

    /// Whether all counts are within their bounds.
    fn check(&self) -> Result<(), SpecError> {
        let (generator, target) = (&self.generator, &self.target);
        let bounds = [
            ("generator.connections", Some(generator.connections), 1_000_000),
            ("generator.depth", Some(generator.depth), 65_536),
            ("generator.threads", generator.threads, 1024),
            ("generator.clients", generator.clients, 10_000_000),
            ("target.threads", Some(target.threads), 256),
            ("target.instances", Some(target.instances), 250),
        ];
        match bounds.into_iter().find(|(_, count, most)| count.is_some_and(|count| count > *most)) {
            Some((place, count, most)) => {
                let count = count.unwrap_or_default();
                Err(SpecError(format!("{place}: it is {count}; write a number from 1 to {most}")))
            }
            None => Ok(()),
        }
    }
}

/// The workload, and the keys that were given for it.
fn workload_of(
    target: &Target,
    answers: &[&'static str],
    value: Value,
) -> Result<(Workload, Vec<String>), SpecError> {
    let mut fields = object("workload", value)?;
    let kind = match fields.remove("kind") {
        None | Some(Value::Null) => answers.first().copied().unwrap_or("cache").to_owned(),
        Some(Value::String(kind)) => kind,
        Some(other) => return Err(SpecError(format!("workload.kind: it is {other}; write \"cache\""))),
    };
    let named = Kind::named(&kind).ok_or_else(|| {
        let names: Vec<String> = Kind::ALL.iter().map(|kind| format!("\"{}\"", kind.name)).collect();
        SpecError(format!("workload.kind: '{kind}' is not known; write {}", names.join(" or ")))
    })?;
    if !answers.is_empty() && !answers.contains(&kind.as_str()) {
        let server = &target.server;
        return Err(SpecError(format!(
            "workload.kind: {server} answers no '{kind}'; leave it out, or choose another target.server"
        )));
    }
    let given = fields.keys().map(|key| key.replace('_', "-")).collect();
    Ok((named.read(Value::Object(fields))?, given))
}

/// A section, with defaults for missing keys.
pub(crate) fn section<T: Default + Serialize + DeserializeOwned>(
    place: &str,
    value: Value,
) -> Result<T, SpecError> {
    let fields = object(place, value)?;
    let default = serde_json::to_value(T::default()).unwrap_or_default();
    let known: Vec<&str> = default.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
    for key in fields.keys() {
        if !known.contains(&key.as_str()) {
            return Err(unknown_key(&format!("{place}.{key}"), key, &known));
        }
    }
    let whole = serde_json::from_value(Value::Object(fields.clone()));
    whole.map_err(|error| {
        // The field that is wrong by itself, if any.
        let alone = |(key, value): (String, Value)| {
            let one = Value::Object(Map::from_iter([(key.clone(), value)]));
            serde_json::from_value::<T>(one).err().map(|error| (key, error))
        };
        match fields.into_iter().filter(|(key, _)| key != "of").find_map(alone) {
            Some((key, error)) => SpecError(format!("{place}.{key}: {error}")),
            None => SpecError(format!("{place}: {error}")),
        }
    })
}

fn value<T: Default + DeserializeOwned>(place: &str, value: Value) -> Result<T, SpecError> {
    if value.is_null() {
        return Ok(T::default());
    }
    serde_json::from_value(value).map_err(|error| SpecError(format!("{place}: {error}")))
}

fn one_or_many(value: Value) -> Value {
    if value.is_string() { Value::Array(vec![value]) } else { value }
}

/// The fields of a section by their names, which a writer of TOML may prefer with underscores.
fn object(place: &str, value: Value) -> Result<Map<String, Value>, SpecError> {
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(fields) => {
            Ok(fields.into_iter().map(|(key, value)| (key.replace('_', "-"), value)).collect())
        }
        other if place.is_empty() => Err(SpecError(format!("it is {other}; write a specification"))),
        other => Err(SpecError(format!("{place}: it is {other}; write a section [{place}]"))),
    }
}

/// The error for an unknown `key` at `place`, with a hint.
pub fn unknown_key(place: &str, key: &str, known: &[&str]) -> SpecError {
    let elsewhere = match key {
        "seed" => Some("write it before the first section"),
        "rate" | "closed" | "share" => Some("it belongs into the section [load]"),
        "warmup" | "window" | "search" => Some("it belongs into the section [time]"),
        _ => None,
    };
    let hint = match (elsewhere, nearest(key, known.iter().copied())) {
        (Some(elsewhere), _) => elsewhere.to_owned(),
        (None, Some(near)) => format!("did you mean '{near}'?"),
        (None, None) => format!("known here: {}", known.join(", ")),
    };
    SpecError(format!("{place}: this key is not known; {hint}"))
}

/// The known key that is most like `key`, if any is alike at all.
pub fn nearest<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Beyond a third of its letters a word is another one.
    let limit = key.chars().count().div_ceil(3).max(1);
    let alike = known.map(|word| (strsim::osa_distance(key, word), word));
    alike
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(whole: Value) -> Result<Spec, SpecError> {
        Spec::read(whole, &|target| match target.to_string().as_str() {
            "sphinx" => Ok(vec!["cache"]),
            "nginx" => Ok(vec!["web"]),
            _ if target.is_external() => Ok(Vec::new()),
            name => Err(crate::target_error(name, "there is no such application".into())),
        })
    }

    #[test]
    fn the_kind_follows_from_the_server_or_is_said() {
        let check = |whole: Value, kind: &str| assert_eq!(read(whole).unwrap().workload.name(), kind);
        check(json!({}), "cache");
        check(json!({ "target": { "server": "nginx" } }), "web");
        check(json!({ "target": { "server": "127.0.0.1:80" } }), "cache");
        check(json!({ "target": { "server": "127.0.0.1:80" }, "workload": { "kind": "web" } }), "web");
    }

    #[test]
    fn mistakes_are_named_with_what_to_write() {
        let check = |whole: Value, expect: &str| {
            let error = read(whole.clone()).unwrap_err().to_string();
            assert!(error.contains(expect), "{whole}: {error}");
        };
        check(json!({ "taget": {} }), "taget: this key is not known; did you mean 'target'?");
        check(
            json!({ "target": { "thread": 1 } }),
            "target.thread: this key is not known; did you mean 'threads'?",
        );
        check(json!({ "target": { "threads": 0 } }), "target.threads: count '0': it is not between 1 and");
        check(
            json!({ "target": { "threads": 257 } }),
            "target.threads: it is 257; write a number from 1 to 256",
        );
        check(
            json!({ "target": { "server": "dragonfly" } }),
            "target.server: target 'dragonfly': there is no such application",
        );
        check(
            json!({ "target": { "server": "Redis" } }),
            "sphinx (embedded), memcached, redis, valkey or nginx",
        );
        check(
            json!({ "target": { "memory": 64 } }),
            "target.memory: 64 has no unit; write it with its unit, such as \"64MiB\"",
        );
        check(json!({ "target": { "args": [1] } }), "target.args: ");
        check(json!({ "target": 5 }), "target: it is 5; write a section [target]");
        check(json!({ "workload": { "kind": "movie" } }), "'movie' is not known; write \"cache\" or \"web\"");
        check(json!({ "workload": { "kind": "web" } }), "workload.kind: sphinx answers no 'web'");
        check(json!({ "workload": { "kind": "video" } }), "workload.kind: sphinx answers no 'video'");
        check(json!({ "workload": { "key-size": 30 } }), "workload.key-size: 30 has no unit");
        check(json!({ "workload": { "key-size": "30" } }), "workload.key-size: 30 has no unit");
        check(
            json!({ "workload": { "key-sise": "30B" } }),
            "workload.key-sise: this key is not known; did you mean 'key-size'?",
        );
        check(
            json!({ "target": { "server": "nginx" }, "workload": { "keys": 5 } }),
            "workload.keys: this key is not known",
        );
        check(json!({ "generator": { "seed": 1 } }), "before the first section");
        check(json!({ "generator": { "rate": "1k" } }), "[load]");
        check(json!({ "load": { "share": 0.7 } }), "load.share: ");
        check(json!({ "load": { "share": "70" } }), "such as \"70%\"");
        check(json!({ "load": { "share": "70%", "closed": true } }), "load: only one of");
        check(json!({ "load": { "of": "A" } }), "there is no share");
        check(json!({ "load": { "find": "best" } }), "\"maximum\" or \"peak\"");
        check(
            json!({ "time": { "window": 2 } }),
            "time.window: 2 has no unit; write it with its unit, such as \"2s\"",
        );
        check(json!({ "qos": { "target": "p99" } }), "qos.target: ");
        check(json!({ "knobs": ["smt"] }), "knobs: ");
        check(json!({ "client-knobs": ["cache-client"] }), "client-knobs: ");
        check(json!([1]), "write a specification");
    }

    #[test]
    fn numbers_flags_and_underscores_are_taken() {
        let whole = json!({
            "workload": { "key_size": "40B", "expiry": 60, "verify": true },
            "generator": { "target-latency": "2ms", "connections": "16" },
            "knobs": "smt=off", "probes": "stages,io",
        });
        let spec = read(whole).unwrap();
        let Workload::Cache(cache) = &spec.workload else { panic!() };
        assert_eq!((cache.key_size.max().0, cache.expiry.to_string().as_str()), (40, "fixed:60"));
        assert_eq!(cache.verify, Some(crate::workload::Verify::Checksum));
        assert_eq!((spec.generator.connections, spec.knobs.len(), spec.probes.probes().len()), (16, 1, 2));
    }
}
