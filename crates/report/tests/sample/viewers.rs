//! A server of videos whose arrivals are sessions: with more viewers, each waits longer and sees more stalls.

use results::*;
use units::{Nanos, Qos};

use super::{Plan, Server, curve, empty, noise, summary, trial};

const VIDEOS: Server = Server { name: "nginx", max_rps: 8.0, base_us: 400_000.0, burst: 0.3 };
/// Chunks of a session, and how long it lasts. Units: seconds.
const CHUNKS: f64 = 16.0;
const LASTS_S: f64 = 154.3;
const WINDOW_S: f64 = 60.0;
/// The rungs, with the share of the chunks and the relative time of one.
const RUNGS: [(&str, f64, f64); 4] =
    [("240p", 0.1, 0.3), ("360p", 0.3, 0.6), ("480p", 0.4, 1.0), ("720p", 0.2, 1.8)];

fn distribution(count: u64, at: impl Fn(f64) -> f64) -> DistributionSummary {
    let known = |p: f64| (count as f64 * p.min(100.0 - p) / 100.0 >= 10.0).then(|| at(p));
    let mean = (0..100).map(|i| at(f64::from(i) + 0.5)).sum::<f64>() / 100.0;
    DistributionSummary {
        count,
        mean_us: Some(mean),
        p1_us: known(1.0),
        p5_us: known(5.0),
        p50_us: known(50.0),
        p90_us: known(90.0),
        p95_us: known(95.0),
        p99_us: known(99.0),
        max_us: Some(at(99.99)),
        // Whole, as of few sessions each counts.
        curve: (0..200).map(|i| f64::from(i) / 2.0).chain([99.99]).map(|p| (p, at(p))).collect(),
        over_time: Vec::new(),
    }
}

fn viewers(number: u64, purpose: Purpose, block: u32, share: Option<f64>, rate: f64) -> Trial {
    let plan =
        Plan { server: &VIDEOS, number, purpose, block, share, rps: rate, window_s: WINDOW_S, lag_us: 20.0 };
    let mut trial = trial(&plan);
    // Above 70 % of the maximum, chunks come late.
    let strain = (rate / VIDEOS.max_rps - 0.7).max(0.0) * (0.9 + 0.2 * noise(number, 11));
    let missed = 0.002 + 0.1 * strain;
    let steps = (rate * CHUNKS * WINDOW_S) as u64;
    let timeouts = (steps as f64 * missed) as u64;
    let outcomes = |share: f64| {
        let [intended, timeouts] = [steps, timeouts].map(|n| (n as f64 * share) as u64);
        Arrivals { intended, completed: intended - timeouts, errors: 0, timeouts, unfinished: 0 }
    };
    let response = |p: f64, slower: f64| {
        let tail = -(1.0 - p / 100.0).max(1e-7).ln();
        slower * (350_000.0 + 2.5e6 * strain) * (0.4 + tail).min(9.9e6)
    };
    let operation = |(name, share, slower): (&str, f64, f64)| {
        let outcomes = outcomes(share);
        Operation {
            name: name.into(),
            response_time: summary(outcomes.intended, |p| response(p, slower)),
            outcomes: Some(outcomes),
            ..trial.all.clone()
        }
    };
    let operations = RUNGS.map(operation).to_vec();
    trial.operations = operations;
    trial.all.response_time = summary(steps, |p| response(p, 1.0));
    trial.curve = curve(steps, |p| response(p, 1.0));
    (trial.windowed_p99_us, trial.heat) = (None, None);
    trial.within.clear();
    trial.arrivals = outcomes(1.0);
    trial.achieved_rps = trial.arrivals.completed as f64 / WINDOW_S;
    trial.verdict = Verdict::Valid;
    trial.counters = [
        ("misses", missed),
        ("rebuffer_ratio", 0.0005 + 0.06 * strain),
        ("stalls_per_hour", 0.4 + 90.0 * strain),
        ("sessions_met", 0.97 - strain),
        ("hopeless", 0.0),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let live = rate * LASTS_S;
    let startup = |p: f64| 300_000.0 + (300_000.0 + 2e6 * strain) * -(1.0 - p / 100.0).max(1e-7).ln();
    let seconds = |p: f64| 1e6 * (4.0 + 26.0 * (p / 100.0).sqrt() - 20.0 * strain).max(0.1);
    let mut buffer = distribution(steps, seconds);
    buffer.over_time = (0..30)
        .map(|i| {
            let (start_s, wave) = (2.0 * f64::from(i), 0.94 + 0.1 * noise(number, 100 + i as u64));
            DistributionPoint {
                start_s,
                end_s: start_s + 2.0,
                count: steps / 30,
                p5_us: (i != 12).then(|| wave * seconds(5.0)),
                p50_us: Some(wave * seconds(50.0)),
                p95_us: (i != 12).then(|| wave * seconds(95.0)),
            }
        })
        .collect();
    let arrived = (rate * (WINDOW_S + 20.0)) as u64;
    let sessions = Sessions {
        begun: arrived,
        underway: live as u64,
        ended: arrived,
        cut: live as u64,
        refused: 0,
        distributions: [
            ("startup".to_owned(), distribution((rate * WINDOW_S) as u64, startup)),
            ("stall".to_owned(), distribution((20.0 + 900.0 * strain) as u64, |p| 0.8e6 + 4e6 * (p / 100.0))),
            ("slack".to_owned(), distribution(steps, |p| 2e6 + 1.8e7 * (p / 100.0))),
            ("buffer".to_owned(), buffer),
        ]
        .into(),
        ..Sessions::default()
    };
    let points: Vec<(f64, u64)> = (0..600)
        .map(|i| (f64::from(i) / 10.0, (live * (0.97 + 0.06 * noise(number, 200 + i as u64 / 20))) as u64))
        .collect();
    trial.sessions = Some(sessions.with_live(&points));
    trial
}

fn of_viewers(kind: Kind, name: &str, command: &[&str]) -> Experiment {
    let mut experiment = empty(kind, name, command);
    experiment.qos = Qos::of_sessions(Nanos::from_secs(2));
    experiment.qos_basis_reason = "no response time is judged".into();
    experiment
}

/// A sweep over the viewers of a server of videos, and the search for its peak.
pub fn viewing() -> Experiment {
    let mut experiment =
        of_viewers(Kind::Peak, "20260314-110000-peak", &["taillight", "peak", "video", "--target", "nginx"]);
    let mut number = 0;
    let mut target = Target { name: "nginx".into(), address: "127.0.0.1:8080".into(), ..Target::default() };
    let mut add = |purpose, block, share, rate| {
        number += 1;
        experiment.trials.push(viewers(number, purpose, block, share, rate));
    };
    for block in 0..2 {
        for rate in [0.5, 1.0, 2.0, 4.0, 8.0, 16.0] {
            add(Purpose::MaxSearch, block, None, rate);
        }
        target.max_throughput.push(MaxThroughput { block, low_rps: 8.0, high_rps: 8.25 });
        for step in 1..=5 {
            let share = f64::from(step) / 5.0;
            add(Purpose::LoadPoint, block, Some(share), share * VIDEOS.max_rps);
        }
    }
    for rate in [6.0, 6.5] {
        add(Purpose::PeakSearch, 1, None, rate);
    }
    let peak = Peak { low_rps: 6.0, high_rps: Some(6.5), share_of_max: Some(0.75), trials: 12, note: None };
    target.peak = Some(peak);
    experiment.targets.push(target);
    experiment
}

/// One load of viewers.
pub fn viewed() -> Experiment {
    let mut experiment =
        of_viewers(Kind::Load, "20260314-112000-load", &["taillight", "load", "video", "--rate", "2"]);
    let mut trial = viewers(1, Purpose::Single, 0, None, 2.0);
    trial.gates = ["misses<1%", "startup.p95<1s", "met>99%"]
        .map(|gate| gate.parse::<Gate>().unwrap().evaluate(&trial))
        .to_vec();
    if let Some(sessions) = &mut trial.sessions {
        sessions.refused = 3;
    }
    experiment.trials.push(trial);
    experiment
}
