//! Synthetic experiments, shaped like real ones: a server whose response time rises as in a queue, a host that stalls
//! now and then, overload beyond the maximum, and trials that the generator invalidated. The same every time.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use std::collections::BTreeMap;

use results::study::{Axis, FigureKind, Point};
use results::*;
use serde_json::json;
use spec::{Load, Spec};
use units::{Nanos, QosBasis, Rate, ResponseTarget};

mod study;
mod traced;
mod viewers;

#[allow(unused_imports, reason = "each test uses its part")]
pub use study::{compared, studies_in_trouble, study};
#[allow(unused_imports, reason = "each test uses its part")]
pub use traced::traced;
#[allow(unused_imports, reason = "each test uses its part")]
pub use viewers::{viewed, viewing};

/// The shape of a server.
pub struct Server {
    pub name: &'static str,
    pub max_rps: f64,
    /// The response time of an idle server. Units: µs.
    pub base_us: f64,
    /// The burstiness of its tail, relative to M/M/1.
    pub burst: f64,
}

pub const SPHINX: Server = Server { name: "sphinx", max_rps: 150_000.0, base_us: 24.0, burst: 6.0 };
pub const MEMCACHED: Server = Server { name: "memcached", max_rps: 128_000.0, base_us: 31.0, burst: 8.0 };

/// A number from 0 to 1 that follows from its arguments.
fn noise(a: u64, b: u64) -> f64 {
    let mut x = a.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ b.wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    for _ in 0..3 {
        x ^= x >> 29;
        x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    (x >> 11) as f64 / (1u64 << 53) as f64
}

/// Parameters of a synthetic trial.
pub struct Plan<'a> {
    pub server: &'a Server,
    pub number: u64,
    pub purpose: Purpose,
    pub block: u32,
    pub share: Option<f64>,
    pub rps: f64,
    pub window_s: f64,
    pub lag_us: f64,
}

/// The response time at `percentile` of `server` under `rps`. Units: µs.
fn quantile(server: &Server, rps: f64, percentile: f64, window_s: f64, jitter: f64) -> f64 {
    let tail = -(1.0 - percentile / 100.0).max(1e-7).ln();
    let utilisation = (rps / (server.max_rps * 1.02)).min(0.985);
    let wait = server.burst * 1e6 / server.max_rps / (1.0 - utilisation);
    let host = if percentile > 99.7 { 900.0 * (percentile - 99.7) * (0.4 + jitter) } else { 0.0 };
    let late = (rps / server.max_rps - 1.0).max(0.0) * window_s * 1e6 * percentile / 100.0;
    (server.base_us + utilisation * wait * tail * (0.35 + 0.65 * tail / (1.0 + tail)) + host)
        * (0.94 + 0.12 * jitter)
        + late
}

fn summary(count: u64, at: impl Fn(f64) -> f64) -> LatencySummary {
    let supported = |p: f64| (count as f64 * (1.0 - p / 100.0) >= 10.0).then(|| at(p));
    let mean = (0..100).map(|i| at(f64::from(i) + 0.5)).sum::<f64>() / 100.0;
    LatencySummary {
        count,
        mean_us: (count > 0).then_some(mean),
        p50_us: supported(50.0),
        p90_us: supported(90.0),
        p95_us: supported(95.0),
        p99_us: supported(99.0),
        p99_9_us: supported(99.9),
        p99_99_us: supported(99.99),
        max_us: (count > 0).then(|| at(99.9999)),
    }
}

pub fn trial(plan: &Plan) -> Trial {
    let Plan { server, number, rps, window_s, .. } = *plan;
    let jitter = noise(number, 1);
    let achieved = rps.min(server.max_rps * (0.995 + 0.01 * noise(number, 2)));
    let overload = rps > server.max_rps * 1.005;
    let intended = (rps * window_s) as u64;
    let unfinished = if overload { ((rps - achieved) * window_s) as u64 } else { 0 };
    let response = |p: f64| quantile(server, rps, p, window_s, jitter);
    let lag = |p: f64| plan.lag_us * (0.2 + 0.8 * (-(1.0 - p / 100.0).max(1e-7).ln()) / 4.6);
    let operation = |name: &str, slower: f64, share: f64| {
        let count = (intended as f64 * share) as u64;
        Operation {
            name: name.into(),
            response_time: summary(count, |p| slower * response(p)),
            service_time: summary(count, |p| slower * response(p) * 0.9),
            connection_wait: summary(count, |p| if p < 80.0 { 0.0 } else { 0.1 * response(p) }),
            generator_lag: summary(count, lag),
            ..Operation::default()
        }
    };
    let windows: Vec<WindowPoint> = (0..(window_s * 10.0) as u64).map(|i| window(plan, i, jitter)).collect();
    let disturbed = windows.iter().filter(|window| window.disturbed).count() as u64;
    let mut p99s: Vec<f64> = windows.iter().filter_map(|window| window.p99_us).collect();
    p99s.sort_by(f64::total_cmp);
    let verdict = if plan.lag_us > 100.0 {
        let detail = format!("p99 lag {:.0} µs over the limit of 100 µs", plan.lag_us);
        let late = Invalid { reason: Reason::GeneratorLag, detail };
        let saturated = Invalid {
            reason: Reason::GeneratorSaturated,
            detail: "the generator was busy 99.2 % of the time, over the limit of 95 %".into(),
        };
        Verdict::Invalid { reasons: if plan.lag_us > 300.0 { vec![late, saturated] } else { vec![late] } }
    } else if overload {
        Verdict::Overloaded {
            achieved_share: achieved / rps,
            backlog_growth_rps: rps - achieved,
            timed_out_share: 0.0,
        }
    } else {
        Verdict::Valid
    };
    Trial {
        id: format!("{number:04}"),
        target: server.name.into(),
        purpose: plan.purpose,
        block: plan.block,
        load_share: plan.share,
        started: "2026-03-14T09:26:53Z".into(),
        offered_rps: rps,
        achieved_rps: achieved,
        window_s,
        warmup_s: 0.5,
        drain_s: 0.02,
        arrivals: Arrivals { intended, completed: intended - unfinished, errors: 0, timeouts: 0, unfinished },
        all: operation("all", 1.0, 1.0),
        operations: vec![operation("get", 0.98, 0.9), operation("set", 1.15, 0.1)],
        windowed_p99_us: p99s.get(p99s.len() / 2).copied(),
        curve: curve(intended, response),
        windows,
        generator: Generator {
            threads: 1,
            cpus: vec![1],
            connections: 16,
            depth: 1,
            pace: "spin".into(),
            io: "epoll".into(),
            receive_times: Some(ReceiveTimes { kernel_share: 1.0, clock_error_us: 0.05, clock_steps: 0 }),
            withheld: None,
            busy_share: (rps * 4.1e-6).min(0.99),
            busy_us_per_request: Some(4.1),
            lag_limit_us: Some((0.1 * response(99.0)).max(100.0)),
            backlog_at_end: unfinished,
            max_in_flight: 16,
        },
        noise: Noise {
            stalls: disturbed * 2,
            longest_stall_us: if disturbed > 0 { 4_200.0 } else { 0.0 },
            stall_threshold_us: 100.0,
            steal_share: Some(0.004),
            foreign_cpu_share: Some(0.012 * noise(number, 3)),
            disturbed_windows: disturbed,
            ..Noise::default()
        },
        counters: BTreeMap::from([("hit_ratio".into(), 1.0)]),
        spec: Some(Spec { load: Load::Rate(Rate::new(rps).unwrap()), ..Spec::default() }),
        verdict,
        hlog: Some(format!("trials/{number:04}.hlog")),
        within: vec![Within { target_us: 500.0, share: share_within(500.0, intended, unfinished, response) }],
        heat: Some(heat(plan, jitter)),
        ..Trial::default()
    }
}

fn window(plan: &Plan, i: u64, jitter: f64) -> WindowPoint {
    let Plan { server, number, rps, .. } = *plan;
    let disturbed = noise(number * 1000 + i, 4) > 0.95;
    let wobble = 0.85 + 0.3 * noise(number * 1000 + i, 5);
    let stall = if disturbed { 1_500.0 * noise(number * 1000 + i, 6) } else { 0.0 };
    let late = (rps / server.max_rps - 1.0).max(0.0) * i as f64 * 1e5;
    let at = |p: f64| quantile(server, rps.min(server.max_rps), p, 0.1, jitter);
    let count = (rps * 0.1) as u64;
    WindowPoint {
        start_ms: i * 100,
        count,
        p50_us: (count >= 20).then(|| at(50.0) * (0.97 + 0.06 * wobble) + late),
        p99_us: (count >= 1000).then(|| at(99.0) * wobble + stall + late),
        max_us: (count > 0).then(|| at(99.9) * wobble + 2.0 * stall + late),
        backlog: Some((late * rps / 1e6) as u64),
        in_flight: Some((rps.min(server.max_rps) * at(50.0) / 1e6 * (0.7 + wobble)) as u64),
        offered: Some((count as f64 * (0.97 + 0.06 * noise(number * 1000 + i, 8))) as u64),
        answered: Some((rps.min(server.max_rps) * 0.1 * (0.96 + 0.08 * noise(number * 1000 + i, 9))) as u64),
        errors: Some(0),
        hits: None,
        gets: None,
        disturbed,
    }
}

fn share_within(target_us: f64, intended: u64, unfinished: u64, response: impl Fn(f64) -> f64) -> f64 {
    let within = (0..10_000).filter(|i| response(f64::from(*i) / 10.0) <= target_us).count() as f64 / 1_000.0;
    within.min(1.0 - unfinished as f64 / intended.max(1) as f64)
}

fn heat(plan: &Plan, jitter: f64) -> Heat {
    let Plan { server, number, rps, window_s, .. } = *plan;
    let column = |i: u64| {
        let stalled = noise(number * 1000 + i, 4) > 0.95;
        let late = (rps / server.max_rps - 1.0).max(0.0) * i as f64 * 1e5;
        let mut counts = BTreeMap::new();
        for step in 0..200 {
            let percentile = (f64::from(step) + 0.5) / 2.0;
            let stall = if stalled && step % 40 == 7 { 10.0 * f64::from(step) } else { 0.0 };
            let wobble = 0.8 + 0.5 * noise(number * 1000 + i, 5);
            let ns = 1e3
                * (wobble * quantile(server, rps.min(server.max_rps), percentile, 0.1, jitter)
                    + stall
                    + late);
            let octave = ns.log2().floor();
            let cell = 4.0 * octave + (4.0 * (ns / octave.exp2() - 1.0)).floor();
            *counts.entry(cell as u32).or_insert(0.0) += rps / 2_000.0;
        }
        let (first, last) = (*counts.keys().next().unwrap(), *counts.keys().last().unwrap());
        let counts =
            (first..=last).map(|cell| counts.get(&cell).map_or(0, |n: &f64| n.ceil() as u64)).collect();
        HeatColumn { first, counts }
    };
    Heat { column_ms: 100, cells_per_octave: 4, columns: (0..(window_s * 10.0) as u64).map(column).collect() }
}

fn curve(count: u64, response: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = (0..=90).map(f64::from).map(|p| (p, response(p))).collect();
    for nines in 1..6 {
        let from = 100.0 - 100.0 / 10f64.powi(nines);
        points.extend(
            (1..=18).map(|i| from + f64::from(i) * 5.0 / 10f64.powi(nines)).map(|p| (p, response(p))),
        );
    }
    points.retain(|(p, _)| count as f64 * (1.0 - p / 100.0) >= 10.0);
    points
}

/// Adds the trials of one target: in every block a search for the maximum and the loads, then the peak search.
fn run(server: &Server, repeats: u32, invalidate: bool, number: &mut u64, trials: &mut Vec<Trial>) -> Target {
    let mut target = Target {
        name: server.name.into(),
        version: format!("{} 0.1.0", server.name),
        address: "127.0.0.1:41211".into(),
        command: vec!["taillight".into(), "serve".into(), server.name.into(), "--cpus".into(), "0".into()],
        cpus: vec![0],
        ..Target::default()
    };
    let mut add = |purpose, block, share, rps, window_s, lag_us: f64| {
        *number += 1;
        let plan = Plan { server, number: *number, purpose, block, share, rps, window_s, lag_us };
        trials.push(trial(&plan));
    };
    for block in 0..repeats {
        let max = server.max_rps * (0.99 + 0.02 * noise(u64::from(block), 7));
        for factor in [0.5, 1.0, 1.3, 1.15, 1.02] {
            add(Purpose::MaxSearch, block, None, factor * max, 1.0, 8.0 + 20.0 * factor);
        }
        target.max_throughput.push(MaxThroughput { block, low_rps: max, high_rps: max * 1.02 });
        for step in 1..=10 {
            let share = f64::from(step) / 10.0;
            let slip = invalidate && (block, step) == (1, 6) || invalidate && block == 2 && step == 9;
            let lag_us = if slip { 180.0 * f64::from(block) } else { 6.0 + 30.0 * share * share };
            add(Purpose::LoadPoint, block, Some(share), share * max, 3.0, lag_us);
        }
    }
    let peak = server.max_rps * 0.77;
    for factor in [0.9, 1.05, 0.97, 1.01] {
        add(Purpose::PeakSearch, repeats - 1, None, factor * peak, 2.0, 20.0);
    }
    target.peak = Some(Peak {
        low_rps: 0.97 * peak,
        high_rps: Some(1.01 * peak),
        share_of_max: Some(0.97 * 0.77),
        trials: 12,
        note: invalidate.then(|| "2 invalid trials were left out".into()),
    });
    target
}

fn empty(kind: Kind, name: &str, command: &[&str]) -> Experiment {
    Experiment {
        schema: SCHEMA,
        kind,
        name: name.into(),
        created: "2026-03-14T09:26:53Z".into(),
        elapsed_s: 152.0,
        complete: true,
        interrupted: None,
        command: command.iter().map(|word| (*word).into()).collect(),
        version: "0.1.0".into(),
        seed: 42,
        qos: ResponseTarget { percentile: 99.0, limit_ns: Nanos::from_micros(500), basis: None }.into(),
        qos_basis: QosBasis::Windowed,
        qos_basis_reason: "the host stalled during the run, which the raw p99 would charge to the server"
            .into(),
        host: json!({
            "cpu": { "model": "AMD EPYC 7B13", "sockets": 1, "cores": 2, "smt": false, "governor": null,
                     "caches": { "l2": "512 KiB", "l3": "32 MiB" } },
            "memory_bytes": 8_322_015_232_u64,
            "kernel": "6.1.0-28-cloud-amd64",
            "virtualization": "kvm",
            "clock": { "source": "kvm-clock", "read_ns": 28 },
            "limits": { "nofile": 1_048_576 },
        }),
        blocks: 0,
        until_settled: false,
        notes: Vec::new(),
        targets: Vec::new(),
        trials: Vec::new(),
    }
}

/// A sweep over one server with its searches, some trials overloaded and two invalid.
pub fn sweep() -> Experiment {
    let mut experiment = empty(
        Kind::Demo,
        "20260314-092653-demo",
        &["taillight", "demo", "--qos", "p99<500us", "--seed", "42"],
    );
    let mut number = 0;
    experiment.targets.push(run(&SPHINX, 3, true, &mut number, &mut experiment.trials));
    experiment.notes.push("Server and generator have one core each; both cores are virtual.".into());
    experiment
}

/// Has the host disturb the trials of `experiment` for which `hit` holds: every window but the first four, and half of the
/// processors taken.
pub fn disturb(experiment: &mut Experiment, hit: impl Fn(&Trial) -> bool) {
    for trial in experiment.trials.iter_mut().filter(|trial| hit(trial)) {
        let detail = "p99 5.2 ms over all windows, 0.3 ms over the undisturbed ones".into();
        trial.verdict = Verdict::Valid.against(Invalid { reason: Reason::HostDisturbed, detail });
        let times = &mut trial.all.response_time;
        (times.p99_us, times.p99_9_us, times.max_us) = (Some(5_200.0), Some(9_100.0), Some(20_000.0));
        trial.windowed_p99_us = Some(5_200.0);
        trial.noise.foreign_cpu_share = Some(0.52);
        for (i, window) in trial.windows.iter_mut().enumerate() {
            window.disturbed = i >= 4;
        }
        trial.noise.disturbed_windows = trial.windows.len().saturating_sub(4) as u64;
    }
}

/// A sweep with a compiler on the same host: it started after the maximum was found, and no load could be measured.
pub fn disturbed() -> Experiment {
    let mut experiment = sweep();
    experiment.name = "20260314-094500-demo".into();
    experiment.trials.retain(|trial| trial.block == 0);
    disturb(&mut experiment, |trial| trial.purpose != Purpose::MaxSearch);
    for trial in &mut experiment.trials {
        trial.counters.insert("server_cpu_us_per_request".into(), 5.2);
    }
    let target = &mut experiment.targets[0];
    (target.peak, target.max_throughput) = (None, target.max_throughput[..1].to_vec());
    experiment
}

/// Two servers, interleaved in one run.
pub fn live(repeats: u32) -> Experiment {
    let mut experiment = empty(
        Kind::CompareLive,
        "20260314-093311-compare",
        &["taillight", "compare", "--live", "sphinx", "memcached"],
    );
    let mut number = 0;
    for server in [&SPHINX, &MEMCACHED] {
        let invalidate = server.name == "memcached";
        experiment.targets.push(run(server, repeats, invalidate, &mut number, &mut experiment.trials));
    }
    experiment
}

/// Widens the bounds of response times of all trials of `experiment`, as if a compiler ran on the same host.
pub fn widen(experiment: &mut Experiment) {
    for trial in &mut experiment.trials {
        let bounds = |us: Option<f64>, low: f64| Bounds { low_us: low * us.unwrap(), high_us: us.unwrap() };
        let times = &trial.all.response_time;
        let of = |percentile, us, low| PercentileBounds { percentile, bounds: bounds(us, low) };
        trial.bounds = Some(TimeBounds {
            percentiles: vec![
                of(50.0, times.p50_us, 0.98),
                of(99.0, times.p99_us, 0.3),
                of(99.9, times.p99_9_us, 0.2),
            ],
            windowed_p99: Some(bounds(trial.windowed_p99_us, 0.4)),
            ..TimeBounds::default()
        });
        trial.disturbance =
            Some(Disturbance { windows: 50, undisturbed_windows: 31, ..Disturbance::default() });
        trial.noise.foreign_cpu_share = Some(0.41);
        trial.noise.programs = vec![
            Program { name: "rustc".into(), processors: 0.72 },
            Program { name: "cargo".into(), processors: 0.04 },
        ];
    }
}

/// One load from two machines on a cluster of three servers over UDP, with failures, follow-ups and gates.
pub fn load() -> Experiment {
    let mut experiment = empty(
        Kind::Load,
        "20260314-101500-load",
        &[
            "taillight",
            "load",
            "cache",
            "--agents",
            "a:7000,b:7000",
            "--rate",
            "90k",
            "--gate",
            "within(500us)>99%",
        ],
    );
    let plan = Plan {
        server: &SPHINX,
        number: 1,
        purpose: Purpose::Single,
        block: 0,
        share: None,
        rps: 90_000.0,
        window_s: 5.0,
        lag_us: 14.0,
    };
    let mut trial = trial(&plan);
    trial.target = "cluster".into();
    trial.transport = Some(Transport::UdpTcp);
    trial.arrivals.errors = 17;
    trial.arrivals.timeouts = 42;
    trial.arrivals.completed -= 59;
    trial.traffic = Traffic::over(22_500_000, 121_000_000, 5.0);
    trial.errors = vec![
        ErrorCount { kind: "datagram_lost".into(), count: 42, requests: Some(42), first_detail: None },
        ErrorCount {
            kind: "server_error".into(),
            count: 17,
            requests: Some(17),
            first_detail: Some("SERVER_ERROR out of memory storing object".into()),
        },
    ];
    let outcomes = |intended: u64, errors: u64, timeouts: u64| {
        Some(Arrivals { intended, completed: intended - errors - timeouts, errors, timeouts, unfinished: 0 })
    };
    trial.operations[0].outcomes = outcomes(405_000, 0, 42);
    trial.operations[1].outcomes = outcomes(45_000, 17, 0);
    let follow_up = Operation {
        name: "set-on-miss".into(),
        follow_up: true,
        outcomes: outcomes(3_120, 0, 0),
        ..trial.operations[1].clone()
    };
    trial.operations.push(follow_up);
    for (i, window) in trial.windows.iter_mut().enumerate() {
        window.errors = Some(if i % 13 == 4 { 20 } else { 0 });
    }
    let server = |host: &str, share: f64, slower: f64| ServerFigures {
        address: format!("{host}:11211"),
        requests: (450_000.0 * share) as u64,
        errors: (59.0 * share) as u64,
        share: Some(share),
        response_time: summary(150_000, |p| slower * quantile(&SPHINX, 60_000.0, p, 5.0, 0.5)),
        service_time: summary(150_000, |p| 0.9 * slower * quantile(&SPHINX, 60_000.0, p, 5.0, 0.5)),
        bytes_sent: Some(7_500_000),
        bytes_received: Some(40_000_000),
    };
    trial.servers =
        vec![server("10.0.0.11", 0.31, 1.0), server("10.0.0.12", 0.42, 1.4), server("10.0.0.13", 0.27, 0.9)];
    let connections: Vec<(u64, Option<Nanos>)> =
        (0..64).map(|i| (6_000 + 40 * (i % 17), Some(Nanos::from_micros(210 + 9 * (i % 11))))).collect();
    trial.connections = ConnectionSpread::of(&connections);
    trial.datagrams =
        Some(Datagrams { sent: 405_000, lost: 42, late: 7, duplicated: 2, reordered: 5, multi: 1_890 });
    let agent = |name: &str, offset: f64, lag: f64| AgentRecord {
        name: name.into(),
        address: format!("{name}:7000"),
        version: "0.1.0".into(),
        clock_offset_us: Some(offset),
        clock_offset_error_us: Some(3.0),
        drift_ppm: Some(0.8),
        offered_rps: 45_000.0,
        achieved_rps: 44_900.0,
        arrivals: 225_000,
        response_time: summary(225_000, |p| quantile(&SPHINX, 90_000.0, p, 5.0, 0.4)),
        generator_lag: summary(225_000, |p| lag * p / 100.0),
        busy_share: Some(0.2),
        knobs: Vec::new(),
        verdict: Verdict::Valid,
    };
    trial.agents = vec![agent("a", -12.4, 14.0), agent("b", 310.0, 22.0)];
    trial.gates = ["within(500us)>99%", "rate>=99%", "p99<100us", "set.p99<5ms"]
        .map(|gate| gate.parse::<Gate>().unwrap().evaluate(&trial))
        .to_vec();
    experiment.trials = vec![trial];
    experiment
}

/// A closed loop of eight clients, as mutilate's experiments of depth 1.
pub fn closed() -> Experiment {
    let mut experiment =
        empty(Kind::Load, "20260314-103000-load", &["taillight", "load", "cache", "--closed", "8"]);
    for number in 1..=3 {
        let plan = Plan {
            server: &SPHINX,
            number,
            purpose: Purpose::Single,
            block: number as u32 - 1,
            share: None,
            rps: 80_000.0,
            window_s: 3.0,
            lag_us: 5.0,
        };
        let mut trial = trial(&plan);
        trial.loop_kind = LoopKind::Closed;
        trial.closed_loop = Some(ClosedLoop {
            clients: 8,
            think_time_us: 0.0,
            expected_interval_us: Some(100.0),
            uncorrected: trial.all.response_time.clone(),
            corrected: Some(summary(260_000, |p| 1.6 * quantile(&SPHINX, 80_000.0, p, 3.0, 0.5))),
        });
        experiment.trials.push(trial);
    }
    experiment
}

/// The comparison of the two targets of [`live`].
pub fn comparison(experiment: &Experiment) -> Comparison {
    let side = |name: &str| Side {
        label: name.into(),
        folder: experiment.name.clone(),
        target: Some(name.into()),
        machine: machine(&experiment.host),
        created: experiment.created.clone(),
        effort: None,
    };
    let loads = |name: &str, share: f64| -> Vec<&Trial> {
        let of_load = |t: &&Trial| t.purpose == Purpose::LoadPoint && t.load_share == Some(share);
        experiment.trials.iter().filter(|t| t.target == name).filter(of_load).collect()
    };
    let axis = |label: &str, unit: &str| Axis { label: label.into(), unit: unit.into(), ..Axis::default() };
    let point = |metric: Metric, step: u32| {
        let share = f64::from(step) / 10.0;
        let (a, b) = (loads("memcached", share), loads("sphinx", share));
        let usable = |trials: &[&Trial]| trials.iter().filter(|t| t.verdict.is_usable()).count() as u32;
        let n = usable(&a).min(usable(&b));
        let of =
            |trial: &Trial| Point { x: trial.offered_rps.into(), y: metric.of(trial), n, ..Point::default() };
        let (one, two) = (of(a[0]), of(b[0]));
        let wide = 0.04 + 0.3 * noise(step.into(), metric as u64);
        let value = one.y.zip(two.y).map(|(a, b)| b / a);
        // Widened so that no load shows the other side as faster.
        let wide = if value > Some(1.0) { wide + 0.25 } else { wide };
        let ratio = value.map(|value| Ratio {
            value,
            low: Some(value * (1.0 - wide)),
            high: Some(value * (1.0 + wide)),
            n,
            judged: n >= 6,
            p_value: (n >= 6).then_some(if (value - 1.0).abs() > value * wide { 0.016 } else { 0.31 }),
        });
        let overloaded = a.iter().chain(&b).any(|t| matches!(t.verdict, Verdict::Overloaded { .. }));
        let invalid = a.len() as u32 - usable(&a) + b.len() as u32 - usable(&b);
        let disturbed = if step == 7 && metric == Metric::P99 { 2 } else { 0 };
        let undisturbed =
            ratio.filter(|_| disturbed > 0).map(|ratio| Ratio { n: n.saturating_sub(2), ..ratio });
        ComparedPoint {
            a: one,
            b: two,
            ratio,
            share: Some(share),
            invalid,
            disturbed,
            undisturbed,
            overloaded,
        }
    };
    let response_times = ComparedFigure {
        id: ComparedFigure::LOADS.into(),
        title: "Response times".into(),
        kind: FigureKind::Bars,
        x: axis("load", "rps"),
        y: axis("response time", "us"),
        series: Metric::ALL
            .map(|metric| ComparedSeries {
                name: metric.words().into(),
                points: (1..=10).map(|step| point(metric, step)).collect(),
            })
            .into(),
        left_out: Vec::new(),
    };
    let peak = |name: &str| {
        let found = experiment.targets.iter().find(|t| t.name == name).and_then(|t| t.peak.clone()).unwrap();
        let (x, n, low) = ("p99 ≤ 1 ms".into(), found.trials, Some(found.low_rps));
        Point { x, n, y: low, low, high: found.high_rps, ..Point::default() }
    };
    let (a, b) = (peak("memcached"), peak("sphinx"));
    let over = |b: Option<f64>, a: Option<f64>| b.zip(a).map(|(b, a)| b / a);
    let (low, high) = (over(b.low, a.high), over(b.high, a.low));
    let ratio = Ratio { value: over(b.y, a.y).unwrap(), low, high, n: 9, judged: true, p_value: None };
    let points = vec![ComparedPoint { a, b, ratio: Some(ratio), ..ComparedPoint::default() }];
    let peaks = ComparedFigure {
        id: ComparedFigure::PEAK.into(),
        title: "Peak throughput under QoS".into(),
        kind: FigureKind::Bars,
        x: axis("QoS target", ""),
        y: axis("peak throughput", "rps"),
        series: vec![ComparedSeries { name: "peak throughput".into(), points }],
        left_out: Vec::new(),
    };
    Comparison {
        schema: COMPARISON_SCHEMA,
        a: side("memcached"),
        b: side("sphinx"),
        paired: true,
        differences: vec![
            "sphinx was started by this program, memcached 1.6.18 was found on the machine".into(),
        ],
        figures: vec![response_times, peaks],
        notes: vec!["2 invalid trials of memcached were left out.".into()],
        ..Comparison::default()
    }
}

/// Results that a run may leave in trouble, each with its name.
pub fn degenerate() -> Vec<(&'static str, Experiment)> {
    let one = |change: &dyn Fn(&mut Trial)| {
        let mut experiment = sweep();
        experiment.trials.truncate(6);
        experiment.trials.drain(..5);
        experiment.trials.iter_mut().for_each(change);
        experiment.targets[0].peak = None;
        experiment.targets[0].max_throughput.clear();
        experiment
    };
    let mut nothing = sweep();
    nothing.trials.clear();
    nothing.targets.clear();
    nothing.complete = false;
    nothing.interrupted = Some("Ctrl-C".into());
    let mut all_invalid = sweep();
    let reasons = vec![Invalid { reason: Reason::RateMissed, detail: "got 10 % of the rate".into() }];
    all_invalid.trials.iter_mut().for_each(|t| t.verdict = Verdict::Invalid { reasons: reasons.clone() });
    let mut unnamed = sweep();
    unnamed.targets.clear();
    let mut no_reasons = all_invalid.clone();
    no_reasons.trials.iter_mut().for_each(|t| t.verdict = Verdict::Invalid { reasons: Vec::new() });
    let zero = |t: &mut Trial| {
        t.offered_rps = 0.0;
        t.achieved_rps = 0.0;
        t.all.response_time = summary(5000, |_| 0.0);
        t.all.generator_lag = summary(5000, |_| 0.0);
        t.windowed_p99_us = Some(0.0);
        t.curve = vec![(0.0, 0.0), (50.0, 0.0), (100.0, 0.0)];
        t.windows.iter_mut().for_each(|w| (w.p50_us, w.p99_us, w.max_us) = (Some(0.0), Some(0.0), Some(0.0)));
    };
    let none = |t: &mut Trial| {
        t.all = Operation::default();
        t.operations.clear();
        t.windowed_p99_us = None;
        t.curve.clear();
        t.windows.iter_mut().for_each(|w| (w.p50_us, w.p99_us, w.max_us) = (None, None, None));
        t.spec = None;
        t.generator = Generator::default();
    };
    let huge = |t: &mut Trial| {
        t.offered_rps = f64::MAX;
        t.achieved_rps = f64::MIN_POSITIVE;
        t.all.response_time = summary(5000, |p| if p < 60.0 { f64::MIN_POSITIVE } else { f64::MAX });
        t.windowed_p99_us = Some(f64::INFINITY);
        t.generator.busy_share = f64::NAN;
        t.windows.iter_mut().for_each(|w| w.start_ms = u64::MAX - 1000);
    };
    vec![
        ("no trials", nothing),
        ("one trial", one(&|_| {})),
        ("all invalid", all_invalid),
        ("invalid without a reason", no_reasons),
        ("nothing measured", one(&none)),
        ("zeros", one(&zero)),
        ("out of every range", one(&huge)),
        ("targets unknown", unnamed),
    ]
}
