//! Different rules if arrivals are sessions.
//!
//! Offered load is in sessions a second, and all else in steps: a step is due at its own time, waits for the step
//! before it, and ends by its time-out at the latest. So
//!
//! - a step that ends too late is a matter of the server's quality of service (`misses<1%`), and not an error of the
//!   measurement: only faults are, such as a refused connection or a wrong answer; each session with a fault counts
//!   once;
//! - the server keeps up if as many steps end as fall due, in time or not. If the workload gives a step its time, an
//!   overload has no ever-growing backlog, since steps end with it: it shows in the misses. A step that ends by the
//!   generator's time-out got no answer, and the server did not keep up with it, as without sessions;
//! - numbers of steps under way at the two ends of the window differ by chance, as each takes seconds, and their
//!   series is autocorrelated for as long: a trend test for independent values finds false trends in it;
//! - the mix of sessions under way drifts, since they outlast the window, and the p99 of all steps with it.

use hist::Latency;
use units::Nanos;

use crate::judge::footing::CATCH_UP;
use crate::judge::{ACHIEVED, ERRORS, MOVED_SHARE};
use crate::{Errors, Recording, Tally};

units::limits! {
    /// The largest share of sessions that may have a fault.
    const FAULTS: f64 = 0.05, Share,
        "CloudSuite 3's video streaming, whose run succeeds with errors of at most 5 % of the connections; time-outs are none here, but misses of the QoS";

    /// Numbers of steps, or of sessions, under way at two moments differ by chance by up to this multiple of their
    /// standard deviation.
    const BY_CHANCE: f64 = 3.0, Factor,
        "ours, because numbers of arrivals at random are Poisson's, whose difference exceeds three times √(2 · mean) once in 700 trials";

    /// The parts at the ends of the window over which sessions under way are averaged, to reduce the noise of single
    /// moments.
    const END: f64 = 0.1, Share,
        "ours, because it is short against the sessions, and longer than a step takes";
}

/// Whether its arrivals are sessions.
pub(super) fn are_in(recording: &Recording) -> bool {
    count(recording) > 0
}

/// Number of all its sessions.
fn count(recording: &Recording) -> u64 {
    let sessions = &recording.sessions;
    sessions.underway + sessions.begun + sessions.refused + sessions.never_begun
}

/// The sessions with faults, in words, if they were too many. If faults count as misses (`are_misses`), only a trial
/// without any completed step is reported.
pub(super) fn faults(recording: &Recording, are_misses: bool) -> Option<String> {
    let Tally { intended, completed, .. } = recording.tally;
    let (faulty, all) = (recording.sessions.faulty, count(recording));
    let share = faulty as f64 / all.max(1) as f64;
    if share > FAULTS && !are_misses {
        let others = |kind: &str| kind == Errors::NO_ANSWER || recording.refusals.of(kind) > 0;
        let first = recording.errors.iter().find(|error| !others(&error.kind));
        return Some(format!(
            "{faulty} of {all} sessions had a fault, {:.1} % of them, over the limit of {} %: {}",
            100.0 * share,
            100.0 * FAULTS,
            first.map_or("", |error| error.first.as_str())
        ));
    }
    (completed == 0 && intended > 0).then(|| {
        let first = recording.errors.first().unwrap_or("");
        format!("none of {intended} steps was completed: {first}")
    })
}

/// The sessions that were not begun, in words, if they were more than may be.
pub(super) fn refused(recording: &Recording) -> Option<String> {
    let (sessions, all) = (&recording.sessions, count(recording));
    let missing = sessions.refused + sessions.never_begun;
    (missing as f64 > ERRORS * all as f64).then(|| {
        let first = recording.refusals.iter().next();
        let (kind, detail) = first.map_or(("", ""), |error| (&error.kind, &error.first));
        let why = match kind {
            "" => "the load had ended before the generator came to them; give it more threads and cores".into(),
            Errors::NO_SESSION | Errors::NOT_OPENED => format!(
                "{detail}; offer fewer, use more threads or agents, or raise the limit of open files (ulimit -n)"
            ),
            _ => detail.to_owned(),
        };
        format!("{missing} of {all} sessions were not begun: {why}")
    })
}

/// Steps that ended in the window, in time or late but not by the generator's time-out, over steps due in it.
pub(super) fn ended_share(recording: &Recording) -> f64 {
    ended(recording).saturating_sub(given_up(recording)) as f64 / recording.tally.intended as f64
}

/// Steps ended by the generator's time-out, over steps due in the window.
pub(super) fn given_up_share(recording: &Recording) -> f64 {
    given_up(recording) as f64 / recording.tally.intended as f64
}

fn ended(recording: &Recording) -> u64 {
    recording.answered_in_window + recording.intervals.iter().map(|interval| interval.failed).sum::<u64>()
}

/// The steps due in the window that had no answer within the generator's time-out: no deadline and no limit of the workload says
/// that they are misses.
fn given_up(recording: &Recording) -> u64 {
    let steps = recording.operations.iter().filter(|operation| !operation.follow_up);
    let waited_for = steps.filter(|operation| !operation.has_deadline && operation.limit.is_none());
    waited_for.map(|operation| operation.tally.timeouts).sum()
}

/// Whether fewer steps ended than were due, or more timed out than allowed, by more than chance.
pub(super) fn are_behind(recording: &Recording) -> bool {
    let due = recording.tally.intended as f64;
    let points = &recording.backlog;
    let outstanding: u64 = points.iter().map(|point| point.backlog + point.in_flight).sum();
    let mean = outstanding as f64 / points.len().max(1) as f64;
    let may_miss = (1.0 - ACHIEVED) * due;
    // Allow for Poisson noise.
    let too_many = given_up(recording) as f64 > may_miss + BY_CHANCE * may_miss.sqrt();
    too_many || due - ended(recording) as f64 > may_miss + by_chance(mean)
}

/// By how much two numbers of this mean may differ by chance.
fn by_chance(mean: f64) -> f64 {
    BY_CHANCE * (2.0 * mean).sqrt()
}

/// How far the sessions under way rose or fell over the window, in words, if by more than allowed: a load that starts
/// without sessions under way, for instance.
pub(super) fn unsteady(recording: &Recording) -> Option<String> {
    let live: Vec<f64> = recording.backlog.iter().map(|point| point.sessions as f64).collect();
    let end = ((END * live.len() as f64).ceil() as usize).max(1);
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
    let (first, last) = (live.get(..end)?, live.get(live.len().checked_sub(end)?..)?);
    let (first, last) = (mean(first), mean(last));
    let all = mean(&live);
    ((last - first).abs() > MOVED_SHARE * all + by_chance(all)).then(|| {
        format!("{first:.0} sessions were under way at the beginning of the window and {last:.0} at its end")
    })
}

/// Lower bound of a percentile of `times`, had the host not held up steps: it took the share `lost` of its time, and
/// `longest` at once, with [`CATCH_UP`] times as much to work that off.
///
/// A step of some seconds loses at most the processor time taken while it runs. Shorter requests are handled by the
/// assumption that each held-up one could have been as fast as the fastest; for steps that bound is far too low.
pub(super) fn at_least(times: &Latency, percentile: f64, lost: f64, longest: Nanos) -> Option<Nanos> {
    let measured = times.value_at(percentile)?;
    let held_up = CATCH_UP * (lost * measured.0 as f64 + longest.0 as f64);
    Some(measured - Nanos(held_up as u64))
}

#[cfg(test)]
mod tests {
    use dist::{Gap, Purpose, Streams};
    use results::{Reason, Verdict};
    use units::{Rate, Time};

    use hist::Windows;

    use super::*;
    use crate::judge::judge_strictly;
    use crate::{BacklogPoint, EndpointTimes, Load, SessionTally, Taken};

    const WINDOW: Nanos = Nanos::from_secs(60);

    /// 300 sessions of 200 s, each with a step every 10 s that takes 4 s on average, of which these shares are not in time
    /// and refused.
    struct Viewers {
        late: f64,
        refused: f64,
    }

    impl Viewers {
        fn record(&self, seed: u64) -> Recording {
            let mut recording = Recording::new(
                &["480p".into()],
                0,
                Vec::<EndpointTimes>::new(),
                WINDOW,
                Windows::new(WINDOW),
            );
            recording.operations[0].has_deadline = true;
            let warmup = 20e9;
            recording.window_start = Time(warmup as u64);
            let streams = Streams::new(seed);
            let mut rng = streams.stream(Purpose::Service, 0);
            let (gap, took) = (Gap::Exponential(1e9 / 30.0), Gap::Exponential(4e9));
            let end = warmup + WINDOW.0 as f64;
            let step = recording.backlog_step();
            // By how many more are under way at each point than at the one before.
            let mut changes = vec![0i64; (WINDOW.0 / step.0) as usize + 1];
            let at = |moment: f64| ((moment - warmup) / step.0 as f64).ceil().max(0.0) as usize;
            let mut now = 0.0;
            loop {
                now += gap.sample_ns(&mut rng);
                if now >= end {
                    break;
                }
                let (mut took, lot) = (took.sample_ns(&mut rng), rand::RngExt::random::<f64>(&mut rng));
                let outcome = if lot < self.refused {
                    took = 0.0;
                    crate::Outcome::Error
                } else if lot < self.refused + self.late {
                    took = 10e9;
                    crate::Outcome::Timeout
                } else {
                    crate::Outcome::Completed
                };
                let (intended, done) = (Time(now as u64), Time((now + took) as u64));
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
                if outcome != crate::Outcome::Completed {
                    let kind = if took > 0.0 { Errors::NO_ANSWER } else { Errors::CANNOT_CONNECT };
                    recording.errors.add(kind, true, || format!("{kind}, the first"));
                }
                for (moment, change) in [(now, 1), (now + took, -1)] {
                    if let Some(changed) = changes.get_mut(at(moment)) {
                        *changed += change;
                    }
                }
            }
            let mut in_flight = 0i64;
            let points = changes.iter().enumerate().map(|(i, change)| {
                in_flight += change;
                let offset = Nanos(i as u64 * step.0);
                BacklogPoint { offset, backlog: 0, in_flight: in_flight as u64, sessions: 300 }
            });
            recording.backlog = points.collect();
            // Each failure is another session's.
            let faulty = recording.errors.of(Errors::CANNOT_CONNECT);
            recording.sessions =
                SessionTally { underway: 300, begun: 120, faulty, ..SessionTally::default() };
            (recording.busy, recording.idle) = (Nanos::from_secs(6), Nanos::from_secs(54));
            recording
        }
    }

    fn open() -> Load {
        let rate = Rate::new(1.5).unwrap();
        let arrivals = dist::Arrivals::of(&"poisson".parse().unwrap(), rate, None).unwrap();
        Load::Open { arrivals, rate, steady: true }
    }

    fn judged(recording: &Recording) -> Verdict {
        judge_strictly(recording, &open(), Vec::new())
    }

    /// The reason of an invalid one, and its words.
    fn reason(verdict: &Verdict) -> (Reason, String) {
        let Verdict::Invalid { reasons } = verdict else { panic!("{verdict}") };
        assert_eq!(reasons.len(), 1, "{verdict}");
        (reasons[0].reason, reasons[0].detail.clone())
    }

    #[test]
    fn late_steps_are_no_errors_and_chance_is_no_overload() {
        for late in [0.0, 0.04, 0.55] {
            for seed in 0..30 {
                let recording = Viewers { late, refused: 0.0 }.record(seed);
                assert_eq!(judged(&recording), Verdict::Valid, "{late} {seed}");
            }
        }
    }

    /// The same steps with a workload without deadlines: the generator's time-out ends them.
    #[test]
    fn steps_without_an_answer_are_an_overload_where_no_deadline_makes_them_misses() {
        let check = |late: f64, of_chance: bool| {
            for seed in 0..10 {
                let mut recording = Viewers { late, refused: 0.0 }.record(seed);
                recording.operations[0].has_deadline = false;
                let share = recording.tally.timeouts as f64 / recording.tally.intended as f64;
                match judged(&recording) {
                    Verdict::Valid => assert!(of_chance, "{late} {seed}"),
                    Verdict::Overloaded { achieved_share, timed_out_share, .. } => {
                        assert!(!of_chance && timed_out_share == share, "{late} {seed}: {timed_out_share}");
                        // Steps under way at the ends of the window differ by chance.
                        assert!(
                            (achieved_share + share - 1.0).abs() < 0.05,
                            "{late} {seed}: {achieved_share}"
                        );
                    }
                    invalid => panic!("{late} {seed}: {invalid}"),
                }
                // A limit of their own makes them misses.
                recording.limit(|_| Some(Nanos::from_secs(1)));
                assert!(!matches!(judged(&recording), Verdict::Overloaded { .. }), "{late} {seed}");
            }
        };
        check(0.0, true);
        check(0.005, true);
        check(0.04, false);
        check(0.8, false);
    }

    #[test]
    fn faults_of_connections_are_seen() {
        let check = |refused: f64, expect: Option<&str>| {
            let recording = Viewers { late: 0.1, refused }.record(7);
            let verdict = judged(&recording);
            let Some(words) = expect else {
                assert_eq!(verdict, Verdict::Valid, "{refused}");
                return;
            };
            let (reason, detail) = reason(&verdict);
            assert_eq!(reason, Reason::ErrorRate);
            assert!(detail.contains(words), "{detail}");
        };
        // Out of 2 400 steps and 420 sessions.
        check(0.004, None);
        check(0.03, Some("over the limit of 5 %: cannot connect again, the first"));
        check(0.9, Some("of 420 sessions had a fault"));
        let mut many = Viewers { late: 0.0, refused: 0.1 }.record(7);
        assert!(matches!(judged(&many), Verdict::Invalid { .. }), "some 240 faults, each of another session");
        many.sessions.faulty = 21;
        assert_eq!(judged(&many), Verdict::Valid, "the same in 21 of 420 sessions, which are 5 %");
        let nothing = Viewers { late: 1.0, refused: 0.0 }.record(7);
        let (reason, detail) = reason(&judged(&nothing));
        assert!(reason == Reason::ErrorRate && detail.starts_with("none of "), "{detail}");
    }

    #[test]
    fn sessions_without_room_are_the_generators() {
        let mut recording = Viewers { late: 0.0, refused: 0.0 }.record(3);
        recording.sessions.refused = 1;
        recording.refusals.add(Errors::NO_SESSION, true, || "no room".into());
        let why = |recording: &Recording| {
            let (reason, detail) = reason(&judged(recording));
            assert_eq!(reason, Reason::RateMissed);
            detail
        };
        let detail = why(&recording);
        assert!(detail.starts_with("1 of 421 sessions were not begun: no room; offer fewer"), "{detail}");
        recording.refusals = Errors::default();
        recording.refusals.add("no user", true, || "all 7 users are there".into());
        assert_eq!(why(&recording), "1 of 421 sessions were not begun: all 7 users are there");
        recording.refusals = Errors::default();
        (recording.sessions.refused, recording.sessions.never_begun) = (0, 2);
        assert!(why(&recording).contains("2 of 422 sessions were not begun: the load had ended before"));
    }

    #[test]
    fn steps_that_do_not_end_are_an_overload() {
        let mut recording = Viewers { late: 0.0, refused: 0.0 }.record(5);
        recording.answered_in_window -= recording.tally.intended / 5;
        let Verdict::Overloaded { achieved_share, backlog_growth_rps, .. } = judged(&recording) else {
            panic!("{}", judged(&recording))
        };
        assert!((0.75..0.85).contains(&achieved_share), "{achieved_share}");
        assert!((4.0..8.0).contains(&backlog_growth_rps), "{backlog_growth_rps}");
    }

    #[test]
    fn a_load_that_begins_with_no_session_is_not_steady() {
        let mut recording = Viewers { late: 0.0, refused: 0.0 }.record(9);
        let last = recording.backlog.len() as u64 - 1;
        for (i, point) in recording.backlog.iter_mut().enumerate() {
            point.sessions = 300 * i as u64 / last;
        }
        let (reason, detail) = reason(&judged(&recording));
        assert_eq!(reason, Reason::NotSteady);
        assert!(detail.starts_with("15 sessions were under way at the beginning"), "{detail}");
        // Within the range of chance.
        for (i, point) in recording.backlog.iter_mut().enumerate() {
            point.sessions = 280 + 40 * i as u64 / last;
        }
        assert_eq!(judged(&recording), Verdict::Valid);
    }

    #[test]
    fn what_the_host_takes_is_held_against_steps_of_seconds_as_such() {
        let mut recording = Viewers { late: 0.0, refused: 0.0 }.record(11);
        recording.taken = Taken { server: Some(0.02), generator: Some(0.02) };
        assert_eq!(judged(&recording), Verdict::Valid, "8 % of them");
        recording.taken = Taken { server: Some(0.05), generator: Some(0.02) };
        assert_eq!(reason(&judged(&recording)).0, Reason::HostDisturbed, "14 %");
    }
}
