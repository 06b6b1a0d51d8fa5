//! The engine's service times against what the kernel says of the same packets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use anyhow::{Context, Result, bail};
use dist::Popularity;
use hist::Latency;
use openloop::{Endpoint, Engine, Plan, Recording, Stall, Workload, judge_strictly};
use proto_http::Method;
use reactor::{Epoll, Exchange, Reactor, WallClock, pin_to, sharpen_timers};
use results::{Noise, Verdict};
use serde::Serialize;
use trial::{Clocks, Watch};
use units::Nanos;
use workloads::null::Null;
use workloads::web::{Checked, Pages, Verify, Web, WebConfig};

use crate::known::{self, Server};
use crate::table::Table;
use crate::{Setting, noise_words, us};

/// The most by which the engine may differ from the kernel at p50 and p99. Source: issue 3, "Truth".
const BAR: Nanos = Nanos::from_micros(10);
/// Shares of the generator's ceiling; up to the highest the bar must hold.
const SHARES: [f64; 3] = [0.05, 0.15, 0.30];
/// Connections, each with one request on its way, as in the measurement of the ceiling.
const CONNECTIONS: usize = 64;
/// One connection in so many is watched: what a timestamp costs must not become the queue that is measured.
const WATCHED: usize = 8;
/// Three times what any generator has reached on one core here.
const SATURATING_RATE: f64 = 600_000.0;
/// The ceiling is a mean over some 10⁵ requests after this long,
const CEILING_WINDOW: Nanos = Nanos::from_secs(1);
/// and the median of so many of them: a machine that others use is slower in one second than in the next.
const CEILINGS: usize = 5;
/// All connections must stand after this long.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(5);

/// One load.
#[derive(Serialize)]
pub(crate) struct Row {
    share_of_ceiling: f64,
    ceiling_rps: f64,
    offered_rps: f64,
    /// Requests due in the window and answered.
    requests: u64,
    /// Requests sent in the window of which both of the kernel's timestamps are known.
    stamped: u64,
    engine_us: Pair,
    kernel_us: Pair,
    /// Engine minus kernel, request by request.
    difference_us: Pair,
    /// The same of the requests that no stall of the generator's own thread touched, nor the time as long again in which
    /// it caught up.
    undisturbed_us: Pair,
    /// How many these are.
    undisturbed: u64,
    /// From the engine's sending time to the kernel's.
    before_us: Pair,
    /// From the kernel's receiving time to the engine's.
    after_us: Pair,
    /// How exact the two parts are: by this much time might be moved from one to the other.
    clocks_us: f64,
    verdict: Verdict,
    noise: Noise,
    /// Whether the undisturbed requests keep to the bar; `None` where they are too few to say.
    pub(crate) within: Option<bool>,
}

/// Two percentiles. Units: in the name of the field that holds it.
#[derive(Clone, Copy, Serialize)]
struct Pair {
    p50: Option<f64>,
    p99: Option<f64>,
}

impl Pair {
    fn of(latency: &Latency) -> Pair {
        let at = |percentile| latency.value_at(percentile).map(Nanos::as_micros_f64);
        Pair { p50: at(50.0), p99: at(99.0) }
    }

    fn words(self) -> String {
        format!("{} / {}", us(self.p50), us(self.p99))
    }
}

/// What is sent, and to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Lines, the least that a request can be.
    Lines,
    /// HTTP requests for a page of 4 KiB.
    Pages,
}

impl Sent {
    /// The null server's arguments.
    fn server(self) -> &'static [&'static str] {
        match self {
            Sent::Lines => &[],
            Sent::Pages => &["--dialect", "http", "--value-size", "4096"],
        }
    }

    fn about(self) -> &'static str {
        match self {
            Sent::Lines => "null server, lines",
            Sent::Pages => "null server, HTTP, pages of 4 KiB",
        }
    }
}

/// Measures each share of the ceiling.
pub(crate) fn run(setting: &Setting, sent: Sent) -> Result<Vec<Row>> {
    match sent {
        Sent::Lines => rows(setting, sent, |_| Ok(Null)),
        Sent::Pages => rows(setting, sent, pages),
    }
}

/// Requests for one page of a server.
fn pages(server: SocketAddr) -> Result<Web> {
    let config = WebConfig {
        urls: vec![format!("http://{server}/page").parse()?],
        pages: Pages::One,
        popularity: Popularity::Uniform,
        method: Method::get(),
        headers: Vec::new(),
        body: None,
        verify: Verify::None,
        requests_per_connection: None,
        seed: 1,
    };
    Ok(Web::new(&config, Arc::new(Checked::new(&config)), 0)?)
}

fn rows<W: Workload + Send + 'static>(
    setting: &Setting,
    sent: Sent,
    workload: impl Fn(SocketAddr) -> Result<W>,
) -> Result<Vec<Row>> {
    let server = Server::start(sent.server(), &setting.cpus)?;
    let cpu = *setting.cpus.last().context("no processor may be used")?;
    let as_hard_as_it_goes = || -> Result<f64> {
        let plan = plan(server.address, SATURATING_RATE, setting)?;
        let plan = Plan { window: CEILING_WINDOW, drain: Nanos::from_millis(20), ..plan };
        Ok(drive(plan, workload(server.address)?, cpu, 0)?.0.achieved_rps())
    };
    let ceilings = (0..CEILINGS).map(|_| as_hard_as_it_goes()).collect::<Result<Vec<_>>>()?;
    let ceiling = stats::median(&ceilings).context("no ceiling was measured")?;
    let mut rows = Vec::new();
    for share in SHARES {
        let rps = share * ceiling;
        let plan = plan(server.address, rps, setting)?;
        // Twice what is expected, so that none is left out.
        let room = (2.0 * rps * (plan.warmup + plan.window).as_secs_f64()) as usize + 1_000;
        let load = plan.load.clone();
        let before = WallClock::sample();
        let watch = Watch::start(&[server.pid()]);
        let (mut recording, exchanges) = drive(plan, workload(server.address)?, cpu, room)?;
        let (noise, _) = watch.finish(&mut recording);
        let clocks = Clocks { before, after: WallClock::sample() };
        let verdict = judge_strictly(&recording, &load, Vec::new());
        rows.push(row(share, ceiling, rps, &recording, &exchanges, &clocks, verdict, noise));
    }
    server.stop()?;
    Ok(rows)
}

fn plan(server: SocketAddr, rps: f64, setting: &Setting) -> Result<Plan> {
    let plan = known::plan(server, rps, setting.seed, setting.window)?;
    let endpoints = vec![Endpoint { address: server.into(), connections: CONNECTIONS }];
    Ok(Plan { endpoints, depth: 1, ..plan })
}

/// Runs the engine in a thread of its own, with the kernel's timestamps where there is `room` for exchanges.
fn drive<W: Workload + Send + 'static>(
    plan: Plan,
    workload: W,
    cpu: usize,
    room: usize,
) -> Result<(Recording, Vec<Exchange>)> {
    let thread = thread::spawn(move || {
        pin_to(cpu)?;
        let _ = sharpen_timers();
        let mut reactor = if room > 0 { Epoll::with_timestamps(room, WATCHED)? } else { Epoll::new()? };
        let mut engine = Engine::new(plan, workload, Arc::new(AtomicBool::new(false)));
        engine.connect(&mut reactor)?;
        let deadline = reactor.now() + CONNECT_TIMEOUT;
        while !engine.is_ready() {
            engine.step(&mut reactor)?;
            if reactor.now() >= deadline {
                bail!(
                    "not all of {CONNECTIONS} connections to the null server stand after {CONNECT_TIMEOUT}"
                );
            }
        }
        engine.start(reactor.now() + Nanos::from_millis(5));
        while engine.step(&mut reactor)? {}
        Ok((engine.finish(reactor.now()), reactor.take_exchanges()))
    });
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[allow(clippy::too_many_arguments, reason = "it only puts together what one run gave")]
fn row(
    share: f64,
    ceiling_rps: f64,
    offered_rps: f64,
    recording: &Recording,
    exchanges: &[Exchange],
    clocks: &Clocks,
    verdict: Verdict,
    noise: Noise,
) -> Row {
    let [mut engine, mut kernel, mut difference, mut undisturbed, mut before, mut after] =
        [(); 6].map(|()| Latency::new());
    let (from, to) = (recording.window_start, recording.window_start + recording.window);
    for exchange in exchanges.iter().filter(|e| from <= e.sent && e.sent < to) {
        let (ours, theirs) = (exchange.done.since(exchange.sent), exchange.came.since(exchange.left));
        engine.record(ours);
        kernel.record(theirs);
        let off = Nanos(ours.0.abs_diff(theirs.0));
        difference.record(off);
        if !stalled(&recording.stalls, exchange) {
            undisturbed.record(off);
        }
        before.record(clocks.monotonic(exchange.left).since(exchange.sent));
        after.record(exchange.done.since(clocks.monotonic(exchange.came)));
    }
    // The median is known where p99 is.
    let (p50, p99) = (undisturbed.percentile(50.0), undisturbed.percentile(99.0));
    let within = p50.zip(p99).map(|(p50, p99)| p50 <= BAR && p99 <= BAR);
    Row {
        share_of_ceiling: share,
        ceiling_rps,
        offered_rps,
        requests: recording.tally.completed,
        stamped: engine.count(),
        engine_us: Pair::of(&engine),
        kernel_us: Pair::of(&kernel),
        difference_us: Pair::of(&difference),
        undisturbed_us: Pair::of(&undisturbed),
        undisturbed: undisturbed.count(),
        before_us: Pair::of(&before),
        after_us: Pair::of(&after),
        clocks_us: clocks.error_us(),
        verdict,
        noise,
        within,
    }
}

/// Whether a stall, or the time as long again after it, falls into the exchange; `stalls` in order.
fn stalled(stalls: &[Stall], exchange: &Exchange) -> bool {
    let begun = stalls.partition_point(|stall| stall.from < exchange.done);
    // One stall may reach further than those after it, but not than a few of them.
    stalls[..begun].iter().rev().take(8).any(|s| s.from + s.span + s.span > exchange.sent)
}

/// The bar in words.
pub(crate) fn bar() -> String {
    format!("{BAR} from the kernel's at p50 and p99, without stalls")
}

pub(crate) fn table(rows: &[Row], sent: Sent) -> Table {
    let ceiling = rows.first().map_or(0.0, |row| row.ceiling_rps);
    let clocks = rows.iter().map(|row| row.clocks_us).fold(0.0, f64::max);
    Table {
        title: match sent {
            Sent::Lines => "Service times against the kernel's timestamps".into(),
            Sent::Pages => "Service times against the kernel's timestamps, HTTP".into(),
        },
        about: vec![
            "SO_TIMESTAMPING on the generator's own sockets: on one connection in ".to_owned() + &WATCHED.to_string() + ": each request when it was handed to the network device, each answer when it came from there.",
            "The service time by the kernel lies between the two; the engine's lies between the system calls around them. p50 / p99 in µs.".into(),
        ],
        columns: vec![
            "load", "of the ceiling", "requests", "stamped", "engine", "kernel", "difference", "undisturbed", "≤ 10 µs",
            "before", "after", "verdict", "noise",
        ],
        rows: rows.iter().map(|row| {
            vec![
                format!("{:.1} krps", row.offered_rps / 1e3),
                format!("{:.0} %", 100.0 * row.share_of_ceiling),
                row.requests.to_string(),
                row.stamped.to_string(),
                row.engine_us.words(),
                row.kernel_us.words(),
                row.difference_us.words(),
                format!("{} ({:.1} %)", row.undisturbed_us.words(), 100.0 * row.undisturbed as f64 / row.stamped.max(1) as f64),
                crate::met(row.within),
                row.before_us.words(),
                row.after_us.words(),
                row.verdict.to_string(),
                noise_words(&row.noise),
            ]
        }).collect(),
        notes: vec![
            format!("Ceiling {:.0} krps: the same load on the same server, offered more than it takes, without timestamps; the median of {CEILINGS} seconds.", ceiling / 1e3),
            format!("Server: {}, no service time, spinning. Generator: {CONNECTIONS} connections, depth 1, Poisson arrivals, spinning, epoll.", sent.about()),
            "undisturbed: the difference, of the requests that no stall of the generator's thread fell into (over 100 µs in which the host let it not run), nor the time as long again in which it caught up; and their share. The bar is for a quiet machine, so it is validated against these.".into(),
            format!("before: from the engine's sending time to the kernel's; after: from the kernel's receiving time to the engine's. The kernel's clock (wall) is brought to the engine's (monotonic) with an error of {clocks:.3} µs; the difference itself needs no conversion."),
        ],
    }
}

#[cfg(test)]
mod tests {
    use units::Time;

    use super::*;

    #[test]
    fn tells_which_requests_a_stall_hit() {
        let conn = reactor::Conn { slot: 0, generation: 1 };
        let stall = |from: u64, span: u64| Stall { from: Time(from), span: Nanos(span) };
        let stalls = [stall(1_000, 500), stall(10_000, 100)];
        let check = |sent: u64, done: u64, expect: bool| {
            let exchange =
                Exchange { conn, sent: Time(sent), left: Time(sent), came: Time(done), done: Time(done) };
            assert_eq!(stalled(&stalls, &exchange), expect, "{sent} to {done}");
        };
        check(0, 1_000, false);
        check(900, 1_600, true);
        check(1_900, 1_950, true);
        check(2_000, 3_000, false);
        check(9_000, 11_000, true);
        check(10_200, 11_000, false);
    }

    #[test]
    fn compares_request_by_request_within_the_window() {
        let conn = reactor::Conn { slot: 0, generation: 1 };
        let exchange = |sent: u64, engine: u64, kernel: u64| Exchange {
            conn,
            sent: Time(sent),
            left: Time(sent + 2_000),
            came: Time(sent + 2_000 + kernel),
            done: Time(sent + engine),
        };
        let check = |exchanges: &[Exchange], stamped: u64, within: Option<bool>| {
            let clock = WallClock { at: Time(0), ahead_ns: 0, error: Nanos(1) };
            let clocks = Clocks { before: clock, after: WallClock { at: Time(10), ..clock } };
            let mut engine = Engine::new(
                known::plan(known::SIMULATED, 1.0, 1, Nanos::from_secs(1)).unwrap(),
                Null,
                Arc::new(AtomicBool::new(false)),
            );
            engine.start(Time(0));
            let recording = engine.finish(Time(1));
            let noise = Noise::default();
            let row = row(0.3, 1e5, 3e4, &recording, exchanges, &clocks, Verdict::Valid, noise);
            assert_eq!((row.stamped, row.within), (stamped, within));
        };
        // The window begins after half a second of warm-up.
        let within = 600_000_000;
        let many = |engine: u64, kernel: u64| vec![exchange(within, engine, kernel); 2_000];
        check(&[many(30_000, 25_000), vec![exchange(1, 90_000, 10_000)]].concat(), 2_000, Some(true));
        check(&many(30_000, 19_000), 2_000, Some(false));
        check(&[exchange(within, 30_000, 25_000)], 1, None);
        check(&[], 0, None);
    }
}
