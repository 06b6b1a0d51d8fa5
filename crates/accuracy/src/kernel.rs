//! The engine's service times against an independent observer of the same requests' packets.
//!
//! The engine ends a request at the receive stamp of its own socket. The observer is a packet socket: the kernel stamps
//! each packet for it before the device transmits the packet, by a separate reading of the clock.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use hist::Latency;
use openloop::{Answered, Endpoint, Generator, Plan, Recording, WhenAbsent, Workload, judge};
use probes::{PacketLog, Timed};
use reactor::WallClock;
use results::{Noise, Verdict};
use serde::Serialize;
use spec::workload;
use trial::{Clocks, Watch};
use units::{Nanos, Time};
use workloads::cache::{Cache, CacheConfig, Cluster, Items, Placement, Protocol, Seat};
use workloads::null::Null;
use workloads::web::{Checked, Pages, Verify, Web, WebConfig, WebStreams};

use crate::known::{self, Server};
use crate::stalls::{self, Stalled, Stalls};
use crate::table::Table;
use crate::{Setting, noise_words, us};

/// Largest difference between engine and packets at p50. Derivation: the send's system call takes 1 µs before the
/// request's packet on a quiet machine, which is part of a service time; recording and the loopback device may take as
/// long after the response's packet.
const BAR_P50: Nanos = Nanos::from_micros(3);
/// Largest difference at p99.
const BAR_P99: Nanos = Nanos::from_micros(10);
/// Largest difference at p99 with planted stalls, as a share of the figure, if that is more.
const BAR_STALLED: f64 = 0.02;
/// Shares of the generator's ceiling.
const SHARES: [f64; 3] = [0.05, 0.15, 0.30];
/// Connections, as in the measurement of the ceiling.
const CONNECTIONS: usize = 64;
/// Requests in flight on each connection.
const DEPTH: u32 = 1;
/// One in this many connections is observed, which bounds memory and the load added by recording.
const OBSERVED: usize = 8;
/// Bits of a client's port that are clear on an observed connection. The kernel gives connections even ports, some
/// apart.
/// Source: the kernel's `__inet_hash_connect`.
const MASK: u16 = 2 * (OBSERVED as u16 - 1);
/// Three times the highest rate that any generator has reached on one core here.
const SATURATING_RATE: f64 = 600_000.0;
/// The ceiling is a mean over some 10⁵ requests after this long,
const CEILING_WINDOW: Nanos = Nanos::from_secs(1);
/// and the median of this many of them: a shared machine is slower in one second than in the next.
const CEILINGS: usize = 5;

/// One load.
#[derive(Serialize)]
pub(crate) struct KernelRow {
    stalled: Stalled,
    share_of_ceiling: f64,
    ceiling_rps: f64,
    offered_rps: f64,
    /// Requests due in the window and answered.
    requests: u64,
    /// Requests that both engine and observer timed.
    compared: u64,
    /// Requests that only the observer timed, or that overlap another on their connection.
    unpaired: u64,
    /// Packets that the kernel dropped for lack of room.
    dropped: u64,
    engine_us: Pair,
    packets_us: Pair,
    /// Engine minus packets, request by request, without sign.
    difference_us: Pair,
    /// From the engine's sending time to the request's packet.
    before_us: Pair,
    /// From the response's packet to the engine's end of the request.
    after_us: Pair,
    /// Error of a packet's stamp after conversion to the engine's clock.
    clocks_us: f64,
    verdict: Verdict,
    noise: Noise,
    /// Whether both agree; `None` if too few requests were compared.
    pub(crate) within: Option<bool>,
}

/// Two percentiles. Units: in the name of the field.
#[derive(Clone, Copy, Serialize)]
struct Pair {
    p50: Option<f64>,
    p99: Option<f64>,
}

impl Pair {
    fn of(latency: &Latency) -> Pair {
        let at = |percentile| latency.percentile(percentile).map(Nanos::as_micros_f64);
        Pair { p50: at(50.0), p99: at(99.0) }
    }

    fn words(self) -> String {
        format!("{} / {}", us(self.p50), us(self.p99))
    }
}

/// Workload, and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// Lines, the smallest requests.
    Lines,
    /// HTTP requests for a page of 4 KiB.
    Pages,
    /// The same by HTTP/2, one stream at a time on a connection.
    Streams,
    /// Gets of values of 200 B by RESP.
    Resp,
}

impl Traffic {
    /// The null server's arguments.
    fn server(self) -> &'static [&'static str] {
        match self {
            Traffic::Lines => &[],
            Traffic::Pages | Traffic::Streams => &["--dialect", "http", "--value-size", "4096"],
            Traffic::Resp => &["--dialect", "memcached"],
        }
    }

    fn about(self) -> &'static str {
        match self {
            Traffic::Lines => "null server, lines",
            Traffic::Pages => "null server, HTTP, pages of 4 KiB",
            Traffic::Streams => "null server, HTTP/2, pages of 4 KiB",
            Traffic::Resp => "null server, RESP, values of 200 B",
        }
    }
}

/// Measures each share of the ceiling, with and without planted stalls. Without a packet socket it prints why, and
/// measures nothing.
pub(crate) fn run(setting: &Setting, sent: Traffic) -> Result<Vec<KernelRow>> {
    if let Some(error) = PacketLog::start(1, MASK, 1).err() {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => "run as root, or with CAP_NET_RAW",
            _ => "it takes a kernel with AF_PACKET",
        };
        anstream::eprintln!(
            "taillight: no packet socket ({error}), so service times are not compared with packets: {hint}"
        );
        return Ok(Vec::new());
    }
    match sent {
        Traffic::Lines => rows(setting, sent, |_| Ok(Null)),
        Traffic::Pages => rows(setting, sent, |server| pages(&page(server)?)),
        Traffic::Streams => rows(setting, sent, |server| {
            let config = page(server)?;
            Ok(WebStreams::new(&config, pages(&config)?, DEPTH))
        }),
        Traffic::Resp => rows(setting, sent, gets),
    }
}

/// One page of a server.
fn page(server: SocketAddr) -> Result<WebConfig> {
    Ok(WebConfig {
        urls: vec![format!("http://{server}/page").parse()?],
        options: workload::Web { verify: Some(Verify::None), ..workload::Web::default() },
        pages: Pages::One,
        body: None,
        seed: 1,
    })
}

fn pages(config: &WebConfig) -> Result<Web> {
    Ok(Web::new(config, Arc::new(Checked::new(config)), 0)?)
}

/// Gets by RESP.
fn gets(server: SocketAddr) -> Result<Cache> {
    let servers = vec![server.to_string().parse()?];
    let config = CacheConfig {
        options: workload::Cache { protocol: Protocol::Resp, ..workload::Cache::default() },
        cluster: Cluster { servers, placement: Placement::Replicated },
        ..CacheConfig::default()
    };
    let items = Arc::new(Items::new(&config));
    Ok(Cache::new(&config, items, Seat::ONLY)?)
}

fn rows<W: Workload + Send>(
    setting: &Setting,
    sent: Traffic,
    workload: impl Fn(SocketAddr) -> Result<W>,
) -> Result<Vec<KernelRow>> {
    let server = Server::start(sent.server(), &setting.cpus)?;
    let as_hard_as_it_goes = || -> Result<f64> {
        let plan = plan(server.address, SATURATING_RATE, setting)?;
        let plan = Plan { window: CEILING_WINDOW, drain: Nanos::from_millis(20), ..plan };
        Ok(drive(&generator(plan, setting), workload(server.address)?)?.achieved_rps())
    };
    let ceilings = (0..CEILINGS).map(|_| as_hard_as_it_goes()).collect::<Result<Vec<_>>>()?;
    let ceiling = stats::median(&ceilings).context("no ceiling was measured")?;
    let mut rows = Vec::new();
    for stalled in [Stalled::None, Stalled::Generator, Stalled::Server] {
        for share in SHARES {
            let load = Load { stalled, share, ceiling };
            rows.push(measure(&load, &server, workload(server.address)?, setting)?);
        }
    }
    server.stop()?;
    Ok(rows)
}

/// Conditions of one row.
struct Load {
    stalled: Stalled,
    share: f64,
    /// Units: rps.
    ceiling: f64,
}

fn measure<W: Workload + Send>(
    load: &Load,
    server: &Server,
    workload: W,
    setting: &Setting,
) -> Result<KernelRow> {
    let rps = load.share * load.ceiling;
    let plan = plan(server.address, rps, setting)?;
    let offered = plan.load.clone();
    // Half more than expected.
    let requests = (1.5 * rps * (plan.warmup + plan.window).as_secs_f64()) as usize + 1_000;
    let mut generator = generator(plan, setting);
    generator.keep_answered = requests;
    let before = WallClock::sample();
    let watch = Watch::start(&[server.pid()]);
    let stalls = Stalls::start(load.stalled, stalls::EVERY, server.pid(), setting)?;
    // Two packets for each request, and twice the expected number of observed connections.
    let log = PacketLog::start(server.address.port(), MASK, 4 * requests / OBSERVED)?;
    let mut recording = drive(&generator, workload)?;
    let timed = log.finish();
    stalls.map_or(Ok(()), Stalls::finish)?;
    let (noise, _) = watch.finish(&mut recording);
    let clocks = Clocks { before, after: WallClock::sample() };
    let verdict = judge(&recording, &offered, Vec::new());
    let compared = Compared::new(&recording, generator.take_answered(), &timed, &clocks);
    Ok(KernelRow {
        stalled: load.stalled,
        share_of_ceiling: load.share,
        ceiling_rps: load.ceiling,
        offered_rps: rps,
        requests: recording.tally.completed,
        compared: compared.engine.count(),
        unpaired: compared.unpaired,
        dropped: timed.dropped,
        engine_us: Pair::of(&compared.engine),
        packets_us: Pair::of(&compared.packets),
        difference_us: Pair::of(&compared.difference),
        before_us: Pair::of(&compared.before),
        after_us: Pair::of(&compared.after),
        clocks_us: clocks.error_us(),
        verdict,
        noise,
        within: compared.agree(load.stalled),
    })
}

fn plan(server: SocketAddr, rps: f64, setting: &Setting) -> Result<Plan> {
    let plan = known::plan(server, rps, setting.seed, setting.window)?;
    let endpoints = vec![Endpoint { address: server.into(), connections: CONNECTIONS }];
    Ok(Plan { endpoints, depth: DEPTH as usize, when_absent: WhenAbsent::Withhold, ..plan })
}

fn generator(plan: Plan, setting: &Setting) -> Generator {
    Generator::new(plan, 1, vec![setting.generator()], Arc::default())
}

/// Runs the one thread of a generator.
fn drive<W: Workload + Send>(generator: &Generator, workload: W) -> Result<Recording> {
    let workload = Mutex::new(Some(workload));
    let only = |_| workload.lock().ok().and_then(|mut one| one.take()).expect("the generator has one thread");
    Ok(generator.run(only)?)
}

/// Service times of the same requests by engine and observer.
struct Compared {
    engine: Latency,
    packets: Latency,
    difference: Latency,
    before: Latency,
    after: Latency,
    unpaired: u64,
}

impl Compared {
    /// Pairs the packets of the window with the engine's requests.
    ///
    /// The generator's one thread sends requests one after the other, each in its own system call. So a packet belongs
    /// to the request with the latest `sent` before it.
    fn new(recording: &Recording, mut answered: Vec<Answered>, timed: &Timed, clocks: &Clocks) -> Compared {
        answered.sort_unstable_by_key(|request| request.sent);
        let (from, to) = (recording.window_start, recording.window_start + recording.window);
        let [engine, packets, difference, before, after] = [(); 5].map(|()| Latency::new());
        let mut compared = Compared { engine, packets, difference, before, after, unpaired: 0 };
        let mut taken = vec![false; answered.len()];
        for request in &timed.requests {
            let asked = clocks.monotonic(Time(request.asked_ns));
            if !(from..to).contains(&asked) {
                continue;
            }
            let earlier = answered.partition_point(|one| one.sent <= asked);
            let Some(at) = earlier.checked_sub(1).filter(|at| !std::mem::replace(&mut taken[*at], true))
            else {
                compared.unpaired += 1;
                continue;
            };
            let Answered { sent, done } = answered[at];
            let (ours, theirs) = (done.since(sent), Nanos(request.took_ns()));
            compared.engine.record(ours);
            compared.packets.record(theirs);
            compared.difference.record(Nanos(ours.0.abs_diff(theirs.0)));
            compared.before.record(asked.since(sent));
            compared.after.record(done.since(clocks.monotonic(Time(request.answered_ns))));
        }
        compared.unpaired += timed.mixed;
        compared
    }

    /// Whether both distributions agree; `None` if too few requests were compared.
    fn agree(&self, stalled: Stalled) -> Option<bool> {
        let off = |percentile| {
            let (ours, theirs) =
                self.engine.percentile(percentile).zip(self.packets.percentile(percentile))?;
            Some((Nanos(ours.0.abs_diff(theirs.0)), theirs))
        };
        let ((p50, _), (p99, of)) = off(50.0).zip(off(99.0))?;
        let share = if stalled == Stalled::None { 0.0 } else { BAR_STALLED };
        Some(p50 <= BAR_P50 && p99 <= BAR_P99.max(Nanos((share * of.0 as f64) as u64)))
    }
}

pub(crate) fn bar() -> String {
    let share = 100.0 * BAR_STALLED;
    format!(
        "p50 within {BAR_P50} and p99 within {BAR_P99} of the packets'; with planted stalls p99 within {share} % where that is more"
    )
}

/// The table of these rows; `None` without any.
pub(crate) fn table(rows: &[KernelRow], sent: Traffic) -> Option<Table> {
    let ceiling = rows.first()?.ceiling_rps;
    let clocks = rows.iter().map(|row| row.clocks_us).fold(0.0, f64::max);
    let dropped: u64 = rows.iter().map(|row| row.dropped).sum();
    Some(Table {
        title: match sent {
            Traffic::Lines => "Service times against the kernel's timestamps".into(),
            Traffic::Pages => "Service times against the kernel's timestamps, HTTP".into(),
            Traffic::Streams => "Service times against the kernel's timestamps, HTTP/2".into(),
            Traffic::Resp => "Service times against the kernel's timestamps, RESP".into(),
        },
        about: vec![
            format!("packets: from a request's packet to the last packet of its answer, seen by a packet socket (AF_PACKET) on one connection in {OBSERVED}. The kernel reads its clock for this socket before the loopback device transmits the packet: another reading than the receive stamp by which the engine ends a request."),
            "engine: done − sent of the same requests. difference: between the two, request by request; before and after are its parts. p50 / p99 in µs.".into(),
        ],
        columns: vec![
            "stalls", "load", "of the ceiling", "requests", "compared", "unpaired", "engine", "packets", "difference", "before", "after", "within",
            "verdict", "noise",
        ],
        rows: rows.iter().map(|row| {
            vec![
                row.stalled.words().into(),
                format!("{:.1} krps", row.offered_rps / 1e3),
                format!("{:.0} %", 100.0 * row.share_of_ceiling),
                row.requests.to_string(),
                row.compared.to_string(),
                row.unpaired.to_string(),
                row.engine_us.words(),
                row.packets_us.words(),
                row.difference_us.words(),
                row.before_us.words(),
                row.after_us.words(),
                crate::met(row.within),
                row.verdict.to_string(),
                noise_words(&row.noise),
            ]
        }).collect(),
        notes: vec![
            format!("within: {} (engine and packets compared).", bar()),
            Stalled::about(),
            "before: from the engine's sending time to the request's packet. after: from the answer's packet to its receive stamp; recording the packet is a part of it.".into(),
            format!("unpaired: requests that only the packet socket timed, or that overlap another on their connection. The kernel dropped {dropped} packets."),
            format!("Ceiling {:.0} krps: the same load on the same server, offered more than it takes, without the packet socket; the median of {CEILINGS} seconds.", ceiling / 1e3),
            format!("Server: {}, no service time, spinning. Generator: {CONNECTIONS} connections, depth 1, Poisson arrivals, spinning, epoll.", sent.about()),
            format!("Packets are stamped on the wall clock. Its conversion to the engine's clock, for pairing, before and after, has an error of {clocks:.3} µs."),
        ],
    })
}

#[cfg(test)]
mod tests {
    use openloop::Engine;

    use super::*;

    /// The window begins after half a second of warm-up.
    const WINDOW: u64 = 500_000_000;

    fn compare(engine: &[(u64, u64)], packets: &[(u64, u64)]) -> Compared {
        let clock = WallClock { at: Time(0), ahead_ns: 7_000_000, error: Nanos(1) };
        let clocks = Clocks { before: clock, after: WallClock { at: Time(10), ..clock } };
        let plan = known::plan(known::SIMULATED, 1.0, 1, Nanos::from_secs(1)).unwrap();
        let mut idle = Engine::new(plan, Null, Arc::default());
        idle.start(Time(0));
        let recording = idle.finish(Time(1));
        let answered =
            engine.iter().map(|&(sent, took)| Answered { sent: Time(sent), done: Time(sent + took) });
        let request = |&(asked, took): &(u64, u64)| {
            let asked_ns = asked + 7_000_000;
            probes::Answered { key: (1, 1), asked_ns, answered_ns: asked_ns + took }
        };
        let timed = Timed { requests: packets.iter().map(request).collect(), mixed: 0, dropped: 0 };
        Compared::new(&recording, answered.collect(), &timed, &clocks)
    }

    #[test]
    fn a_packet_is_that_of_the_request_sent_last_before() {
        let check = |engine: &[(u64, u64)], packets: &[(u64, u64)], differences: &[u64], unpaired: u64| {
            let compared = compare(engine, packets);
            let mut expect = Latency::new();
            differences.iter().for_each(|ns| expect.record(Nanos(*ns)));
            assert!(compared.difference == expect, "{engine:?} {packets:?}");
            assert_eq!((compared.engine.count(), compared.unpaired), (expect.count(), unpaired));
        };
        let at = |ns: u64| WINDOW + ns;
        check(&[], &[], &[], 0);
        check(&[(at(100), 90)], &[(at(101), 80)], &[10], 0);
        // Responses in a different order from the requests; the packets' time is the longer one.
        check(&[(at(200), 50), (at(100), 300)], &[(at(101), 290), (at(201), 60)], &[10, 10], 0);
        // A packet before all requests; two packets for one request.
        check(&[(at(100), 90)], &[(at(99), 80)], &[], 1);
        check(&[(at(100), 90)], &[(at(101), 80), (at(102), 80)], &[10], 1);
        // Outside the window.
        check(&[(100, 90), (at(1_000_000_000), 90)], &[(101, 80), (at(1_000_000_001), 80)], &[], 0);
    }

    #[test]
    fn figures_agree_within_the_bar() {
        let check = |engine: u64, packets: u64, planted: Option<bool>, quiet: Option<bool>| {
            let at = |took| (0..2_000).map(|i| (WINDOW + i * 1_000, took)).collect::<Vec<_>>();
            let compared = compare(&at(engine), &at(packets));
            let got = (compared.agree(Stalled::Server), compared.agree(Stalled::None));
            assert_eq!(got, (planted, quiet), "{engine} {packets}");
        };
        check(30_000, 28_000, Some(true), Some(true));
        check(30_000, 26_000, Some(false), Some(false));
        check(26_000, 30_000, Some(false), Some(false));
        // Medians of 20 µs, and a tail that is off by 15 µs: less than 2 % of the tail, and more than 10 µs.
        let with_tail = |tail| {
            (0..2_000).map(|i| (WINDOW + i * 1_000, if i < 100 { tail } else { 20_000 })).collect::<Vec<_>>()
        };
        let compared = compare(&with_tail(1_015_000), &with_tail(1_000_000));
        assert_eq!(
            (compared.agree(Stalled::None), compared.agree(Stalled::Generator)),
            (Some(false), Some(true))
        );
        let few = compare(&[(WINDOW, 30_000)], &[(WINDOW, 30_000)]);
        assert_eq!(few.agree(Stalled::None), None);
    }
}
