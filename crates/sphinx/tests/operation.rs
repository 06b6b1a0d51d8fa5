//! Guarantees to the operator: limits and their answers, metrics, users, and a stop that loses nothing.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::client::Client;
use crate::support::{PATIENCE, Running, memcached_with, sphinxd};
use launch::{Process, Spec};
use proto_memcache::client::udp::Header;

/// Sends a signal.
fn signal(process: &Process, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &process.pid().to_string()]).status().unwrap();
    assert!(sent.success());
}

fn check_authentication(address: SocketAddr) {
    let ask = |client: &mut Client, user: &str| {
        client.send(format!("set any 0 0 {}\r\n{user}\r\n", user.len()));
        client.text()
    };
    let mut client = Client::connect(address);
    assert_eq!(client.ask("get k"), "CLIENT_ERROR unauthenticated");
    assert_eq!(client.ask("version"), "CLIENT_ERROR unauthenticated");
    assert_eq!(ask(&mut client, "ann wrong"), "CLIENT_ERROR authentication failure");
    assert_eq!(ask(&mut client, "eve secret"), "CLIENT_ERROR authentication failure");
    assert_eq!(ask(&mut client, "ann"), "CLIENT_ERROR bad authentication token format");
    client.send("set any 0 0 10\r\nann secretxx");
    assert_eq!(client.text(), "CLIENT_ERROR bad command line termination");
    assert_eq!(ask(&mut client, "ann secret"), "STORED");
    // From here on it is a connection like any other.
    client.set("k", "v");
    assert_eq!(client.get("k").as_deref(), Some(&b"v"[..]));
    assert_eq!(client.get("any"), None, "the password must not be stored");
    // All at once, and another user.
    let mut client = Client::connect(address);
    client.send("set x 0 0 7\r\nbob p:q\r\nget k\r\n");
    assert_eq!(client.text(), "STORED");
    assert_eq!(client.text(), "VALUE k 0 1");
    // Junk without an end.
    let mut client = Client::connect(address);
    client.send("x".repeat(5_000));
    assert_eq!(client.line(), None);
}

#[test]
fn an_unknown_client_gets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // memcached reads it as another user.
    let file = folder.path().join("users");
    fs::write(&file, "ann:secret\nbob:p:q\n").unwrap();
    let open = |path: &std::path::Path, mode| {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    open(folder.path(), 0o755);
    open(&file, 0o644);
    if let Some(memcached) = memcached_with(|_| vec!["-Y".into(), file.display().to_string()]) {
        check_authentication(memcached.address);
    }
    let server = sphinxd(&format!("-t 2 -Y {} -v", file.display()));
    check_authentication(server.address);
    // memcached 1.6.45 closes, or waits for more.
    assert_eq!(Client::connect(server.address).ask(""), "CLIENT_ERROR unauthenticated");
    // The file may change while the server runs.
    fs::write(&file, "eve:new\n").unwrap();
    signal(&server.process, "HUP");
    loop {
        let mut client = Client::connect(server.address);
        client.send("set any 0 0 7\r\neve new\r\n");
        if client.text() == "STORED" {
            assert_eq!(client.stat("auth_cmds"), client.stat("auth_errors") + 3);
            break;
        }
    }
}

#[test]
fn silent_connections_are_closed_if_asked() {
    let server = sphinxd("-t 2 -o idle_timeout=1");
    let mut silent: Vec<Client> = (0..4).map(|_| Client::connect(server.address)).collect();
    silent[0].send("set half 0 0 5\r\nab");
    for client in &mut silent {
        assert_eq!(client.line(), None);
    }
    let mut client = Client::connect(server.address);
    assert_eq!(client.stat("idle_kicks"), 4);
    assert_eq!(client.stat("curr_connections"), 1);
}

#[test]
fn who_takes_nothing_of_the_replies_is_closed() {
    for io in ["epoll", "auto"] {
        let server = sphinxd(&format!("-t 1 --io {io} -o reader_timeout=1"));
        let mut client = Client::connect(server.address);
        client.set("large", vec![b'v'; 1_000_000]);
        let mut rude = Client::connect(server.address);
        rude.send("get large\r\n".repeat(50));
        while client.stat("slow_reader_kicks") == 0 {
            // Others are served in that time, and are not closed.
            assert!(client.get("large").is_some());
        }
        assert_eq!(client.stat("curr_connections"), 1);
    }
}

#[test]
fn who_takes_the_replies_slowly_but_steadily_is_not_closed() {
    const REPLIES: usize = 4;
    let folder = tempfile::tempdir().unwrap();
    for io in ["epoll", "auto"] {
        let path = folder.path().join(io);
        let server = sphinxd(&format!("-t 1 --io {io} -o reader_timeout=1 -s {}", path.display()));
        let mut client = Client::connect(server.address);
        client.set("large", vec![b'v'; 1_000_000]);
        // On a Unix socket, which holds some 200 KB, so that the kernel takes more again and again.
        let mut slow = UnixStream::connect(&path).unwrap();
        slow.set_read_timeout(Some(PATIENCE)).unwrap();
        slow.write_all("get large\r\n".repeat(REPLIES).as_bytes()).unwrap();
        let mut piece = vec![0; 100_000];
        let mut left = REPLIES * ("VALUE large 0 1000000\r\n".len() + 1_000_000 + "\r\nEND\r\n".len());
        for _ in 0..12 {
            thread::sleep(Duration::from_millis(400));
            slow.read_exact(&mut piece).unwrap_or_else(|error| panic!("{io}, {left} left: {error}"));
            left -= piece.len();
        }
        let mut rest = vec![0; left];
        slow.read_exact(&mut rest).unwrap_or_else(|error| panic!("{io}: {error}"));
        assert!(rest.ends_with(b"vv\r\nEND\r\n"), "{io}");
        assert_eq!(client.stat("slow_reader_kicks"), 0, "{io}");
    }
}

#[test]
fn who_takes_each_reply_at_once_is_not_closed() {
    let served = ["epoll", "auto"].map(|io| sphinxd(&format!("-t 1 --io {io} -o reader_timeout=1")));
    let mut clients = served.each_ref().map(|server| Client::connect(server.address));
    // Each request is answered by as many bytes, and the server checks its connections as it receives one.
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(4) {
        for client in &mut clients {
            client.set("k", "v");
        }
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(clients.each_mut().map(|client| client.stat("slow_reader_kicks")), [0, 0]);
}

#[test]
fn many_requests_of_one_connection_let_others_in_between() {
    let server = sphinxd("-t 1 -R 3");
    let mut client = Client::connect(server.address);
    client.send((0..1_000).map(|i| format!("set k{i} 0 0 1\r\n1\r\nget k{i} none\r\n")).collect::<String>());
    for i in 0..1_000 {
        assert_eq!(client.text(), "STORED");
        assert_eq!((client.text(), client.text()), (format!("VALUE k{i} 0 1"), "1".into()));
        assert_eq!(client.text(), "END");
    }
}

/// See `too-large` in `DIFFERENCES.md`.
#[test]
fn a_value_that_is_too_large_is_refused_before_it_comes() {
    let server = sphinxd("-t 1");
    let mut client = Client::connect(server.address);
    let length = 2 << 20;
    for line in [format!("set k 0 0 {length}"), format!("ms k {length}")] {
        client.set("k", "v");
        assert_eq!(client.ask(&line), "SERVER_ERROR object too large for cache");
        // The value is dropped, and so is the old item.
        client.send([&vec![b'x'; length][..], b"\r\n"].concat());
        assert_eq!((client.ask("mn"), client.get("k")), ("MN".into(), None));
    }
}

/// As in memcached; the conversations show the other numbers.
#[test]
fn a_unique_number_of_0_for_ms_is_the_next_one() {
    let server = sphinxd("-t 1");
    let mut client = Client::connect(server.address);
    let mut last = 0;
    for line in ["ms k 1 E0 c\r\nx", "ms k 1 MA E0 c\r\nx", "ms k 1 MS E0 c\r\nx"] {
        let answer = client.ask(line);
        let number = answer.strip_prefix("HD c").and_then(|number| number.parse::<u64>().ok()).unwrap();
        assert!(number > last, "{line}: {answer}");
        last = number;
    }
}

#[test]
fn items_are_as_large_as_allowed() {
    let server = sphinxd("-t 1 -I 2k");
    let mut client = Client::connect(server.address);
    client.set("k", vec![b'v'; 1_900]);
    client.send(format!("set k 0 0 2000\r\n{}\r\n", "v".repeat(2_000)));
    assert_eq!(client.text(), "SERVER_ERROR object too large for cache");
    let server = sphinxd("-t 1 -I 2m");
    let mut client = Client::connect(server.address);
    let value = vec![b'v'; 2_000_000];
    client.set("k", &value);
    assert_eq!(client.get("k"), Some(value));
}

#[test]
fn shutdown_and_flush_all_are_as_allowed() {
    let server = sphinxd("-t 2 -F");
    let mut client = Client::connect(server.address);
    assert_eq!(client.ask("flush_all"), "CLIENT_ERROR flush_all not allowed");
    assert_eq!(client.ask("shutdown"), "SERVER_ERROR: shutdown not enabled");
    let mut server = sphinxd("-t 2 -A");
    let mut client = Client::connect(server.address);
    assert_eq!(client.ask("flush_all"), "OK");
    assert_eq!(client.ask("shutdown later"), "CLIENT_ERROR invalid shutdown mode");
    client.send("shutdown\r\n");
    assert_eq!(client.line(), None);
    assert_eq!(server.process.wait(PATIENCE).unwrap().code(), Some(0));
}

/// `GET` at an address; the head and the body.
pub(crate) fn http(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

#[test]
fn metrics_say_what_happened() {
    for args in ["--io epoll", "--spin auto", ""] {
        let mut process = crate::support::spawn(&format!("-p 0 -t 2 --metrics 127.0.0.1:0 {args}"));
        let line = process.await_line(launch::sphinx::READY, PATIENCE).unwrap();
        let address = line[launch::sphinx::READY.len()..].split(' ').next().unwrap().parse().unwrap();
        let place = line.split_once("metrics on http://").unwrap().1.strip_suffix("/metrics").unwrap();
        let mut client = Client::connect(address);
        for i in 0..100 {
            client.set(&format!("k{i}"), "v");
            assert!(client.get(&format!("k{i}")).is_some());
        }
        let (head, body) =
            http(place, "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n");
        assert!(
            head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("application/openmetrics-text"),
            "{head}"
        );
        let sum = |prefix: &str| -> f64 {
            let samples = body.lines().filter(|line| line.starts_with(prefix));
            samples.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
        };
        let labelled = |name: &str, label: &str| -> f64 {
            let samples = body.lines().filter(|line| line.starts_with(name) && line.contains(label));
            samples.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
        };
        assert_eq!(labelled("sphinx_outcomes_total{", "outcome=\"get_hits\""), 100.0, "{body}");
        assert_eq!(labelled("sphinx_commands_total{", "command=\"set\""), 100.0);
        assert_eq!(sum("sphinx_connections{"), 1.0);
        // Each request is counted once, with the time that it took.
        assert_eq!(labelled("sphinx_service_time_seconds_count{", "operation=\"get\""), 100.0);
        assert_eq!(labelled("sphinx_service_time_seconds_count{", "operation=\"store\""), 100.0);
        assert!(labelled("sphinx_service_time_seconds_sum{", "operation=\"get\"") > 0.0);
        assert!(body.ends_with("# EOF\n") && body.contains("core=\"1\""));
        assert!(http(place, "GET / HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 404"));
        assert!(http(place, "POST /metrics HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 405"));
    }
}

/// Requests without a reply count, each by itself, and so do requests whose replies leave before all of them are made.
#[test]
fn service_times_count_requests_as_they_are_done() {
    for io in ["epoll", "auto"] {
        let port = crate::support::free_udp_port();
        let args = format!("-p 0 -t 1 -U {port} --io {io} --metrics 127.0.0.1:0");
        let mut process = crate::support::spawn(&args);
        let line = process.await_line(launch::sphinx::READY, PATIENCE).unwrap();
        let address: SocketAddr =
            line[launch::sphinx::READY.len()..].split(' ').next().unwrap().parse().unwrap();
        let place = line.split_once("metrics on http://").unwrap().1.strip_suffix("/metrics").unwrap();
        let counted = |operation: &str| -> u64 {
            let (_, body) = http(place, "GET /metrics HTTP/1.1\r\n\r\n");
            let start = format!("sphinx_service_time_seconds_count{{core=\"0\",operation=\"{operation}\"}} ");
            body.lines().find_map(|line| line.strip_prefix(&start)).unwrap().parse().unwrap()
        };
        let (mut client, mut other) = (Client::connect(address), Client::connect(address));
        let mut until = |name: &str, count: u64| {
            let deadline = Instant::now() + PATIENCE;
            while other.stat(name) < count {
                assert!(Instant::now() < deadline, "{args}: {name} is not {count}");
            }
        };
        client.send("set k 0 0 1 noreply\r\n1\r\n");
        until("cmd_set", 1);
        assert_eq!(counted("store"), 1, "{args}: a set without a reply");
        client.send("mg nothing v q\r\n");
        until("cmd_get", 1);
        assert_eq!(counted("get"), 1, "{args}: a quiet miss");
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut datagram = Vec::new();
        Header::of_request(7).append(&mut datagram);
        datagram.extend_from_slice(b"set k 0 0 1 noreply\r\n2\r\n");
        udp.send_to(&datagram, ("127.0.0.1", port)).unwrap();
        until("cmd_set", 2);
        assert_eq!(counted("store"), 2, "{args}: a datagram without a reply");
        client.set("large", vec![b'v'; 200_000]);
        assert!(client.get("large").is_some());
        assert_eq!(counted("store"), 3, "{args}");
        assert_eq!(counted("get"), 2, "{args}: a large reply");
    }
}

#[test]
fn a_stop_lets_replies_leave() {
    for (args, name) in [("-t 1 --io epoll", "TERM"), ("-t 2", "USR1"), ("-t 2 --io epoll", "INT")] {
        let mut server = sphinxd(&format!("{args} -m 64"));
        let mut client = Client::connect(server.address);
        let value = vec![b'v'; 1_000_000];
        for key in ["a", "b", "c"] {
            client.set(key, &value);
        }
        let mut idle = Client::connect(server.address);
        assert!(idle.ask("version").starts_with("VERSION"));
        // 30 MB of replies, far more than sockets hold, are owed when the signal comes.
        client.send("get a b c\r\n".repeat(10));
        assert_eq!(client.text(), "VALUE a 0 1000000");
        signal(&server.process, name);
        assert_eq!(idle.line(), None, "an idle client is closed");
        // Each thread stops for itself, so that the last may take a client a moment longer.
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(server.address).is_ok() {
            assert!(Instant::now() < deadline, "clients are still taken");
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        }
        client.bytes(1_000_002);
        for (i, key) in ["a", "b", "c"].iter().cycle().enumerate().skip(1).take(29) {
            assert_eq!(client.text(), format!("VALUE {key} 0 1000000"), "{i}");
            assert!(client.bytes(1_000_002).starts_with(&value));
            if i % 3 == 2 {
                assert_eq!(client.text(), "END");
            }
        }
        assert_eq!(client.line(), None);
        assert_eq!(server.process.wait(PATIENCE).unwrap().code(), Some(0));
    }
}

#[test]
fn a_stop_does_not_wait_for_ever() {
    let mut server = sphinxd("-t 2 -m 64 --drain 100ms");
    let mut client = Client::connect(server.address);
    client.set("a", vec![b'v'; 1_000_000]);
    client.send("get a\r\n".repeat(50));
    assert_eq!(client.text(), "VALUE a 0 1000000");
    signal(&server.process, "INT");
    assert_eq!(server.process.wait(PATIENCE).unwrap().code(), Some(0));
    let said = server.process.stderr_tail().join("\n");
    assert!(said.contains("the time to drain is over"), "{said}");
}

fn descriptors(server: &Running) -> usize {
    fs::read_dir(format!("/proc/{}/fd", server.process.pid())).unwrap().count()
}

/// Sets a server's descriptor limit; false if that is impossible.
fn allow(server: &Running, descriptors: usize) -> bool {
    // The upper limit stays, so that there can be more again.
    let limits = [format!("--pid={}", server.process.pid()), format!("--nofile={descriptors}:")];
    Command::new("prlimit").args(limits).status().is_ok_and(|status| status.success())
}

#[test]
fn descriptors_may_run_out() {
    // On io_uring an accept uses the limit of the moment at which it was armed, so that no limit can be set here later.
    // With several threads one may take the descriptor that another has freed to turn a client away, which then waits
    // in the kernel until one is free.
    let args = "-t 1 --io epoll";
    let server = sphinxd(args);
    let mut first = Client::connect(server.address);
    first.set("k", "v");
    let limit = descriptors(&server) + 4;
    if !allow(&server, limit) {
        return println!("skipped: there is no prlimit here; `apt-get install util-linux` brings it");
    }
    // The clients that fit are served, the others turned away; none hangs.
    let mut clients: Vec<Client> = (0..20).map(|_| Client::connect(server.address)).collect();
    let mut served = Vec::new();
    for mut client in clients.drain(..) {
        client.send("version\r\n");
        if client.line().is_some() {
            served.push(client);
        }
    }
    // Numbers that were free among the used ones are used, too.
    assert!((1..=10).contains(&served.len()), "{args}: {}", served.len());
    let failures = first.stat("accept_failures");
    assert!(failures > 0, "{args}");
    // Now there is not even one to turn a client away with: it waits in the kernel, where the server would find it
    // again and again, and must not.
    assert!(allow(&server, 3));
    let mut waits = Client::connect(server.address);
    waits.send("version\r\n");
    for _ in 0..300 {
        assert!(first.get("k").is_some());
    }
    let more = first.stat("accept_failures") - failures;
    assert!(more < 30, "{args}: {more} failures for one client");
    assert!(allow(&server, limit + 10));
    assert!(waits.text().starts_with("VERSION "), "{args}");
    assert!(allow(&server, limit));
    // When some leave others are accepted.
    drop(served);
    loop {
        let mut client = Client::connect(server.address);
        client.send("get k\r\n");
        if let Some(line) = client.line() {
            assert_eq!(line, b"VALUE k 0 1");
            break;
        }
    }
}

/// Starts a server with `taken` of the descriptors that it needs already in use.
fn sphinxd_without_descriptors(args: &str, taken: usize) -> Option<Running> {
    // Source: `Config::raise_descriptor_limit`, for 40 connections of two threads at most.
    let limit = 40 + 2 * 4 + 20;
    let script = format!(
        "for fd in $(seq 10 {}); do eval \"exec $fd</dev/null\"; done; ulimit -n {limit}; exec '{}' -p 0 -c 40 {args}",
        9 + taken,
        env!("CARGO_BIN_EXE_sphinxd"),
    );
    let spec = Spec::new("sphinxd", "bash").args(["-c", &script]);
    let mut process = Process::spawn(spec).map_err(|error| println!("skipped: {error}")).ok()?;
    let address = launch::sphinx::await_ready(&mut process, PATIENCE).unwrap();
    Some(Running { address, process, words: crate::support::Words::New })
}

/// With several threads, and if the kernel accepts by itself, a client that cannot be served may be turned away or
/// wait; the test requires that served clients are not held up, that no thread spins, and that it passes.
#[test]
fn descriptors_may_run_out_on_several_threads_and_on_io_uring() {
    for args in ["-t 1 --io auto", "-t 2 --io auto", "-t 2 --io epoll"] {
        let Some(server) = sphinxd_without_descriptors(args, 40) else { return };
        let mut first = Client::connect(server.address);
        first.set("k", "v");
        let mut clients: Vec<Client> = (0..30).map(|_| Client::connect(server.address)).collect();
        clients.iter_mut().for_each(|client| client.send("version\r\n"));
        let deadline = Instant::now() + PATIENCE;
        while first.stat("accept_failures") == 0 {
            assert!(Instant::now() < deadline, "{args}: all 31 clients were accepted");
        }
        let (before, began) = (first.stat("accept_failures"), Instant::now());
        for _ in 0..300 {
            assert!(first.get("k").is_some());
        }
        // A thread that can neither accept nor turn away retries after a ms, and finds each client once; one that spins
        // fails some hundred times a ms.
        let failures = first.stat("accept_failures") - before;
        let most = 30 + 4 * (began.elapsed().as_millis() as u64 + 1);
        assert!(failures <= most, "{args}: {failures} failures, and {most} are explained");
        drop(clients);
        loop {
            assert!(Instant::now() < deadline, "{args}: no client is served any more");
            let mut client = Client::connect(server.address);
            client.send("get k\r\n");
            if let Some(line) = client.line() {
                assert_eq!(line, b"VALUE k 0 1");
                break;
            }
        }
        assert!(first.get("k").is_some());
    }
}

#[test]
fn root_gives_up_its_privileges() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let is_root = status.lines().any(|line| line.starts_with("Uid:\t0\t"));
    if !is_root {
        return println!("skipped: only root can become another user");
    }
    let folder = tempfile::tempdir().unwrap();
    let pidfile = folder.path().join("pid");
    let socket = folder.path().join("socket");
    let args = format!("-t 2 -u nobody -P {} -s {}", pidfile.display(), socket.display());
    // The folder is root's: without a socket the server fails, without a pidfile it starts.
    let mut refused = crate::support::spawn(&format!("-p 0 {args}"));
    assert_eq!(refused.wait(PATIENCE).unwrap().code(), Some(1));
    let said = refused.stderr_tail().join("\n");
    assert!(said.contains("Permission denied") && said.contains("choose a file with -s"), "{said}");
    let mut without = sphinxd(&format!("-t 1 -u nobody -P {}", pidfile.display()));
    signal(&without.process, "TERM");
    assert_eq!(without.process.wait(PATIENCE).unwrap().code(), Some(0));
    let said = without.process.stderr_tail().join("\n");
    assert!(said.contains("the pidfile cannot be written") && said.contains("with -P"), "{said}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);

    let account = nix::unistd::User::from_name("nobody").unwrap().unwrap();
    std::os::unix::fs::chown(&folder, Some(account.uid.as_raw()), None).unwrap();
    let mut server = sphinxd(&args);
    let pid = server.process.pid();
    assert_eq!(fs::read_to_string(&pidfile).unwrap(), format!("{pid}\n"));
    for file in [&pidfile, &socket] {
        assert_eq!(fs::metadata(file).unwrap().uid(), account.uid.as_raw(), "{}", file.display());
    }
    for thread in fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let thread = thread.unwrap().path();
        let status = match fs::read_to_string(thread.join("status")) {
            Ok(status) => status,
            // The thread that took memory at the start has ended by now.
            Err(_) if !thread.exists() => continue,
            Err(error) => panic!("{}: {error}", thread.display()),
        };
        for name in ["Uid:", "Gid:"] {
            let ids = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            assert!(ids.split_whitespace().all(|id| id != "0"), "{status}");
        }
        assert!(status.lines().any(|line| line == "CapEff:\t0000000000000000"), "{status}");
    }
    let mut client = Client::connect(server.address);
    client.set("k", "v");
    // Files of a folder that now belongs to root cannot be removed.
    std::os::unix::fs::chown(&folder, Some(0), None).unwrap();
    signal(&server.process, "TERM");
    assert_eq!(server.process.wait(PATIENCE).unwrap().code(), Some(0));
    let said = server.process.stderr_tail().join("\n");
    for file in [pidfile, socket] {
        let file = format!("a file stays behind file={}", file.display());
        assert!(said.contains(&file), "{file} is not in {said}");
    }
}

#[test]
fn logs_are_text_or_json() {
    for (args, expect) in [
        ("-v", "listening address=127.0.0.1:"),
        ("-v --log-format json", "\"message\":\"listening\",\"address\":\"127.0.0.1:"),
    ] {
        let mut server = sphinxd(&format!("-t 1 {args}"));
        signal(&server.process, "TERM");
        server.process.wait(PATIENCE).unwrap();
        let said = server.process.stderr_tail().join("\n");
        assert!(said.contains(expect) && said.contains("stopping"), "{said}");
    }
    let mut quiet = sphinxd("-t 1");
    signal(&quiet.process, "TERM");
    quiet.process.wait(PATIENCE).unwrap();
    assert_eq!(quiet.process.stderr_tail(), Vec::<String>::new());
}
