//! A site of many services whose requests are traced: spans as its services would write them, joined by the code that joins real ones.

use std::collections::{BTreeMap, BTreeSet};

use hist::Latency;
use results::*;
use traces::{
    CallCount, Edge, Names, Observed, Origin, Sampled, Span, SpanFile, SpanKind, SpanOutcome, TraceId,
    summary,
};
use units::Nanos;

use super::{Plan, Server, empty, noise, trial};

const SITE: Server = Server { name: "movies", max_rps: 300.0, base_us: 9_000.0, burst: 0.4 };
/// Operations with their share of the requests.
const OPERATIONS: [(&str, f64); 4] = [("browse", 0.8), ("review", 0.1), ("search", 0.07), ("rent", 0.03)];
const PHP: u16 = 3;
const ONE_IN: u64 = 5;
const WINDOW_S: f64 = 10.0;

/// The services: number, name, method, and own work. Units: µs.
const SERVICES: [(u16, &str, &str, f64); 30] = [
    (PHP, "php", "page", 1_900.0),
    (4, "compose-page", "compose", 420.0),
    (5, "movie-info", "read", 160.0),
    (6, "plot", "read", 70.0),
    (7, "thumbnail", "read", 60.0),
    (8, "rating", "read", 70.0),
    (9, "cast-info", "read", 260.0),
    (10, "reviews", "page", 90.0),
    (11, "photos", "read", 380.0),
    (12, "videos", "read", 240.0),
    (13, "movie-recommender", "like", 700.0),
    (14, "rent-movie", "rent", 900.0),
    (15, "user-auth", "check", 500.0),
    (19, "unique-id", "upload", 40.0),
    (20, "movie-id", "upload", 60.0),
    (21, "text", "upload", 250.0),
    (22, "review-rating", "upload", 50.0),
    (23, "compose-review", "put", 60.0),
    (24, "review-storage", "readMany", 120.0),
    (25, "movie-review", "page", 220.0),
    (26, "user-review", "append", 240.0),
    (27, "update-movie", "apply", 60.0),
    (28, "user", "login", 80.0),
    (29, "search", "find", 900.0),
    (30, "ads", "pick", 1_400.0),
    (32, "movies-cache", "", 0.0),
    (33, "movies-db", "", 0.0),
    (34, "reviews-cache", "", 0.0),
    (36, "reviews-db", "", 0.0),
    (37, "users-db", "", 0.0),
];

/// A service's calls, one group after the other; the calls of a group run at once.
fn calls(service: u16, operation: &str) -> &'static [&'static [u16]] {
    match (service, operation) {
        (PHP, "browse") => &[&[4, 30]],
        (PHP, "review") => &[&[19, 20, 21, 22, 28]],
        (PHP, "search") => &[&[29]],
        (PHP, _) => &[&[14]],
        (4, _) => &[&[5], &[6, 7, 8, 9, 10, 11, 12, 13]],
        (10, _) => &[&[25], &[24]],
        (14, _) => &[&[12, 15]],
        (19..=22 | 28, _) => &[&[23]],
        (23, "review") => &[&[24, 25, 26]],
        (25, "review") => &[&[27]],
        _ => &[],
    }
}

/// The stores that a service asks, with the time that it takes. Units: µs.
fn stores(service: u16) -> &'static [(u16, f64)] {
    match service {
        5..=9 | 11 | 20 => &[(32, 90.0)],
        12 => &[(32, 90.0), (33, 420.0)],
        14 | 15 => &[(37, 700.0)],
        24 | 25 => &[(34, 100.0), (36, 600.0)],
        26 | 28 => &[(37, 650.0)],
        27 => &[(33, 800.0)],
        _ => &[],
    }
}

/// The span files of services under a load.
struct Site {
    spans: Vec<Span>,
    calls: BTreeMap<Edge, CallCount>,
    ratio: f64,
    seed: u64,
}

impl Site {
    /// A time around `us`, with a tail.
    fn time(&mut self, us: f64) -> u64 {
        self.seed += 1;
        let tail = -(1.0 - noise(self.seed, 21)).max(1e-6).ln();
        (1e3 * us * (0.6 + 0.4 * tail)) as u64
    }

    fn add(
        &mut self,
        kind: SpanKind,
        (service, peer): (u16, u16),
        trace: u8,
        parent: u64,
        stamps: [u64; 6],
    ) -> u64 {
        let number = self.spans.len() as u64 + 1;
        let cpu = if kind == SpanKind::Server { (stamps[3] - stamps[2]) / 4 } else { 0 };
        self.spans.push(Span {
            service,
            instance: 0,
            peer,
            method: 0,
            kind,
            outcome: SpanOutcome::Ok,
            is_retried: false,
            trace: TraceId([trace, (number >> 32) as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            span: number,
            parent,
            stamps,
            cpu: Nanos(cpu),
            bytes_in: 100,
            bytes_out: 900,
        });
        number
    }

    /// Has a service take a request at `at`; returns when its answer is written.
    fn serve(&mut self, service: u16, operation: &str, parent: u64, at: u64) -> u64 {
        let work = SERVICES.iter().find(|one| one.0 == service).map_or(50.0, |one| one.3);
        let strain = self.ratio / (1.0 - self.ratio);
        let queue = self.time(0.35 * work * strain * strain);
        let taken = at + queue;
        let decoded = taken + self.time(8.0);
        let place = self.spans.len();
        let own = self.add(SpanKind::Server, (service, 0), 0, parent, [0; 6]);
        let mut now = decoded + self.time(0.5 * work * (1.0 + 0.5 * strain));
        for (store, us) in stores(service) {
            let told = now + self.time(us * (1.0 + 0.4 * strain));
            self.add(SpanKind::Store, (service, *store), 0, own, [now, now, now, now, told, told]);
            now = told + self.time(15.0);
        }
        for group in calls(service, operation) {
            let ends: Vec<u64> =
                group.iter().map(|callee| self.call(service, *callee, operation, own, now)).collect();
            now = ends.into_iter().max().unwrap_or(now) + self.time(20.0);
        }
        let returned = now + self.time(0.5 * work * (1.0 + 0.5 * strain));
        let encoded = returned + self.time(10.0);
        let written = encoded + self.time(12.0);
        self.spans[place].stamps = [at, taken, decoded, returned, encoded, written];
        self.spans[place].cpu = Nanos((1e3 * work) as u64);
        written
    }

    fn call(&mut self, service: u16, callee: u16, operation: &str, parent: u64, at: u64) -> u64 {
        let strain = self.ratio / (1.0 - self.ratio);
        let had = at + if noise(self.seed, 22) > 0.97 { self.time(900.0 * strain) } else { 0 };
        let sent = had + self.time(20.0);
        let place = self.spans.len();
        let own = self.add(SpanKind::Client, (service, callee), 0, parent, [0; 6]);
        let there = sent + self.time(60.0 * (1.0 + 0.6 * strain));
        let answered = self.serve(callee, operation, own, there) + self.time(60.0 * (1.0 + 0.6 * strain));
        let decoded = answered + self.time(12.0);
        self.spans[place].stamps = [at, had, sent, sent, answered, decoded];
        let count = self.calls.entry(Edge { caller: service, callee, method: 0 }).or_default();
        count.calls += ONE_IN;
        count.wall += Nanos(ONE_IN * (decoded - at));
        decoded
    }
}

fn traces(share: f64, block: u32) -> (Traces, u64) {
    let seed = (1e6 * share) as u64 + 1_000_000_000 * u64::from(block);
    let mut site = Site { spans: Vec::new(), calls: BTreeMap::new(), ratio: share, seed };
    let (mut requests, mut by_lot) = (Vec::new(), BTreeMap::new());
    let all = (SITE.max_rps * share * WINDOW_S / ONE_IN as f64) as u64;
    for (operation, of_all) in OPERATIONS {
        let (mut traced, mut untraced) = (Latency::new(), Latency::new());
        for i in 0..(all as f64 * of_all) as u64 {
            let trace = (requests.len() as u128 + 1).to_be_bytes();
            let (first, at) = (site.spans.len(), 1_000_000_000 + 40_000_000 * i);
            let end = site.serve(PHP, operation, 77, at);
            site.spans[first..].iter_mut().for_each(|span| span.trace = TraceId(trace));
            let strain = share / (1.0 - share);
            let service_time = Nanos(end - at + site.time(700.0 + 500.0 * strain));
            traced.record(service_time);
            for _ in 1..ONE_IN {
                untraced
                    .record(Nanos((service_time.0 as f64 * (0.7 + 0.6 * noise(site.time(1.0), 23))) as u64));
            }
            requests.push(Sampled {
                trace: TraceId(trace),
                operation: operation.into(),
                response_time: service_time + Nanos(site.time(30.0)),
                service_time,
                is_completed: true,
            });
        }
        by_lot.insert(operation.to_owned(), ByLot { traced, untraced });
    }
    let names = Names::new(
        SERVICES.map(|(number, name, method, _)| (number, name.to_owned(), vec![method.to_owned()])),
    );
    let mut by_service: BTreeMap<u16, Vec<Span>> = BTreeMap::new();
    site.spans.iter().for_each(|span| by_service.entry(span.service).or_default().push(*span));
    let written = by_service.iter().map(|(service, spans)| (*service, spans.len() as u64)).collect();
    let file = |(service, spans)| SpanFile {
        origin: Origin { service, instance: 0, boot: String::new(), wall_offset: 0, pid: 1 },
        spans,
        broken: None,
    };
    let files: Vec<SpanFile> = by_service.into_iter().map(file).collect();
    let traces = summary(&Observed {
        one_in: ONE_IN,
        entrance: PHP,
        names: &names,
        requests: &requests,
        files: &files,
        written: &written,
        by_lot: &by_lot,
        calls: &site.calls,
    });
    (traces, requests.len() as u64)
}

/// The names of the services and stores that a service calls, over all operations.
fn called(service: u16) -> Vec<String> {
    let services = OPERATIONS.iter().flat_map(|(operation, _)| calls(service, operation).concat());
    let all: BTreeSet<u16> = services.chain(stores(service).iter().map(|(store, _)| *store)).collect();
    let named = SERVICES.iter().filter(|one| all.contains(&one.0));
    named.map(|one| one.1.to_owned()).collect()
}

/// A sweep of the movie application with one request in five traced.
pub fn traced() -> Experiment {
    let mut experiment =
        empty(Kind::Sweep, "20260314-120000-sweep", &["taillight", "sweep", "movies", "--trace", "1/5"]);
    let services = SERVICES.iter().rev().map(|(number, name, ..)| Service {
        name: (*name).into(),
        version: "0.1.0".into(),
        binary: format!("movies-{name}"),
        calls: called(*number),
        entrances: if *number == PHP { vec!["movies".into()] } else { Vec::new() },
        form: "bare".into(),
        instances: 1,
        threads: 8,
        memory_bytes: 64 << 20,
        cpus: vec![0],
        ..Service::default()
    });
    experiment.targets.push(Target {
        name: SITE.name.into(),
        address: "127.0.0.1:8080".into(),
        services: services.collect(),
        ..Target::default()
    });
    let mut number = 0;
    for block in 0..2 {
        for share in [0.1, 0.5, 0.85] {
            number += 1;
            let rps = SITE.max_rps * share;
            let plan = Plan {
                server: &SITE,
                number,
                purpose: Purpose::LoadPoint,
                block,
                share: Some(share),
                rps,
                window_s: WINDOW_S,
                lag_us: 20.0,
            };
            let mut trial = trial(&plan);
            let (traces, sampled) = traces(share, block);
            trial.operations = OPERATIONS
                .map(|(name, of_all)| {
                    let completed = (sampled as f64 * of_all) as u64 * ONE_IN;
                    let outcomes = Arrivals { intended: completed, completed, ..Arrivals::default() };
                    Operation { name: name.into(), outcomes: Some(outcomes), ..trial.all.clone() }
                })
                .to_vec();
            trial.services = SERVICES
                .iter()
                .map(|(_, name, _, work)| ServiceUsage {
                    name: (*name).into(),
                    // Shrunk to one processor, as if most of the work were waiting.
                    cpu_s: Some(0.22 * (work + 200.0) * 1e-6 * rps * 10.5),
                    resident_bytes: Some(20_000_000),
                    ..ServiceUsage::default()
                })
                .collect();
            trial.traces = Some(traces);
            experiment.trials.push(trial);
        }
    }
    experiment
}
