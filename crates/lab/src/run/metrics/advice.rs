//! The figures of a cell that name the first resource to saturate, and the expected gain from one more of it.

use std::collections::BTreeMap;

use results::{Resource, Service, Trial};

use super::ADVICE_USED;

/// Before the name of what may saturate: the mean time of a request with one more of it. Units: µs.
const MEAN: &str = "advice_us_mean.";
/// Growth of the resource with one more unit, as a factor.
const TIMES: &str = "advice_times.";
/// The maximum with one more unit, as far as the next resource to saturate allows. Units: rps.
const MAX: &str = "advice_max_rps.";

/// Of everything that may saturate of the services of a trial whose requests were traced.
pub(in crate::run) fn advised(services: &[Service], trial: &Trial) -> Vec<(String, f64)> {
    let figures = |resource: Resource| {
        let name = resource.name();
        [
            (format!("{ADVICE_USED}{name}"), resource.used()),
            (format!("{MEAN}{name}"), resource.mean_with_one_more_us()),
            (format!("{TIMES}{name}"), resource.with_one_more() / resource.count),
        ]
    };
    let all = Resource::all_of(services, trial).into_iter().flat_map(figures);
    all.filter(|(_, value)| value.is_finite()).collect()
}

/// The same of a cell whose maximum is known. It is taken to end where the fullest resource is as full as now, since use
/// grows with the rate.
pub(in crate::run) fn of_maximum(metrics: &BTreeMap<String, f64>, max_rps: f64) -> Vec<(String, f64)> {
    let of = |prefix: &'static str| {
        metrics.iter().filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, *value)))
    };
    let fullest = of(ADVICE_USED).map(|(_, used)| used).fold(0.0, f64::max);
    let with_one_more = |(name, times): (&str, f64)| {
        let others = of(ADVICE_USED).filter(|(other, _)| *other != name);
        let next = others.map(|(_, used)| used).fold(0.0, f64::max);
        let room = if next > 0.0 { fullest / next } else { f64::INFINITY };
        (format!("{MAX}{name}"), max_rps * times.min(room))
    };
    of(TIMES).map(with_one_more).collect()
}

#[cfg(test)]
mod tests {
    use results::{Arrivals, Group, PartTime, ServiceTime, TracedOperation, Traces};
    use results::{Operation, Part};

    use super::*;

    #[test]
    fn what_may_saturate_has_its_figures() {
        // Of 200 requests a second each occupies one of two threads for 3 ms after 2 ms in its queue.
        let parts = vec![
            PartTime { part: Part::Queue, all_ns: 100 * 2_000_000, ..PartTime::default() },
            PartTime { part: Part::Application, all_ns: 100 * 3_000_000, ..PartTime::default() },
        ];
        let php =
            ServiceTime { name: "php".into(), busy_ns: 100 * 3_000_000, parts, ..ServiceTime::default() };
        let traced = TracedOperation {
            name: "browse".into(),
            all: Group { requests: 100, root_ns: 100 * 5_000_000, tracer_ns: 0 },
            services: vec![php],
            ..TracedOperation::default()
        };
        let outcomes = Some(Arrivals { completed: 2_000, ..Arrivals::default() });
        let trial = Trial {
            window_s: 10.0,
            operations: vec![Operation { name: "browse".into(), outcomes, ..Operation::default() }],
            traces: Some(Traces { operations: vec![traced], ..Traces::default() }),
            ..Trial::default()
        };
        let service = |name: &str, threads, instances| Service {
            name: name.into(),
            threads,
            instances,
            ..Service::default()
        };
        let services = [service("php", 2, 2), service("plot", 4, 1)];
        let all: BTreeMap<String, f64> = advised(&services, &trial).into_iter().collect();
        let near = |name: &str, expect: f64| assert!((all[name] - expect).abs() < 1e-9, "{name}: {all:?}");
        near("advice_used.php", 0.3);
        near("advice_times.php", 1.5);
        assert!((3_000.0..5_000.0).contains(&all["advice_us_mean.php"]), "{all:?}");
        assert!(!all.contains_key("advice_used.plot"), "nothing of it is used: {all:?}");
        assert_eq!(of_maximum(&all, 100.0), [("advice_max_rps.php".to_owned(), 150.0)]);
        assert!(advised(&services, &Trial::default()).is_empty());
        // The other resource fills at 1.2 times the rate, and more of it alone does not raise the maximum.
        let other = [("advice_used.plot".to_owned(), 0.25), ("advice_times.plot".to_owned(), 2.0)];
        let both: BTreeMap<String, f64> = all.into_iter().chain(other).collect();
        let found = of_maximum(&both, 100.0);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["advice_max_rps.php", "advice_max_rps.plot"]);
        let near = |n: usize, expect: f64| assert!((found[n].1 - expect).abs() < 1e-9, "{found:?}");
        near(0, 120.0);
        near(1, 100.0);
    }
}
