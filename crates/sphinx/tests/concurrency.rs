//! Many clients at once: reads return the written values, on each number of threads and with short queues.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::support::client::Client;
use crate::support::{MODES, Random, sphinxd};

/// A value that names its key and version, with a length that varies.
fn value(key: &str, version: u64) -> String {
    let mut value = format!("{key} {version} ");
    let padding = (version * 37 % 300) as usize;
    value.extend(std::iter::repeat_n('.', padding));
    value
}

/// Writes pipelined requests for keys of its own and reads the answers: each read must see the last write
/// before it, whether that was answered yet or not.
struct Private {
    client: Client,
    name: String,
    written: HashMap<String, String>,
    version: u64,
    /// Whether items may be evicted for want of memory.
    may_forget: bool,
}

impl Private {
    fn batch(&mut self, random: &mut Random, length: u64) {
        let (mut requests, mut expected) = (String::new(), Vec::new());
        for _ in 0..length {
            let key = format!("{}-{}", self.name, random.below(50));
            match random.below(10) {
                0..4 => {
                    self.version += 1;
                    let value = value(&key, self.version);
                    requests += &format!("set {key} 0 0 {}\r\n{value}\r\n", value.len());
                    self.written.insert(key, value);
                    expected.push(Expect::Line("STORED".into()));
                }
                4 if !self.may_forget => {
                    requests += &format!("delete {key}\r\n");
                    let found = self.written.remove(&key).is_some();
                    expected.push(Expect::Line(if found { "DELETED" } else { "NOT_FOUND" }.into()));
                }
                5 if !self.may_forget => {
                    let key = format!("{}-counter", self.name);
                    requests += &format!("add {key} 0 0 1 noreply\r\n0\r\nincr {key} 3\r\n");
                    let old: u64 = self.written.get(&key).map_or(0, |n| n.trim_end().parse().unwrap());
                    self.written.insert(key, (old + 3).to_string());
                    expected.push(Expect::Line((old + 3).to_string()));
                }
                _ => {
                    let keys: Vec<String> = (0..=random.below(4))
                        .map(|_| format!("{}-{}", self.name, random.below(50)))
                        .collect();
                    requests += &format!("get {}\r\n", keys.join(" "));
                    let values =
                        keys.into_iter().filter_map(|k| Some((k.clone(), self.written.get(&k)?.clone())));
                    expected.push(Expect::Values(values.collect()));
                }
            }
        }
        self.client.send(&requests);
        for expect in expected {
            match expect {
                Expect::Line(line) => assert_eq!(self.client.text(), line),
                Expect::Values(values) => self.read_values(values),
            }
        }
    }

    fn read_values(&mut self, values: Vec<(String, String)>) {
        let mut values = values.into_iter();
        loop {
            let header = self.client.text();
            if header == "END" {
                assert!(self.may_forget || values.next().is_none(), "values are missing");
                return;
            }
            let key = header.split(' ').nth(1).unwrap().to_owned();
            // In the order of the keys; some may be missing only if items may be evicted.
            let (_, value) = loop {
                let next =
                    values.next().unwrap_or_else(|| panic!("{header} was not written or not asked for"));
                if next.0 == key {
                    break next;
                }
                assert!(self.may_forget, "{header} came before {}", next.0);
            };
            assert_eq!(header, format!("VALUE {key} 0 {}", value.len()));
            assert_eq!(self.client.text(), value);
        }
    }
}

enum Expect {
    Line(String),
    Values(Vec<(String, String)>),
}

fn private_keys(address: SocketAddr, seed: u64, may_forget: bool, batches: u64) {
    let workers: Vec<_> = (0..4)
        .map(|worker: u64| {
            thread::spawn(move || {
                let mut random = Random(seed * 1000 + worker + 1);
                let mut connections: Vec<Private> = (0..3)
                    .map(|n| Private {
                        client: Client::connect(address),
                        name: format!("private-{worker}-{n}"),
                        written: HashMap::new(),
                        version: 0,
                        may_forget,
                    })
                    .collect();
                for _ in 0..batches {
                    for connection in &mut connections {
                        let length = 1 + random.below(60);
                        connection.batch(&mut random, length);
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
}

#[test]
fn each_connection_reads_its_own_writes() {
    own_writes(30);
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn each_connection_reads_its_own_writes_for_longer() {
    own_writes(300);
}

fn own_writes(batches: u64) {
    let io = [
        "-t 1 --io epoll",
        "-t 2 --queue 1 --io epoll --spin 100",
        "-t 4 --queue 2 --spin auto",
        "-t 4 --queue 2 --io epoll",
    ];
    let modes = MODES.into_iter().flat_map(|mode| {
        ["-t 1", "-t 2", "-t 2 --queue 1", "-t 4 --queue 1"].map(|threads| format!("{threads} {mode}"))
    });
    for (seed, args) in io.into_iter().map(str::to_owned).chain(modes).enumerate() {
        println!("{args}");
        let server = sphinxd(&args);
        private_keys(server.address, seed as u64, false, batches);
        let mut client = Client::connect(server.address);
        let queue_waits = client.stat("queue_waits");
        let asks = match &args {
            args if args.contains("everything") => false,
            // Two threads are one group.
            args if args.contains("something") => args.contains("-t 4"),
            args => !args.contains("-t 1"),
        };
        let short = args.contains("--queue");
        assert_eq!(queue_waits > 0, asks && short, "{args}: {queue_waits} waits for a full queue");
        // The statistics themselves ask each thread.
        assert_eq!(client.stat("messages") > 10, asks, "{args}");
        assert_eq!(client.stat("evictions"), 0);
    }
}

#[test]
fn nothing_foreign_is_read_while_items_are_evicted() {
    MODES.into_iter().for_each(nothing_foreign);
}

fn nothing_foreign(mode: &str) {
    // 4 MiB a thread; the values that the 12 connections keep fit into that, all that they write does not.
    let server = sphinxd(&format!("-t 2 -m 8 --queue 4 {mode}"));
    let filler = thread::spawn({
        let address = server.address;
        move || {
            let mut client = Client::connect(address);
            for i in 0..400 {
                client.set(&format!("filler-{i}"), vec![b'f'; 100_000]);
            }
        }
    });
    private_keys(server.address, 99, true, 100);
    filler.join().unwrap();
    assert!(Client::connect(server.address).stat("evictions") > 0);
}

#[test]
fn versions_of_shared_keys_never_go_back() {
    shared_keys(400);
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn versions_of_shared_keys_never_go_back_for_longer() {
    shared_keys(4_000);
}

/// One writer and many readers of each key: a reader sees no version older than one acknowledged before its request, no
/// version that was not yet written, and never goes back.
fn shared_keys(versions: u64) {
    const KEYS: u64 = 8;
    for args in MODES
        .into_iter()
        .flat_map(|mode| ["-t 1", "-t 2 --queue 1", "-t 4"].map(|more| format!("{more} {mode}")))
    {
        let server = sphinxd(&args);
        let address = server.address;
        let written: Arc<Vec<AtomicU64>> = Arc::new((0..KEYS).map(|_| AtomicU64::new(0)).collect());
        let acknowledged: Arc<Vec<AtomicU64>> = Arc::new((0..KEYS).map(|_| AtomicU64::new(0)).collect());
        let writers = (0..2u64).map(|writer| {
            let (written, acknowledged) = (Arc::clone(&written), Arc::clone(&acknowledged));
            thread::spawn(move || {
                let mut client = Client::connect(address);
                for version in 1..=versions {
                    for key in (writer..KEYS).step_by(2) {
                        written[key as usize].store(version, Ordering::SeqCst);
                        client.set(&format!("shared-{key}"), value(&format!("shared-{key}"), version));
                        acknowledged[key as usize].store(version, Ordering::SeqCst);
                    }
                }
            })
        });
        let writers: Vec<_> = writers.collect();
        let readers = (0..3u64).map(|reader| {
            let (written, acknowledged) = (Arc::clone(&written), Arc::clone(&acknowledged));
            thread::spawn(move || {
                let mut random = Random(reader + 7);
                let mut client = Client::connect(address);
                let mut seen = [0; KEYS as usize];
                for _ in 0..4 * versions {
                    let key = random.below(KEYS) as usize;
                    let name = format!("shared-{key}");
                    let least = acknowledged[key].load(Ordering::SeqCst).max(seen[key]);
                    let Some(got) = client.get(&name) else {
                        assert_eq!(least, 0, "{name} is missing");
                        continue;
                    };
                    let most = written[key].load(Ordering::SeqCst);
                    let got = String::from_utf8(got).unwrap();
                    let version: u64 = got.split(' ').nth(1).unwrap().parse().unwrap();
                    assert_eq!(got, value(&name, version));
                    assert!((least..=most).contains(&version), "{name}: {version} not in {least}..={most}");
                    seen[key] = version;
                }
            })
        });
        let readers: Vec<_> = readers.collect();
        for thread in writers.into_iter().chain(readers) {
            thread.join().unwrap();
        }
    }
}
