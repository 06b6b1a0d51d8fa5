//! Which crates must never depend on which, directly or by way of others.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::metadata::{Dependency, Package};
use crate::repository::Repository;

/// Crates without clocks, sockets and threads; the same input gives the same output on every machine.
pub(super) const PURE: &[&str] = &[
    "units",
    "spec",
    "dist",
    "hist",
    "stats",
    "audit",
    "proto-memcache",
    "proto-http",
    "proto-h2",
    "proto-resp",
    "cache-store",
    "datasets",
];

enum Rule {
    /// No crate of `from` may reach any crate of `to`.
    Never { from: &'static [&'static str], to: &'static [&'static str], why: &'static str },
    /// Each crate of `from` may reach, of this workspace, only `to`.
    Only { from: &'static [&'static str], to: &'static [&'static str], why: &'static str },
}

/// The table. A name may end in `*`.
///
/// Normal and build dependencies count transitively, development dependencies only if direct.
const RULES: &[Rule] = &[
    Rule::Never {
        from: &["openloop"],
        to: &["proto-*", "workloads"],
        why: "the engine must not know what it sends",
    },
    Rule::Only {
        from: &["spec"],
        to: &["units"],
        why: "what a measurement is must not depend on who runs or reports it",
    },
    Rule::Only { from: PURE, to: PURE, why: "a pure crate does without clocks, sockets and threads" },
    Rule::Never {
        from: &["sphinx", "reference-servers"],
        to: &["openloop", "workloads"],
        why: "server and generator share codec, reactor and pure crates only, so that one cannot hide the other's fault",
    },
    Rule::Never {
        from: &["openloop", "workloads"],
        to: &["sphinx", "cache-store"],
        why: "server and generator share codec, reactor and pure crates only, so that one cannot hide the other's fault",
    },
    Rule::Never {
        from: &["lab"],
        to: &["trial", "workloads", "sphinx"],
        why: "the lab meets servers and generators as processes and files",
    },
    Rule::Never {
        from: &["trial"],
        to: &["lab", "app", "knobs", "probes", "report", "sphinx", "reference-servers"],
        why: "a trial runs wherever an agent is; what plans, serves, changes, observes or draws is elsewhere",
    },
    Rule::Never {
        from: &["app"],
        to: &["workloads", "sphinx", "reference-servers", "lab"],
        why: "an application is data, and its programs are met as processes",
    },
    Rule::Never {
        from: &["reactor", "openloop", "workloads", "sphinx", "reference-servers"],
        to: &["agent"],
        why: "the control channel's runtime must not run where load is generated or served",
    },
    Rule::Never {
        from: &["report", "export", "sinks"],
        to: &["lab", "knobs", "probes"],
        why: "a report is made from the result alone, years later, elsewhere",
    },
    Rule::Only {
        from: &["results"],
        to: &["units", "spec", "hist", "stats"],
        why: "what is kept must be readable without the program that made it",
    },
    Rule::Only {
        from: &["traces"],
        to: &["units", "spec", "hist", "stats", "results"],
        why: "spans and times come from outside as values, so that a test decides what they are",
    },
    Rule::Never {
        from: &["knobs"],
        to: &["probes"],
        why: "what changes the host must not need what observes it",
    },
    Rule::Never { from: &["probes"], to: &["knobs"], why: "what observes the host must not change it" },
];

pub(super) fn check(_: &Repository, packages: &[Package]) -> Vec<Finding> {
    let packages: BTreeMap<&str, &Package> = packages.iter().map(|p| (p.name.as_str(), p)).collect();
    let broken = |package: &&Package| {
        RULES.iter().flat_map(|rule| breaches(rule, package, &packages)).collect::<Vec<_>>()
    };
    packages.values().flat_map(broken).collect()
}

fn breaches(rule: &Rule, package: &Package, packages: &BTreeMap<&str, &Package>) -> Vec<Finding> {
    let (from, why) = match rule {
        Rule::Never { from, why, .. } | Rule::Only { from, why, .. } => (from, why),
    };
    if !matches(from, &package.name) {
        return Vec::new();
    }
    let forbidden = |name: &str| match rule {
        Rule::Never { to, .. } => matches(to, name),
        Rule::Only { to, .. } => !matches(to, name),
    };
    let remedy = "draw the arrow the other way, or move what both need below both";
    let finding = |path: Vec<&str>| {
        let file = format!("crates/{}/Cargo.toml", package.name);
        Finding::file(&file, format!("{} must never be: {why}", path.join(" → ")), remedy)
    };
    paths(package, packages)
        .into_iter()
        // A package that depends on itself turns on features for its own tests.
        .filter(|path| path.last().is_some_and(|n| *n != package.name && forbidden(n)))
        .map(finding)
        .collect()
}

/// Every crate of the workspace that `package` reaches, each by one way to it.
fn paths<'a>(package: &'a Package, packages: &BTreeMap<&'a str, &'a Package>) -> Vec<Vec<&'a str>> {
    let own = |dependency: &&Dependency| packages.contains_key(dependency.name.as_str());
    let is_dev = |dependency: &Dependency| dependency.kind.as_deref() == Some("dev");
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut dev = Vec::new();
    let mut open: Vec<(&Package, Vec<&str>)> = vec![(package, vec![&package.name])];
    while let Some((at, way)) = open.pop() {
        for dependency in at.dependencies.iter().filter(own) {
            let next: Vec<&str> = way.iter().copied().chain([dependency.name.as_str()]).collect();
            if is_dev(dependency) {
                if way.len() == 1 {
                    dev.push(next);
                }
            } else if !found.contains_key(dependency.name.as_str()) {
                found.insert(&dependency.name, next.clone());
                open.push((packages[dependency.name.as_str()], next));
            }
        }
    }
    found.into_values().chain(dev).collect()
}

fn matches(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => *pattern == name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_forbidden_arrows_and_no_others() {
        let check_arrows = |packages: &[(&str, &[&str])], expect: &[&str]| {
            let mut all: Vec<Package> =
                packages.iter().map(|(name, dependencies)| Package::of(name, dependencies)).collect();
            let names: Vec<String> =
                all.iter().flat_map(|p| &p.dependencies).map(|d| d.name.clone()).collect();
            for name in names {
                if !all.iter().any(|package| package.name == name) {
                    all.push(Package::of(&name, &[]));
                }
            }
            let found = check(&Repository::default(), &all);
            let arrows: Vec<&str> =
                found.iter().filter_map(|f| Some(f.problem.split_once(" must never")?.0)).collect();
            assert_eq!(arrows, expect);
        };
        check_arrows(&[("openloop", &["reactor", "results", "reference-servers(dev)"])], &[]);
        check_arrows(&[("openloop", &["proto-http"])], &["openloop → proto-http"]);
        check_arrows(&[("openloop", &["workloads(dev)"])], &["openloop → workloads"]);
        check_arrows(
            &[("openloop", &["reactor"]), ("reactor", &["proto-memcache"])],
            &["openloop → reactor → proto-memcache"],
        );
        // Dependencies of a test helper do not count.
        check_arrows(
            &[("openloop", &["reference-servers(dev)"]), ("reference-servers", &["proto-memcache"])],
            &[],
        );
        check_arrows(&[("dist", &["units", "stats(dev)", "rand"]), ("rand", &[])], &["dist → rand"]);
        check_arrows(&[("cache-store", &["proto-memcache", "reactor"])], &["cache-store → reactor"]);
        check_arrows(&[("hist", &["reactor(dev)"])], &["hist → reactor"]);
        check_arrows(&[("sphinx", &["openloop"])], &["sphinx → openloop"]);
        check_arrows(&[("workloads", &["sphinx"])], &["workloads → sphinx"]);
        check_arrows(
            &[("lab", &["sphinx(dev)", "launch", "workloads(build)"])],
            &["lab → workloads", "lab → sphinx"],
        );
        check_arrows(
            &[("workloads", &["openloop"]), ("openloop", &["agent"])],
            &["openloop → agent", "workloads → openloop → agent"],
        );
        check_arrows(
            &[("trial", &["agent", "workloads"]), ("agent", &["launch"]), ("launch", &["app"])],
            &["trial → agent → launch → app"],
        );
        check_arrows(&[("spec", &["units", "dist"])], &["spec → dist"]);
        check_arrows(&[("report", &["results", "lab"])], &["report → lab"]);
        check_arrows(&[("results", &["units", "spec", "hist", "stats", "host"])], &["results → host"]);
        check_arrows(&[("traces", &["lab"])], &["traces → lab"]);
        check_arrows(
            &[("knobs", &["probes"]), ("probes", &["knobs"])],
            &["knobs → probes", "probes → knobs"],
        );
    }

    #[test]
    fn a_circle_ends() {
        let packages = [Package::of("a", &["b"]), Package::of("b", &["a"])];
        assert_eq!(check(&Repository::default(), &packages), []);
    }
}
