//! From what a generator measured to the record that is kept.

use std::collections::BTreeMap;

use hist::Latency;
use hist::hlog::{Interval, Log};
use openloop::{OperationTimes, Recording, STALL_THRESHOLD};
use results::{
    Arrivals, Generator, Heat, LatencySummary, Noise, Operation, Purpose, Trial, Verdict, WindowPoint,
};
use serde_json::Value;
use units::{Nanos, Rate};

use crate::args::Resolved;

/// What a trial is besides its recording.
pub(crate) struct Circumstances {
    pub rate: Rate,
    pub started: String,
    pub resolved: Resolved,
    pub noise: Noise,
    pub verdict: Verdict,
    pub counters: BTreeMap<String, f64>,
}

/// The record of a trial. The lab fills in its identifier, target, purpose and block.
pub(crate) fn record(recording: &Recording, about: Circumstances) -> Trial {
    let all = recording.all();
    let us = |t: Nanos| t.as_micros_f64();
    let tally = recording.tally;
    let counters = recording
        .counters
        .iter()
        .filter(|(_, _, of)| *of > 0)
        .map(|(name, count, of)| (name.clone(), *count as f64 / *of as f64))
        .chain(about.counters)
        .collect();
    let resolved = &about.resolved;
    let generator = Generator {
        threads: recording.threads,
        cpus: resolved.cpus.clone(),
        connections: resolved.connections,
        depth: resolved.depth,
        pace: resolved.pace.clone(),
        io: "epoll".into(),
        busy_share: recording.busy_share(),
        busy_us_per_request: (recording.answered_in_window > 0)
            .then(|| recording.busy.as_micros_f64() / recording.answered_in_window as f64),
        lag_limit_us: all.response_time.value_at(99.0).map(|p99| us(openloop::lag_limit(p99))),
        backlog_at_end: recording.backlog.last().map_or(0, |point| point.backlog),
        max_in_flight: recording.max_in_flight,
    };
    let operations = if recording.operations.iter().filter(|o| !o.response_time.is_empty()).count() > 1 {
        recording.operations.iter().filter(|o| !o.response_time.is_empty()).map(operation).collect()
    } else {
        Vec::new()
    };
    Trial {
        id: String::new(),
        target: String::new(),
        purpose: Purpose::Single,
        block: 0,
        load_share: None,
        started: about.started,
        offered_rps: about.rate.rps(),
        achieved_rps: recording.achieved_rps(),
        window_s: recording.window.as_secs_f64(),
        warmup_s: resolved.warmup_s,
        drain_s: recording.drain.as_secs_f64(),
        arrivals: Arrivals {
            intended: tally.intended,
            completed: tally.completed,
            errors: tally.errors,
            timeouts: tally.timeouts,
            unfinished: tally.unfinished,
        },
        all: operation(&all),
        operations,
        windowed_p99_us: recording.windows.windowed_p99().map(us),
        windows: windows(recording),
        curve: all.response_time.curve().into_iter().map(|(percentile, t)| (percentile, us(t))).collect(),
        generator,
        noise: about.noise,
        counters,
        config: serde_json::to_value(resolved).unwrap_or(Value::Null),
        verdict: about.verdict,
        hlog: None,
        heat: Some(Heat::of(&recording.windows)),
        ..Trial::default()
    }
}

fn operation(times: &OperationTimes) -> Operation {
    Operation {
        name: times.name.clone(),
        response_time: LatencySummary::of(&times.response_time),
        service_time: LatencySummary::of(&times.service_time),
        connection_wait: LatencySummary::of(&times.connection_wait),
        generator_lag: LatencySummary::of(&times.generator_lag),
        ..Operation::default()
    }
}

fn windows(recording: &Recording) -> Vec<WindowPoint> {
    let us = |t: Option<Nanos>| t.map(Nanos::as_micros_f64);
    let point = |window: &hist::Window| {
        let end = window.start + hist::WINDOW;
        let at_end = recording.backlog.iter().rev().find(|point| point.offset <= end);
        WindowPoint {
            start_ms: window.start.0 / 1_000_000,
            count: window.count,
            p50_us: us(window.p50),
            p99_us: us(window.p99),
            max_us: us(window.max),
            backlog: at_end.map(|point| point.backlog),
            in_flight: at_end.map(|point| point.in_flight),
            disturbed: window.marked,
            ..WindowPoint::default()
        }
    };
    recording.windows.series().iter().map(point).collect()
}

/// What the generator's own loop saw of the host; the rest comes from `/proc`.
pub(crate) fn stalls(recording: &Recording) -> Noise {
    Noise {
        stalls: recording.stall_count,
        longest_stall_us: recording.stalls.iter().map(|s| s.span).max().unwrap_or_default().as_micros_f64(),
        stall_threshold_us: STALL_THRESHOLD.as_micros_f64(),
        disturbed_windows: recording.windows.marked() as u64,
        ..Noise::default()
    }
}

/// All histograms of a trial, one line each: `get.response_time`, `get.service_time` and so on.
pub(crate) fn log(recording: &Recording, resolved: &Resolved) -> Log {
    let interval = |tag: String, latency: &Latency| Interval {
        tag: Some(tag),
        start: Nanos::ZERO,
        duration: recording.window,
        latency: latency.clone(),
    };
    let mut intervals = Vec::new();
    for times in recording.operations.iter().filter(|times| !times.response_time.is_empty()) {
        for (name, latency) in [
            ("response_time", &times.response_time),
            ("service_time", &times.service_time),
            ("connection_wait", &times.connection_wait),
            ("generator_lag", &times.generator_lag),
        ] {
            intervals.push(interval(format!("{}.{name}", times.name), latency));
        }
    }
    let config = serde_json::to_string(resolved).unwrap_or_default();
    Log { comments: vec![format!("taillight {}", env!("CARGO_PKG_VERSION")), config], base: None, intervals }
}
