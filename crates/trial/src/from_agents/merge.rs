use agent::{Outcome, Part};
use anyhow::{Context, Result, bail};
use openloop::{Interval, Recording};
use results::{Invalid, Reason};
use units::Nanos;

/// An agent's recording of this window, with times from its start; `None` if the agent was lost.
///
/// Errors: the recording cannot be read, or is of another window.
pub(super) fn read(part: &Part, window: Nanos) -> Result<Option<Recording>> {
    let Ok(bytes) = &part.recording else { return Ok(None) };
    let mut recording: Recording = serde_json::from_slice(bytes)
        .with_context(|| format!("agent {}: a damaged recording", name(part)))?;
    // Times count from the start of each agent's window; all windows opened together.
    recording.rebase();
    // A recording that was stopped early has a shorter window.
    if recording.window != window && !(recording.interrupted && recording.window < window) {
        bail!("agent {}: it recorded a window of {} instead of {window}", name(part), recording.window);
    }
    Ok(Some(recording))
}

/// All recordings merged; `None` if there are no recordings.
///
/// Errors: they have different operations or servers.
pub(super) fn all(parts: &[Part], recordings: Vec<Option<Recording>>) -> Result<Option<Recording>> {
    let mut whole: Option<Recording> = None;
    let window = recordings.iter().flatten().map(|recording| recording.window).max();
    let intervals = recordings.iter().flatten().map(|recording| recording.intervals.len()).max();
    for (part, mut recording) in parts.iter().zip(recordings) {
        // Stopped generators did not all stop at the same moment; the longest window holds all arrivals.
        if let (Some(recording), Some(window), Some(intervals)) = (&mut recording, window, intervals) {
            recording.window = window;
            recording.intervals.resize(intervals, Interval::default());
        }
        match (&mut whole, recording) {
            (_, None) => {}
            (None, first) => whole = first,
            (Some(whole), Some(recording)) => {
                if shape(whole) != shape(&recording) {
                    bail!("agent {}: it recorded another load than the others", name(part));
                }
                whole.merge(&recording);
            }
        }
    }
    Ok(whole)
}

/// The properties that two recordings must share to be merged.
fn shape(recording: &Recording) -> [Vec<&str>; 2] {
    [
        recording.operations.iter().map(|operation| operation.name.as_str()).collect(),
        recording.endpoints.iter().map(|endpoint| endpoint.address.as_str()).collect(),
    ]
}

/// The first lost agent, as a reason against the trial.
pub(super) fn lost(outcome: &Outcome) -> Option<Invalid> {
    let (part, why) = outcome.lost()?;
    let (all, left) = (outcome.parts.len(), outcome.parts.iter().filter(|p| p.recording.is_ok()).count());
    let after = part.lost_ns.map_or(String::new(), |at| {
        format!(" {} after the start", Nanos(at.saturating_sub(outcome.start_ns)))
    });
    let detail = format!(
        "{} was lost{after}: {why}; the others were stopped, and the figures are those of {left} of {all} agents until then",
        name(part)
    );
    Some(Invalid { reason: Reason::AgentLost, detail })
}

fn name(part: &Part) -> String {
    format!("{} ({})", part.name, part.address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::{ClockReport, Comparison};
    use hist::Windows;
    use openloop::{Datagrams, Errors, Footing, Late, OperationTimes, Stall, Taken, Tally};
    use results::Basis;
    use units::Time;

    use crate::record;

    const WINDOW: Nanos = Nanos::from_secs(1);

    /// A recording of requests due at these offsets and answered after these times, by a clock that is `ahead`.
    fn recording(samples: &[(u64, u64)], ahead: u64) -> Recording {
        let mut get = OperationTimes::new("get", false);
        let mut windows = Windows::new(WINDOW);
        for &(offset, time) in samples {
            get.response_time.record(Nanos(time));
            windows.record(Nanos(offset), Nanos(time));
        }
        let n = samples.len() as u64;
        Recording {
            window_start: Time(ahead),
            window: WINDOW,
            operations: vec![get],
            windows,
            late: Late::new(Windows::new(WINDOW)),
            tally: Tally { intended: n, completed: n, ..Tally::default() },
            follow_ups: Tally::default(),
            answered_in_window: n,
            endpoints: Vec::new(),
            connections: Vec::new(),
            sessions: openloop::SessionTally::default(),
            datagrams: Datagrams::default(),
            interval: hist::WINDOW,
            intervals: vec![Interval::default(); 10],
            backlog: Vec::new(),
            max_in_flight: 1,
            clients: 0,
            busy: Nanos(n),
            used: Nanos::ZERO,
            idle: Nanos(0),
            starved: Nanos(0),
            stalls: vec![Stall { from: Time(ahead + 5), span: Nanos(7) }],
            stall_count: 1,
            withheld: openloop::Withheld::default(),
            taken: Taken::default(),
            catch_up: 0.0,
            quotas: Vec::new(),
            drain: Nanos(0),
            unsolicited: 0,
            unowned: 0,
            receives: openloop::Receives::default(),
            errors: Errors::default(),
            refusals: Errors::default(),
            counters: vec![("hit_ratio".into(), n, n)],
            distributions: Vec::new(),
            traced: Vec::new(),
            interrupted: false,
            threads: 1,
        }
    }

    fn part(recording: Result<&Recording, &str>, lost_ns: Option<u64>) -> Part {
        let at_start = Comparison { at_ns: 0, offset_ns: 0, error_ns: 1 };
        Part {
            name: "b".into(),
            address: "h:1".into(),
            recording: recording.map(|r| serde_json::to_vec(r).unwrap()).map_err(Into::into),
            lost_ns,
            clock: ClockReport { at_start, drift: None },
        }
    }

    fn merged(parts: &[Part]) -> Result<Option<Recording>> {
        let recordings = parts.iter().map(|part| read(part, WINDOW)).collect::<Result<Vec<_>>>()?;
        all(parts, recordings)
    }

    #[test]
    fn the_merged_recording_is_that_of_all_samples() {
        // Times over six decades; offsets over the whole window. Agents' clocks are hours apart.
        let samples: Vec<(u64, u64)> =
            (0..30_000u64).map(|i| (i * 33_331 % WINDOW.0, 1_000 + i.pow(3) % 1_000_000_007)).collect();
        for agents in 1..6usize {
            let parts: Vec<Part> = (0..agents)
                .map(|agent| {
                    let own: Vec<_> = samples.iter().copied().skip(agent).step_by(agents).collect();
                    part(Ok(&recording(&own, 3_600_000_000_000 * agent as u64)), None)
                })
                .collect();
            let merged = merged(&parts).unwrap().unwrap();
            let union = recording(&samples, 0);
            assert!(merged.operations[0].response_time == union.operations[0].response_time, "{agents}");
            assert!(merged.windows == union.windows, "{agents}");
            assert_eq!((merged.tally, merged.busy), (union.tally, union.busy));
            assert_eq!(merged.counters, union.counters);
            assert!(
                merged.stalls.iter().all(|stall| stall.from == Time(5)),
                "each from its own window's start"
            );
        }
    }

    #[test]
    fn what_each_agent_noted_of_its_host_is_in_the_record() {
        // The second machine lost time in the first two windows, and read some responses late there.
        let samples: Vec<(u64, u64)> = (0..3_000).map(|i| (i * 333_334, 50_000)).collect();
        let (first, mut second) = (recording(&samples, 0), recording(&samples, 77));
        second.windows.mark(Nanos::from_millis(50), Nanos::from_millis(150));
        second.late.record(Nanos::from_millis(60), Nanos(50_000), Nanos(30_000));
        second.taken = Taken { server: None, generator: Some(0.25) };
        let merged = merged(&[part(Ok(&first), None), part(Ok(&second), None)]).unwrap().unwrap();
        let footing = Footing::of(&merged);
        let disturbance = record::disturbance(&merged, &footing);
        assert_eq!((disturbance.windows, disturbance.undisturbed_windows), (10, 8));
        assert_eq!((disturbance.server_taken_share, disturbance.generator_taken_share), (None, Some(0.25)));
        assert_eq!(disturbance.undisturbed.map(|times| times.count), Some(4_800));
        // All took the same time, so no disturbance can have moved a figure.
        assert_eq!((disturbance.basis, disturbance.touched_share), (Basis::All, 0.5));
        let lateness = record::lateness(&merged, &footing);
        assert_eq!((lateness.over_us, lateness.requests, lateness.limit_us), (20.0, 1, Some(50.0)));
        assert_eq!(lateness.response_time.count, 6_000);
    }

    #[test]
    fn those_that_were_stopped_are_merged_over_the_longest_window() {
        let stopped = |samples: &[(u64, u64)], ms: u64| Recording {
            window: Nanos::from_millis(ms),
            windows: Windows::new(Nanos::from_millis(ms)),
            late: Late::new(Windows::new(Nanos::from_millis(ms))),
            intervals: vec![Interval { offered: 3, ..Interval::default() }; ms.div_ceil(100) as usize],
            interrupted: true,
            ..recording(samples, 0)
        };
        let parts = [part(Ok(&stopped(&[(0, 5)], 310)), None), part(Ok(&stopped(&[(0, 5)], 290)), None)];
        for parts in [parts.clone(), {
            let [a, b] = parts;
            [b, a]
        }] {
            let merged = merged(&parts).unwrap().unwrap();
            assert_eq!((merged.window, merged.tally.intended), (Nanos::from_millis(310), 2));
            let offered: Vec<u64> = merged.intervals.iter().map(|interval| interval.offered).collect();
            assert_eq!(offered, [6, 6, 6, 3]);
            assert!(merged.interrupted);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let good = recording(&[(0, 5)], 0);
        let check = |other: Result<&Recording, &str>, says: Option<&str>| {
            let found = merged(&[part(Ok(&good), None), part(other, None)]);
            match says {
                None => assert_eq!(found.unwrap().unwrap().tally.intended, 1),
                Some(says) => assert!(found.is_err_and(|e| e.to_string().contains(says)), "{says}"),
            }
        };
        check(Err("gone"), None);
        check(
            Ok(&Recording { window: Nanos(5), ..recording(&[], 0) }),
            Some("b (h:1): it recorded a window of 5 ns"),
        );
        check(Ok(&Recording { operations: Vec::new(), ..recording(&[], 0) }), Some("another load"));
        // A cache's thread omits counters of operations that it never did.
        check(Ok(&Recording { counters: Vec::new(), ..recording(&[], 0) }), None);
        let damaged = Part { recording: Ok(b"{\"window\":".to_vec()), ..part(Err(""), None) };
        assert!(merged(&[damaged]).is_err_and(|e| e.to_string().contains("damaged")));
        assert!(merged(&[part(Err("gone"), None)]).unwrap().is_none());
    }

    #[test]
    fn a_loss_says_who_when_and_what_is_left() {
        let good = recording(&[], 0);
        let parts = vec![part(Ok(&good), None), part(Err("no word for 5s"), Some(2_500_000_000))];
        let outcome = Outcome { start_ns: 1_000_000_000, parts };
        let lost = lost(&outcome).unwrap();
        assert_eq!(lost.reason, Reason::AgentLost);
        assert!(
            lost.detail.starts_with("b (h:1) was lost 1.5 s after the start: no word for 5s;"),
            "{}",
            lost.detail
        );
        assert!(lost.detail.contains("1 of 2 agents"), "{}", lost.detail);
        assert_eq!(super::lost(&Outcome { start_ns: 0, parts: vec![part(Ok(&good), None)] }), None);
    }
}
