//! HTTP/2 on a simulated clock, against a server in this file whose response times are known exactly, and against a
//! server that breaks the rules.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use dist::{Process, Rng};
use openloop::{Plan, Recording};
use rand::{RngExt, SeedableRng};
use reactor::sim::{Program, SimReactor};
use reactor::{Conn, Event, Handler, Reactor, Wait};
use stats::Queue;
use units::{Bytes, Nanos, Time};
use workloads::web::{Body, Checked, FileSet, Http, Pages, Verify, Web, WebConfig, WebStreams};

use super::{SIZE, assert_all_good, assert_close, plan};
use crate::simulated::{START, run};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
/// END_STREAM or ACK, and END_HEADERS.
const END: u8 = 1;
const HEAD_ENDS: u8 = 4;
const PREFACE: usize = 24;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = (payload.len() as u32).to_be_bytes();
    [&length[..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn number(kind: u8, stream: u32, number: u32) -> Vec<u8> {
    frame(kind, 0, stream, &number.to_be_bytes())
}

fn settings(all: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> =
        all.iter().flat_map(|(n, v)| [&n.to_be_bytes()[..], &v.to_be_bytes()].concat()).collect();
    frame(SETTINGS, 0, 0, &payload)
}

fn goaway(last: u32, code: u32, words: &[u8]) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[&last.to_be_bytes()[..], &code.to_be_bytes(), words].concat())
}

/// `:status: 200`, with the length of a body.
fn head(stream: u32, length: usize) -> Vec<u8> {
    let length = length.to_string();
    let block = [&[0x88, 0x0f, 0x0d, length.len() as u8], length.as_bytes()].concat();
    frame(HEADERS, HEAD_ENDS, stream, &block)
}

/// A whole page.
fn page(stream: u32) -> Vec<u8> {
    [head(stream, SIZE as usize), frame(DATA, END, stream, &vec![b'x'; SIZE as usize])].concat()
}

/// A request that has come to its end.
struct Asked {
    /// How many came before it, on all connections and on its own.
    before: u64,
    on_connection: u64,
    stream: u32,
    at: Time,
    /// The length of its body.
    body: usize,
}

/// The server's bytes for a request, and their times.
type Script = Box<dyn FnMut(&Asked) -> Vec<(Time, Vec<u8>)>>;

/// When it leaves, its number, its connection's slot and generation, its bytes.
type Reply = (Time, u64, (u32, u32), Vec<u8>);

struct Server {
    begins: Vec<u8>,
    script: Script,
    /// Whether the windows of bodies are moved as they come.
    moves_windows: bool,
    received: HashMap<Conn, Received>,
    due: BinaryHeap<Reverse<Reply>>,
    entered: u64,
    requests: u64,
}

#[derive(Default)]
struct Received {
    bytes: Vec<u8>,
    greeted: bool,
    requests: u64,
    bodies: HashMap<u32, usize>,
}

impl Server {
    fn new(script: impl FnMut(&Asked) -> Vec<(Time, Vec<u8>)> + 'static) -> Server {
        Server {
            begins: settings(&[]),
            script: Box::new(script),
            moves_windows: true,
            received: HashMap::new(),
            due: BinaryHeap::new(),
            entered: 0,
            requests: 0,
        }
    }

    fn enter(&mut self, at: Time, conn: Conn, bytes: Vec<u8>) {
        self.entered += 1;
        self.due.push(Reverse((at, self.entered, (conn.slot, conn.generation), bytes)));
    }

    /// Takes the whole frames of a connection.
    fn read(&mut self, conn: Conn, at: Time) {
        let received = self.received.entry(conn).or_default();
        if !received.greeted && received.bytes.len() >= PREFACE {
            assert!(received.bytes.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
            received.bytes.drain(..PREFACE);
            received.greeted = true;
        }
        let mut says = Vec::new();
        while received.greeted
            && let [a, b, c, kind, flags, stream @ ..] = &received.bytes[..]
            && let length = u32::from_be_bytes([0, *a, *b, *c]) as usize
            && received.bytes.len() >= 9 + length
        {
            let (kind, flags) = (*kind, *flags);
            let stream = u32::from_be_bytes(stream[..4].try_into().unwrap());
            received.bytes.drain(..9 + length);
            let body = received.bodies.entry(stream).or_default();
            match kind {
                SETTINGS if flags & END == 0 => says.push((Time(0), frame(SETTINGS, END, 0, &[]))),
                DATA => {
                    *body += length;
                    if self.moves_windows && length > 0 {
                        says.push((Time(0), number(WINDOW_UPDATE, 0, length as u32)));
                        if flags & END == 0 {
                            says.push((Time(0), number(WINDOW_UPDATE, stream, length as u32)));
                        }
                    }
                }
                _ => {}
            }
            if matches!(kind, DATA | HEADERS) && flags & END != 0 {
                let (before, on_connection, body) = (self.requests, received.requests, *body);
                self.requests += 1;
                received.requests += 1;
                says.extend((self.script)(&Asked { before, on_connection, stream, at, body }));
            }
        }
        for (when, bytes) in says {
            self.enter(when, conn, bytes);
        }
    }
}

impl Handler<SimReactor> for Server {
    fn event(&mut self, _: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Accepted { conn } => {
                self.received.insert(conn, Received::default());
                self.enter(Time(0), conn, self.begins.clone());
            }
            Event::Data { conn, at, bytes, .. } => {
                self.received.entry(conn).or_default().bytes.extend_from_slice(bytes);
                self.read(conn, at);
            }
            _ => {}
        }
    }
}

impl Program for Server {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        while let Some(Reverse(first)) = self.due.peek()
            && first.0 <= reactor.now()
        {
            let Reverse((_, _, (slot, generation), bytes)) = self.due.pop().unwrap();
            let conn = Conn { slot, generation };
            if bytes.is_empty() {
                reactor.close(conn);
            } else {
                reactor.output(conn).extend_from_slice(&bytes);
                reactor.flush(conn);
            }
        }
        let next = self.due.peek().map_or(Time::NEVER, |Reverse(first)| first.0);
        reactor.poll(Wait::Sleep(next), self).unwrap();
        true
    }
}

fn config() -> WebConfig {
    let mut config = super::config();
    config.options.http = Http::V2;
    config
}

fn load(config: &WebConfig, plan: &Plan, mut server: Server) -> Recording {
    let plan = Plan { per_connection: config.options.requests_per_connection, ..plan.clone() };
    let web = Web::new(config, Arc::new(Checked::new(config)), 0).unwrap();
    let streams = WebStreams::new(config, web, plan.depth as u32);
    run(&plan, streams, &mut server, Nanos::ZERO)
}

/// 500 requests a second for 4 s, on two connections with places enough.
fn short() -> Plan {
    let mut plan = plan(500.0, Process::Constant, 2, 100);
    (plan.warmup, plan.window) = (Nanos::ZERO, Nanos::from_secs(4));
    plan
}

fn counter(recording: &Recording, name: &str) -> (u64, u64) {
    let found = recording.counters.iter().find(|(known, _, _)| known == name).unwrap();
    (found.1, found.2)
}

/// Exponential with rate µ − λ, as in HTTP/1.1: one connection carries all, and 4096 streams.
#[test]
fn the_queue_mm1_at_60_percent() {
    const SERVICE_NS: f64 = 200_000.0;
    let mut plan = plan(0.6 * 1e9 / SERVICE_NS, Process::Poisson, 1, 4096);
    plan.window = Nanos::from_secs(200);
    let (mut free, mut rng) = (Time(0), Rng::seed_from_u64(211));
    let recording = load(
        &config(),
        &plan,
        Server::new(move |asked| {
            let takes = -SERVICE_NS * (1.0 - rng.random::<f64>()).ln();
            free = free.max(asked.at) + Nanos(takes as u64);
            vec![(free, page(asked.stream))]
        }),
    );
    assert_all_good(&recording);
    let queue = Queue::new(0.6, SERVICE_NS).unwrap();
    let response = &recording.all().response_time;
    assert_close("mean", response.mean(), queue.mm1_mean(), 0.03);
    assert_close("p50", response.percentile(50.0), queue.mm1_percentile(50.0), 0.03);
    assert_close("p99", response.percentile(99.0), queue.mm1_percentile(99.0), 0.05);
}

/// Each request has its own server: a slow one delays no other request, though all share one connection.
#[test]
fn a_slow_answer_delays_none_behind_it() {
    let mut plan = short();
    plan.endpoints[0].connections = 1;
    let recording = load(
        &config(),
        &plan,
        Server::new(|asked| {
            let takes = if asked.before.is_multiple_of(10) { 50_000 } else { 100 };
            vec![(asked.at + Nanos::from_micros(takes), page(asked.stream))]
        }),
    );
    assert_all_good(&recording);
    let all = recording.all();
    assert_eq!(all.response_time.count_within(Nanos::from_micros(101)), 1_800);
    assert_close("slow ones", all.response_time.max(), 50e6, 0.001);
    assert_eq!(all.connection_wait.max(), Some(Nanos::ZERO));
}

/// 1000 requests a second, and the server stalls for 100 ms: the 61st longest wait of 60 000 is 40 ms.
#[test]
fn a_stall_of_100_ms_is_seen_by_all_who_came_in_it() {
    let from = START + Nanos::from_secs(30);
    let to = from + Nanos::from_millis(100);
    for depth in [1, 200] {
        let stalled = move |asked: &Asked| {
            vec![(if asked.at >= from { asked.at.max(to) } else { asked.at }, page(asked.stream))]
        };
        let plan = plan(1_000.0, Process::Constant, 1, depth);
        let recording = load(&config(), &plan, Server::new(stalled));
        assert_all_good(&recording);
        let all = recording.all();
        assert_eq!(recording.tally.intended, 60_000);
        assert_close("p99.9", all.response_time.percentile(99.9), 40e6, 0.03);
        assert_close("max", all.response_time.max(), 100e6, 0.002);
    }
}

#[test]
fn a_server_that_takes_fewer_streams_makes_requests_wait() {
    let mut plan = short();
    plan.endpoints[0].connections = 1;
    let takes_3_ms = |asked: &Asked| vec![(asked.at + Nanos::from_millis(3), page(asked.stream))];
    let server = Server { begins: settings(&[(3, 1)]), ..Server::new(takes_3_ms) };
    let recording = load(&config(), &plan, server);
    // 2000 of 3 ms one after the other, the last of which was due after 3.998 s.
    assert_eq!(recording.tally.completed, 2_000, "{:?} {:?}", recording.tally, recording.errors);
    assert_eq!(recording.max_in_flight, 1);
    assert_close("connection wait", recording.all().connection_wait.max(), 1_999e6, 0.001);
    assert_eq!(counter(&recording, "connections_with_fewer_streams"), (1, 1));
    let recording = load(&config(), &plan, Server::new(takes_3_ms));
    assert_eq!(recording.all().connection_wait.max(), Some(Nanos::ZERO));
    assert_eq!(counter(&recording, "connections_with_fewer_streams"), (0, 1));
}

/// Bodies of several answers in turns, in pieces: each has its own length and checksum.
#[test]
fn contents_are_checked_stream_by_stream() {
    let check = |spoils: bool| {
        let set = FileSet::read("1x20KiB", 1).unwrap();
        let mut content = vec![0; 20 << 10];
        let (mut text, mut filled) = (set.content(0), 0);
        while filled < content.len() {
            filled += text.fill(&mut content[filled..]);
        }
        let mut config = WebConfig { pages: Pages::Files(set), ..config() };
        config.options.verify = Some(Verify::Checksum);
        let recording = load(
            &config,
            &short(),
            Server::new(move |asked| {
                let mut body = content.clone();
                // One byte of every hundredth.
                body[777] ^= u8::from(spoils && asked.before % 100 == 50);
                let mut says = vec![(asked.at, head(asked.stream, body.len()))];
                let pieces = body.chunks(5_000).enumerate();
                says.extend(pieces.map(|(place, piece)| {
                    let end = if piece.len() < 5_000 { END } else { 0 };
                    let when = asked.at + Nanos::from_millis(3 * place as u64);
                    (when, frame(DATA, end, asked.stream, piece))
                }));
                says
            }),
        );
        let wrong = if spoils { 20 } else { 0 };
        assert_eq!(
            (recording.tally.completed, recording.tally.errors),
            (2_000 - wrong, wrong),
            "{:?}",
            recording.errors
        );
        assert_eq!(recording.errors.of("wrong content"), wrong);
        assert_eq!(counter(&recording, "verify_failures"), (wrong, 2_000));
        // The fifth piece is the last; the first came at once.
        assert_close("service time", recording.all().service_time.max(), 12e6, 0.001);
    };
    check(false);
    check(true);
}

/// The error that the user reads for each misbehaviour of the server to every hundredth request.
#[test]
fn a_hostile_server_is_called_by_its_deeds() {
    let check = |deed: fn(&Asked) -> Vec<u8>, kind: &str, says: &str, alone: bool| {
        let recording = load(
            &config(),
            &short(),
            Server::new(move |asked| match asked.before % 100 {
                50 => vec![(asked.at, deed(asked))],
                _ => vec![(asked.at + Nanos::from_millis(9), page(asked.stream))],
            }),
        );
        let tally = recording.tally;
        assert_eq!(tally.completed + tally.errors, 2_000, "{kind}: {tally:?}");
        let found: Vec<_> = recording.errors.iter().collect();
        assert_eq!(found.len(), 1, "{kind}: {found:?}");
        assert_eq!(found[0].kind, kind);
        assert!(found[0].first.contains(says), "{}", found[0].first);
        // One of a hundred, or also those under way on the same connection: 9 ms of 250 a second.
        let errors = if alone { 20..=20 } else { 40..=80 };
        assert!(errors.contains(&tally.errors), "{kind}: {tally:?}");
    };
    check(|a| number(RST_STREAM, a.stream, 2), "stream reset", "INTERNAL_ERROR", true);
    check(|a| number(RST_STREAM, a.stream, 7), "stream refused", "REFUSED_STREAM", true);
    check(|a| [head(a.stream, 9), number(RST_STREAM, a.stream, 8)].concat(), "stream reset", "CANCEL", true);
    let cut = |a: &Asked| [head(a.stream, 9), frame(DATA, END, a.stream, b"x")].concat();
    check(cut, "malformed answer", "shorter", true);
    check(|a| frame(HEADERS, HEAD_ENDS | END, a.stream, &[0x8d]), "status 404", "404", true);
    check(|a| frame(HEADERS, HEAD_ENDS | END, a.stream, &[0x84]), "malformed answer", "status", true);
    let bad_fields = |a: &Asked| frame(HEADERS, HEAD_ENDS, a.stream, &[0xff, 0xff]);
    let garbage = "no answer of this protocol";
    check(bad_fields, garbage, "HPACK", false);
    check(|a| frame(5, HEAD_ENDS, a.stream, &[0, 0, 0, 2, 0x88]), garbage, "pushed", false);
    check(|_| vec![0x7f; 20], garbage, "8355711 B", false);
    check(
        |a| [frame(HEADERS, 0, a.stream, &[0x88]), frame(6, 0, 0, &[0; 8])].concat(),
        garbage,
        "head",
        false,
    );
    check(|_| number(WINDOW_UPDATE, 0, 0), garbage, "window", false);
    check(|_| Vec::new(), "connection closed", "by the server", false);
}

#[test]
fn what_is_unusual_is_no_error() {
    let check = |deed: fn(&Asked) -> Vec<u8>| {
        let recording = load(&config(), &short(), Server::new(move |asked| vec![(asked.at, deed(asked))]));
        assert_all_good(&recording);
    };
    check(|a| {
        let page = page(a.stream);
        let (block, body) = page.split_at(9 + 8);
        let first = frame(HEADERS, 0, a.stream, &block[9..11]);
        [first, frame(CONTINUATION, HEAD_ENDS, a.stream, &block[11..]), body.to_vec()].concat()
    });
    check(|a| [frame(HEADERS, HEAD_ENDS, a.stream, b"\x08\x03103"), page(a.stream)].concat());
    check(|a| [settings(&[(3, 50), (4, 0)]), page(a.stream)].concat());
    check(|a| [page(a.stream), number(RST_STREAM, a.stream, 0)].concat());
    check(|a| [frame(0x55, 0, 0, b"unknown"), page(a.stream), number(WINDOW_UPDATE, a.stream, 5)].concat());
}

#[test]
fn a_server_that_leaves_is_followed() {
    // Every hundredth request of a connection is its last; the requests behind it are sent again.
    let leaves = |asked: &Asked| match asked.on_connection {
        99 => vec![
            (asked.at, goaway(asked.stream, 0, b"")),
            (asked.at + Nanos::from_millis(9), page(asked.stream)),
        ],
        100.. => Vec::new(),
        _ => vec![(asked.at + Nanos::from_millis(9), page(asked.stream))],
    };
    let recording = load(&config(), &short(), Server::new(leaves));
    assert_all_good(&recording);
    let (left, of) = counter(&recording, "closed_by_server");
    assert!((15..=20).contains(&left) && of == 2_000, "{left} of {of}");
    let wait = recording.all().connection_wait.max().unwrap();
    assert!(Nanos::from_millis(4) < wait && wait <= Nanos::from_millis(9), "{wait}");
    // With an error, the requests that the server has not begun fail.
    let fails = |asked: &Asked| match asked.on_connection {
        99 => vec![
            (asked.at, goaway(asked.stream - 4, 11, b"too many")),
            (asked.at + Nanos::from_millis(20), Vec::new()),
        ],
        100.. => Vec::new(),
        _ => vec![(asked.at + Nanos::from_millis(9), page(asked.stream))],
    };
    let recording = load(&config(), &short(), Server::new(fails));
    let found: Vec<_> = recording.errors.iter().collect();
    assert_eq!((found.len(), &*found[0].kind), (1, "connection ended by the server"), "{found:?}");
    assert!(found[0].first.contains("ENHANCE_YOUR_CALM, 'too many'"), "{}", found[0].first);
    assert!((30..=40).contains(&recording.tally.errors), "two for each: {:?}", recording.tally);
}

#[test]
fn connections_end_after_so_many_requests() {
    let mut config = config();
    config.options.requests_per_connection = Some(10);
    let at_once = |asked: &Asked| {
        assert!(asked.on_connection < 10);
        vec![(asked.at, page(asked.stream))]
    };
    let recording = load(&config, &short(), Server::new(at_once));
    assert_all_good(&recording);
    assert_eq!(counter(&recording, "closed_by_server").0, 0, "none that it was not asked to");
}

/// Bodies of 300 kB, of which the server takes 64 KiB at a time; and a window that is 0 at first.
#[test]
fn bodies_of_requests_keep_to_the_windows() {
    let body = Body::of_size(Bytes(300_000)).unwrap();
    let mut config = WebConfig { pages: Pages::One, body: Some(body), ..config() };
    config.options.method = "POST".parse().unwrap();
    let mut plan = short();
    plan.load = openloop::Load::steady(Process::Constant, units::Rate::new(50.0).unwrap());
    let whole = |asked: &Asked| {
        assert_eq!(asked.body, 300_000);
        vec![(asked.at, page(asked.stream))]
    };
    let check = |server: Server, expect: u64| {
        let recording = load(&config, &plan, server);
        let tally = recording.tally;
        assert_eq!((tally.intended, tally.completed), (200, expect), "{tally:?} {:?}", recording.errors);
    };
    check(Server::new(whole), 200);
    check(
        Server { begins: [settings(&[(4, 0)]), settings(&[(4, 1000)])].concat(), ..Server::new(whole) },
        200,
    );
    // A server that never moves its windows gets no whole body.
    check(Server { moves_windows: false, ..Server::new(whole) }, 0);
}
