//! The cache workload against real memcached: every operation, transport and placement ends in true figures.

use std::path::Path;
use std::time::Duration;

use launch::Process;
use launch::memcached::Options;
use results::{LoopKind, Reason, ResultFolder, Transport, Trial, Verdict};
use units::Bytes;

use crate::run::{Served, answers, closes, finish, refuses, taillight, text};

/// Starts memcached with further arguments. `None`, with the reason printed, if memcached is not installed.
pub(crate) fn memcached(extra: &[&str]) -> Option<(Process, String)> {
    let Ok(memcached) = launch::memcached::find() else {
        println!("skipped: memcached is not installed (apt-get install memcached)");
        return None;
    };
    let extra = extra.iter().map(|word| (*word).to_owned()).collect();
    let options = Options { threads: 1, memory: Bytes(256 << 20), connections: 1024, cpus: None, extra };
    let (process, address) = memcached.start(&options, Duration::from_secs(10)).unwrap();
    Some((process, address.to_string()))
}

/// A short trial; the machine may be busy, so only the accounting is certain and not the verdict.
fn trial(target: &str, options: &[&str]) -> Trial {
    let mut command = taillight(&["load", "cache", "--target", target, "--warmup", "100ms", "--json"]);
    command.args(["--window", "500ms", "--keys", "500", "--connections", "4", "--pace", "sleep"]);
    let output = finish(command.args(options));
    answers(&output);
    let trial: Trial =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    let a = trial.arrivals;
    assert_eq!(a.intended, a.completed + a.errors + a.timeouts + a.unfinished, "{a:?}");
    let offered: u64 = trial.windows.iter().filter_map(|window| window.offered).sum();
    assert_eq!(offered, a.intended, "what the windows offered is what was due");
    trial
}

fn no_errors(trial: &Trial) {
    assert_eq!(trial.arrivals.errors, 0, "{:?}", trial.errors);
    assert!(trial.arrivals.completed > 100, "{:?}", trial.arrivals);
}

const EVERYTHING: &str = "get:30,mget(uniform:1..20):10,gets:5,set:10,add:5,replace:5,append:5,prepend:5,delete:5,\
                          incr:5,decr:5,touch:5,gat:3,cas:2";

#[test]
fn every_operation_by_both_protocols_verified() {
    let Some((_server, address)) = memcached(&[]) else { return };
    for protocol in ["ascii", "meta"] {
        let options = ["--rate", "4k", "--mix", EVERYTHING, "--protocol", protocol, "--verify"];
        let trial = trial(&address, &[&options[..], &["--on-miss", "set", "--expiry", "100"]].concat());
        no_errors(&trial);
        assert_eq!(trial.counters["verify_failures"], 0.0);
        assert_eq!(trial.counters["fill_hit_ratio"], 1.0);
        let follows: Vec<&str> =
            trial.operations.iter().filter(|o| o.follow_up).map(|o| o.name.as_str()).collect();
        assert_eq!(follows, ["set on miss"], "deleted items are read through");
        let drawn: u64 =
            trial.operations.iter().filter(|o| !o.follow_up).map(|o| o.outcomes.unwrap().intended).sum();
        assert_eq!(drawn, trial.arrivals.intended, "each arrival has one operation");
        let traffic = trial.traffic.unwrap();
        assert!(traffic.bytes_sent > 0 && traffic.bytes_received > 0);
    }
}

#[test]
fn a_login_is_read_from_a_file() {
    let users = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(users.path(), "me:secret\n").unwrap();
    // memcached reads it as another user.
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(users.path(), readable).unwrap();
    let Some((_server, locked)) = memcached(&["-Y", &users.path().display().to_string()]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("login");
    let path = file.display().to_string();
    let load = |target: &str, options: &[&str]| {
        let mut command = taillight(&["load", "cache", "--target", target, "--rate", "1k", "--json"]);
        command.args(["--auth-file", &path]).args(options);
        command
    };
    std::fs::write(&file, ":secret\n").unwrap();
    refuses(&mut load(&locked, &[]), 1, &["write USER:PASSWORD"]);
    std::fs::write(&file, "me:wrong\n").unwrap();
    refuses(&mut load(&locked, &[]), 1, &["refused the login", "authentication failure"]);
    std::fs::write(&file, "me:secret\n").unwrap();
    refuses(&mut load(&locked, &["--udp"]), 1, &["leave out --udp or --auth-file"]);
    for protocol in ["ascii", "meta"] {
        let options = ["--rate", "2k", "--mix", EVERYTHING, "--protocol", protocol, "--auth-file", &path];
        let trial = trial(&locked, &options);
        no_errors(&trial);
        assert_eq!(trial.counters["fill_hit_ratio"], 1.0);
    }
    let Some((_open, open)) = memcached(&[]) else { return };
    refuses(&mut load(&open, &[]), 1, &["wants no login", "leave out --auth-file"]);
}

#[test]
fn a_load_that_stores_what_it_misses_keeps_the_histograms_of_both() {
    let Some((_server, address)) = memcached(&[]) else { return };
    let out = tempfile::tempdir().unwrap();
    let mut load = taillight(&["load", "cache", "--target", &address, "--rate", "2k", "--keys", "1000"]);
    load.args(["--fill", "never", "--on-miss", "set", "--warmup", "50ms", "--window", "500ms"]);
    answers(&finish(load.args(["--name", "on-miss", "--out"]).arg(out.path())));
    let log = std::fs::read_to_string(out.path().join("on-miss/trials/0001.hlog")).unwrap();
    for tag in ["get.response_time", "set-on-miss.response_time"] {
        assert!(log.contains(&format!("Tag={tag},")), "{tag}: {log}");
    }
}

#[test]
fn a_wrong_value_makes_the_run_invalid() {
    // Every get of the null server hits with the same bytes.
    let server = Served::canned();
    let trial = trial(&server.address, &["--rate", "1k", "--fill", "never", "--verify"]);
    let Verdict::Invalid { reasons } = &trial.verdict else { panic!("{}", trial.verdict) };
    assert!(reasons.iter().any(|r| r.reason == Reason::VerifyFailed), "{}", trial.verdict);
    assert!(trial.errors.iter().any(|e| e.kind == "wrong_value"), "{:?}", trial.errors);
}

#[test]
fn gets_over_udp_in_many_datagrams_and_sets_over_tcp() {
    let options = ["serve", "null", "--dialect", "memcached", "--udp", "--value-size", "5000"];
    let server = Served::start(&options, "null server ready on ");
    let options =
        ["--rate", "2k", "--mix", "get:80,set:20", "--value-size", "5000", "--udp", "--fill", "never"];
    let trial = trial(&server.address, &options);
    no_errors(&trial);
    assert_eq!(trial.transport, Some(Transport::UdpTcp));
    let datagrams = trial.datagrams.unwrap();
    assert!(datagrams.sent > 500 && datagrams.lost == 0, "{datagrams:?}");
    assert!(datagrams.multi > 300, "5 000 B are four datagrams of 1 400: {datagrams:?}");
    let [tcp, udp] = &trial.servers[..] else { panic!("{:?}", trial.servers) };
    assert!(udp.requests > 2 * tcp.requests && tcp.requests > 0, "{:?}", trial.servers);
}

#[test]
fn a_unix_socket() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("cache.sock");
    let Ok(found) = launch::memcached::find() else {
        return println!("skipped: memcached is not installed (apt-get install memcached)");
    };
    let spec = launch::Spec::new("memcached", &found.path)
        .args(["-u", "root", "-s"])
        .arg(socket.display().to_string());
    let server = Process::spawn(spec).unwrap();
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        assert!(std::time::Instant::now() < deadline, "memcached did not listen on {}", socket.display());
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    let trial = trial(&format!("unix:{}", socket.display()), &["--rate", "2k", "--mix", "get:50,set:50"]);
    no_errors(&trial);
    assert_eq!(trial.transport, Some(Transport::Unix));
    server.stop(Duration::from_secs(2)).unwrap();
}

/// A certificate for 127.0.0.1 that signs itself, and its key, in PEM files.
pub(crate) fn certificate(folder: &Path) -> [String; 2] {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| folder.join(name));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    [cert, key].map(|path| path.display().to_string())
}

#[test]
fn over_tls_with_a_certificate_that_is_trusted_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let [cert, key] = certificate(folder.path());
    let ssl = format!("ssl_chain_cert={cert},ssl_key={key}");
    let Some((_server, address)) = memcached(&["-Z", "-o", &ssl]) else { return };
    let trusted = trial(&address, &["--rate", "1k", "--mix", "get:50,set:50", "--tls-ca", &cert]);
    no_errors(&trusted);
    assert_eq!(trusted.transport, Some(Transport::Tls));
    no_errors(&trial(&address, &["--rate", "1k", "--tls-insecure", "--io", "uring"]));
    let [other, _] = certificate(tempfile::tempdir().unwrap().keep().as_path());
    let mut command =
        taillight(&["load", "cache", "--target", &address, "--rate", "1k", "--tls-ca", &other, "--json"]);
    refuses(&mut command, 1, &["certificate"]);
    refuses(
        &mut taillight(&["load", "cache", "--target", &address, "--rate", "1k", "--tls-name", "x", "--json"]),
        1,
        &["--tls-ca FILE", "--tls-insecure"],
    );
}

#[test]
fn a_cluster_replicated_and_sharded() {
    let (Some((_a, a)), Some((_b, b))) = (memcached(&[]), memcached(&[])) else { return };
    let both = format!("{a},{b}");
    for placement in ["replicated", "ketama", "modulo"] {
        let options = ["--rate", "2k", "--mix", "get:40,mget(5):30,set:30", "--fill", "always", "--verify"];
        let trial = trial(&both, &[&options[..], &["--placement", placement]].concat());
        no_errors(&trial);
        assert_eq!(trial.counters["verify_failures"], 0.0, "{placement}");
        assert_eq!(trial.servers.len(), 2, "{placement}");
        assert!(trial.servers.iter().all(|server| server.requests > 50), "{placement}: {:?}", trial.servers);
        let of =
            |name: &str| trial.operations.iter().find(|o| o.name == name).unwrap().outcomes.unwrap().intended;
        let requests: u64 = trial.servers.iter().map(|server| server.requests).sum();
        let least = trial.arrivals.intended + if placement == "replicated" { of("set") } else { 0 };
        assert!(requests >= least, "{placement}: {requests} requests, at least {least}");
    }
}

#[test]
fn each_request_comes_to_the_thread_that_owns_its_key() {
    let passed_on = |more: &[&str]| {
        let mut command = taillight(&["load", "cache", "--target", "sphinx", "--server-threads", "2"]);
        command.args(["--server-memory", "64MiB", "--server-arg=--sharing", "--server-arg=nothing"]);
        command.args([
            "--server-set",
            "partition_ports=on",
            "--server-set",
            "udp=on",
            "--server-set",
            "steering=key",
        ]);
        command.args([
            "--keys",
            "500",
            "--connections",
            "4",
            "--rate",
            "2k",
            "--warmup",
            "100ms",
            "--window",
            "2s",
        ]);
        let out = tempfile::tempdir().unwrap();
        command.args(["--pace", "sleep", "--probe", "server", "--name", "seen", "--out"]).arg(out.path());
        let output = finish(command.args(more));
        answers(&output);
        let mut trials = ResultFolder::open(&out.path().join("seen")).unwrap().load().unwrap().trials;
        let trial = trials.remove(0);
        no_errors(&trial);
        trial.probes.unwrap().server.unwrap().figure("passed_on_per_request").unwrap()
    };
    let usual = passed_on(&[]);
    assert!(usual > 0.3, "{usual}: every second key is the other thread's");
    let told = passed_on(&["--placement", "partitions", "--mix", "get:80,set:20", "--verify"]);
    assert!(told < 0.01, "{told}");
    // Without the privilege for steering, the receiving thread passes the request to the owner.
    let steered = passed_on(&["--udp", "--mix", "get:90,mget(1):10"]);
    assert!(!launch::User::is_root() || steered < 0.01, "{steered}");
    let mut refused = taillight(&["load", "cache", "--target", "sphinx", "--rate", "1k"]);
    refuses(
        refused.args(["--placement", "partitions"]),
        1,
        &["which thread owns which key", "partition_ports=on"],
    );
}

#[test]
fn a_closed_loop_is_called_so_everywhere() {
    let server = Served::canned();
    let closed = trial(&server.address, &["--closed", "--fill", "never", "--think", "1ms"]);
    assert_eq!(closed.loop_kind, LoopKind::Closed);
    let columns = closed.closed_loop.as_ref().unwrap();
    assert_eq!(columns.clients, 4);
    assert!(columns.corrected.as_ref().unwrap().count >= columns.uncorrected.count);
    // Four clients that think for 1 ms ask no more than 4 000 times a second.
    assert!(closed.achieved_rps <= 4_100.0, "{}", closed.achieved_rps);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let mut command =
        taillight(&["load", "cache", "--target", &server.address, "--closed", "--fill", "never"]);
    let output = finish(command.args(["--window", "300ms", "--out", &out, "--name", "c", "--csv"]));
    assert!(text(&output).to_lowercase().contains("closed loop"), "{}", text(&output));
    let page = std::fs::read_to_string(folder.path().join("c/report.html")).unwrap();
    assert!(page.to_lowercase().contains("closed loop"));
    let table = std::fs::read_to_string(folder.path().join("c/trials.csv")).unwrap();
    assert!(table.contains("closed"), "{table}");
}

#[test]
fn gates_open_and_close_with_99() {
    let server = Served::canned();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let run = |name: &str, gates: &[&str]| {
        let mut command = taillight(&["load", "cache", "--target", &server.address, "--fill", "never"]);
        command.args(["--rate", "1k", "--window", "500ms", "--pace", "sleep", "--out", &out, "--name", name]);
        finish(command.args(gates.iter().flat_map(|gate| ["--gate", gate])))
    };
    let closed = run("a", &["max<1ns", "errors<0.1%"]);
    closes(&closed);
    assert!(text(&closed).contains("max<1ns"), "{}", text(&closed));
    refuses(&mut taillight(&["load", "cache", "--rate", "1k", "--gate", "p99 is fine"]), 2, &["p99 is fine"]);
}

#[test]
fn presets_and_data_sets() {
    let resolved = |options: &[&str]| -> serde_json::Value {
        let output = finish(taillight(&["load", "cache", "--resolve"]).args(options));
        answers(&output);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let etc = resolved(&["--preset", "etc", "--keys", "1000"]);
    assert_eq!(etc["workload"]["keys"], 1000, "what is typed counts more");
    assert_eq!(
        (&etc["workload"]["value-size"], &etc["generator"]["arrivals"]),
        (&"etc-value".into(), &"etc".into())
    );
    let large = resolved(&["--data-set", "twitter", "--scale", "4000x"]);
    assert_eq!(large["workload"]["keys"], 267_434u64 * 4_000, "a billion items, and no memory for them");
    refuses(&mut taillight(&["load", "cache", "--resolve", "--preset", "ycsb-e"]), 2, &["scan"]);
    refuses(
        &mut taillight(&["load", "cache", "--resolve", "--data-set", "/no/such.csv"]),
        1,
        &["/no/such.csv"],
    );
    let explained = finish(&mut taillight(&["explain", "cache"]));
    for part in ["SIGMETRICS", "ycsb-d", "mmpp:", "trace:", "mget(KEYS)"] {
        assert!(text(&explained).contains(part), "{part}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cdf.txt");
    std::fs::write(&file, "0.5 100\n1.0 300\n").unwrap();
    let csv = finish(taillight(&["data-set", "from-cloudsuite"]).arg(&file));
    assert!(text(&csv).starts_with("key_size,value_size,popularity\n40,"), "{}", text(&csv));
}
