//! Where the time of traced requests went, in a few lines.

use results::{
    Among, Coverage, Difference, LatencySummary, Part, TracedOperation, Traces, TracingCost, Trial,
};

use crate::number;

/// Parts that are named of each operation; the report shows all.
const NAMED: usize = 5;
/// The cost that CAL'18 has of its own tracing: less than this on the 99th percentile.
const OF_THE_PAPER: f64 = 0.001;

/// A line for each operation, one for each on how that agrees with the generator, one on what was found, and one for each cost;
/// nothing where nothing was traced.
pub(super) fn lines(trial: &Trial) -> Vec<String> {
    let Some(traces) = &trial.traces else { return Vec::new() };
    let operations = || traces.operations.iter().filter(|one| one.all.requests > 0);
    let of_all = |name: &str| trial.operations.iter().find(|one| one.name == name);
    let agree = operations().filter_map(|one| agreement(one, of_all(&one.name).map(|of| &of.response_time)));
    let lines = operations().map(largest).chain(agree).chain([coverage(traces)]);
    lines.chain(traces.cost.iter().map(cost)).collect()
}

/// What the parts of its requests sum to, beside the generator's response time of these and of all of its requests; `None` of so
/// few that there is no median.
fn agreement(operation: &TracedOperation, of_all: Option<&LatencySummary>) -> Option<String> {
    operation.root.p50_us?;
    let figures =
        |of: &LatencySummary| format!("{}, p99 {}", number::micros(of.p50_us), number::micros(of.p99_us));
    let of_all = of_all
        .map_or(String::new(), |of| format!("; of all {}: p50 {}", number::count(of.count), figures(of)));
    Some(format!(
        "{}: parts sum to p50 {}; the generator measured of these p50 {}{of_all}",
        operation.name,
        figures(&operation.root),
        figures(&operation.response_time)
    ))
}

/// The parts on which most of its time went.
fn largest(operation: &TracedOperation) -> String {
    let mut parts: Vec<(&str, Part, u64)> = operation
        .services
        .iter()
        .flat_map(|service| service.parts.iter().map(|part| (&service.name[..], part.part, part.all_ns)))
        .collect();
    parts.sort_by_key(|(.., ns)| std::cmp::Reverse(*ns));
    let of_all = |ns: u64| number::percent(ns as f64 / operation.all.root_ns.max(1) as f64);
    let words = |(service, part, ns): &(&str, Part, u64)| match part {
        Part::BeforeSending | Part::Front => format!("{} {}", part.words(), of_all(*ns)),
        _ => format!("{service} {} {}", part.words(), of_all(*ns)),
    };
    let named: Vec<String> = parts.iter().take(NAMED).map(words).collect();
    let left = operation.share(Among::All, |_, _| true).unwrap_or_default()
        - parts.iter().take(NAMED).map(|(.., ns)| *ns).sum::<u64>() as f64
            / operation.all.root_ns.max(1) as f64;
    format!(
        "{}, {} traced, {} each: {}, others {}",
        operation.name,
        number::count(operation.all.requests),
        number::micros(operation.mean_us(Among::All, |_, _| true)),
        named.join(", "),
        number::percent(left.max(0.0))
    )
}

/// How much of what was traced was found.
pub(super) fn coverage(traces: &Traces) -> String {
    let Coverage { sampled, joined, whole, spans_expected, spans_found, .. } = &traces.coverage;
    let [sampled, joined, whole, found, expected] =
        [sampled, joined, whole, spans_found, spans_expected].map(|n| number::count(*n));
    format!(
        "traced 1 in {}: {sampled} answered, {joined} joined, {whole} whole; {found} of {expected} spans",
        traces.one_in
    )
}

/// By how much tracing slowed an operation, as shares of what the others took.
fn cost(cost: &TracingCost) -> String {
    let figures = [
        ("mean", cost.mean, cost.untraced.mean_us),
        ("p50", cost.p50, cost.untraced.p50_us),
        ("p99", cost.p99, cost.untraced.p99_us),
    ];
    let words = figures.map(|(name, difference, us)| {
        let Some((Difference { us: by, low_us, high_us }, us)) = difference.zip(us) else {
            return format!("{name} not measurable: too few requests");
        };
        let [by, low, high] = [by, low_us, high_us].map(|figure| figure / us);
        let within = format!("{} to {}", signed(low), signed(high));
        match (low > 0.0, high - low > 2.0 * OF_THE_PAPER) {
            (false, true) => format!("{name} not measurable to 0.1 %: {within}"),
            _ => format!("{name} {} ({within})", signed(by)),
        }
    });
    format!("cost of tracing on {}: {}", cost.operation, words.join("; "))
}

fn signed(share: f64) -> String {
    format!("{:+.2} %", 100.0 * share).replace('-', "−")
}

#[cfg(test)]
mod tests {
    use results::{Group, Operation, PartTime, ServiceTime};

    use super::*;

    #[test]
    fn the_largest_parts_are_named_with_their_shares() {
        let service = |name: &str, parts: &[(Part, u64)]| ServiceTime {
            name: name.into(),
            parts: parts
                .iter()
                .map(|&(part, all_ns)| PartTime { part, all_ns, ..PartTime::default() })
                .collect(),
            ..ServiceTime::default()
        };
        let figures =
            |us| LatencySummary { mean_us: Some(us), p50_us: Some(us), ..LatencySummary::default() };
        let operation = TracedOperation {
            name: "browse".into(),
            all: Group { requests: 10, root_ns: 100_000, tracer_ns: 60_000 },
            root: figures(9.9),
            response_time: figures(9.9),
            services: vec![
                service("client", &[(Part::BeforeSending, 15_000)]),
                service("front", &[(Part::Front, 25_000)]),
                service("php", &[(Part::Application, 25_000), (Part::Codec, 1_000)]),
                service("plot", &[(Part::Transit, 4_000), (Part::Application, 15_000), (Part::Queue, 5_000)]),
                service("movies-cache", &[(Part::Store, 10_000)]),
            ],
            ..TracedOperation::default()
        };
        let difference = |us, half| Some(Difference { us, low_us: us - half, high_us: us + half });
        let traces = Traces {
            one_in: 100,
            coverage: Coverage {
                sampled: 10,
                joined: 9,
                whole: 8,
                spans_expected: 70,
                spans_found: 69,
                ..Coverage::default()
            },
            operations: vec![
                operation,
                TracedOperation { name: "rent".into(), ..TracedOperation::default() },
            ],
            cost: vec![TracingCost {
                operation: "browse".into(),
                traced: figures(1_001.0),
                untraced: figures(1_000.0),
                mean: difference(1.0, 20.0),
                p50: difference(30.0, 10.0),
                p99: None,
            }],
            ..Traces::default()
        };
        let expect = [
            "browse, 10 traced, 10.0 µs each: front 25 %, php application 25 %, before sending 15 %, \
             plot application 15 %, movies-cache store 10 %, others 10 %",
            "browse: parts sum to p50 9.90 µs, p99 –; the generator measured of these p50 9.90 µs, p99 –; \
             of all 900: p50 10.1 µs, p99 20.0 µs",
            "traced 1 in 100: 10 answered, 9 joined, 8 whole; 69 of 70 spans",
            "cost of tracing on browse: mean not measurable to 0.1 %: −1.90 % to +2.10 %; p50 +3.00 % (+2.00 % to +4.00 %); \
             p99 not measurable: too few requests",
        ];
        let response_time = LatencySummary { count: 900, p99_us: Some(20.0), ..figures(10.1) };
        let all = Operation { name: "browse".into(), response_time, ..Operation::default() };
        let trial = Trial { traces: Some(traces), operations: vec![all], ..Trial::default() };
        assert_eq!(lines(&trial), expect);
        assert!(lines(&Trial::default()).is_empty());
    }
}
