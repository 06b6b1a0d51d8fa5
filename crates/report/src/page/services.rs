use std::collections::BTreeMap;

use maud::{Markup, html};
use results::{Experiment, Service, Target, Trial};

use super::section;
use crate::{figure, number};

/// A service's use of resources over all trials of its target.
#[derive(Default)]
struct Sum {
    cpu_s: f64,
    resident_bytes: Option<u64>,
    counters: BTreeMap<String, f64>,
}

/// The services of each target: their calls, their processors, and their use of resources. Empty if no service was
/// started.
pub(crate) fn services(experiment: &Experiment) -> Markup {
    let targets: Vec<&Target> =
        experiment.targets.iter().filter(|target| !target.services.is_empty()).collect();
    if targets.is_empty() {
        return html! {};
    }
    let several = targets.len() > 1;
    let body = html! {
        @for target in targets {
            @let sums = sums(experiment.trials_of(&target.name));
            @let shares = shares(&sums);
            @if target.services.len() > 1 { (figure::topology(&target.name, &target.services, &shares)) }
            (table(target, &sums, &shares, several))
        }
    };
    section("services", "Services", body)
}

fn sums<'t>(trials: impl Iterator<Item = &'t Trial>) -> BTreeMap<&'t str, Sum> {
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for used in trials.flat_map(|trial| &trial.services) {
        let sum = sums.entry(&used.name).or_default();
        sum.cpu_s += used.cpu_s.unwrap_or(0.0);
        sum.resident_bytes = sum.resident_bytes.max(used.resident_bytes);
        for (name, grown) in &used.counters {
            *sum.counters.entry(name.clone()).or_default() += grown;
        }
    }
    sums
}

/// The share of each service in the processor time of all; empty if they used none.
fn shares<'e>(sums: &BTreeMap<&'e str, Sum>) -> BTreeMap<&'e str, f64> {
    let all: f64 = sums.values().map(|sum| sum.cpu_s).sum();
    let share = |(name, sum): (&&'e str, &Sum)| (*name, sum.cpu_s / all);
    if all > 0.0 { sums.iter().map(share).collect() } else { BTreeMap::new() }
}

fn table(target: &Target, sums: &BTreeMap<&str, Sum>, shares: &BTreeMap<&str, f64>, several: bool) -> Markup {
    let of = |service: &Service| sums.get(service.name.as_str());
    html! {
        div.scroll {
            table {
                caption {
                    @if several { (target.name) ": what" } @else { "What" }
                    " each service used in all trials, filling and warm-up included; the largest resident memory at the end of one"
                }
                thead { tr {
                    th.text { "service" } th.text { "version" } th.text { "runs in" } th { "instances" } th { "threads" }
                    th.text { "processors" } th { "memory limit" } th { "processor time" } th { "share" } th { "resident" }
                    th { "restarts" }
                } }
                tbody {
                    @for service in &target.services {
                        tr {
                            th.text scope="row" { (service.name) }
                            td.text { (service.version) }
                            td.text { (service.form) @if let Some(agent) = &service.agent { " on " (agent) } }
                            td { (service.instances) }
                            td { (service.threads) }
                            td.text { (processors(service)) }
                            td { (number::bytes(service.memory_bytes as f64)) }
                            td { (number::micros(of(service).map(|sum| 1e6 * sum.cpu_s))) }
                            td { (number::or_none(shares.get(service.name.as_str()), |share| number::percent(*share))) }
                            td { (number::or_none(of(service).and_then(|sum| sum.resident_bytes), |bytes| number::bytes(bytes as f64))) }
                            td { (service.restarts) }
                        }
                    }
                }
            }
        }
        @for service in &target.services {
            @let moved: Vec<(&String, &f64)> = of(service).iter().flat_map(|sum| &sum.counters).filter(|(_, grown)| **grown != 0.0).collect();
            @if !moved.is_empty() {
                details {
                    summary { "Counters of " (service.name) " that moved (" (moved.len()) ")" }
                    dl.facts.columns { @for (name, grown) in moved { div { dt { (name) } dd { (number::thousands(*grown)) } } } }
                }
            }
        }
    }
}

/// The processors, `0, 2, 3`, or a note that it was not pinned.
fn processors(service: &Service) -> String {
    let list: Vec<String> = service.cpus.iter().map(ToString::to_string).collect();
    if list.is_empty() { "any".into() } else { list.join(", ") }
}

#[cfg(test)]
mod tests {
    use results::ServiceUsage;

    use super::*;

    #[test]
    fn shares_are_of_all_services_over_all_trials() {
        let used = |name: &str, cpu_s: Option<f64>, resident: u64| ServiceUsage {
            name: name.into(),
            cpu_s,
            resident_bytes: Some(resident),
            counters: BTreeMap::from([("requests".into(), 10.0)]),
            ..ServiceUsage::default()
        };
        let trial = |services| Trial { services, ..Trial::default() };
        let trials = [
            trial(vec![used("a", Some(1.0), 5), used("b", Some(2.0), 7)]),
            trial(vec![used("a", Some(0.5), 9), used("b", None, 6)]),
        ];
        let sums = sums(trials.iter());
        let shares = shares(&sums);
        assert!((shares["a"] - 1.5 / 3.5).abs() < 1e-9 && (shares["b"] - 2.0 / 3.5).abs() < 1e-9);
        assert_eq!((sums["a"].resident_bytes, sums["b"].counters["requests"]), (Some(9), 20.0));
        assert!(super::shares(&BTreeMap::new()).is_empty());
    }
}
