use crate::{Arrivals, LatencySummary, Operation, Trial};

/// All requests that were due. Errors have no response time: each counts as slower than every response.
pub(crate) struct Due<'a> {
    pub outcomes: Option<&'a Arrivals>,
    /// Times of the requests that have a response time: all but errors.
    pub times: &'a LatencySummary,
    /// Their distribution; empty if not kept.
    pub curve: &'a [(f64, f64)],
}

impl Due<'_> {
    /// The time at a percentile of all due requests; `us` is the same percentile of those with a response time.
    /// Infinite if the request at the percentile failed.
    ///
    /// Time-outs count at their age. Between two kept percentiles the time is interpolated linearly; it is never below
    /// `us`, so that a failure improves nothing, and without errors it equals `us`.
    pub(crate) fn at_us(&self, percentile: f64, us: Option<f64>) -> Option<f64> {
        let Some(outcomes) = self.outcomes else { return us };
        if outcomes.fail_beyond(percentile) {
            return Some(f64::INFINITY);
        }
        if outcomes.errors == 0 {
            return us;
        }
        let with_times = outcomes.intended.saturating_sub(outcomes.errors);
        let at = percentile * outcomes.intended as f64 / with_times as f64;
        // Rounding may exceed 100.
        Some(us?.max(self.read(at.min(100.0))?))
    }

    /// The time at a percentile of requests with a response time; `None` beyond the kept percentiles.
    fn read(&self, percentile: f64) -> Option<f64> {
        let kept = self.times.points();
        let points = if self.curve.is_empty() { &kept } else { self.curve };
        let after = points.iter().position(|(p, _)| *p >= percentile)?;
        let (p, us) = points[after];
        let Some((before, from)) = after.checked_sub(1).map(|at| points[at]) else { return Some(us) };
        Some(from + (us - from) * (percentile - before) / (p - before))
    }
}

/// Lower bound of a figure of all due requests, `of_due_us`, from that of the same figure of those with a response time,
/// `us`: errors, which neither generator nor host causes, raise both by the same factor.
pub(crate) fn least_of_due(least_us: f64, us: Option<f64>, of_due_us: f64) -> f64 {
    match us {
        Some(us) if us > 0.0 && of_due_us > us => least_us / us * of_due_us,
        _ => least_us,
    }
}

impl Trial {
    /// Its requests, with the response times that its claims rest on.
    pub(crate) fn due(&self) -> Due<'_> {
        let times = self.claimed();
        // No curve is kept for the undisturbed windows alone.
        let curve = if std::ptr::eq(times, &self.all.response_time) { &self.curve[..] } else { &[] };
        Due { outcomes: Some(&self.arrivals), times, curve }
    }

    /// The windowed p99 of all due requests; `us` is the windowed p99 of those with a response time. It is scaled by
    /// the ratio of the plain p99s, since errors are not recorded by window.
    pub(crate) fn windowed_of_due(&self, us: Option<f64>) -> Option<f64> {
        let due = self.due();
        let Some(p99) = due.times.p99_us else { return due.at_us(99.0, us) };
        let of_all = due.at_us(99.0, Some(p99))?;
        match of_all.is_infinite() {
            true => Some(of_all),
            // Also if both are 0.
            false if of_all <= p99 => us,
            false => us.map(|us| us * (of_all / p99)),
        }
    }
}

impl Operation {
    pub(crate) fn due(&self) -> Due<'_> {
        Due { outcomes: self.outcomes.as_ref(), times: &self.response_time, curve: &self.curve }
    }
}

#[cfg(test)]
mod tests {
    use hist::Latency;
    use units::{Nanos, Qos, QosBasis};

    use super::*;
    use crate::{Bounds, Gate, PercentileBounds, TimeBounds, Verdict};

    /// 100 000 home pages: `failed` per cent return 502 at once, `slow` per cent take 900 ms, the others 1 to 100 ms.
    fn trial(failed: u64, slow: u64, with_curve: bool) -> Trial {
        let (errors, slow) = (1_000 * failed, 1_000 * slow);
        let quick = 100_000 - errors - slow;
        let mut times = Latency::new();
        (0..quick).for_each(|i| times.record(Nanos::from_micros(1_000 + 99_000 * i / quick)));
        times.record_n(Nanos::from_millis(900), slow);
        let curve = || times.curve().into_iter().map(|(p, time)| (p, time.as_micros_f64())).collect();
        let outcomes = Arrivals { intended: 100_000, completed: quick + slow, errors, ..Arrivals::default() };
        let home = Operation {
            name: "home".into(),
            response_time: LatencySummary::of(&times),
            outcomes: Some(outcomes),
            curve: if with_curve { curve() } else { Vec::new() },
            ..Operation::default()
        };
        Trial {
            arrivals: outcomes,
            all: Operation { name: "all".into(), outcomes: None, ..home.clone() },
            curve: if with_curve { curve() } else { Vec::new() },
            windowed_p99_us: home.response_time.p99_us,
            operations: vec![home],
            verdict: Verdict::Valid,
            ..Trial::default()
        }
    }

    fn passes(trial: &Trial, condition: &str) -> bool {
        let gate = condition.parse::<Gate>().unwrap().evaluate(trial);
        let qos: Qos = condition.parse().unwrap();
        assert_eq!(trial.meets(&qos, QosBasis::Raw), Some(gate.passed), "{condition}: {}", gate.words);
        gate.passed
    }

    #[test]
    fn what_failed_is_slower_than_all_that_was_answered() {
        for with_curve in [true, false] {
            for condition in ["home.p95<500ms", "p95<500ms"] {
                // 8 of 100 pages missed 500 ms, as errors or as slow responses.
                assert!(!passes(&trial(4, 4, with_curve), condition), "{condition}");
                assert!(!passes(&trial(0, 8, with_curve), condition), "{condition}");
                assert!(!passes(&trial(8, 0, with_curve), condition), "{condition}");
                assert!(passes(&trial(0, 4, with_curve), condition), "{condition}");
                assert!(passes(&trial(0, 0, with_curve), condition), "{condition}");
            }
        }
        // 4 of 100 missed it. Without a curve, only the line from p95 to p99 is known.
        assert!(passes(&trial(2, 2, true), "home.p95<500ms") && passes(&trial(4, 0, true), "home.p95<500ms"));
        assert!(passes(&trial(4, 0, false), "home.p95<500ms"));
        let words = "home.p95<500ms".parse::<Gate>().unwrap().evaluate(&trial(4, 4, true)).words;
        assert!(words.starts_with("home.p95<500ms missed: 900"), "{words}");
    }

    #[test]
    fn what_errors_added_is_not_the_hosts() {
        let mut trial = trial(4, 4, true);
        // Of the answered requests the p95 is about 99 ms, of all that were due 900 ms.
        let p95_us = trial.all.response_time.p95_us.unwrap();
        let mut bounded = |share: f64| {
            let bounds = Bounds { low_us: share * p95_us, high_us: p95_us };
            let percentiles = vec![PercentileBounds { percentile: 95.0, bounds }];
            trial.bounds = Some(TimeBounds { percentiles, ..TimeBounds::default() });
            let gate = "p95<500ms".parse::<Gate>().unwrap().evaluate(&trial);
            (gate.undecided, trial.meets(&"p95<500ms".parse().unwrap(), QosBasis::Raw))
        };
        assert_eq!(bounded(1.0), (false, Some(false)));
        assert_eq!(bounded(0.6), (false, Some(false)));
        // Half of it may be the host's: 450 ms are left.
        assert_eq!(bounded(0.5), (true, None));
    }

    #[test]
    fn a_windowed_p99_moves_as_the_plain_one() {
        let check = |trial: &Trial, met: bool| {
            let qos: Qos = "windowed p99<500ms".parse().unwrap();
            assert_eq!(trial.meets(&qos, QosBasis::Raw), Some(met));
            let gate = "windowed_p99<500ms".parse::<Gate>().unwrap().evaluate(trial);
            assert_eq!(gate.passed, met, "{}", gate.words);
        };
        // 60 of 10 000 are errors and another 60 are slow, so the slowest hundredth of all begins among the slow ones.
        let mut some = trial(0, 0, true);
        some.windowed_p99_us = Some(90e3);
        (some.all.response_time.p99_us, some.all.response_time.max_us) = (Some(99e3), Some(900e3));
        some.curve = vec![(99.0, 99e3), (99.3, 99e3), (99.4, 900e3), (100.0, 900e3)];
        check(&some, true);
        some.arrivals.errors = 600;
        check(&some, false);
        some.arrivals.errors = 200;
        check(&some, true);
    }

    #[test]
    fn words_tell_of_errors_that_moved_the_figure() {
        let words = |trial: &Trial, gate: &str| gate.parse::<Gate>().unwrap().evaluate(trial).words;
        let gate = "home.p95<500ms";
        let told = words(&trial(4, 4, true), gate);
        assert!(told.ends_with(" (4000 errors of 100000 count as slower)"), "{told}");
        let mut few = trial(0, 4, true);
        let before = words(&few, gate);
        few.operations[0].outcomes.as_mut().unwrap().errors = 1;
        assert_eq!(words(&few, gate), before);
    }

    #[test]
    fn a_time_of_zero_stays_one() {
        let mut zeros = trial(0, 0, true);
        zeros.windowed_p99_us = Some(0.0);
        (zeros.all.response_time.p99_us, zeros.curve) = (Some(0.0), vec![(100.0, 0.0)]);
        zeros.arrivals.errors = 5;
        assert_eq!(zeros.windowed_of_due(zeros.windowed_p99_us), Some(0.0));
    }

    #[test]
    fn without_a_failure_it_is_the_percentile_itself_and_few_move_it_little() {
        let figure = |trial: &Trial, condition: &str| {
            let qos: Qos = condition.parse().unwrap();
            trial.judged(&qos, QosBasis::Raw).next().unwrap().measured
        };
        let none = trial(0, 4, true);
        for (condition, expect) in [
            ("home.p95<1s", none.operations[0].response_time.p95_us),
            ("p99<1s", none.all.response_time.p99_us),
            ("p97<1s", none.percentile_us(97.0)),
        ] {
            assert!(expect.is_some());
            assert_eq!(figure(&none, condition), expect, "{condition}");
        }
        let mut few = trial(0, 0, true);
        for percentile in [50.0, 93.0, 95.0, 97.0, 99.0, 99.9] {
            let condition = format!("p{percentile}<1s");
            few.arrivals.errors = 0;
            let before = figure(&few, &condition).unwrap();
            few.arrivals.errors = 5;
            let after = figure(&few, &condition).unwrap();
            assert!((before..1.001 * before).contains(&after), "{condition}: {before} {after}");
        }
    }
}
