//! Traces of requests are made, described, compiled and replayed.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use results::Trial;
use serde_json::Value;

use crate::cache::memcached;
use crate::hostile_servers::server;
use crate::run::{answers, counter, finish, refuses, taillight, text};

/// Makes a trace of this format in a folder.
fn make(folder: &Path, format: &str, more: &[&str]) -> String {
    let file = folder.join(format).display().to_string();
    let mut command = taillight(&["trace", "make", "--format", format, "--out", &file]);
    answers(&finish(command.args(["--requests", "4000", "--rate", "4k"]).args(more)));
    file
}

fn info(file: &str) -> Value {
    let output = finish(&mut taillight(&["trace", "info", file, "--json"]));
    answers(&output);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output)))
}

/// The trial of a replay on one connection, which keeps the order of the trace. On a busy machine that takes longer than
/// the trace; all of it is answered in the drain.
fn replay(target: &str, file: &str, more: &[&str]) -> Trial {
    let mut command = taillight(&["load", "cache", "--target", target, "--trace", file, "--json"]);
    command.args(["--connections", "1", "--pace", "sleep", "--timeout", "30s", "--drain", "30s"]);
    // What the server counts is compared with the whole trace, also after an absence of the generator.
    command.args(["--when-absent", "send"]);
    let output = finish(command.args(more));
    answers(&output);
    let trial: Trial =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output)));
    assert_eq!((trial.arrivals.errors, trial.arrivals.timeouts), (0, 0), "{:?}", trial.errors);
    trial
}

fn intended(trial: &Trial, name: &str) -> u64 {
    let found = trial.operations.iter().find(|operation| operation.name == name);
    found.and_then(|operation| operation.outcomes).map_or(0, |outcomes| outcomes.intended)
}

#[test]
fn a_server_counts_what_the_trace_tells() {
    let folder = tempfile::tempdir().unwrap();
    let file = make(folder.path(), "watch", &[]);
    let recorded = std::fs::read_to_string(&file).unwrap();
    let lines = |part: &str| recorded.lines().filter(|line| line.contains(part)).count() as u64;
    let (found, gets) = (lines("status=found"), lines("type=item_get"));
    let Some((_server, address)) = memcached(&[]) else { return };
    let trial = replay(&address, &file, &["--verify"]);
    assert_eq!(trial.arrivals.intended, 4_000, "all of it, without a warm-up");
    assert_eq!((intended(&trial, "get"), intended(&trial, "set")), (gets, lines("type=item_store")));
    assert_eq!(intended(&trial, "delete"), lines("type=deleted"));
    let sum =
        |read: fn(&results::WindowPoint) -> Option<u64>| trial.windows.iter().filter_map(read).sum::<u64>();
    assert_eq!((sum(|window| window.hits), sum(|window| window.gets)), (found, gets));
    assert!((trial.counters["hit_ratio"] - found as f64 / gets as f64).abs() < 1e-9);
    assert_eq!(trial.counters["verify_failures"], 0.0);
    assert_eq!(
        (counter(&address, "get_hits"), counter(&address, "cmd_set")),
        (found, lines("type=item_store"))
    );
    let rates: Vec<f64> = trial.windows.iter().filter_map(results::WindowPoint::hit_ratio).collect();
    assert!(rates[0] < rates[rates.len() - 1], "an empty cache fills: {rates:?}");
}

#[test]
fn a_trace_of_gets_is_read_through() {
    let folder = tempfile::tempdir().unwrap();
    let file = make(folder.path(), "oracle-general", &[]);
    let keys = info(&file)["keys"]["count"].as_f64().unwrap() as u64;
    let Some((_server, address)) = memcached(&[]) else { return };
    let trial = replay(&address, &file, &["--rate", "8k"]);
    assert_eq!((trial.arrivals.intended, intended(&trial, "get")), (4_000, 4_000));
    // A get that was sent before the set of its key misses as well.
    let hits = trial.windows.iter().filter_map(|window| window.hits).sum::<u64>();
    assert_eq!(intended(&trial, "set on miss"), 4_000 - hits);
    assert!(4_000 - hits >= keys, "each key is missed: {hits} of {keys} keys");
    assert_eq!(counter(&address, "curr_items"), keys);
    assert!((trial.offered_rps / 8_000.0 - 1.0).abs() < 0.05, "{}", trial.offered_rps);
    let none = replay(&address, &file, &["--on-miss", "nothing", "--sample", "1/4", "--speed", "4x"]);
    assert!((200..3_500).contains(&none.arrivals.intended), "{:?}", none.arrivals);
    assert_eq!(none.counters["hit_ratio"], 1.0, "a second replay finds what the first stored");
}

#[test]
fn every_format_is_described_alike() {
    let folder = tempfile::tempdir().unwrap();
    let of = |format: &str| info(&make(folder.path(), format, &["--keys", "500", "--seed", "3"]));
    let twitter = of("twitter");
    assert_eq!(twitter["requests"], 4_000);
    for format in ["kvcache", "watch", "monitor"] {
        let other = of(format);
        assert_eq!(
            (&other["operations"], &other["keys"]["count"]),
            (&twitter["operations"], &twitter["keys"]["count"])
        );
        assert_eq!(other["timed"], format != "kvcache");
    }
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = make(folder.path(), "kvcache", &[]);
    let check = |more: &[&str], expect: &str| {
        let mut command = taillight(&["load", "cache", "--target", "127.0.0.1:1", "--trace", &file]);
        refuses(command.args(more), 2, &[expect]);
    };
    check(&[], "has no times; give the mean rate with --rate");
    check(&["--rate", "1k", "--speed", "2x"], "--rate decides how fast");
    check(&["--rate", "1k", "--arrivals", "poisson"], "a trace has arrivals of its own");
    check(&["--closed"], "a closed loop ignores");
    check(&["--rate", "1k", "--loop"], "--window 60s");
    check(&["--mix", "get:100"], "cannot be used with");
    std::fs::write(folder.path().join("text"), "hello\n").unwrap();
    let text = folder.path().join("text").display().to_string();
    refuses(&mut taillight(&["trace", "info", &text]), 1, &["its format is not recognised"]);
}

/// A cache with room for a number of items of any size, which has a missing item from its first request on.
struct Model {
    room: usize,
    /// Whether a request makes an item the newest; otherwise it keeps its place.
    moves: bool,
    places: HashMap<String, u64>,
    order: BTreeMap<u64, String>,
    requests: u64,
}

impl Model {
    fn new(room: usize, moves: bool) -> Model {
        Model { room, moves, places: HashMap::new(), order: BTreeMap::new(), requests: 0 }
    }

    /// Whether the item was there.
    fn request(&mut self, key: &str) -> bool {
        self.requests += 1;
        let place = self.places.get(key).copied();
        match place {
            Some(place) if self.moves => drop(self.order.remove(&place)),
            Some(_) => return true,
            None if self.places.len() == self.room => {
                let (_, oldest) = self.order.pop_first().unwrap();
                self.places.remove(&oldest);
            }
            None => {}
        }
        self.places.insert(key.to_owned(), self.requests);
        self.order.insert(self.requests, key.to_owned());
        place.is_some()
    }

    /// Answers by memcached's protocol until the client leaves. Other keys than those of the trace are missing.
    fn serve(model: &Mutex<Model>, stream: TcpStream) {
        let mut writer = stream.try_clone().unwrap();
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            let answer = match line.trim_end().split_once(' ').unwrap_or((line.trim_end(), "")) {
                ("get", key) if key.starts_with("t:") && model.lock().unwrap().request(key) => {
                    format!("VALUE {key} 0 1\r\nv\r\nEND\r\n")
                }
                ("get", _) => "END\r\n".into(),
                ("version", _) => "VERSION 1.6.18\r\n".into(),
                ("stats", _) => "STAT curr_items 0\r\nEND\r\n".into(),
                _ => "ERROR\r\n".into(),
            };
            if writer.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }
}

/// Prints the hit ratios of LRU and FIFO with room for a number of items.
const SIMULATE: &str = "
import sys, libcachesim
for name in ('LRU', 'FIFO'):
    fields = libcachesim.ReaderInitParam(ignore_obj_size=True)
    reader = libcachesim.TraceReader(sys.argv[1], libcachesim.TraceType.ORACLE_GENERAL_TRACE, fields)
    cache = getattr(libcachesim, name)(cache_size=int(sys.argv[2]), hashpower=20, consider_obj_metadata=False)
    missed, _ = cache.process_trace(reader, 0, int(sys.argv[3]))
    print(1 - missed)
";

#[test]
fn hit_ratios_are_those_of_a_simulator_of_another_make() {
    const ROOM: usize = 100;
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/simulator-python");
    if !tools.join("packages").is_dir() {
        return println!("skipped: libCacheSim is not here; `cargo xtask tools --all` installs it");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = make(folder.path(), "oracle-general", &[]);
    let mut simulator = Command::new(tools.join("bin/python3"));
    simulator.args(["-c", SIMULATE, &file, &ROOM.to_string(), "4000"]);
    let output = simulator.env("PYTHONPATH", tools.join("packages")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let expected: Vec<f64> = printed.lines().map(|line| line.parse().unwrap()).collect();
    for (moves, expected) in [true, false].into_iter().zip(expected) {
        let model = Mutex::new(Model::new(ROOM, moves));
        let address = server(move |stream, _| Model::serve(&model, stream));
        let trial = replay(&address, &file, &["--on-miss", "nothing", "--key-prefix", "t:"]);
        let (got, name) = (trial.counters["hit_ratio"], if moves { "LRU" } else { "FIFO" });
        assert!(expected > 0.1 && (got - expected).abs() < 0.002, "{name}: {got} and not {expected}");
    }
}
