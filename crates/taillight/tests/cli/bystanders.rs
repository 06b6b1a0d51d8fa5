//! A load that stores in a server that it did not start: others' items on it need an agreement, wherever the server is.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use launch::memcached::Options;
use launch::{Process, find_program, free_port};
use results::Trial;
use units::Bytes;

use crate::run::{Served, answers, finish, on_free_port, refuses, taillight, text};

/// Turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// A memcached of this memory in MiB. `None`, with the reason printed, if it is not installed.
fn memcached(mib: u64, extra: &[&str]) -> Option<(Process, String)> {
    let Ok(memcached) = launch::memcached::find() else {
        println!("skipped: memcached is not installed (apt-get install memcached)");
        return None;
    };
    let extra = extra.iter().map(|word| (*word).to_owned()).collect();
    let options = Options { threads: 1, memory: Bytes(mib << 20), connections: 256, cpus: None, extra };
    let (process, address) = memcached.start(&options, PATIENCE).unwrap();
    Some((process, address.to_string()))
}

/// Sends requests of one line of answer each over TCP, or to a Unix socket.
fn ask(address: &str, requests: &[String]) -> Vec<String> {
    fn all(stream: impl std::io::Read + Write, requests: &[String]) -> Vec<String> {
        let mut stream = BufReader::new(stream);
        let one = |request: &String| {
            stream.get_mut().write_all(request.as_bytes()).unwrap();
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        };
        requests.iter().map(one).collect()
    }
    match address.strip_prefix("unix:") {
        Some(path) => all(UnixStream::connect(path).unwrap(), requests),
        None => all(TcpStream::connect(address).unwrap(), requests),
    }
}

/// Stores sessions of others, with values of this length.
fn occupy(address: &str, count: usize, length: usize) {
    let value = "v".repeat(length);
    let set = |n| format!("set session:{n} 0 0 {length}\r\n{value}\r\n");
    let answered = ask(address, &(0..count).map(set).collect::<Vec<_>>());
    assert!(answered.iter().all(|answer| answer == "STORED"), "{answered:?}");
}

/// How many of those sessions are still there.
fn sessions(address: &str, count: usize) -> usize {
    let touch = |n| format!("touch session:{n} 0\r\n");
    let answered = ask(address, &(0..count).map(touch).collect::<Vec<_>>());
    answered.iter().filter(|answer| *answer == "TOUCHED").count()
}

fn load(target: &str, options: &[&str]) -> Command {
    let mut command = taillight(&["load", "cache", "--target", target, "--rate", "1k", "--json"]);
    command.args(["--warmup", "0s", "--window", "300ms", "--connections", "4", "--pace", "sleep"]);
    command.args(options);
    command
}

/// A trial that takes place.
#[track_caller]
fn trial(target: &str, options: &[&str]) -> Trial {
    let output = finish(&mut load(target, options));
    answers(&output);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)))
}

const WAYS_OUT: [&str; 2] = ["add --yes to agree", "--target sphinx"];

/// The report: `load cache -r 1k -d 1s` evicted all 2000 live keys of a full memcached on loopback.
#[test]
fn live_keys_of_a_full_cache_on_loopback_stay() {
    const LIVE: usize = 2_000;
    let Some((_server, address)) = memcached(8, &[]) else { return };
    // Of the same slab class as the default data set.
    occupy(&address, LIVE, 200);
    let says = ["holds 2000 items (", "KiB of 8 MiB)", "such as 'session:", "would evict some of them"];
    let all = [&says[..], &WAYS_OUT, &["--fill never"]].concat();
    refuses(&mut load(&address, &[]), 1, &all);
    refuses(&mut load(&address, &["--fill", "always"]), 1, &all);
    // A load that only reads needs no agreement; one that stores without a fill does.
    trial(&address, &["--fill", "never"]);
    refuses(&mut load(&address, &["--fill", "never", "--mix", "get:50,set:50"]), 1, &WAYS_OUT);
    refuses(&mut load(&address, &["--fill", "never", "--on-miss", "set"]), 1, &WAYS_OUT);
    assert_eq!(sessions(&address, LIVE), LIVE);
    trial(&address, &["--yes"]);
    assert!(sessions(&address, LIVE) < LIVE, "what was agreed to");
}

#[test]
fn an_empty_server_and_ones_own_items_need_nothing() {
    let Some((_server, address)) = memcached(64, &[]) else { return };
    trial(&address, &["--keys", "30000", "--verify"]);
    // The same again, others of the same prefix, and more of them by inserts.
    trial(&address, &["--keys", "30000", "--verify"]);
    trial(&address, &["--keys", "500", "--key-size", "40", "--mix", "get:50,set:30,insert:20"]);
    trial(&address, &["--keys", "500", "--key-size", "40", "--mix", "get:50,delete:30,insert:20"]);
    trial(&address, &["--keys", "500", "--key-size", "40", "--fill", "always", "--mix", "incr:50,append:50"]);
    // With another prefix they are another's.
    let other = ["--keys", "500", "--key-prefix", "mine:"];
    refuses(&mut load(&address, &other), 1, &["such as 'taillight:", "would mix with them", "--yes"]);
    occupy(&address, 1, 5);
    refuses(&mut load(&address, &["--keys", "500", "--key-size", "50"]), 1, &["such as 'session:0'"]);
    // A data set that is there already is not stored again.
    trial(&address, &["--keys", "30000"]);
    assert_eq!(sessions(&address, 1), 1);
}

#[test]
fn a_data_set_that_does_not_fit_needs_an_agreement() {
    let Some((_server, address)) = memcached(64, &[]) else { return };
    let large = ["--keys", "20000", "--value-size", "10k", "--fill", "always"];
    let says = ["has 64 MiB for items", "storing 20000 items (19", "would evict some of them", "--yes"];
    refuses(&mut load(&address, &large), 1, &says);
    let found = trial(&address, &[&large[..], &["--yes"]].concat());
    assert!(found.verdict.to_string().contains("has "), "{}", found.verdict);
}

#[test]
fn each_server_of_a_cluster_is_asked() {
    let (Some((_a, a)), Some((_b, b))) = (memcached(64, &[]), memcached(64, &[])) else { return };
    occupy(&b, 3, 10);
    let both = format!("{a},{b}");
    for placement in ["replicated", "ketama", "modulo"] {
        let options = ["--keys", "500", "--placement", placement];
        refuses(&mut load(&both, &options), 1, &[&b, "holds 3 items", "such as 'session:"]);
    }
    assert_eq!(
        trial(&a, &["--keys", "500"]).counters["items_before"],
        0.0,
        "none was filled before all were asked"
    );
    trial(&both, &["--keys", "500", "--placement", "ketama", "--yes"]);
}

#[test]
fn a_unix_socket_is_no_privilege() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("cache.sock");
    let Ok(found) = launch::memcached::find() else {
        return println!("skipped: memcached is not installed (apt-get install memcached)");
    };
    let spec = launch::Spec::new("memcached", &found.path).args(["-u", "root", "-s"]);
    let _server = Process::spawn(spec.arg(socket.display().to_string())).unwrap();
    let deadline = std::time::Instant::now() + PATIENCE;
    while UnixStream::connect(&socket).is_err() {
        assert!(std::time::Instant::now() < deadline, "memcached did not listen on {}", socket.display());
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let target = format!("unix:{}", socket.display());
    occupy(&target, 2, 10);
    refuses(&mut load(&target, &[]), 1, &["holds 2 items", "such as 'session:", "--yes"]);
    trial(&target, &["--keys", "100", "--yes"]);
}

#[test]
fn a_server_that_lists_no_keys_is_not_trusted_with_them() {
    let Some((_server, address)) = memcached(64, &["-o", "no_lru_crawler"]) else { return };
    trial(&address, &["--keys", "500"]);
    // The data set that was found explains all items.
    trial(&address, &["--keys", "500", "--mix", "get:50,set:50"]);
    let says = ["does not list whose they are", "lru crawler disabled", "--yes"];
    refuses(&mut load(&address, &["--keys", "500", "--key-size", "40"]), 1, &says);
}

#[test]
fn a_sphinx_that_runs_is_asked_as_well() {
    let server = Served::start(&["serve", "sphinx", "-p", "0", "-m", "64", "-t", "1"], launch::sphinx::READY);
    trial(&server.address, &["--keys", "500"]);
    trial(&server.address, &["--keys", "500", "--key-size", "40", "--mix", "get:50,set:50"]);
    occupy(&server.address, 5, 10);
    let says = ["holds 1005 items", "such as 'session:", "--yes"];
    refuses(&mut load(&server.address, &["--keys", "500", "--key-size", "50"]), 1, &says);
}

/// twemproxy closes a connection that asks for `stats`: the refusal says so, and `--yes` allows the fill.
#[test]
fn a_proxy_is_measured_without_what_it_does_not_tell() {
    let Some(nutcracker) = find_program("nutcracker") else {
        return println!("skipped: twemproxy is not installed (apt-get install nutcracker)");
    };
    let Some((_server, behind)) = memcached(64, &[]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("nutcracker.yml");
    let spec = |port: u16| {
        let text = format!(
            "alpha:\n  listen: 127.0.0.1:{port}\n  hash: fnv1a_64\n  distribution: ketama\n  servers:\n   - {behind}:1\n"
        );
        fs::write(&config, text).unwrap();
        let spec = launch::Spec::new("nutcracker", &nutcracker).arg("-c").arg(config.display().to_string());
        let statistics = free_port().unwrap();
        spec.args(["-s".into(), statistics.to_string()])
    };
    let (_proxy, address) = on_free_port(PATIENCE, spec);
    let address = address.to_string();
    let says =
        ["does not tell what it holds", "closed the connection when asked for 'stats'", "may evict others"];
    refuses(&mut load(&address, &["--keys", "500"]), 1, &[&says[..], &WAYS_OUT].concat());
    let filled =
        trial(&address, &["--keys", "500", "--verify", "--mix", "get:50,mget(5):20,set:30", "--yes"]);
    assert_eq!(filled.arrivals.errors, 0, "{:?}", filled.errors);
    assert_eq!(filled.counters["fill_hit_ratio"], 1.0);
    assert!(!filled.counters.contains_key("items_before"), "{:?}", filled.counters);
    let [unknown] = &filled.found.unknown[..] else { panic!("{:?}", filled.found.unknown) };
    for part in ["the number of items on", &address, "'stats'"] {
        assert!(unknown.contains(part), "{unknown}");
    }
    let read = trial(&address, &["--keys", "500", "--fill", "never"]);
    assert_eq!((read.counters["hit_ratio"], read.arrivals.errors), (1.0, 0));
    // A kept result says so, too.
    let out = tempfile::tempdir().unwrap();
    let mut kept = taillight(&["load", "cache", "--target", &address, "--rate", "1k", "--fill", "never"]);
    kept.args(["--keys", "500", "--warmup", "0s", "--window", "300ms", "--pace", "sleep", "--name", "k"]);
    answers(&finish(kept.arg("--out").arg(out.path())));
    let page = fs::read_to_string(out.path().join("k/report.html")).unwrap();
    assert!(page.contains(&format!("Unknown: the number of items on {address}")));
}
