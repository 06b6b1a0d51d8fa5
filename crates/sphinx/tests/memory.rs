//! The memory of the process: under any client behaviour it stays within the server's limit, and is returned when
//! clients have disconnected. Small requests are answered all the time.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::certificate::certificate;
use crate::support::client::{Client, await_stat};
use crate::support::datagrams::Datagrams;
use crate::support::{PATIENCE, Running, sphinxd, sphinxd_with_tls};
use proto_memcache::client::udp::Header;
use reactor::tls::{Trust, client_config};
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

const MIB: u64 = 1 << 20;
/// The memory limit of items. Units: bytes.
const MEMORY: u64 = 64 * MIB;
/// The memory limit of connections. Units: bytes.
const CONNECTION_MEMORY: u64 = 16 * MIB;
/// The rest of the process: its code, its threads, the event loops' buffers, and up to 32 KiB for each connection.
/// Units: bytes.
const BESIDE: u64 = 64 * MIB;
/// Most bytes by which charges may exceed the budget: for each of two threads the largest reply begun while there was
/// room, and one for the connection that continues in any case; each is an item of 1 MiB plus 128 KiB.
/// Source: `sphinx::budget`. Units: bytes.
const BEYOND: u64 = 2 * 2 * (MIB + (128 << 10));
const CLIENTS: usize = 300;
const VALUE: usize = 1_000_000;
/// A size that fits into a segment even of the smallest partitions here: a larger value gets its own segments, and is
/// not gathered.
const GATHERED: usize = 500_000;

fn resident(server: &Running) -> u64 {
    let path = format!("/proc/{}/status", server.process.pid());
    let status = fs::read_to_string(path).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
}

fn start(args: &str) -> Running {
    let (memory, connections) = (MEMORY / MIB, CONNECTION_MEMORY / MIB);
    sphinxd(&format!("-t 2 -m {memory} --eager-memory --connection-memory {connections}MiB {args}"))
}

/// A client that reads nothing, or next to nothing.
fn lazy(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    set_socket_recv_buffer_size(&stream, 4096).unwrap();
    stream.set_nonblocking(true).unwrap();
    stream
}

/// Sends as much as the server accepts; returns the rest.
fn push<'b>(stream: &mut TcpStream, bytes: &'b [u8]) -> &'b [u8] {
    match stream.write(bytes) {
        Ok(n) => &bytes[n..],
        Err(error) if error.kind() == ErrorKind::WouldBlock => bytes,
        // It held memory for which others waited, and was silent.
        Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => &[],
        Err(error) => panic!("{error}"),
    }
}

/// Waits until `value` yields the same three times in a row, a tenth of a second apart.
fn settle<T: PartialEq>(mut value: impl FnMut() -> T) {
    let deadline = Instant::now() + PATIENCE;
    let (mut last, mut same) = (value(), 0);
    while same < 3 {
        assert!(Instant::now() < deadline, "it goes on and on");
        thread::sleep(Duration::from_millis(100));
        let next = value();
        same = if next == last { same + 1 } else { 0 };
        last = next;
    }
}

fn check_bound(server: &Running, args: &str) {
    let (resident, bound) = (resident(server), MEMORY + CONNECTION_MEMORY + BESIDE);
    println!("{args}: {} MiB resident, bound {} MiB", resident / MIB, bound / MIB);
    assert!(resident <= bound, "{args}: {resident} B resident, over {bound} B");
}

fn check_small_requests(client: &mut Client, args: &str) {
    for i in 0..20 {
        client.set(&format!("small-{i}"), format!("value {i}"));
        assert_eq!(client.get(&format!("small-{i}")).unwrap(), format!("value {i}").as_bytes(), "{args}");
    }
}

fn check_return(server: &Running, client: &mut Client, before: u64, args: &str) {
    let deadline = Instant::now() + PATIENCE;
    // The items' memory was taken at the start, and is all that remains; an event loop's own buffers are 1 MiB each.
    let bound = before.max(MEMORY) + 16 * MIB;
    loop {
        let (charged, clients) = (client.stat("connection_memory"), client.stat("curr_connections"));
        let resident = resident(server);
        if (charged, clients) == (0, 1) && resident <= bound {
            println!("{args}: {} MiB after the clients have disconnected", resident / MIB);
            return;
        }
        assert!(
            Instant::now() < deadline,
            "{args}: {clients} clients, {charged} B charged, {resident} B resident, over {bound} B"
        );
        thread::sleep(Duration::from_millis(100));
    }
}

const MODES: [&str; 4] =
    ["--io epoll", "--io auto", "--io epoll --sharing nothing", "--io auto --sharing everything"];

#[test]
fn slow_readers_of_large_values_take_no_more_than_the_budget() {
    for args in MODES {
        let server = start(args);
        let mut client = Client::connect(server.address);
        let before = resident(&server);
        let values = 40;
        (0..values).for_each(|i| client.set(&format!("key-{i}"), vec![b'v'; VALUE]));
        let mut clients: Vec<TcpStream> = (0..CLIENTS).map(|_| lazy(server.address)).collect();
        for (number, stream) in clients.iter_mut().enumerate() {
            let keys: Vec<String> =
                (0..8).map(|i| format!("get key-{}\r\n", (number + i * 7) % values)).collect();
            assert!(push(stream, keys.concat().as_bytes()).is_empty());
        }
        settle(|| (client.stat("cmd_get"), client.stat("connection_memory")));
        check_bound(&server, args);
        let (charged, bound) = (client.stat("connection_memory"), CONNECTION_MEMORY + BEYOND);
        assert!(charged <= bound, "{args}: {charged} B charged, over {bound} B");
        check_small_requests(&mut client, args);
        check_bound(&server, args);
        drop(clients);
        check_return(&server, &mut client, before, args);
    }
}

#[test]
fn unfinished_sets_take_no_more_than_the_budget() {
    for args in MODES {
        let server = start(args);
        let mut client = Client::connect(server.address);
        let before = resident(&server);
        let value = vec![b'v'; GATHERED];
        let requests: Vec<Vec<u8>> = (0..CLIENTS)
            .map(|i| {
                [format!("set key-{i} 0 0 {GATHERED}\r\n").as_bytes(), &value[..GATHERED - 10_000]].concat()
            })
            .collect();
        let mut clients: Vec<(TcpStream, &[u8])> =
            requests.iter().map(|request| (lazy(server.address), &request[..])).collect();
        settle(|| {
            for (stream, rest) in &mut clients {
                *rest = push(stream, rest);
            }
            clients.iter().map(|(_, rest)| rest.len()).sum::<usize>()
        });
        check_bound(&server, args);
        check_small_requests(&mut client, args);
        // The memory suffices for few of them. A server without a processor seems to have settled before it has filled
        // this memory.
        await_stat(&mut client, "connection_memory_waits", |waits| waits > 0);
        assert!(client.stat("connection_memory") > 0, "{args}");
        check_bound(&server, args);
        drop(clients);
        check_return(&server, &mut client, before, args);
        // A client that connects now is served.
        client.set("key", &value);
        assert!(client.get("key").unwrap() == value, "{args}");
    }
}

/// With TLS every value is copied, and encrypted, wherever it was read.
#[test]
fn slow_readers_with_tls_take_no_more_than_the_budget() {
    let papers = certificate();
    for args in [
        "--io epoll",
        "--io auto",
        "--io epoll --sharing nothing",
        "--io auto --sharing nothing",
        "--io epoll --sharing something --group 1",
        "--io auto --sharing everything",
    ] {
        let (memory, connections) = (MEMORY / MIB, CONNECTION_MEMORY / MIB);
        let args = format!("-t 2 -m {memory} --connection-memory {connections}MiB {args}");
        let (server, encrypted) = sphinxd_with_tls(&args, &papers);
        let mut client = Client::connect(server.address);
        let before = resident(&server);
        (0..8).for_each(|i| client.set(&format!("key-{i}"), vec![b'v'; VALUE]));
        let config = client_config(Trust::Authorities(&papers.path().join("ca.pem")), None).unwrap();
        let clients: Vec<_> = (0..CLIENTS / 3)
            .map(|number| {
                let stream = TcpStream::connect(encrypted).unwrap();
                set_socket_recv_buffer_size(&stream, 4096).unwrap();
                let name = ServerName::try_from("localhost").unwrap();
                let session = ClientConnection::new(Arc::clone(&config), name).unwrap();
                let mut stream = StreamOwned::new(session, stream);
                let keys: String = (0..80).map(|i| format!(" key-{}", (number + i) % 8)).collect();
                stream.write_all(format!("get{keys}\r\n").as_bytes()).unwrap();
                stream
            })
            .collect();
        settle(|| client.stat("cmd_get"));
        check_bound(&server, &args);
        let (charged, bound) = (client.stat("connection_memory"), CONNECTION_MEMORY + BEYOND);
        assert!(charged <= bound, "{args}: {charged} B charged, over {bound} B");
        check_small_requests(&mut client, &args);
        drop(clients);
        check_return(&server, &mut client, before, &args);
    }
}

/// Clients that had to wait for memory are served when others have finished.
#[test]
fn all_who_wait_are_served() {
    for args in MODES {
        let server = start(args);
        let clients: Vec<_> = (0..40)
            .map(|number: usize| {
                let address = server.address;
                thread::spawn(move || {
                    let mut stream = TcpStream::connect(address).unwrap();
                    stream.set_read_timeout(Some(PATIENCE)).unwrap();
                    let value = vec![b'a' + (number % 26) as u8; VALUE];
                    let request =
                        [format!("set key-{number} 0 0 {VALUE}\r\n").as_bytes(), &value, b"\r\n"].concat();
                    let (first, second) = request.split_at(VALUE / 2);
                    stream.write_all(first).unwrap();
                    stream.write_all(second).unwrap();
                    let mut reply = [0; 8];
                    stream.read_exact(&mut reply).unwrap();
                    assert_eq!(&reply, b"STORED\r\n");
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        let mut client = Client::connect(server.address);
        assert_eq!(client.stat("cmd_set"), 40, "{args}");
    }
}

/// Beginnings of requests that are never completed: each costs its bytes, and is dropped after a silence.
#[test]
fn parts_of_requests_take_their_bytes_and_go() {
    const PEERS: usize = 400;
    const PART: usize = 1300;
    for args in ["--io epoll", "--io auto"] {
        let port = crate::support::free_udp_port();
        let server = start(&format!("-U {port} -o reader_timeout=3 {args}"));
        let mut client = Client::connect(server.address);
        let before = resident(&server);
        let mut peers: Vec<Datagrams> =
            (0..PEERS).map(|_| Datagrams::to(SocketAddr::new(server.address.ip(), port))).collect();
        // Not even the first datagram of a request that claims the highest count.
        for peer in &mut peers {
            peer.send(Header { request: 1, sequence: 0, count: u16::MAX }, "");
        }
        await_stat(&mut client, "connection_memory", |held| held > 0);
        assert!(client.stat("connection_memory") <= 200 * PEERS as u64, "{args}");
        assert!(resident(&server) <= before + 16 * MIB, "{args}: {} B and {before} B", resident(&server));
        await_stat(&mut client, "connection_memory", |held| held == 0);
        for peer in &mut peers {
            peer.send(Header { request: 2, sequence: 0, count: 3 }, "x".repeat(PART));
        }
        await_stat(&mut client, "connection_memory", |held| held >= (PEERS * PART) as u64);
        await_stat(&mut client, "connection_memory", |held| held == 0);
        assert_eq!(peers[0].ask("set k 0 0 1\r\n1\r\n"), "STORED\r\n", "{args}");
    }
}

/// Parts are dropped earlier if others wait for their memory.
#[test]
fn parts_of_requests_go_when_others_wait_for_memory() {
    const PART: usize = 1300;
    let port = crate::support::free_udp_port();
    let server =
        sphinxd(&format!("-t 1 -m 64 --connection-memory 4MiB -U {port} -o reader_timeout=1000 --io epoll"));
    let mut client = Client::connect(server.address);
    // All that may be held, of requests that each lack their last datagram.
    let mut peers = Vec::new();
    while client.stat("datagrams_dropped") == 0 {
        let mut peer = Datagrams::to(SocketAddr::new(server.address.ip(), port));
        for sequence in 0..300 {
            peer.send(Header { request: 1, sequence, count: 301 }, "x".repeat(PART));
        }
        peers.push(peer);
        assert!(peers.len() < 100, "no bound");
    }
    assert!(client.stat("connection_memory") > MIB);
    // Joined values are gathered.
    client.set("k", "v");
    let rest = vec![b'x'; 500_000];
    settle(|| client.stat("datagrams_dropped"));
    let refused = client.stat("datagrams_dropped");
    let begun: Vec<TcpStream> = (0..5)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(b"append k 0 0 600000\r\n").unwrap();
            stream.write_all(&rest).unwrap();
            stream
        })
        .collect();
    // Not all of them fit together with the parts.
    await_stat(&mut client, "connection_memory_waits", |waits| waits > 0);
    await_stat(&mut client, "datagrams_dropped", |dropped| dropped > refused);
    let mut answered = 0;
    for mut stream in begun {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut said = [0; 8];
        // One that was silent while others waited may be closed.
        let sent = stream.write_all(&[&rest[..100_000], b"\r\n"].concat());
        if sent.and_then(|()| stream.read_exact(&mut said)).is_ok() {
            assert!(matches!(&said, b"STORED\r\n" | b"NOT_STOR"));
            answered += 1;
        }
    }
    assert!(answered > 0);
}

/// A connection that waits for memory continues after an event. An incomplete answer to a datagram and a gathered list have no such
/// event.
#[test]
fn what_nothing_would_wake_does_not_wait_for_memory() {
    for io in ["epoll", "auto"] {
        let port = crate::support::free_udp_port();
        let server =
            sphinxd(&format!("-t 1 -m 64 --connection-memory 4MiB -U {port} -o reader_timeout=0 --io {io}"));
        let mut client = Client::connect(server.address);
        let keys: Vec<String> = (0..20).map(|i| format!("key-{i}")).collect();
        keys.iter().for_each(|key| client.set(key, vec![b'v'; 3000]));
        (0..2000).for_each(|i| client.set(&format!("a-key-of-some-30-bytes-{i:07}"), "v"));
        let request = format!("get {}\r\n", keys.join(" "));
        // The limit of unread replies: all but the share for small ones, and one more large reply.
        let (mut slow, mut more) = (Vec::new(), 20);
        while more > 0 {
            more -= usize::from(client.stat("connection_memory") >= 2 * MIB);
            let mut stream = lazy(server.address);
            assert!(push(&mut stream, request.repeat(100).as_bytes()).is_empty());
            slow.push(stream);
            assert!(slow.len() < 1000, "{io}: no bound");
        }
        settle(|| client.stat("connection_memory"));
        let answer = Datagrams::to(SocketAddr::new(server.address.ip(), port)).ask(&request);
        assert!(answer.ends_with("END\r\n") || answer.starts_with("SERVER_ERROR"), "{io}: {answer}");
        let mut list = TcpStream::connect(server.address).unwrap();
        list.set_read_timeout(Some(PATIENCE)).unwrap();
        list.write_all(b"stats cachedump 1 0\r\n").unwrap();
        let (mut said, mut piece) = (Vec::new(), [0; 4096]);
        while !said.ends_with(b"END\r\n") {
            let length = list.read(&mut piece).unwrap();
            assert!(length > 0, "{io}: closed after {} bytes", said.len());
            said.extend_from_slice(&piece[..length]);
        }
        drop((slow, list));
        await_stat(&mut client, "connection_memory", |held| held == 0);
    }
}

/// Most peers that send datagrams are heard once and never leave: only their identity is kept, not the answers.
#[test]
fn peers_that_were_answered_keep_no_buffer() {
    const PEERS: u64 = 2000;
    const VALUE: usize = 3000;
    for io in ["epoll", "auto"] {
        // Otherwise the memory of items is taken during the test.
        let server = sphinxd(&format!("-t 2 -m 64 -U tcp --eager-memory --io {io}"));
        Client::connect(server.address).set("k", "v".repeat(VALUE));
        let ask_from_others = |peers: u64| {
            for _ in 0..peers {
                let said = Datagrams::to(server.address).ask("get k\r\n");
                assert!(said.len() > VALUE, "{said}");
            }
        };
        // One-time allocations of the threads.
        ask_from_others(200);
        let before = resident(&server);
        ask_from_others(PEERS);
        let grown = resident(&server).saturating_sub(before);
        assert!(grown < PEERS * VALUE as u64 / 2, "{io}: {grown} bytes for {PEERS} peers");
    }
}
