//! Sphinx under mixed traffic, connections that come and go, and clients that are killed: nothing it holds grows, and no
//! answer is wrong.
//!
//! Some seconds by default; `TAILLIGHT_SOAK_SECONDS=3600` makes it an hour.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use launch::Process;
use results::Trial;

use crate::run::{finish, taillight, text};

const PATIENCE: Duration = Duration::from_secs(60);

/// Every operation; what was deleted or has expired is read through.
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

/// A second of verified load, and beside it one that is killed in its midst.
fn round(target: &str, protocol: &str) -> Trial {
    let load = |prefix: &str| {
        let mut command = taillight(&["load", "cache", "--target", target, "--warmup", "100ms", "--json"]);
        command.args(["--keys", "500", "--connections", "8", "--pace", "sleep", "--rate", "2k"]);
        command.args([
            "--mix",
            MIX,
            "--protocol",
            protocol,
            "--on-miss",
            "set",
            "--expiry",
            "uniform:1..100",
        ]);
        command.args(["--value-size", "uniform:1..20000", "--timeout", "30s", "--drain", "30s"]);
        command.args(["--key-prefix", prefix]);
        command
    };
    let mut killed = load("killed");
    killed.args(["--window", "60s"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut killed = killed.spawn().unwrap();
    let output = finish(load("soak").args(["--window", "1s", "--verify", "--fill", "always"]));
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)))
}

#[test]
fn nothing_leaks_and_nothing_is_wrong() {
    let seconds = std::env::var("TAILLIGHT_SOAK_SECONDS").map_or(2, |text| text.parse().expect("a number"));
    for args in [&["--io", "epoll"][..], &["--sharing", "read"]] {
        let exe = env!("CARGO_BIN_EXE_taillight").as_ref();
        let args = ["-p", "0", "-t", "2", "-m", "64"].iter().chain(args).copied();
        let mut server = Process::spawn(launch::sphinx::spec(exe, args)).unwrap();
        let address = launch::sphinx::await_ready(&mut server, PATIENCE).unwrap();
        let target = address.to_string();
        let mut watch = Watch(BufReader::new(connect(address)));
        // Buffers and index take their size in the first round.
        round(&target, "ascii");
        while watch.stat("curr_connections") > 1 {
            thread::yield_now();
        }
        let before = (descriptors(&server), resident(&server));
        let stop = AtomicBool::new(false);
        let until = Instant::now() + Duration::from_secs(seconds);
        thread::scope(|scope| {
            let churning = scope.spawn(|| churn(address, &stop));
            for protocol in ["meta", "ascii"].iter().cycle() {
                let trial = round(&target, protocol);
                assert_eq!(trial.arrivals.errors, 0, "{:?}", trial.errors);
                assert_eq!((trial.arrivals.timeouts, trial.arrivals.unfinished), (0, 0));
                assert_eq!(trial.counters["verify_failures"], 0.0);
                assert!(trial.arrivals.completed > 100, "{:?}", trial.arrivals);
                if Instant::now() > until {
                    break;
                }
            }
            stop.store(true, Ordering::Relaxed);
            assert!(churning.join().unwrap() > 10);
        });
        while watch.stat("curr_connections") > 1 {
            thread::yield_now();
        }
        assert_eq!(descriptors(&server), before.0);
        let grown = resident(&server).saturating_sub(before.1);
        // Buffers for messages and for connections that were open at once; it does not grow with time.
        assert!(grown < 32 << 20, "{grown} bytes more than before");
        server.stop(PATIENCE).unwrap();
    }
}
