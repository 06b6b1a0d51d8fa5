//! Sphinx under mixed traffic by every protocol and transport, with evictions, connections that come and go, and clients
//! that are killed: nothing it holds grows, and no answer is wrong.
//!
//! Some seconds by default; `TAILLIGHT_SOAK_SECONDS=3600` makes it an hour, half of it by `epoll` and half with shared
//! reads.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use launch::Process;
use proto_memcache::binary::testing::{self, Packet};
use proto_memcache::binary::{Status, opcode};
use results::Trial;

use crate::cache::certificate;
use crate::run::{finish, has_ended, taillight, text};

const PATIENCE: Duration = Duration::from_secs(60);

/// Every operation; a read of a deleted or expired item stores it again.
const MIX: &str = "get:30,mget(uniform:1..20):10,gets:5,set:15,add:5,replace:5,append:5,prepend:5,delete:5,incr:5,decr:4,\
                   touch:3,gat:2,cas:1";

/// Figures of the server, asked for on one connection.
struct Watch(BufReader<TcpStream>);

impl Watch {
    fn stat(&mut self, name: &str) -> u64 {
        self.0.get_mut().write_all(b"stats\r\n").unwrap();
        let mut found = None;
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the server has closed");
            let mut words = line.split_whitespace();
            match (words.next(), words.next(), words.next()) {
                (Some("END"), ..) => return found.unwrap_or_else(|| panic!("no {name}")),
                (_, Some(this), Some(value)) if this == name => found = value.parse().ok(),
                _ => {}
            }
        }
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn descriptors(server: &Process) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count()
}

/// Units: bytes.
fn resident(server: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

/// Connections that end in the midst of requests, of replies, or before anything.
fn churn(address: SocketAddr, stop: &AtomicBool) -> u64 {
    let mut rounds = 0;
    while !stop.load(Ordering::Relaxed) {
        for kind in 0..4 {
            let mut stream = connect(address);
            let request: &[u8] = match kind {
                0 => b"",
                1 => b"set churn 0 0 1000\r\nhalf of it",
                2 => b"set churn 0 0 5\r\nhello\r\nget churn churn churn churn\r\nget chu",
                _ => b"set churn 0 0 5 noreply\r\nhello\r\nget churn\r\n",
            };
            stream.write_all(request).unwrap();
            if kind == 3 {
                // It leaves with bytes unread, which resets the connection.
                stream.read_exact(&mut [0]).unwrap();
            }
        }
        rounds += 1;
    }
    rounds
}

/// A client that stores items by the binary protocol: more than fit into memory, so that the server evicts items all the time.
struct Filler {
    stream: TcpStream,
    input: Vec<u8>,
    /// How often the item of each key was stored.
    stored: Vec<u64>,
}

impl Filler {
    const KEYS: usize = 4000;
    /// Units: bytes.
    const VALUE: usize = 20_000;
    const AT_ONCE: usize = 50;

    fn connect(address: SocketAddr) -> Filler {
        Filler { stream: connect(address), input: Vec::new(), stored: vec![0; Filler::KEYS] }
    }

    fn key(number: usize) -> Vec<u8> {
        format!("filler-{number}").into_bytes()
    }

    fn value(number: usize, version: u64) -> Vec<u8> {
        format!("{number} {version};").bytes().cycle().take(Filler::VALUE).collect()
    }

    /// Sends the requests and a `noop`; has each answer before that one's looked at.
    fn ask(&mut self, mut requests: Vec<u8>, mut look: impl FnMut(testing::Response<'_>)) {
        Packet::new(opcode::NOOP).append(&mut requests);
        self.stream.write_all(&requests).unwrap();
        loop {
            match testing::read(&self.input, 2 * Filler::VALUE) {
                testing::Read::Done { consumed, response } => {
                    let last = response.header.opcode == opcode::NOOP;
                    if !last {
                        look(response);
                    }
                    self.input.drain(..consumed);
                    if last {
                        return;
                    }
                }
                testing::Read::NeedMore { .. } => {
                    let mut more = [0; 1 << 16];
                    let length = self.stream.read(&mut more).unwrap();
                    assert!(length > 0, "the server has closed");
                    self.input.extend_from_slice(&more[..length]);
                }
                testing::Read::Malformed => panic!("not an answer: {:?}", &self.input[..24]),
            }
        }
    }

    /// Stores some items and reads others: each is the last that was stored, or gone. Returns how many were there.
    fn round(&mut self, number: usize) -> u64 {
        let keys = |from: usize| (from..from + Filler::AT_ONCE).map(|key| key % Filler::KEYS);
        let mut sets = Vec::new();
        for key in keys(number * Filler::AT_ONCE) {
            self.stored[key] += 1;
            let (name, value) = (Filler::key(key), Filler::value(key, self.stored[key]));
            Packet::new(opcode::SETQ).key(&name).store(0, 0).value(&value).append(&mut sets);
        }
        self.ask(sets, |answer| panic!("a set failed: {:?}", answer.status()));
        let mut gets = Vec::new();
        // Those that were just stored, some older ones, and some that are mostly gone.
        for key in keys(number * Filler::AT_ONCE).chain(keys(number * 7919)) {
            let name = Filler::key(key);
            Packet::new(opcode::GETQ).key(&name).opaque(key as u32).append(&mut gets);
        }
        let (mut hits, stored) = (0, self.stored.clone());
        self.ask(gets, |answer| {
            assert_eq!(answer.status(), Some(Status::Done));
            let key = answer.header.opaque as usize;
            assert!(
                answer.value == Filler::value(key, stored[key]),
                "the item of key {key} is not the last one"
            );
            hits += 1;
        });
        hits
    }
}

fn fill(mut filler: Filler, stop: &AtomicBool) -> u64 {
    let mut hits = 0;
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        hits += filler.round(number);
        // A pace at which others have the processors as well.
        thread::park_timeout(Duration::from_millis(5));
    }
    hits
}

/// How a round of load reaches the server.
#[derive(Clone, Copy, Debug)]
enum Way {
    Meta,
    Ascii,
    Tls,
    Udp,
}

/// Ends the thread that runs next to a round, also after a failure: a scope waits for its threads.
struct AtEnd<'s>(&'s AtomicBool);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Where the server is found.
struct Targets {
    plain: String,
    encrypted: String,
    certificate: String,
}

/// A second of verified load; a second load runs at the same time and is killed halfway.
fn round(targets: &Targets, way: Way) -> Trial {
    let load = |prefix: &str| {
        let target = if matches!(way, Way::Tls) { &targets.encrypted } else { &targets.plain };
        let mut command = taillight(&["load", "cache", "--target", target, "--warmup", "100ms", "--json"]);
        command.args(["--keys", "500", "--connections", "8", "--pace", "sleep", "--rate", "2k", "--yes"]);
        command.args(["--on-miss", "set", "--expiry", "uniform:1..100", "--key-prefix", prefix]);
        match way {
            Way::Meta => command.args(["--mix", MIX, "--protocol", "meta"]),
            Way::Ascii => command.args(["--mix", MIX, "--protocol", "ascii"]),
            Way::Tls => command.args(["--mix", MIX, "--tls-ca", &targets.certificate]),
            // A reply that does not fit the client's buffer is lost, so values are smaller.
            Way::Udp => command.args(["--mix", "get:60,set:40", "--udp"]),
        };
        match way {
            Way::Udp => command.args(["--value-size", "uniform:1..3000", "--timeout", "2s", "--drain", "4s"]),
            _ => command.args(["--value-size", "uniform:1..20000", "--timeout", "30s", "--drain", "30s"]),
        };
        command
    };
    let mut killed = load("killed");
    killed.args(["--window", "60s"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut killed = killed.spawn().unwrap();
    let output = finish(load("soak").args(["--window", "1s", "--verify", "--fill", "always"]));
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(has_ended(&output), "{way:?}: {}", text(&output));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)))
}

fn check(way: Way, trial: &Trial) {
    assert_eq!(trial.counters["verify_failures"], 0.0, "{way:?}");
    assert!(trial.arrivals.completed > 100, "{way:?}: {:?}", trial.arrivals);
    assert_eq!(trial.arrivals.errors, 0, "{way:?}: {:?}", trial.errors);
    let late = trial.arrivals.timeouts + trial.arrivals.unfinished;
    match way {
        // A datagram may be lost.
        Way::Udp => assert!(late * 10 < trial.arrivals.completed, "{:?}", trial.arrivals),
        _ => assert_eq!(late, 0, "{way:?}: {:?}", trial.arrivals),
    }
}

/// Starts Sphinx with one port for TLS and one port for all other connections.
fn server(folder: &Path, args: &[&str]) -> (Process, Targets) {
    let [cert, key] = certificate(folder);
    let exe = env!("CARGO_BIN_EXE_taillight").as_ref();
    let all = [
        "-p",
        "0",
        "-U",
        "tcp",
        "-t",
        "2",
        "-m",
        "64",
        "--tls-port",
        "0",
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
    ];
    let all = all.iter().chain(args).copied();
    let mut server = Process::spawn(launch::sphinx::spec(exe, all)).unwrap();
    let line = server.await_line(launch::sphinx::READY, PATIENCE).unwrap();
    let plain = line[launch::sphinx::READY.len()..].split_whitespace().next().unwrap().to_owned();
    let (_, encrypted) = line.split_once("tls://").expect("it listens for TLS");
    let encrypted = encrypted.split([',', ';', ' ']).next().unwrap().to_owned();
    (server, Targets { plain, encrypted, certificate: cert })
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn nothing_leaks_and_nothing_is_wrong() {
    let seconds = std::env::var("TAILLIGHT_SOAK_SECONDS").map_or(4, |text| text.parse().expect("a number"));
    for args in [&["--io", "epoll"][..], &["--sharing", "read"]] {
        let folder = tempfile::tempdir().unwrap();
        let (server, targets) = server(folder.path(), args);
        let address: SocketAddr = targets.plain.parse().unwrap();
        let mut watch = Watch(BufReader::new(connect(address)));
        // Buffers and index take their size, and memory is filled, before anything is compared.
        let mut filler = Filler::connect(address);
        for number in 0..Filler::KEYS / Filler::AT_ONCE {
            filler.round(number);
        }
        for way in [Way::Ascii, Way::Tls, Way::Udp] {
            round(&targets, way);
        }
        while watch.stat("curr_connections") > 2 {
            thread::yield_now();
        }
        let before = (descriptors(&server), resident(&server));
        let stop = AtomicBool::new(false);
        let started = Instant::now();
        let until = started + Duration::from_secs(seconds / 2);
        let evicted = watch.stat("evictions");
        thread::scope(|scope| {
            let churning = scope.spawn(|| churn(address, &stop));
            let filling = scope.spawn(|| fill(filler, &stop));
            let ends = AtEnd(&stop);
            for (number, way) in [Way::Meta, Way::Tls, Way::Udp, Way::Ascii].into_iter().cycle().enumerate() {
                check(way, &round(&targets, way));
                if number % 20 == 3 {
                    let (held, open) = (resident(&server) >> 10, watch.stat("curr_connections"));
                    let (seconds, evicted) = (started.elapsed().as_secs(), watch.stat("evictions") - evicted);
                    println!(
                        "{args:?}: after {seconds} s {held} KiB resident, {open} connections, {evicted} evicted"
                    );
                }
                if number >= 3 && Instant::now() > until {
                    break;
                }
            }
            drop(ends);
            assert!(churning.join().unwrap() > 10);
            assert!(filling.join().unwrap() > 100);
        });
        assert!(watch.stat("evictions") > evicted + 100);
        while watch.stat("curr_connections") > 1 {
            thread::yield_now();
        }
        // The filler's connection is closed.
        assert_eq!(descriptors(&server) + 1, before.0);
        let grown = resident(&server).saturating_sub(before.1);
        // Buffers for messages and for connections that were open at once; it does not grow with time.
        assert!(grown < 32 << 20, "{grown} bytes more than before");
        server.stop(PATIENCE).unwrap();
    }
}
