//! Turns a recording into the record of a trial.

use hist::hlog::{Interval, Log};
use hist::{Latency, WindowSelection, Windows};
use openloop::{
    EndpointTimes, Footing, LATE, Load, OperationTimes, Recording, STALL_THRESHOLD, SessionTally, Tally,
    moved_limit,
};
use results::{
    Arrivals, Bounds, ClosedLoop, ConnectionSpread, Datagrams, DistributionSummary, Disturbance, ErrorCount,
    Generator, Heat, LatencySummary, Lateness, LoopKind, Noise, Operation, OperationLimit, PercentileBounds,
    ReceiveTimes, ServerFigures, Sessions, TierWork, TimeBounds, Traffic, Trial, WindowPoint, Within,
    counted,
};
use spec::Spec;
use units::Nanos;
use workloads::social::{TIERS, of_operation};

/// The record of a trial of the resolved `spec`; `about` has the facts that the recording does not hold. The lab fills
/// in its identifier, target, purpose and block.
pub(crate) fn record(recording: &Recording, load: &Load, spec: Spec, about: Trial) -> Trial {
    let all = recording.all();
    let footing = Footing::of(recording);
    let over_time = recording.windows.over_time(WindowSelection::All);
    let us = |t: Nanos| t.as_micros_f64();
    let arrivals = arrivals(&recording.tally);
    let counters = recording
        .counters
        .iter()
        .filter_map(|(name, count, of)| counted(name, *count, *of))
        .chain(about.counters)
        .collect();
    let mut targets = spec.generator.target_latency.clone();
    targets.sort_unstable();
    targets.dedup();
    let within = |target: Nanos| Within::of(&all.response_time, &arrivals, target);
    let generator = Generator {
        threads: recording.threads,
        connections: match recording.backlog.iter().map(|point| point.sessions).max() {
            Some(sessions) if spec.workload.has_sessions() => u32::try_from(sessions).unwrap_or(u32::MAX),
            _ if !recording.connections.is_empty() => {
                u32::try_from(recording.connections.len()).unwrap_or(u32::MAX)
            }
            _ => spec.generator.connections,
        },
        depth: spec.generator.depth,
        pace: spec.generator.pace().to_string(),
        receive_times: recording.receives.stamped_share().map(|kernel_share| ReceiveTimes {
            kernel_share,
            clock_error_us: us(recording.receives.clock_error),
            clock_steps: recording.receives.clock_steps,
        }),
        withheld: (recording.withheld != openloop::Withheld::default()).then(|| results::Withheld {
            arrivals: recording.withheld.arrivals,
            share: recording.withheld_share(),
            absences: recording.withheld.absences,
            absent_s: recording.withheld.time.as_secs_f64(),
        }),
        busy_share: recording.busy_share(),
        busy_us_per_request: (recording.answered_in_window > 0)
            .then(|| recording.busy.as_micros_f64() / recording.answered_in_window as f64),
        lag_limit_us: all.response_time.value_at(99.0).map(|p99| us(openloop::lag_limit(p99))),
        backlog_at_end: recording.backlog.last().map_or(0, |point| point.backlog),
        max_in_flight: recording.max_in_flight,
        ..about.generator
    };
    let seen = |times: &&OperationTimes| times.tally.intended > 0 || !times.response_time.is_empty();
    let mut operations: Vec<Operation> = recording.operations.iter().filter(seen).map(operation).collect();
    for operation in &mut operations {
        if let Some(limit) = spec.workload.limit_of(&operation.name) {
            limited(operation, limit, recording);
        }
    }
    Trial {
        offered_rps: match load {
            Load::Open { rate, .. } => rate.rps(),
            // A closed loop has no offered load: the clients sent requests as fast as they were answered.
            Load::Closed { .. } => recording.achieved_rps(),
        },
        achieved_rps: recording.achieved_rps(),
        window_s: recording.window.as_secs_f64(),
        warmup_s: spec.time.warmup.as_secs_f64(),
        drain_s: recording.drain.as_secs_f64(),
        loop_kind: match load {
            Load::Open { .. } => LoopKind::Open,
            Load::Closed { .. } => LoopKind::Closed,
        },
        closed_loop: match load {
            Load::Open { .. } => None,
            Load::Closed { think } => {
                let interval = recording.expected_interval().unwrap_or_default();
                let clients = u32::try_from(recording.clients).unwrap_or(u32::MAX);
                Some(ClosedLoop::new(clients, *think, &all.response_time, interval))
            }
        },
        arrivals,
        within: targets.into_iter().filter_map(within).collect(),
        traffic: Traffic::over(
            recording.endpoints.iter().map(|endpoint| endpoint.bytes_sent).sum(),
            recording.endpoints.iter().map(|endpoint| endpoint.bytes_received).sum(),
            recording.window.as_secs_f64(),
        ),
        errors: errors(recording),
        servers: servers(recording),
        connections: connections(recording),
        datagrams: datagrams(recording),
        all: operation(&all),
        operations,
        windowed_p99_us: footing.windowed_p99().map(us),
        windows: windows(recording, &over_time),
        curve: all.response_time.curve().into_iter().map(|(percentile, t)| (percentile, us(t))).collect(),
        generator,
        lateness: Some(lateness(recording, &footing)),
        bounds: Some(bounds(recording, &footing)),
        disturbance: Some(disturbance(recording, &footing)),
        counters,
        sessions: spec.workload.has_sessions().then(|| sessions(recording)),
        spec: Some(spec),
        heat: Some(Heat::of(&over_time)),
        ..about
    }
}

fn arrivals(tally: &Tally) -> Arrivals {
    Arrivals {
        intended: tally.intended,
        completed: tally.completed,
        errors: tally.errors,
        timeouts: tally.timeouts,
        unfinished: tally.unfinished,
    }
}

/// The failures of the window by kind, the most frequent first.
fn errors(recording: &Recording) -> Vec<ErrorCount> {
    let mut kinds: Vec<ErrorCount> = recording
        .errors
        .iter()
        .filter(|kind| kind.in_window > 0)
        .map(|kind| ErrorCount {
            kind: kind.kind.replace(' ', "_"),
            count: kind.in_window,
            requests: Some(kind.requests),
            first_detail: Some(kind.first.clone()),
        })
        .collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
    kinds
}

/// Figures of each server of a cluster; empty for a single server.
fn servers(recording: &Recording) -> Vec<ServerFigures> {
    if recording.endpoints.len() < 2 {
        return Vec::new();
    }
    let all: u64 = recording.endpoints.iter().map(|endpoint| endpoint.tally.intended).sum();
    let figures = |endpoint: &EndpointTimes| ServerFigures {
        address: endpoint.address.clone(),
        requests: endpoint.tally.intended,
        errors: endpoint.tally.errors + endpoint.tally.timeouts,
        share: (all > 0).then(|| endpoint.tally.intended as f64 / all as f64),
        response_time: LatencySummary::of(&endpoint.response_time),
        service_time: LatencySummary::of(&endpoint.service_time),
        bytes_sent: Some(endpoint.bytes_sent),
        bytes_received: Some(endpoint.bytes_received),
    };
    recording.endpoints.iter().map(figures).collect()
}

fn connections(recording: &Recording) -> Option<ConnectionSpread> {
    let answered: Vec<(u64, Option<Nanos>)> =
        recording.connections.iter().map(|c| (c.answered, c.response_time.percentile(99.0))).collect();
    ConnectionSpread::of(&answered)
}

/// Outcomes of sessions, and the figures that their QoS target uses.
fn sessions(recording: &Recording) -> Sessions {
    let SessionTally { underway, begun, refused, never_begun, faulty, ended, cut } = recording.sessions;
    let distributions = recording
        .distributions
        .iter()
        .map(|one| (one.name.clone(), DistributionSummary::of(&one.values, one.over_time.as_ref())));
    let live: Vec<(f64, u64)> =
        recording.backlog.iter().map(|point| (point.offset.as_secs_f64(), point.sessions)).collect();
    let distributions = distributions.collect();
    Sessions {
        begun,
        underway,
        ended,
        cut,
        refused,
        never_begun,
        faulty,
        distributions,
        ..Sessions::default()
    }
    .with_live(&live)
}

fn datagrams(recording: &Recording) -> Option<Datagrams> {
    let counted = recording.datagrams;
    let of_workload = |name: &str| {
        recording.counters.iter().find(|(known, _, _)| known == name).map_or(0, |(_, count, _)| *count)
    };
    (counted.sent > 0).then(|| Datagrams {
        sent: counted.sent,
        lost: counted.lost,
        late: counted.late,
        duplicated: counted.duplicated,
        reordered: of_workload("udp_reordered_datagrams"),
        multi: of_workload("udp_multi_datagram_replies"),
    })
}

fn operation(times: &OperationTimes) -> Operation {
    Operation {
        name: times.name.clone(),
        response_time: LatencySummary::of(&times.response_time),
        service_time: LatencySummary::of(&times.service_time),
        connection_wait: LatencySummary::of(&times.connection_wait),
        generator_lag: LatencySummary::of(&times.generator_lag),
        outcomes: Some(arrivals(&times.tally)),
        follow_up: times.follow_up,
        ..Operation::default()
    }
}

/// Adds to an operation with its own limit: the share within it, the work of the site's tiers, and its distribution.
fn limited(operation: &mut Operation, limit: Nanos, recording: &Recording) {
    let name = operation.name.clone();
    let counted = |counter: &str| {
        let name = of_operation(counter, &name);
        recording.counters.iter().find(|(known, ..)| *known == name).map(|(_, count, of)| (*count, *of))
    };
    operation.within = counted("within").map(|(within, due)| OperationLimit {
        limit_us: limit.as_micros_f64(),
        due,
        within,
    });
    let mean =
        |counter: &str| counted(counter).filter(|(_, of)| *of > 0).map(|(sum, of)| sum as f64 / of as f64);
    let tier = |tier: &&str| {
        let mean_us = mean(&format!("{tier}_us"))?;
        Some(TierWork { name: (*tier).into(), mean_us, calls: mean(&format!("{tier}_calls"))? })
    };
    operation.tiers = TIERS.iter().filter_map(tier).collect();
    if let Some(times) = recording.operations.iter().find(|times| times.name == name) {
        let us = |(percentile, time): (f64, Nanos)| (percentile, time.as_micros_f64());
        operation.curve = times.response_time.curve().into_iter().map(us).collect();
    }
}

fn windows(recording: &Recording, over_time: &Windows) -> Vec<WindowPoint> {
    let us = |t: Option<Nanos>| t.map(Nanos::as_micros_f64);
    let has_gets = recording.intervals.iter().any(|counts| counts.gets > 0);
    let point = |(i, window): (usize, &hist::Window)| {
        let end = window.start + recording.interval;
        let counts = recording.intervals.get(i);
        let at_end = recording.backlog.iter().rev().find(|point| point.offset <= end);
        WindowPoint {
            start_ms: window.start.0 / 1_000_000,
            count: window.count,
            p50_us: us(window.p50),
            p99_us: us(window.p99),
            max_us: us(window.max),
            backlog: at_end.map(|point| point.backlog),
            in_flight: at_end.map(|point| point.in_flight),
            offered: counts.map(|counts| counts.offered),
            answered: counts.map(|counts| counts.answered),
            errors: counts.map(|counts| counts.failed),
            hits: counts.filter(|_| has_gets).map(|counts| counts.hits),
            gets: counts.filter(|_| has_gets).map(|counts| counts.gets),
            disturbed: window.marked,
        }
    };
    over_time.series().iter().enumerate().map(point).collect()
}

/// Effect that the generator may have had on the response times that the trial rests on.
pub(crate) fn lateness(recording: &Recording, footing: &Footing) -> Lateness {
    let without = footing.claimed_in_time(recording);
    Lateness {
        over_us: LATE.as_micros_f64(),
        requests: recording.late.count(),
        windows: footing.late_windows as u64,
        limit_us: without.percentile(99.0).map(|p99| moved_limit(p99).as_micros_f64()),
        response_time: LatencySummary::of(&without),
    }
}

/// Bounds of the response times without the effects of generator and host.
pub(crate) fn bounds(recording: &Recording, footing: &Footing) -> TimeBounds {
    let of = |bounds: Option<(Nanos, Nanos)>| {
        bounds.map(|(low, high)| Bounds { low_us: low.as_micros_f64(), high_us: high.as_micros_f64() })
    };
    let all = TimeBounds::PERCENTILES.into_iter().zip(footing.bounds(TimeBounds::PERCENTILES));
    let percentiles = all.filter_map(|(percentile, bounds)| {
        let bounds = of(bounds)?;
        Some(PercentileBounds { percentile, bounds })
    });
    TimeBounds {
        percentiles: percentiles.collect(),
        windowed_p99: of(footing.windowed_p99_bounds()),
        within: openloop::within_at_most(recording, footing),
        slowed: openloop::slowed(recording, footing),
    }
}

/// Effect that the host may have had on them.
pub(crate) fn disturbance(recording: &Recording, footing: &Footing) -> Disturbance {
    Disturbance {
        windows: footing.windows as u64,
        window_ms: recording.windows.length().as_secs_f64() * 1e3,
        undisturbed_windows: footing.undisturbed_windows as u64,
        touched_share: footing.touched,
        server_taken_share: recording.taken.server,
        generator_taken_share: recording.taken.generator,
        p99_at_least_us: footing
            .tail_in_time
            .filter(|_| footing.percentile == 99.0)
            .map(Nanos::as_micros_f64),
        undisturbed: (footing.undisturbed_windows > 0).then(|| LatencySummary::of(&footing.undisturbed)),
        windowed_p99_of_all_us: footing.windowed_p99_of_all().map(Nanos::as_micros_f64),
        basis: footing.basis,
    }
}

/// Stalls that the generator's own loop saw; the rest of the noise comes from `/proc`.
pub(crate) fn stalls(recording: &Recording) -> Noise {
    Noise {
        stalls: recording.stall_count + recording.withheld.absences,
        longest_stall_us: recording
            .stalls
            .iter()
            .map(|stall| stall.span)
            .chain([recording.withheld.longest])
            .max()
            .unwrap_or_default()
            .as_micros_f64(),
        stall_threshold_us: STALL_THRESHOLD.as_micros_f64(),
        disturbed_windows: recording.windows.over_time(WindowSelection::All).marked() as u64,
        ..Noise::default()
    }
}

/// All histograms of a trial, one line each: `get.response_time`, `get.service_time` and so on. A tag of the format has
/// no spaces and commas: `set-on-miss.response_time`.
pub(crate) fn log(recording: &Recording, trial: &Trial) -> Log {
    let interval = |tag: String, latency: &Latency| Interval {
        tag: Some(tag),
        start: Nanos::ZERO,
        duration: recording.window,
        latency: latency.clone(),
    };
    let mut intervals = Vec::new();
    for times in recording.operations.iter().filter(|times| !times.response_time.is_empty()) {
        let operation = times.name.replace([' ', ','], "-");
        for (name, latency) in [
            ("response_time", &times.response_time),
            ("service_time", &times.service_time),
            ("connection_wait", &times.connection_wait),
            ("generator_lag", &times.generator_lag),
        ] {
            intervals.push(interval(format!("{operation}.{name}"), latency));
        }
    }
    let config = trial.configuration().to_string();
    Log { comments: vec![format!("taillight {}", env!("CARGO_PKG_VERSION")), config], base: None, intervals }
}
