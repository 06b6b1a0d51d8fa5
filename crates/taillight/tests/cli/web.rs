//! The web workload against servers of known pages: requests, checks of the answers, and the page loads seen by a user.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use results::{Reason, Transport, Trial, Verdict};
use rustix::process::{Resource, getrlimit};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use workloads::web::FileSet;

use crate::run::{Served, answers, closes, finish, has_ended, refuses, taillight, text, web};

/// A server that answers every request with the same page, at once.
fn canned(size: &str) -> Served {
    let options = ["serve", "null", "--dialect", "http", "--value-size", size];
    Served::start(&options, "null server ready on ")
}

/// A short trial; the machine may be busy, so only the accounting is certain and not the verdict.
pub(crate) fn trial(target: &str, options: &[&str]) -> Trial {
    let mut command = taillight(&["load", "web", "--target", target, "--pace", "sleep", "--json"]);
    for (name, usual) in [("--warmup", "100ms"), ("--window", "500ms"), ("--connections", "4")] {
        if !options.contains(&name) {
            command.args([name, usual]);
        }
    }
    let output = finish(command.args(options));
    answers(&output);
    let trial: Trial =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
    let a = trial.arrivals;
    assert_eq!(a.intended, a.completed + a.errors + a.timeouts + a.unfinished, "{a:?}");
    trial
}

#[track_caller]
pub(crate) fn no_errors(trial: &Trial) {
    assert_eq!(trial.arrivals.errors, 0, "{:?}", trial.errors);
    assert!(trial.arrivals.completed > 100, "{:?}", trial.arrivals);
    assert_eq!(trial.counters["success_ratio"], 1.0);
}

/// A file server in this process, and how many connections it has had.
struct Files {
    address: String,
    connections: Arc<AtomicU64>,
}

impl Files {
    /// Serves a set below `/x`; other paths are answered with "not found".
    fn serve(set: &FileSet, tls: Option<Arc<ServerConfig>>) -> Files {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let connections = Arc::new(AtomicU64::new(0));
        let (counted, set) = (Arc::clone(&connections), set.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, set, tls) = (stream.unwrap(), set.clone(), tls.clone());
                counted.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || match tls {
                    None => answer(stream, &set),
                    Some(tls) => {
                        answer(StreamOwned::new(ServerConnection::new(tls).unwrap(), stream), &set);
                    }
                });
            }
        });
        Files { address, connections }
    }
}

/// Answers one connection, with lengths and in chunks in turn, until either side closes.
fn answer(mut stream: impl Read + Write, set: &FileSet) {
    let (mut received, mut piece) = (Vec::new(), [0; 4096]);
    for turn in 0.. {
        let (consumed, path, keep_alive) = loop {
            if let proto_http::server::RequestParse::Done { consumed, request } =
                proto_http::server::request(&received)
            {
                break (consumed, request.target.to_owned(), request.keep_alive);
            }
            let Ok(length @ 1..) = stream.read(&mut piece) else { return };
            received.extend_from_slice(&piece[..length]);
        };
        received.drain(..consumed);
        let file = (0..set.files()).find(|file| path == format!("/x{}", set.path(*file)));
        let close = if keep_alive { "" } else { "Connection: close\r\n" };
        let mut out = Vec::new();
        match file {
            None => write!(out, "HTTP/1.1 404 Not Found\r\n{close}Content-Length: 0\r\n\r\n").unwrap(),
            Some(file) => {
                let mut body = vec![0; set.size(file) as usize];
                let (mut content, mut filled) = (set.content(file), 0);
                while filled < body.len() {
                    filled += content.fill(&mut body[filled..]);
                }
                if turn % 2 == 0 {
                    write!(out, "HTTP/1.1 200 OK\r\n{close}Content-Length: {}\r\n\r\n", body.len()).unwrap();
                    out.extend_from_slice(&body);
                } else {
                    write!(out, "HTTP/1.1 200 OK\r\n{close}Transfer-Encoding: chunked\r\n\r\n").unwrap();
                    for chunk in body.chunks(1000) {
                        write!(out, "{:x}\r\n", chunk.len()).unwrap();
                        out.extend_from_slice(chunk);
                        out.extend_from_slice(b"\r\n");
                    }
                    out.extend_from_slice(b"0\r\n\r\n");
                }
            }
        }
        if stream.write_all(&out).and_then(|()| stream.flush()).is_err() || !keep_alive {
            return;
        }
    }
}

#[test]
fn a_trial_accounts_for_every_arrival() {
    let server = canned("4096");
    let target = format!("http://{}/pages", server.address);
    let trial = trial(&target, &["--rate", "4k", "--files", "1000x4KiB", "--popularity", "zipf:0.99"]);
    no_errors(&trial);
    assert_eq!(trial.operations[0].name, "get");
    assert_eq!(trial.counters["verify_failures"], 0.0);
    assert_eq!(trial.transport, Some(Transport::Tcp));
    let web = web(&trial);
    let files = web.files.as_ref().unwrap().to_string();
    assert_eq!((files.as_str(), web.popularity.to_string().as_str()), ("1000x4KiB", "zipf:0.99"));
    assert_eq!((&trial.found.servers, trial.found.pages), (&vec![target], Some(1000)));
    assert_eq!(trial.found.server_version.as_deref(), Some("null"));
    let traffic = trial.traffic.unwrap();
    // Compared with the requests of the same time: arrivals of the window may be answered after it. A request takes at most 100 B.
    assert!(
        traffic.bytes_sent > 0 && traffic.bytes_received > 4096 * (traffic.bytes_sent / 100),
        "{traffic:?}"
    );
}

#[test]
fn pages_larger_than_any_buffer_arrive_whole() {
    let server = canned("3MiB");
    let options =
        ["--rate", "60", "--window", "2s", "--files", "10x3MiB", "--timeout", "30s", "--drain", "30s"];
    let trial = trial(&format!("http://{}", server.address), &options);
    no_errors(&trial);
}

#[test]
fn contents_are_those_of_the_file_set() {
    let set = FileSet::read("50xuniform:1..20000", 7).unwrap();
    let server = Files::serve(&set, None);
    let target = format!("http://{}/x", server.address);
    let check = |seed: &str, verify: &str| {
        let files = ["--files", "50xuniform:1..20000", "--files-seed", seed, "--verify", verify];
        trial(&target, &[&["--rate", "1k"][..], &files].concat())
    };
    let good = check("7", "checksum");
    no_errors(&good);
    assert_eq!(good.counters["verify_failures"], 0.0);
    let bad = check("8", "checksum");
    let Verdict::Invalid { reasons } = &bad.verdict else { panic!("{}", bad.verdict) };
    assert!(reasons.iter().any(|r| r.reason == Reason::VerifyFailed), "{}", bad.verdict);
    assert!(
        bad.errors.iter().any(|e| e.kind == "wrong_length" || e.kind == "wrong_content"),
        "{:?}",
        bad.errors
    );
    no_errors(&check("8", "none"));
}

#[test]
fn connections_end_after_so_many_requests() {
    let set = FileSet::read("10x100", 1).unwrap();
    let server = Files::serve(&set, None);
    let target = format!("http://{}/x", server.address);
    let files = ["--rate", "500", "--files", "10x100", "--warmup", "0s"];
    let kept = trial(&target, &files);
    no_errors(&kept);
    assert_eq!(server.connections.swap(0, Ordering::Relaxed), 1 + 4, "one that looks, and those of the load");
    let ended = trial(&target, &[&files[..], &["--requests-per-connection", "2"]].concat());
    no_errors(&ended);
    let needed = ended.arrivals.completed / 2;
    let had = server.connections.load(Ordering::Relaxed);
    // Each of four may stand half used at the end, and each was there before.
    assert!((needed..=needed + 1 + 4 + 4).contains(&had), "{had} connections for {needed}");
    let wait = |trial: &Trial| trial.all.connection_wait.max_us;
    assert!(wait(&ended) > Some(0.0), "to connect takes time: {:?}", wait(&ended));
}

#[test]
fn lists_of_paths_and_methods() {
    let server = canned("10");
    let target = format!("http://{}", server.address);
    let list = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(list.path(), "/a 10\n/b?c=d\n").unwrap();
    let file = list.path().display().to_string();
    no_errors(&trial(&target, &["--rate", "1k", "--urls", &file]));
    std::fs::write(list.path(), "/a 11\n").unwrap();
    let wrong = trial(&target, &["--rate", "1k", "--urls", &file]);
    assert_eq!(wrong.errors[0].kind, "wrong_length", "{:?}", wrong.errors);
    let head = trial(&target, &["--rate", "1k", "--urls", &file, "--method", "HEAD"]);
    no_errors(&head);
    assert_eq!(head.operations[0].name, "head");
    std::fs::write(list.path(), "/a\nb c\n").unwrap();
    let mut command =
        taillight(&["load", "web", "--target", &target, "--rate", "1k", "--urls", &file, "--json"]);
    refuses(&mut command, 1, &["line 2", "begin with '/'"]);
}

/// A certificate for 127.0.0.1 that signs itself: as a file, and as a server uses it.
pub(crate) fn certificate(folder: &Path) -> (String, Arc<ServerConfig>) {
    let (file, made) = certificate_and_key(folder);
    let chain = vec![CertificateDer::from_pem_slice(made.cert.pem().as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(made.signing_key.serialize_pem().as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = builder.with_no_client_auth().with_single_cert(chain, key).unwrap();
    (file, Arc::new(config))
}

/// The same as files, `cert.pem` and `key.pem`; the name of the first.
pub(crate) fn certificate_and_key(folder: &Path) -> (String, rcgen::CertifiedKey<rcgen::KeyPair>) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let file = folder.join("cert.pem");
    std::fs::write(&file, made.cert.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    (file.display().to_string(), made)
}

#[test]
fn over_tls_with_a_certificate_that_is_trusted_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, config) = certificate(folder.path());
    let set = FileSet::read("10x5000", 1).unwrap();
    let server = Files::serve(&set, Some(config));
    let target = format!("https://{}/x", server.address);
    let options = ["--rate", "300", "--files", "10x5000", "--verify", "checksum"];
    let trusted = trial(&target, &[&options[..], &["--tls-ca", &cert]].concat());
    no_errors(&trusted);
    assert_eq!(trusted.transport, Some(Transport::Tls));
    let each = ["--tls-insecure", "--requests-per-connection", "3"];
    no_errors(&trial(&target, &[&options[..], &each].concat()));
    let mut command = taillight(&["load", "web", "--target", &target, "--json"]);
    refuses(command.args(options), 1, &["certificate"]);
}

/// The most that one machine's descriptors allow, half of them on either side.
#[test]
fn ten_thousand_connections() {
    const CONNECTIONS: u64 = 10_000;
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    if limit < CONNECTIONS + 200 {
        return println!("skipped: {CONNECTIONS} connections need more descriptors than {limit}");
    }
    let server = canned("4096");
    let options =
        ["--connections", "10000", "--rate", "5k", "--window", "1s", "--timeout", "20s", "--drain", "20s"];
    let trial = trial(&format!("http://{}/a", server.address), &options);
    no_errors(&trial);
    assert_eq!(trial.generator.connections, 10_000);
}

#[test]
fn what_is_not_a_web_server_or_an_option_is_refused() {
    refuses(&mut taillight(&["load", "web", "--rate", "1k"]), 1, &["sphinx is a cache", "http://"]);
    let check = |options: &[&str], code: i32, says: &[&str]| {
        let mut command =
            taillight(&["load", "web", "--target", "http://127.0.0.1:1", "--rate", "1k", "--json"]);
        refuses(command.args(options), code, says);
    };
    check(&["--keys", "5"], 2, &["unexpected argument '--keys'"]);
    check(&["--files", "10x4KiB", "--urls", "f"], 2, &["--urls"]);
    check(&["--verify", "checksum"], 1, &["file set"]);
    check(&["--verify", "all"], 2, &["length, checksum or none"]);
    check(&["--header", "no colon"], 2, &["no colon"]);
    check(&["--method", "GE T"], 2, &["method"]);
    check(&[], 1, &["cannot connect to 127.0.0.1:1"]);
    let mut command = taillight(&["load", "cache", "--rate", "1k", "--files", "10x4KiB", "--json"]);
    refuses(&mut command, 2, &["unexpected argument '--files'"]);
    let mut command = taillight(&["load", "web", "--target", "ftp://h", "--rate", "1k"]);
    refuses(&mut command, 2, &["neither http nor https"]);
}

#[test]
fn a_result_of_pages_is_kept_and_gated() {
    let server = canned("100");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let mut command = taillight(&["load", "web", "--target", &format!("http://{}/a", server.address)]);
    command.args(["--rate", "1k", "--window", "500ms", "--pace", "sleep", "--out", &out, "--name", "a"]);
    let output = finish(command.args(["--gate", "errors<0.1%", "--gate", "max<1ns"]));
    closes(&output);
    assert!(text(&output).contains("max<1ns"), "{}", text(&output));
    assert!(folder.path().join("a/report.html").exists());
}

#[test]
fn a_sweep_carries_the_workload() {
    let server = Served::slow("http", "100", "constant:1ms");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let mut command = taillight(&["sweep", "web", "--target", &format!("http://{}", server.address)]);
    command.args(["--files", "100x100", "--popularity", "zipf:0.9", "--loads", "20,50", "--repeats", "1"]);
    command.args(["--window", "200ms", "--warmup", "0s", "--pace", "sleep", "--connections", "8"]);
    let output = finish(command.args(["--max-tolerance", "50", "--out", &out, "--name", "s"]));
    answers(&output);
    let kept = std::fs::read_to_string(folder.path().join("s/result.json")).unwrap();
    assert!(kept.contains("\"files\": \"100x100\"") || kept.contains("\"files\":\"100x100\""), "{kept}");
}

#[test]
fn wrk_prints_what_its_users_know() {
    let server = canned("4096");
    let url = format!("http://{}/index.html", server.address);
    let output = finish(&mut taillight(&["wrk", "-t2", "-c8", "-d1s", "-R500", "--latency", &url]));
    let said = text(&output);
    assert!(has_ended(&output), "{said}");
    for part in [
        &format!("Running 1s test @ {url}")[..],
        "  2 threads and 8 connections",
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev",
        "  Latency Distribution (HdrHistogram - Recorded Latency)",
        "100.000%",
        "       Value   Percentile   TotalCount 1/(1-Percentile)",
        "#[Mean    = ",
        " requests in 1.00s, ",
        "Requests/sec: ",
        "Transfer/sec: ",
        "Verdict: ",
    ] {
        assert!(said.contains(part), "it does not say '{part}': {said}");
    }
    assert!(!said.contains("Socket errors") && !said.contains("Non-2xx"), "{said}");
    refuses(&mut taillight(&["wrk", "-c8", &url]), 2, &["-R 2000", "coordinated omission", "--closed"]);
    refuses(&mut taillight(&["wrk", "-R1", "-s", "x.lua", &url]), 2, &["x.lua", "--urls"]);
    let closed = finish(&mut taillight(&["wrk", "-t1", "-c4", "-d1s", "--closed", &url]));
    answers(&closed);
    assert!(text(&closed).contains("Requests/sec: "), "{}", text(&closed));
}
