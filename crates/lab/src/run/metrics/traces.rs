//! The figures of a cell that spans of its requests give.

use std::collections::BTreeMap;

use results::{
    Among, Coverage, Difference, LatencySummary, Part, ServiceTime, TracedOperation, Traces, TracingCost,
    Trial,
};

const ALL: &str = "all";
/// The part that a share of time between services is under.
const NETWORK: &str = "network";

/// Figures named after the operation. Shares are relative to the generator's time. Empty without traces.
pub(super) fn of(trial: &Trial) -> Vec<(String, f64)> {
    let Some(traces) = &trial.traces else { return Vec::new() };
    let mut seen = coverage(&traces.coverage);
    let operations: Vec<(&str, Vec<&TracedOperation>)> = traces
        .operations
        .iter()
        .map(|operation| (operation.name.as_str(), vec![operation]))
        .chain([(ALL, traces.operations.iter().collect())])
        .collect();
    for (name, of) in operations {
        for (group, among) in [("", Among::All), ("tail_", Among::Tail)] {
            seen.extend(shares(name, group, &of, among));
        }
        let requests: u64 = of.iter().map(|operation| operation.all.requests).sum();
        seen.push((format!("trace_requests.{name}"), requests as f64));
    }
    seen.extend(traces.operations.iter().flat_map(totals));
    seen.extend(traces.operations.iter().flat_map(|operation| of_all(operation, trial)));
    seen.extend(services(traces));
    seen.extend(traces.cost.iter().flat_map(cost));
    seen
}

fn coverage(coverage: &Coverage) -> Vec<(String, f64)> {
    let spans =
        (coverage.spans_expected > 0).then(|| coverage.spans_found as f64 / coverage.spans_expected as f64);
    let whole = (coverage.joined > 0).then(|| coverage.whole as f64 / coverage.joined as f64);
    super::known([
        ("trace_joined_share", coverage.joined_share()),
        ("trace_whole_share", whole),
        ("trace_spans_share", spans),
    ])
}

/// Of the time of some operations the share of each service and of each part, in one of the groups of requests.
fn shares(name: &str, group: &str, of: &[&TracedOperation], among: Among) -> Vec<(String, f64)> {
    let root: u64 = of.iter().map(|operation| operation.group(among).root_ns).sum();
    if root == 0 {
        return Vec::new();
    }
    let mut by_service: BTreeMap<&str, u64> = BTreeMap::new();
    let mut by_part = Part::ALL.map(|part| (part, 0));
    for service in of.iter().flat_map(|operation| &operation.services) {
        *by_service.entry(&service.name).or_default() += service.ns(among, |_| true);
        for (part, sum) in &mut by_part {
            *sum += service.ns(among, |one| one == *part);
        }
    }
    let network: u64 = by_part.iter().filter(|(part, _)| part.is_network()).map(|(_, sum)| sum).sum();
    let share = |sum: u64| sum as f64 / root as f64;
    let services = by_service
        .into_iter()
        .map(|(service, sum)| (format!("trace_{group}share.{name}.{service}"), share(sum)));
    let parts = by_part.map(|(part, sum)| (part.name(), sum)).into_iter().chain([(NETWORK, network)]);
    let parts = parts.map(|(part, sum)| (format!("trace_{group}part_share.{name}.{part}"), share(sum)));
    services.chain(parts).collect()
}

/// Figures of an operation from the spans alone, and compared with the generator's.
fn totals(operation: &TracedOperation) -> Vec<(String, f64)> {
    let TracedOperation { name, tracer, response_time, root, .. } = operation;
    let mut seen: Vec<(String, f64)> =
        root.mean_us.map(|us| (format!("trace_root_us_mean.{name}"), us)).into_iter().collect();
    for (at, us) in figures(tracer) {
        seen.extend(us.map(|us| (format!("trace_us_{at}.{name}"), us)));
    }
    seen.extend(ratios("trace_ratio", name, tracer, response_time));
    seen.extend(ratios("trace_sum_ratio", name, root, response_time));
    seen
}

/// The parts of the traced requests of an operation against the generator's response time of all of its requests.
fn of_all(operation: &TracedOperation, trial: &Trial) -> Vec<(String, f64)> {
    let TracedOperation { name, root, .. } = operation;
    let all = trial.operations.iter().find(|one| one.name == *name);
    all.map_or_else(Vec::new, |all| ratios("trace_sum_ratio_of_all", name, root, &all.response_time))
}

fn figures(of: &LatencySummary) -> [(&'static str, Option<f64>); 3] {
    [("mean", of.mean_us), ("p50", of.p50_us), ("p99", of.p99_us)]
}

/// `of` over `to`, if both are known.
fn ratios(what: &str, name: &str, of: &LatencySummary, to: &LatencySummary) -> Vec<(String, f64)> {
    let both = figures(of).into_iter().zip(figures(to));
    let ratio = |((at, of), (_, to))| Some((format!("{what}_{at}.{name}"), of? / to?));
    both.filter_map(ratio).collect()
}

/// Figures of each service over all operations: the share of its own time spent between services, and the processor
/// time of one call.
fn services(traces: &Traces) -> Vec<(String, f64)> {
    let mut by_name: BTreeMap<&str, Vec<&ServiceTime>> = BTreeMap::new();
    for service in traces.operations.iter().flat_map(|operation| &operation.services) {
        by_name.entry(&service.name).or_default().push(service);
    }
    let mut seen = Vec::new();
    for (name, of) in by_name {
        let sum =
            |is_meant: &dyn Fn(Part) -> bool| of.iter().map(|one| one.ns(Among::All, is_meant)).sum::<u64>();
        let (network, whole) = (sum(&Part::is_network), sum(&|_| true));
        if network > 0 {
            seen.push((format!("trace_network_share.{name}"), network as f64 / whole as f64));
        }
        let (calls, cpu): (u64, u64) =
            (of.iter().map(|one| one.calls).sum(), of.iter().map(|one| one.cpu_ns).sum());
        if calls > 0 && cpu > 0 {
            seen.push((format!("trace_cpu_us.{name}"), cpu as f64 / calls as f64 / 1e3));
        }
    }
    seen
}

/// The time that tracing adds, absolute and relative to untraced requests, and the upper bound of its interval.
fn cost(cost: &TracingCost) -> Vec<(String, f64)> {
    let TracingCost { operation, untraced, mean, p50, p99, .. } = cost;
    let figures =
        [("mean", mean, untraced.mean_us), ("p50", p50, untraced.p50_us), ("p99", p99, untraced.p99_us)];
    let mut seen = Vec::new();
    for (at, difference, without) in figures {
        let Some(Difference { us, high_us, .. }) = difference else { continue };
        seen.push((format!("trace_cost_us_{at}.{operation}"), *us));
        if let Some(without) = without.filter(|us| *us > 0.0) {
            seen.push((format!("trace_cost_share_{at}.{operation}"), us / without));
            seen.push((format!("trace_cost_at_most_{at}.{operation}"), high_us / without));
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use results::{Group, Operation, PartTime};

    use super::*;

    fn trial() -> Trial {
        let part = |part, all_ns, tail_ns| PartTime { part, all_ns, tail_ns, ..PartTime::default() };
        let service = |name: &str, cpu_ns, parts| ServiceTime {
            name: name.into(),
            calls: 10,
            cpu_ns,
            parts,
            ..ServiceTime::default()
        };
        let operation = |name: &str, plot: u64| TracedOperation {
            name: name.into(),
            all: Group { requests: 10, root_ns: 6_000 + plot, tracer_ns: 0 },
            tail: Group { requests: 1, root_ns: 1_000, tracer_ns: 0 },
            response_time: LatencySummary { p50_us: Some(100.0), ..LatencySummary::default() },
            root: LatencySummary { p50_us: Some(100.0), ..LatencySummary::default() },
            tracer: LatencySummary { p50_us: Some(98.0), ..LatencySummary::default() },
            services: vec![
                service("front", 0, vec![part(Part::Front, 2_000, 0)]),
                service(
                    "php",
                    50_000,
                    vec![part(Part::Application, 3_000, 250), part(Part::Queue, 1_000, 750)],
                ),
                service("plot", 0, vec![part(Part::Transit, plot, 0)]),
            ],
            ..TracedOperation::default()
        };
        let cost = TracingCost {
            operation: "browse".into(),
            untraced: LatencySummary { p99_us: Some(200.0), ..LatencySummary::default() },
            p99: Some(Difference { us: 1.0, low_us: -3.0, high_us: 5.0 }),
            ..TracingCost::default()
        };
        let traces = Traces {
            coverage: Coverage {
                sampled: 25,
                joined: 20,
                whole: 10,
                spans_expected: 8,
                spans_found: 8,
                ..Coverage::default()
            },
            operations: vec![operation("browse", 2_000), operation("review", 6_000)],
            cost: vec![cost],
            ..Traces::default()
        };
        let all = LatencySummary { p50_us: Some(125.0), ..LatencySummary::default() };
        let all = Operation { name: "browse".into(), response_time: all, ..Operation::default() };
        Trial { traces: Some(traces), operations: vec![all], ..Trial::default() }
    }

    #[test]
    fn shares_are_of_the_generators_time() {
        let metrics: BTreeMap<String, f64> = of(&trial()).into_iter().collect();
        let check = |name: &str, expect: Option<f64>| {
            let found = metrics.get(name).copied();
            assert_eq!(
                found.map(|value| (value * 1e9).round()),
                expect.map(|value: f64| (value * 1e9).round()),
                "{name}"
            );
        };
        check("trace_share.browse.plot", Some(0.25));
        check("trace_share.browse.php", Some(0.5));
        check("trace_share.review.plot", Some(0.5));
        check("trace_share.all.plot", Some(0.4));
        check("trace_part_share.browse.network", Some(0.375));
        check("trace_part_share.all.application", Some(0.3));
        check("trace_part_share.browse.store", Some(0.0));
        check("trace_tail_share.browse.php", Some(1.0));
        check("trace_tail_part_share.browse.network", Some(0.75));
        check("trace_network_share.php", Some(0.25));
        check("trace_network_share.plot", Some(1.0));
        check("trace_network_share.front", None);
        check("trace_cpu_us.php", Some(5.0));
        check("trace_cpu_us.plot", None);
        check("trace_requests.all", Some(20.0));
        check("trace_ratio_p50.browse", Some(0.98));
        check("trace_ratio_p99.browse", None);
        check("trace_sum_ratio_p50.browse", Some(1.0));
        check("trace_sum_ratio_of_all_p50.browse", Some(0.8));
        check("trace_sum_ratio_of_all_p50.review", None);
        check("trace_joined_share", Some(0.8));
        check("trace_whole_share", Some(0.5));
        check("trace_spans_share", Some(1.0));
        check("trace_cost_us_p99.browse", Some(1.0));
        check("trace_cost_share_p99.browse", Some(0.005));
        check("trace_cost_at_most_p99.browse", Some(0.025));
        check("trace_cost_us_mean.browse", None);
    }

    #[test]
    fn nothing_traced_has_no_shares() {
        assert!(of(&Trial::default()).is_empty());
        let empty = Traces { operations: vec![TracedOperation::default()], ..Traces::default() };
        assert!(
            of(&Trial { traces: Some(empty), ..Trial::default() })
                .iter()
                .all(|(name, value)| name.starts_with("trace_requests") && *value == 0.0)
        );
    }
}
