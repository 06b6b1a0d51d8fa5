//! The vote of a trial in a search.

use results::{Reason, Trial, Verdict, WindowPoint};
use units::{Qos, QosBasis};

use crate::{Outcome, Vote};

units::limits! {
    /// The share of the arrivals that must have been answered within the window of a rate that is sustained.
    const SUSTAINED: f64 = 0.99, Share,
        "ours, because the maximum throughput is defined by it (docs/glossary.md); IISWC'17 §III-B has it where requests are dropped";

    /// Growth of the backlog over the window, as a share of the arrivals, that is not a trend, if the trial has no trend of
    /// its own.
    const GROWTH: f64 = 0.005, Share,
        "ours, because it is the verdict's limit (docs/reference/verdicts.md)";

    /// The requests under way at the ends of the window may differ by this multiple of their standard deviation, also
    /// if that is more than these shares of the arrivals.
    const BY_CHANCE: f64 = 2.0, Factor,
        "ours, because one request under way at the end is over 1 % of fewer than 100 arrivals; that numbers of independent requests differ by more has a chance of one in twenty";
}

/// Whether the server sustained the offered load: at least 99 % achieved and no trend in the backlog.
///
/// A host's disturbance can only reduce the throughput: if the throughput was sufficient all the same, the load was
/// sustained, regardless of response times.
pub fn sustained(trial: &Trial) -> Outcome {
    let vote = match &trial.verdict {
        _ if came_out_all_the_same(trial) => Vote::Pass,
        verdict @ Verdict::Invalid { .. } => invalid(verdict),
        Verdict::Valid if is_achieved(trial) => Vote::Pass,
        Verdict::Valid | Verdict::Overloaded { .. } => Vote::Fail,
    };
    Outcome { vote, achieved_rps: achieved(trial) }
}

/// The vote of an invalid trial.
fn invalid(verdict: &Verdict) -> Vote {
    let is_limited = verdict.is_invalid_only_by(|reason| reason == Reason::GeneratorSaturated);
    if is_limited { Vote::Limited } else { Vote::Unknown }
}

/// Whether the trial is invalid only as host or generator may have made its response times longer, and as much came out all the
/// same as of a rate that is sustained.
fn came_out_all_the_same(trial: &Trial) -> bool {
    let slows = |reason: Reason| matches!(reason, Reason::HostDisturbed | Reason::ReceiveLag);
    trial.verdict.is_invalid_only_by(slows) && is_achieved(trial) && kept_up(trial)
}

/// The share of the load that was achieved.
///
/// Of requests: those answered in the window over those due in it, and not over what was asked for, since a Poisson process
/// offers a little more or less each time. Of sessions: the steps completed over those due, each followed to its end, since
/// steps take seconds, so that chance alone would have more of them end in the window, or fewer. A workload that knows which of
/// them no server could have answered in time leaves those out of both numbers.
fn achieved_share(trial: &Trial) -> f64 {
    let due = trial.arrivals.intended as f64;
    if trial.sessions.is_none() {
        return trial.achieved_rps * trial.window_s / due;
    }
    let possible = trial.counters.get("possible_steps_completed").copied();
    possible.unwrap_or(trial.arrivals.completed as f64 / due.max(1.0))
}

/// Whether as much was achieved as of a rate that is sustained, but for requests that are under way by chance.
fn is_achieved(trial: &Trial) -> bool {
    let share = achieved_share(trial);
    share >= SUSTAINED
        || (trial.sessions.is_none() && (1.0 - share) * trial.arrivals.intended as f64 <= by_chance(trial))
}

/// Requests under way at the end of the first and of the last part of the window.
fn under_way(trial: &Trial) -> Option<(u64, u64)> {
    let waiting = |window: Option<&WindowPoint>| window.and_then(WindowPoint::outstanding);
    waiting(trial.windows.first()).zip(waiting(trial.windows.last()))
}

/// By how much the numbers of requests under way at the ends of the window may differ by chance.
fn by_chance(trial: &Trial) -> f64 {
    under_way(trial).map_or(0.0, |(first, last)| BY_CHANCE * ((first + last) as f64).sqrt())
}

/// Whether as much ended within the window as fell due in it: of a trial that is invalid no verdict tells. Not of a closed loop, whose
/// clients ask for less the later they are.
fn kept_up(trial: &Trial) -> bool {
    let due = trial.arrivals.intended as f64;
    if trial.sessions.is_some() {
        let ended = |window: &WindowPoint| window.answered.unwrap_or(0) + window.errors.unwrap_or(0);
        return trial.windows.iter().map(ended).sum::<u64>() as f64 >= SUSTAINED * due;
    }
    let allowed = (GROWTH * due).max(by_chance(trial));
    !trial.is_closed_loop()
        && under_way(trial).is_some_and(|(first, last)| last as f64 - first as f64 <= allowed)
}

/// The throughput in the unit of the offered load: requests or sessions per second.
fn achieved(trial: &Trial) -> f64 {
    if trial.sessions.is_none() {
        return trial.achieved_rps;
    }
    trial.offered_rps * achieved_share(trial).min(1.0)
}

/// Whether the server met the target, in all of its conditions. An overload never does: its response times grow for as long
/// as it lasts.
///
/// A host that disturbs makes response times longer and never shorter: a target that all requests met all the same, of a load that
/// was sustained, was met.
pub fn met(trial: &Trial, qos: &Qos, basis: QosBasis) -> Outcome {
    let vote = match (&trial.verdict, trial.meets(qos, basis)) {
        // Late reading makes response times longer and never shorter.
        (verdict, Some(true)) if verdict.is_invalid_only_by(|reason| reason == Reason::ReceiveLag) => {
            Vote::Pass
        }
        _ if came_out_all_the_same(trial) && trial.meets(qos, QosBasis::Raw) == Some(true) => Vote::Pass,
        (verdict @ Verdict::Invalid { .. }, _) => invalid(verdict),
        (Verdict::Valid, None) => Vote::Unknown,
        (Verdict::Overloaded { .. }, _) => Vote::Fail,
        (Verdict::Valid, Some(true)) => Vote::Pass,
        (Verdict::Valid, Some(false)) => Vote::Fail,
    };
    Outcome { vote, achieved_rps: achieved(trial) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use results::{Arrivals, Invalid, LoopKind, Operation, Sessions};

    fn invalid_by(reason: Reason) -> Verdict {
        Verdict::Invalid { reasons: vec![Invalid { reason, detail: "1 ms".into() }] }
    }

    fn invalid_by_lag() -> Verdict {
        invalid_by(Reason::GeneratorLag)
    }

    const OVERLOADED: Verdict =
        Verdict::Overloaded { achieved_share: 0.9, backlog_growth_rps: 100.0, timed_out_share: 0.0 };

    #[test]
    fn a_rate_is_sustained_when_99_percent_of_what_arrived_was_answered() {
        let check = |verdict: Verdict, achieved: f64, intended: u64, expect: Vote| {
            let mut trial = testing::trial("sphinx", 10_000.0);
            (trial.verdict, trial.achieved_rps, trial.window_s, trial.arrivals.intended) =
                (verdict, achieved, 2.0, intended);
            assert_eq!(sustained(&trial), Outcome { vote: expect, achieved_rps: achieved });
        };
        check(Verdict::Valid, 9_950.0, 20_000, Vote::Pass);
        check(Verdict::Valid, 9_850.0, 20_000, Vote::Fail);
        // Fewer arrivals than requested are not the server's fault.
        check(Verdict::Valid, 9_800.0, 19_600, Vote::Pass);
        check(OVERLOADED, 10_000.0, 20_000, Vote::Fail);
        check(invalid_by_lag(), 10_000.0, 20_000, Vote::Unknown);
        check(invalid_by(Reason::GeneratorSaturated), 9_000.0, 20_000, Vote::Limited);
        // A host's disturbance does not refute a sufficient throughput, and leaves an insufficient one unknown.
        check(invalid_by(Reason::HostDisturbed), 10_000.0, 20_000, Vote::Pass);
        check(invalid_by(Reason::HostDisturbed), 9_850.0, 20_000, Vote::Unknown);
        check(invalid_by(Reason::ReceiveLag), 100.0, 20_000, Vote::Unknown);
        // Late reading does not refute a sufficient throughput.
        check(invalid_by(Reason::ReceiveLag), 9_950.0, 20_000, Vote::Pass);
        check(Verdict::Valid, 0.0, 0, Vote::Fail);
    }

    #[test]
    fn what_came_out_late_while_the_host_disturbed_was_not_sustained() {
        let both = Verdict::Invalid {
            reasons: [Reason::HostDisturbed, Reason::ReceiveLag]
                .map(|reason| Invalid { reason, detail: "1 ms".into() })
                .into(),
        };
        let check = |growth: u64, closed: bool, expect: Vote| {
            let mut trial = testing::trial("sphinx", 10_000.0);
            trial.verdict = both.clone();
            trial.windows.last_mut().unwrap().in_flight = Some(growth);
            if closed {
                trial.loop_kind = LoopKind::Closed;
            }
            assert_eq!(sustained(&trial).vote, expect, "{growth}");
        };
        check(100, false, Vote::Pass);
        // Waiting requests would be answered in the drain, and are not throughput.
        check(101, false, Vote::Unknown);
        check(0, true, Vote::Unknown);
        // Waiting requests do not meet a target either.
        let mut waits = testing::trial("sphinx", 10_000.0);
        (waits.verdict, waits.all.response_time.p99_us) = (both.clone(), Some(10.0));
        assert_eq!(met(&waits, &"p99<1ms".parse().unwrap(), QosBasis::Raw).vote, Vote::Pass);
        waits.windows.last_mut().unwrap().in_flight = Some(101);
        assert_eq!(met(&waits, &"p99<1ms".parse().unwrap(), QosBasis::Raw).vote, Vote::Unknown);
        let check = |answered: u64, errors: u64, expect: Vote| {
            let mut trial = testing::trial("movies", 500.0);
            (trial.verdict, trial.sessions) = (both.clone(), Some(Sessions::default()));
            for window in &mut trial.windows {
                (window.answered, window.errors) = (Some(answered), Some(errors));
            }
            assert_eq!(sustained(&trial).vote, expect, "{answered} {errors}");
        };
        check(50, 0, Vote::Pass);
        check(48, 2, Vote::Pass);
        check(49, 0, Vote::Unknown);
    }

    #[test]
    fn a_few_requests_under_way_by_chance_refute_no_rate() {
        let check = |verdict: Verdict, answered: u64, under_way: (u64, u64), expect: Vote| {
            let mut trial = testing::trial("nginx", 350.0);
            (trial.verdict, trial.window_s, trial.arrivals.intended) = (verdict, 0.2, 70);
            trial.achieved_rps = answered as f64 / trial.window_s;
            for window in &mut trial.windows {
                (window.backlog, window.in_flight) = (Some(0), Some(under_way.0));
            }
            trial.windows.last_mut().unwrap().in_flight = Some(under_way.1);
            assert_eq!(sustained(&trial).vote, expect, "{answered} {under_way:?}");
        };
        let disturbed = || invalid_by(Reason::HostDisturbed);
        check(Verdict::Valid, 69, (0, 1), Vote::Pass);
        check(disturbed(), 69, (1, 2), Vote::Pass);
        check(disturbed(), 66, (2, 6), Vote::Pass);
        check(Verdict::Valid, 60, (0, 10), Vote::Fail);
        check(disturbed(), 60, (0, 10), Vote::Unknown);
        // Errors are not under way.
        check(Verdict::Valid, 60, (1, 1), Vote::Fail);
    }

    #[test]
    fn sessions_are_sustained_when_99_percent_of_their_steps_end_in_time() {
        let check = |completed: u64, possible: Option<f64>, expect: Vote, achieved: f64| {
            let mut trial = testing::trial("nginx", 4.0);
            trial.sessions = Some(Sessions::default());
            // More ended in the window than were due in it: chance.
            (trial.achieved_rps, trial.window_s) = (103.0, 10.0);
            trial.arrivals = Arrivals { intended: 1_000, completed, ..Arrivals::default() };
            // Sessions that are hopeless excuse nothing by themselves: some of their steps end all the same.
            trial.counters.insert("hopeless".into(), 0.2);
            trial.counters.extend(possible.map(|ratio| ("possible_steps_completed".to_owned(), ratio)));
            let outcome = sustained(&trial);
            assert_eq!(outcome.vote, expect, "{completed} {possible:?}");
            assert!((outcome.achieved_rps - achieved).abs() < 1e-9, "{outcome:?}");
            trial.verdict = OVERLOADED;
            assert_eq!(sustained(&trial).vote, Vote::Fail);
        };
        check(990, None, Vote::Pass, 3.96);
        check(989, None, Vote::Fail, 3.956);
        check(500, None, Vote::Fail, 2.0);
        check(900, Some(0.995), Vote::Pass, 3.98);
        check(995, Some(0.98), Vote::Fail, 3.92);
    }

    #[test]
    fn all_conditions_of_a_target_are_judged() {
        let check = |qos: &str, rebuffer: f64, expect: Vote| {
            let mut trial = testing::trial("nginx", 4.0);
            trial.verdict = Verdict::Valid;
            trial.sessions = Some(Sessions::default());
            trial.arrivals = Arrivals { intended: 1_000, completed: 995, ..Arrivals::default() };
            trial.counters = [("rebuffer_ratio".to_owned(), rebuffer)].into();
            assert_eq!(met(&trial, &qos.parse().unwrap(), QosBasis::Raw).vote, expect, "{qos} {rebuffer}");
        };
        check("misses<1%,rebuffer<1%", 0.005, Vote::Pass);
        check("misses<1%,rebuffer<1%", 0.02, Vote::Fail);
        check("misses<0.1%,rebuffer<1%", 0.005, Vote::Fail);
        check("misses<1%,startup<2s", 0.005, Vote::Unknown);
        check("misses<0.1%,startup<2s", 0.005, Vote::Fail);
    }

    /// A site that does not answer most of its visitors: the others are too few for the percentiles of its target.
    #[test]
    fn what_is_not_answered_is_met_and_sustained_at_no_load() {
        let check = |verdict: Verdict, (errors, timeouts): (u64, u64), vote: Vote, maximum: Vote| {
            let mut trial = testing::trial("movies", 4.0);
            trial.verdict = verdict;
            trial.sessions = Some(Sessions::default());
            let completed = 192 - errors - timeouts;
            let outcomes = Arrivals { intended: 192, completed, errors, timeouts, unfinished: 0 };
            let browse =
                Operation { name: "browse".into(), outcomes: Some(outcomes), ..Operation::default() };
            (trial.arrivals, trial.operations) = (outcomes, vec![browse]);
            let qos: Qos = "browse.p99<50ms".parse().unwrap();
            assert_eq!(met(&trial, &qos, QosBasis::Raw).vote, vote, "{errors} {timeouts}");
            assert_eq!(sustained(&trial).vote, maximum, "{errors} {timeouts}");
        };
        check(OVERLOADED, (0, 154), Vote::Fail, Vote::Fail);
        // Too few to be called an overload, and too many for the percentile.
        check(Verdict::Valid, (3, 2), Vote::Fail, Vote::Fail);
        check(Verdict::Valid, (1, 0), Vote::Unknown, Vote::Pass);
    }

    #[test]
    fn the_target_is_judged_by_its_basis() {
        let qos: Qos = "p99<1ms".parse().unwrap();
        let check =
            |verdict: Verdict, raw: Option<f64>, windowed: Option<f64>, basis: QosBasis, expect: Vote| {
                let mut trial = testing::trial("sphinx", 10_000.0);
                trial.verdict = verdict;
                (trial.all.response_time.p99_us, trial.windowed_p99_us) = (raw, windowed);
                assert_eq!(met(&trial, &qos, basis).vote, expect);
            };
        check(Verdict::Valid, Some(1000.0), Some(9000.0), QosBasis::Raw, Vote::Pass);
        check(Verdict::Valid, Some(1000.1), Some(10.0), QosBasis::Raw, Vote::Fail);
        check(Verdict::Valid, Some(9000.0), Some(10.0), QosBasis::Windowed, Vote::Pass);
        check(Verdict::Valid, None, None, QosBasis::Raw, Vote::Unknown);
        check(OVERLOADED, Some(10.0), Some(10.0), QosBasis::Raw, Vote::Fail);
        check(invalid_by_lag(), Some(10.0), Some(10.0), QosBasis::Raw, Vote::Unknown);
        // All requests met it despite the disturbance; or they did not, and the vote is unknown.
        check(invalid_by(Reason::HostDisturbed), Some(10.0), Some(9000.0), QosBasis::Windowed, Vote::Pass);
        check(invalid_by(Reason::HostDisturbed), Some(9000.0), Some(10.0), QosBasis::Windowed, Vote::Unknown);
        check(invalid_by(Reason::HostDisturbed), None, Some(10.0), QosBasis::Windowed, Vote::Unknown);
        check(invalid_by(Reason::ReceiveLag), Some(10.0), Some(10.0), QosBasis::Raw, Vote::Pass);
        check(invalid_by(Reason::ReceiveLag), Some(9000.0), Some(10.0), QosBasis::Raw, Vote::Unknown);
    }
}
