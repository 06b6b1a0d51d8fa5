//! The reader of earlier schemas: what they called otherwise.

use serde_json::{Map, Value};

/// Where schema 1 and 2 had parts of a trial's configuration that a specification has as well, and where it has them.
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

/// The configuration of a trial of schema 1 or 2, with the names of a specification where they mean the same.
pub(crate) fn renamed(earlier: &Value) -> Value {
    let mut rest = earlier.clone();
    let moved: Vec<(&str, Value)> =
        NAMES.iter().filter_map(|(old, new)| Some((*new, take(&mut rest, old)?))).collect();
    for (new, value) in moved {
        put(&mut rest, new, value);
    }
    rest
}

/// Takes the value at `path` out of `tree`; nothing where it is a branch of which parts are meant.
fn take(tree: &mut Value, path: &str) -> Option<Value> {
    let fields = tree.as_object_mut()?;
    match path.split_once('.') {
        Some((name, below)) => take(fields.get_mut(name)?, below),
        None => fields.remove(path),
    }
}

/// Puts a value at `path` of `tree`, unless something else is on the way.
fn put(tree: &mut Value, path: &str, value: Value) {
    let Some(fields) = tree.as_object_mut() else { return };
    match path.split_once('.') {
        Some((name, below)) => put(fields.entry(name).or_insert_with(|| Map::new().into()), below, value),
        None => drop(fields.insert(path.into(), value)),
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
}
