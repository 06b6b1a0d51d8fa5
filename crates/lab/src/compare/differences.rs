//! Differences between two results apart from the target: reasons for doubt.

use std::collections::{BTreeMap, BTreeSet};

use results::{Experiment, Purpose, Trial};
use serde_json::Value;

use super::Choice;

/// Host facts that change from minute to minute.
const VOLATILE: [&str; 5] = ["available_bytes", "free_bytes", "huge_pages_free", "steal_s", "steal_share"];
/// Parts of a trial's configuration that are meant to differ from trial to trial, follow from the target, or are compared
/// by themselves.
const OF_THE_TRIAL: [&str; 6] = ["seed", "rate", "target", "time", "server_version", "servers"];
/// Of how the server is set up: which it is, and where, which are compared by themselves.
const OF_THE_PLACE: [&str; 5] = ["server", "agent", "listen", "device", "cpus"];
/// Beyond this number, differences of one kind are counted instead of listed.
const LISTED: usize = 12;

/// The differences in words, the most telling first.
pub(super) fn between(a: &Choice<'_>, b: &Choice<'_>, labels: [&str; 2]) -> Vec<String> {
    let (x, y) = (a.experiment, b.experiment);
    let mut found = Vec::new();
    if let (Some(left), Some(right)) = (a.record(), b.record()) {
        let mut differ = |what, left, right| found.extend(difference(what, left, right, labels));
        if a.target == b.target {
            differ("version", text(&left.version), text(&right.version));
            differ("started as", command(&left.command), command(&right.command));
        }
        differ("processors of the server", numbers(&left.cpus), numbers(&right.cpus));
        if let (Some(left), Some(right)) = (&left.congestion_control, &right.congestion_control) {
            differ("congestion control of the server", left.clone(), right.clone());
        }
        if left.host.is_some() || right.host.is_some() {
            found.extend(values("server's host ", a.host(), b.host(), &VOLATILE, false, labels));
        }
    }
    if x == y {
        return found;
    }
    let mut differ = |what, left, right| found.extend(difference(what, left, right, labels));
    differ("QoS target", x.qos.to_string(), y.qos.to_string());
    let [basis_x, basis_y] = [x, y].map(|side| format!("{:?} p99", side.qos_basis).to_lowercase());
    differ("judged figure", basis_x, basis_y);
    differ("taillight", x.version.clone(), y.version.clone());
    if let (Some(left), Some(right)) = (typical(x, a.target), typical(y, b.target)) {
        differ("window", format!("{} s", left.window_s), format!("{} s", right.window_s));
        differ("warm-up", format!("{} s", left.warmup_s), format!("{} s", right.warmup_s));
        let (p, q) = (&left.generator, &right.generator);
        differ("generator threads", p.threads.to_string(), q.threads.to_string());
        differ("processors of the generator", numbers(&p.cpus), numbers(&q.cpus));
        // Fields that only one schema has are not differences.
        let same_schema = left.spec.is_some() == right.spec.is_some();
        let (left, right) = (left.configuration(), right.configuration());
        let [a, b] = [&left, &right].map(|whole| whole.get("target").cloned().unwrap_or_default());
        found.extend(values("server's ", &a, &b, &OF_THE_PLACE, !same_schema, labels));
        found.extend(values("", &left, &right, &OF_THE_TRIAL, !same_schema, labels));
    }
    found.extend(values("host ", &x.host, &y.host, &VOLATILE, false, labels));
    found
}

/// A difference in words; `None` if both sides are equal.
fn difference(what: &str, left: String, right: String, labels: [&str; 2]) -> Option<String> {
    (left != right).then(|| format!("{what}: {} {left}, {} {right}", labels[0], labels[1]))
}

/// A trial that stands for the others.
fn typical<'a>(experiment: &'a Experiment, target: &'a str) -> Option<&'a Trial> {
    let of_sweep = experiment.trials_of(target).find(|trial| trial.purpose != Purpose::MaxSearch);
    of_sweep.or_else(|| experiment.trials_of(target).next())
}

/// The differences between two trees of values, by their paths; with `common` only of paths that both have.
fn values(prefix: &str, a: &Value, b: &Value, but: &[&str], common: bool, labels: [&str; 2]) -> Vec<String> {
    let (mut left, mut right) = (BTreeMap::new(), BTreeMap::new());
    flatten("", a, but, &mut left);
    flatten("", b, but, &mut right);
    if common {
        left.retain(|path, _| right.contains_key(path));
        right.retain(|path, _| left.contains_key(path));
    }
    let paths: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let shown = |value: Option<&String>| value.cloned().unwrap_or_else(|| "–".into());
    let mut differing: Vec<String> = paths
        .into_iter()
        .filter_map(|path| {
            let (x, y) = (shown(left.get(path)), shown(right.get(path)));
            difference(&format!("{prefix}{path}"), x, y, labels)
        })
        .collect();
    let more = differing.len().saturating_sub(LISTED);
    differing.truncate(LISTED);
    differing.extend((more > 0).then(|| format!("{prefix}{more} more facts differ")));
    differing
}

/// The leaves of `value` with their paths; a list of plain values is one leaf.
fn flatten(path: &str, value: &Value, but: &[&str], into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter().filter(|(name, _)| !but.contains(&name.as_str())) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&path, field, but, into);
            }
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (i, item) in items.iter().enumerate() {
                flatten(&format!("{path}[{i}]"), item, but, into);
            }
        }
        Value::Null => {}
        leaf => {
            into.insert(path.into(), leaf.as_str().map_or_else(|| leaf.to_string(), str::to_owned));
        }
    }
}

fn text(text: &str) -> String {
    if text.is_empty() { "unknown".into() } else { text.into() }
}

fn numbers(cpus: &[usize]) -> String {
    if cpus.is_empty() {
        return "not pinned".into();
    }
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// A command without the parts that change from start to start: the program's path and its port.
fn command(command: &[String]) -> String {
    let Some((program, words)) = command.split_first() else { return "not started here".into() };
    let mut shown = vec![program.rsplit('/').next().unwrap_or(program)];
    for (before, word) in command.iter().zip(words) {
        shown.push(if matches!(before.as_str(), "-p" | "--port") { "PORT" } else { word.as_str() });
    }
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::json;
    use spec::{Spec, Workload};

    fn differences(change: impl Fn(&mut Experiment)) -> Vec<String> {
        let mut a = testing::experiment(&["sphinx"]);
        a.trials.push(testing::trial("sphinx", 1000.0));
        let mut b = a.clone();
        b.elapsed_s = 9.0;
        change(&mut b);
        let side = |experiment| Choice { experiment, target: "sphinx", folder: "f" };
        between(&side(&a), &side(&b), ["A", "B"])
    }

    #[test]
    fn says_what_differs_and_nothing_else() {
        let check =
            |change: &dyn Fn(&mut Experiment), expect: &[&str]| assert_eq!(differences(change), expect);
        check(&|_| {}, &[]);
        check(&|b| b.seed = 7, &[]);
        fn spec(b: &mut Experiment) -> &mut Spec {
            b.trials[0].spec.as_mut().unwrap()
        }
        check(&|b| spec(b).seed = 9, &[]);
        check(&|b| spec(b).load = spec::Load::Rate("5k".parse().unwrap()), &[]);
        check(&|b| spec(b).load = spec::Load::Closed, &["load.closed: A false, B true"]);
        check(&|b| b.trials[0].found.servers = vec!["b:1".into()], &[]);
        check(&|b| b.host["memory"] = json!({ "available_bytes": 5 }), &[]);
        check(&|b| spec(b).generator.connections = 16, &["generator.connections: A 64, B 16"]);
        let keys = |b: &mut Experiment| {
            let Workload::Cache(cache) = &mut spec(b).workload else { panic!("no cache") };
            cache.keys = 5;
        };
        check(&keys, &["workload.keys: A 100000, B 5"]);
        check(&|b| spec(b).generator.clients = Some(4), &["generator.clients: A –, B 4"]);
        check(&|b| b.host["cpu"]["model"] = json!("b"), &["host cpu.model: A a, B b"]);
        check(&|b| b.qos = "p99<2ms".parse().unwrap(), &["QoS target: A windowed p99 ≤ 1 ms, B p99 ≤ 2 ms"]);
        check(&|b| b.qos_basis = units::QosBasis::Windowed, &["judged figure: A raw p99, B windowed p99"]);
        check(&|b| b.version = "0.2.0".into(), &["taillight: A 0.1.0, B 0.2.0"]);
        check(&|b| b.targets[0].cpus = vec![0, 1], &["processors of the server: A not pinned, B 0,1"]);
        check(&|b| b.trials[0].window_s = 5.0, &["window: A 2 s, B 5 s"]);
        check(&|b| b.trials[0].generator.cpus = vec![3], &["processors of the generator: A 1, B 3"]);
        check(&|b| b.targets[0].version = "sphinx 2".into(), &["version: A unknown, B sphinx 2"]);
        check(&|b| spec(b).target.threads = 4, &["server's threads: A 1, B 4"]);
        check(&|b| spec(b).target.form = spec::Form::Docker, &["server's form: A bare, B docker"]);
        check(&|b| spec(b).target.set = vec!["gzip=6".into()], &["server's set: A [], B [\"gzip=6\"]"]);
        check(&|b| spec(b).target.agent = Some("b:1".into()), &[]);
        check(
            &|b| b.targets[0].host = Some(json!({ "cpu": { "model": "c", "cores": 2 } })),
            &["server's host cpu.model: A a, B c"],
        );
    }

    #[test]
    fn a_port_is_not_a_difference_and_an_option_is() {
        let check = |a: &[&str], b: &[&str], same: bool| {
            let words = |line: &[&str]| command(&line.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
            assert_eq!(words(a) == words(b), same, "{a:?} {b:?}");
        };
        check(&["/a/memcached", "-p", "1", "-m", "64"], &["/b/memcached", "-p", "2", "-m", "64"], true);
        check(&["memcached", "-p", "1"], &["memcached", "-p", "1", "-o", "no_lru_maintainer"], false);
        check(&[], &["memcached"], false);
    }

    #[test]
    fn many_differences_are_counted() {
        let many = differences(|b| {
            for i in 0..20 {
                b.host[format!("fact{i:02}")] = json!(i);
            }
        });
        assert_eq!(many.len(), 13);
        assert_eq!(many[12], "host 8 more facts differ");
    }
}
