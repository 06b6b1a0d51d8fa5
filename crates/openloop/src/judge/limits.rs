//! Different rules for operations with limits of their own, such as the pages of a site.
//!
//! The claimed figure is the share of them that ended in time. Errors and time-outs are misses, the subject of a
//! target on that share, and not errors of the measurement. Host and generator matter by how many more would have
//! been in time without them: a disturbance that moves a page's p99 of 10 ms by half does not decide whether it comes
//! within a second.

use hist::Latency;
use units::Nanos;

use crate::judge::footing::{CATCH_UP, Footing};
use crate::{OperationTimes, Recording};

/// Host or generator may move the share that is not in time by this share of itself...
const MOVED_SHARE: f64 = 0.1;
/// ...or by this much, if that is more. Source: ours; a tenth of the 5 % that ISPASS'16 §IV-B3 allows of its social network.
const MOVED_ALLOWED: f64 = 0.005;

/// Whether operations are judged by limits of their own.
pub(super) fn are_in(recording: &Recording) -> bool {
    recording.operations.iter().any(|operation| operation.limit.is_some())
}

/// The share of them in time, and the shares that would be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct InTime {
    measured: f64,
    /// Had the generator not been late.
    by_generator: f64,
    /// Had the host taken nothing.
    by_host: f64,
    /// Both: the share is at most this.
    pub(super) by_both: f64,
}

impl InTime {
    /// The operations of a recording that have limits; `None` if it has no such operations or arrivals.
    pub(super) fn of(recording: &Recording, footing: &Footing) -> Option<InTime> {
        let limited = || recording.operations.iter().filter(|operation| operation.limit.is_some());
        let due: u64 = limited().map(|operation| operation.tally.intended).sum();
        let share = |within: &dyn Fn(&OperationTimes, Nanos) -> u64| {
            limited().filter_map(|of| of.limit.map(|limit| within(of, limit))).sum::<u64>() as f64
                / due as f64
        };
        let longest = recording.stalls.iter().map(|stall| stall.span).max().unwrap_or_default();
        // The number of late requests is recorded, and their largest delay.
        let late = recording.late.most().max(recording.all().generator_lag.max().unwrap_or_default());
        let measured = share(&|of, limit| of.response_time.count_within(limit));
        (due > 0).then(|| InTime {
            measured,
            by_generator: share(&|of, limit| of.response_time.count_within(limit + late)),
            by_host: share(&|of, limit| in_time(&of.response_time, limit, footing.lost, longest)),
            by_both: share(&|of, limit| in_time(&of.response_time, limit + late, footing.lost, longest)),
        })
    }

    /// The host's effect, in words, if it exceeds the allowed one.
    pub(super) fn disturbed(&self, footing: &Footing) -> Option<String> {
        self.is_moved(self.by_host).then(|| {
            format!(
                "others took {:.1} % of the time of server and generator: {:.1} % of the operations were within their limits, and \
                 up to {:.1} % would be; {}",
                100.0 * footing.lost,
                100.0 * self.measured,
                100.0 * self.by_host,
                footing.windows_in_words(),
            )
        })
    }

    /// The generator's effect, in words, if it exceeds the allowed one.
    pub(super) fn late(&self) -> Option<String> {
        self.is_moved(self.by_generator).then(|| {
            format!(
                "the generator was late: {:.1} % of the operations were within their limits, and up to {:.1} % would be",
                100.0 * self.measured,
                100.0 * self.by_generator,
            )
        })
    }

    fn is_moved(&self, at_most: f64) -> bool {
        at_most - self.measured > MOVED_ALLOWED.max(MOVED_SHARE * (1.0 - at_most))
    }
}

/// How many of `times` would be within `limit`, had the host not taken `lost` of the time and once `longest`, with as much again to
/// work that off.
///
/// One that took t lost at most [`CATCH_UP`] × (`lost` × t + `longest`).
fn in_time(times: &Latency, limit: Nanos, lost: f64, longest: Nanos) -> u64 {
    let kept = 1.0 - CATCH_UP * lost;
    if kept <= 0.0 {
        return times.count();
    }
    let with_host = (limit.0 as f64 + CATCH_UP * longest.0 as f64) / kept;
    times.count_within(Nanos(with_host as u64))
}

#[cfg(test)]
mod tests {
    use results::{Reason, Verdict};
    use units::{Rate, Time};

    use hist::Windows;

    use super::*;
    use crate::judge::{judge_strictly, within_at_most};
    use crate::{EndpointTimes, Interval, Load, Outcome, SessionTally, Stall, Taken};

    const WINDOW: Nanos = Nanos::from_secs(60);
    const LIMIT: Nanos = Nanos::from_secs(1);

    /// 10 000 operations, evenly spread, of which the given shares take 0.99 and 1.03 of the limit and fail; the rest take 10 ms.
    fn recording(below: f64, above: f64, failed: f64) -> Recording {
        let mut recording =
            Recording::new(&["home".into()], 0, Vec::<EndpointTimes>::new(), WINDOW, Windows::new(WINDOW));
        recording.window_start = Time(1_000_000_000);
        for i in 0..10_000u64 {
            let intended = recording.window_start + Nanos(WINDOW.0 / 10_000 * i);
            // Spread over the window, by the golden ratio.
            let lot = (i as f64 * 0.618_033_988_75).fract();
            let (ms, outcome) = if lot < failed {
                (5, Outcome::Error)
            } else if lot < failed + above {
                (1_030, Outcome::Completed)
            } else if lot < failed + above + below {
                (990, Outcome::Completed)
            } else {
                (10, Outcome::Completed)
            };
            let done = intended + Nanos::from_millis(ms);
            recording.offered(intended);
            recording.enter(&crate::Completion {
                operation: 0,
                intended,
                eligible: intended,
                sent: intended,
                first_byte: done,
                done,
                outcome,
                late: Nanos::ZERO,
            });
            if outcome == Outcome::Error {
                recording.errors.add("502", true, || "502 Bad Gateway, the first".into());
            }
        }
        let (all, failures) = (recording.tally.intended, recording.tally.errors);
        let (answered, failed) = (all - failures, failures);
        recording.intervals = vec![Interval { offered: all, answered, failed, ..Interval::default() }];
        recording.answered_in_window = all - failures;
        let points = (0..100u64).map(|i| crate::BacklogPoint {
            offset: Nanos(WINDOW.0 / 100 * i),
            backlog: 0,
            in_flight: 10,
            sessions: 300,
        });
        recording.backlog = points.collect();
        recording.sessions =
            SessionTally { underway: 300, begun: 100, faulty: failures.min(400), ..SessionTally::default() };
        (recording.busy, recording.idle) = (Nanos::from_secs(6), Nanos::from_secs(54));
        recording.limit(|_| Some(LIMIT));
        recording
    }

    fn judged(recording: &Recording) -> Verdict {
        let rate = Rate::new(5.0).unwrap();
        let arrivals = dist::Arrivals::of(&"poisson".parse().unwrap(), rate, None).unwrap();
        judge_strictly(recording, &Load::Open { arrivals, rate, steady: true }, Vec::new())
    }

    fn reasons(verdict: &Verdict) -> Vec<Reason> {
        match verdict {
            Verdict::Invalid { reasons } => reasons.iter().map(|invalid| invalid.reason).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn what_the_host_takes_matters_by_how_many_it_keeps_from_their_limits() {
        let check = |above: f64, taken: f64, expect: &[Reason]| {
            let mut recording = recording(0.02, above, 0.0);
            recording.taken = Taken { server: Some(taken), generator: Some(taken) };
            let verdict = judged(&recording);
            assert_eq!(reasons(&verdict), expect, "{above} {taken}: {verdict}");
        };
        // With 1 % on each side, an operation of 1.03 s could have been one of 0.99 s.
        check(0.0, 0.01, &[]);
        check(0.004, 0.01, &[]);
        check(0.02, 0.01, &[Reason::HostDisturbed]);
        check(0.02, 0.005, &[]);
        // What would be a p99 far from the truth moves no share: nothing lies beyond the limit.
        check(0.0, 0.2, &[]);
    }

    #[test]
    fn one_long_stall_counts_whole() {
        let mut recording = recording(0.0, 0.02, 0.0);
        recording.stalls.push(Stall { from: recording.window_start, span: Nanos::from_millis(10) });
        recording.stall_count = 1;
        assert_eq!(judged(&recording), Verdict::Valid);
        recording.stalls[0].span = Nanos::from_millis(20);
        assert_eq!(reasons(&judged(&recording)), [Reason::HostDisturbed]);
    }

    #[test]
    fn a_generator_that_is_late_matters_by_its_lag() {
        let check = |above: f64, lag: u64, expect: &[Reason]| {
            let mut recording = recording(0.0, above, 0.0);
            recording.operations[0].generator_lag.record(Nanos::from_millis(lag));
            assert_eq!(reasons(&judged(&recording)), expect, "{above} {lag}");
        };
        check(0.02, 20, &[]);
        check(0.02, 40, &[Reason::GeneratorLag]);
        check(0.0, 200, &[]);
    }

    #[test]
    fn no_disturbance_explains_a_failure() {
        let check = |taken: f64, expect: f64| {
            let mut recording = recording(0.0, 0.3, 0.2);
            recording.taken = Taken { server: Some(taken), generator: Some(taken) };
            let most = within_at_most(&recording, &Footing::of(&recording)).unwrap();
            assert!((most - expect).abs() < 0.01, "{taken}: {most}");
        };
        check(0.0, 0.5);
        // Operations of 1.03 s may have been ones of 0.99 s, those that failed not.
        check(0.02, 0.8);
    }

    #[test]
    fn failures_are_misses_and_no_errors_of_the_measurement() {
        for failed in [0.01, 0.3, 0.9] {
            assert_eq!(judged(&recording(0.0, 0.0, failed)), Verdict::Valid, "{failed}");
        }
        let none = judged(&recording(0.0, 0.0, 1.0));
        assert_eq!(reasons(&none), [Reason::ErrorRate], "{none}");
        let mut without = recording(0.0, 0.0, 0.3);
        without.limit(|_| None);
        assert_eq!(reasons(&judged(&without)), [Reason::ErrorRate], "sessions without limits");
    }
}
