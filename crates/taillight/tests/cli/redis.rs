//! Loads by RESP against redis-server: as a target by its name, by its address, over TLS and a Unix socket, with a login,
//! and as a Redis Cluster.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use launch::{Process, Spec, find_program, free_port};
use results::{Transport, Trial};

use crate::cache::certificate;
use crate::run::{answers, finish, on_free_port, refuses, taillight, text};

/// Turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts redis-server with these arguments, in which `PORT` is its port; `None`, with the reason printed, if it is not
/// installed.
pub(crate) fn redis(extra: &[&str]) -> Option<(Process, String)> {
    let Some(path) = find_program("redis-server") else {
        println!("skipped: redis-server is not installed (apt-get install redis-server)");
        return None;
    };
    let words = ["--bind", "127.0.0.1", "--save", "", "--port"];
    let spec = |port: u16| {
        let port = port.to_string();
        let given = if extra.contains(&"PORT") { "0" } else { port.as_str() };
        let extra = extra.iter().map(|word| if *word == "PORT" { port.as_str() } else { *word });
        Spec::new("redis-server", &path).args(words.into_iter().chain([given]).chain(extra))
    };
    let (process, address) = on_free_port(PATIENCE, spec);
    Some((process, address.to_string()))
}

fn load(target: &str, options: &[&str]) -> Command {
    let mut command = taillight(&["load", "cache", "--target", target, "--warmup", "100ms", "--json"]);
    command.args(["--window", "500ms", "--keys", "500", "--connections", "4", "--pace", "sleep"]);
    command.args(["--rate", "2k", "--mix", "get:50,mget(5):20,set:25,delete:5", "--on-miss", "set"]);
    command.args(["--verify"]).args(options);
    command
}

/// The trial of a load without errors.
fn trial(target: &str, options: &[&str]) -> Trial {
    let output = finish(&mut load(target, options));
    answers(&output);
    let trial: Trial =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    assert_eq!(trial.arrivals.errors, 0, "{:?}", trial.errors);
    assert!(
        trial.arrivals.completed > 100 && trial.counters["verify_failures"] == 0.0,
        "{:?}",
        trial.counters
    );
    trial
}

#[test]
fn by_name_and_by_address() {
    let Some((_server, address)) = redis(&[]) else { return };
    // The description of the target names the protocol.
    let named = trial("redis", &[]);
    let version = named.found.server_version.unwrap();
    assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{version}");
    let given = trial(&address, &["--protocol", "resp"]);
    assert_eq!((given.transport, given.counters["hit_ratio"] > 0.5), (Some(Transport::Tcp), true));
    refuses(&mut load(&address, &[]), 1, &["is Redis", "add --protocol resp"]);
    refuses(&mut load("redis", &["--protocol", "resp", "--udp"]), 1, &["leave out --udp"]);
    let cas = ["load", "cache", "--target", "redis", "--rate", "1k", "--mix", "cas:100", "--json"];
    refuses(&mut taillight(&cas), 1, &["the operation cas", "--mix"]);
}

#[test]
fn sphinx_by_its_port_for_resp() {
    let found = trial("sphinx-resp", &[]).found;
    assert!(found.server_version.unwrap().contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn memcached_is_no_redis() {
    let Some((_server, address)) = crate::cache::memcached(&[]) else { return };
    let says = ["is a memcached-compatible cache", "leave out --protocol resp"];
    refuses(&mut load(&address, &["--protocol", "resp"]), 1, &says);
}

#[test]
fn a_login_is_read_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("login");
    let path = file.display().to_string();
    let users = ["--requirepass", "secret", "--user", "me", "on", ">word", "~*", "&*", "+@all"];
    let Some((_server, address)) = redis(&users) else { return };
    refuses(&mut load(&address, &["--protocol", "resp"]), 1, &["wants a login", "--auth-file FILE"]);
    let options = ["--protocol", "resp", "--auth-file", &path];
    refuses(&mut load(&address, &options), 1, &["cannot read", &path]);
    fs::write(&file, "secret\n").unwrap();
    refuses(&mut load(&address, &options), 1, &["USER:PASSWORD"]);
    fs::write(&file, "me:wrong\n").unwrap();
    refuses(&mut load(&address, &options), 1, &["refused the login", "WRONGPASS"]);
    for login in [":secret\n", "me:word\n"] {
        fs::write(&file, login).unwrap();
        trial(&address, &options);
    }
}

#[test]
fn over_a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("redis.sock");
    let path = socket.display().to_string();
    let Some((_server, _)) = redis(&["--unixsocket", &path]) else { return };
    let deadline = Instant::now() + PATIENCE;
    while UnixStream::connect(&socket).is_err() {
        assert!(Instant::now() < deadline, "no socket at {path}");
    }
    let trial = trial(&format!("unix:{path}"), &["--protocol", "resp"]);
    assert_eq!(trial.transport, Some(Transport::Unix));
}

fn tls(folder: &Path) -> (String, Vec<String>) {
    let [cert, key] = certificate(folder);
    let words =
        ["--tls-port", "PORT", "--tls-cert-file", &cert, "--tls-key-file", &key, "--tls-auth-clients", "no"];
    let words = words.map(str::to_owned).to_vec();
    (cert, words)
}

#[test]
fn over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, words) = tls(folder.path());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((_server, address)) = redis(&words) else { return };
    let trial = trial(&address, &["--protocol", "resp", "--tls-ca", &cert]);
    assert_eq!(trial.transport, Some(Transport::Tls));
    refuses(&mut load(&address, &["--protocol", "resp"]), 1, &["closed the connection", "without TLS?"]);
    let Some((_plain, plain)) = redis(&[]) else { return };
    let says = ["does not speak TLS and is Redis", "leave out --tls-ca"];
    refuses(&mut load(&plain, &["--protocol", "resp", "--tls-insecure"]), 1, &says);
}

#[test]
fn a_redis_cluster_is_found_by_one_of_its_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let (bus, dir) = (free_port().unwrap().to_string(), folder.path().display().to_string());
    let extra = ["--cluster-enabled", "yes", "--cluster-port", &bus, "--dir", &dir];
    let Some((_server, address)) = redis(&extra) else { return };
    let options = ["--protocol", "resp", "--placement", "cluster"];
    refuses(&mut load(&address, &options), 1, &["CLUSTERDOWN", "serves no reads"]);
    refuses(&mut load(&address, &["--protocol", "resp"]), 1, &["add --placement cluster"]);
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    std::io::Write::write_all(&mut stream, b"CLUSTER ADDSLOTSRANGE 0 16383\r\n").unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let output = finish(&mut load(&address, &options));
        if output.status.success() || Instant::now() > deadline {
            break;
        }
    }
    let found = trial(&address, &options);
    assert_eq!(found.counters["cluster_moved"], 0.0);
    let Some((_alone, alone)) = redis(&[]) else { return };
    refuses(
        &mut load(&alone, &options),
        1,
        &["no node of a whole Redis Cluster", "cluster support disabled"],
    );
}
