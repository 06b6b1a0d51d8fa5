use std::collections::BTreeMap;

use results::probes::ServerTime;

/// Name of Sphinx's histogram. Source: `crates/sphinx/src/metrics/text.rs`.
const NAME: &str = "sphinx_service_time_seconds_";

/// Service times of a Sphinx server, over all its threads and kinds of requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ServiceTimes {
    /// Requests with a time of at most the key, in ns; `u64::MAX` has all.
    within: BTreeMap<u64, f64>,
    /// Units: s.
    sum: f64,
}

/// The times on a page in the text format of OpenMetrics; `None` without them.
pub(super) fn service_times(page: &str) -> Option<ServiceTimes> {
    let mut times = ServiceTimes::default();
    for line in page.lines().filter_map(|line| line.strip_prefix(NAME)) {
        let (name, value) = line.rsplit_once(' ')?;
        let value: f64 = value.parse().ok().filter(|value: &f64| value.is_finite())?;
        if name.starts_with("sum{") {
            times.sum += value;
        } else if name.starts_with("bucket{") {
            let bound = name.split_once("le=\"")?.1.split('"').next()?;
            let bound = match bound {
                "+Inf" => u64::MAX,
                seconds => (1e9 * seconds.parse::<f64>().ok()?).round() as u64,
            };
            *times.within.entry(bound).or_insert(0.0) += value;
        }
    }
    times.within.contains_key(&u64::MAX).then_some(times)
}

impl ServiceTimes {
    pub(super) fn since(&self, before: &ServiceTimes) -> ServiceTimes {
        let less = |(bound, count): (&u64, &f64)| {
            (*bound, (count - before.within.get(bound).copied().unwrap_or(0.0)).max(0.0))
        };
        ServiceTimes { within: self.within.iter().map(less).collect(), sum: (self.sum - before.sum).max(0.0) }
    }

    pub(super) fn add(&mut self, other: &ServiceTimes) {
        other.within.iter().for_each(|(bound, count)| *self.within.entry(*bound).or_insert(0.0) += count);
        self.sum += other.sum;
    }

    /// `None` without timed requests.
    pub(super) fn record(&self) -> Option<ServerTime> {
        let all = self.within.get(&u64::MAX).copied().filter(|all| *all > 0.0)?;
        let at_most = |share: f64| {
            let (bound, _) = self.within.iter().find(|(_, count)| **count >= share * all)?;
            (*bound < u64::MAX).then(|| *bound as f64 / 1e3)
        };
        Some(ServerTime {
            requests: all as u64,
            mean_us: 1e6 * self.sum / all,
            p50_at_most_us: at_most(0.5),
            p99_at_most_us: at_most(0.99),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(gets: [u32; 3], sum: f64) -> String {
        let [one, two, all] = gets;
        format!(
            "# TYPE sphinx_service_time_seconds histogram\n\
             sphinx_service_time_seconds_bucket{{core=\"0\",operation=\"get\",le=\"1e-6\"}} {one}\n\
             sphinx_service_time_seconds_bucket{{core=\"1\",operation=\"get\",le=\"2e-6\"}} {two}\n\
             sphinx_service_time_seconds_bucket{{core=\"0\",operation=\"get\",le=\"+Inf\"}} {all}\n\
             sphinx_service_time_seconds_sum{{core=\"0\",operation=\"get\"}} {sum}\n\
             sphinx_service_time_seconds_count{{core=\"0\",operation=\"get\"}} {all}\n# EOF\n"
        )
    }

    #[test]
    fn what_was_added_becomes_mean_and_percentiles() {
        let before = service_times(&page([5, 6, 7], 1.0)).unwrap();
        let mut added = service_times(&page([6, 106, 107], 1.0001)).unwrap().since(&before);
        let got = added.record().unwrap();
        assert_eq!((got.requests, got.p50_at_most_us, got.p99_at_most_us), (100, Some(2.0), Some(2.0)));
        assert!((got.mean_us - 1.0).abs() < 1e-6, "{got:?}");
        // Beyond the last step.
        let twice = added.clone();
        added.add(&twice);
        added.add(&service_times(&page([0, 0, 200], 0.0)).unwrap());
        let got = added.record().unwrap();
        assert_eq!((got.requests, got.p50_at_most_us, got.p99_at_most_us), (400, Some(2.0), None));
        assert_eq!(before.since(&before).record(), None);
        assert_eq!(ServiceTimes::default().record(), None);
    }

    #[test]
    fn another_page_has_none() {
        assert_eq!(service_times("sphinx_commands_total{core=\"0\"} 7\n"), None);
        assert_eq!(service_times("sphinx_service_time_seconds_bucket{le=\"+Inf\"} x\n"), None);
        assert_eq!(service_times(""), None);
    }

    proptest::proptest! {
        #[test]
        fn survives_any_text(tail: String) {
            let _ = service_times(&tail);
            let _ = service_times(&format!("{NAME}{tail}"));
        }
    }
}
