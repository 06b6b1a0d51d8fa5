//! The ways in: several addresses, a Unix socket, datagrams, TLS; on each event loop.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use crate::support::certificate::certificate;
use crate::support::client::{Client, await_stat};
use crate::support::datagrams::Datagrams;
use crate::support::{PATIENCE, memcached_with, spawn, sphinxd};
use launch::Process;
use proto_memcache::client::udp::Header;
use reactor::tls::{Trust, client_config};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

/// Both event loops; io_uring is skipped if unavailable.
fn loops() -> impl Iterator<Item = &'static str> {
    ["epoll", "uring"].into_iter().filter(|io| {
        match reactor::choose(io.parse().unwrap(), reactor::Backend::FOR_SERVERS) {
            Ok(_) => true,
            Err(error) => {
                println!("skipped: the half on io_uring: {error}");
                false
            }
        }
    })
}

/// Starts a server and returns it with the places that its line names.
fn places(args: &str) -> (Process, Vec<String>) {
    let mut process = spawn(args);
    let line = process.await_line(launch::sphinx::READY, PATIENCE).unwrap();
    let rest = &line[launch::sphinx::READY.len()..];
    let first = rest.split(' ').next().unwrap();
    let others = rest.split_once("also on ").map_or("", |(_, others)| others.split(';').next().unwrap());
    let places = [first].into_iter().chain(others.split(", ").filter(|place| !place.is_empty()));
    let places = places.map(str::to_owned).collect();
    (process, places)
}

fn port_of(place: &str) -> SocketAddr {
    place.rsplit('/').next().unwrap().parse().unwrap()
}

#[test]
fn several_addresses_lead_to_the_same_items() {
    for io in loops() {
        let (_process, places) = places(&format!("-l 127.0.0.1:0,[::1]:0 -l localhost:0 -t 2 --io {io}"));
        assert!(places.len() >= 3, "{places:?}");
        let mut clients: Vec<Client> = places.iter().map(|place| Client::connect(port_of(place))).collect();
        clients[0].set("k", "v");
        for client in &mut clients {
            assert_eq!(client.get("k").as_deref(), Some(&b"v"[..]));
        }
    }
}

#[test]
fn a_unix_socket_has_its_mode_and_goes_at_the_end() {
    for io in loops() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let check = |mode: &str, expect: u32| {
            let (process, places) = places(&format!("-s {} -a {mode} -t 2 --io {io}", path.display()));
            assert_eq!(places, [format!("unix:{}", path.display())]);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, expect);
            for i in 0..10 {
                let mut stream = UnixStream::connect(&path).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream
                    .write_all(format!("set k{i} 0 0 1\r\n{i}\r\nget k{i}\r\nquit\r\n").as_bytes())
                    .unwrap();
                let mut said = String::new();
                stream.read_to_string(&mut said).unwrap();
                assert_eq!(said, format!("STORED\r\nVALUE k{i} 0 1\r\n{i}\r\nEND\r\n"));
            }
            process.stop(PATIENCE).unwrap();
            assert!(!path.exists(), "the file stays");
        };
        check("700", 0o700);
        check("666", 0o666);
    }
}

#[test]
fn a_unix_socket_may_stand_beside_the_network() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let (_process, places) = places(&format!("-s {} -l 127.0.0.1 -p 0 -t 1", path.display()));
    Client::connect(port_of(&places[0])).set("k", "v");
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"get k\r\nquit\r\n").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert_eq!(said, "VALUE k 0 1\r\nv\r\nEND\r\n");
}

/// Checks common to both servers; `tcp` leads to the same items.
fn check_datagrams(address: SocketAddr) {
    let mut tcp = Client::connect(address);
    let mut udp = Datagrams::to(address);
    assert_eq!(udp.ask("set k 5 0 2\r\nhi\r\n"), "STORED\r\n");
    assert_eq!(tcp.get("k").as_deref(), Some(&b"hi"[..]));
    assert_eq!(udp.ask("get k\r\n"), "VALUE k 5 2\r\nhi\r\nEND\r\n");
    assert_eq!(udp.ask("get none\r\n"), "END\r\n");
    assert_eq!(udp.ask("junk\r\n"), "ERROR\r\n");
    assert_eq!(udp.ask("\r\n"), "ERROR\r\n");
    assert_eq!(udp.ask("incr k 1\r\n"), "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n");
    // Several datagrams, which state their count; far less than a socket's buffer, above which some would get lost.
    let value = "v".repeat(50_000);
    tcp.set("large", &value);
    assert_eq!(udp.ask("get large\r\n"), format!("VALUE large 0 50000\r\n{value}\r\nEND\r\n"));
    assert!(udp.ask("stats\r\n").ends_with("END\r\n"));
    // No answer: short of a header, parts of a larger message, half a request, noreply, nothing.
    udp.socket.send(b"get k\r\n").unwrap();
    udp.send(Header { request: 1, sequence: 0, count: 2 }, "get k\r\n");
    udp.send(Header { request: 2, sequence: 1, count: 2 }, "get k\r\n");
    udp.send(Header { request: 3, sequence: 0, count: 0 }, "get k\r\n");
    udp.send(Header::of_request(4), "get k");
    udp.send(Header::of_request(5), "set k 0 0 1 noreply\r\n7\r\n");
    udp.send(Header::of_request(6), "");
    assert_eq!(udp.ask("get k\r\n"), "VALUE k 0 1\r\n7\r\nEND\r\n");
}

#[test]
fn datagrams_are_answered_as_by_memcached() {
    // One thread: several read the socket's datagrams in any order.
    if let Some(memcached) =
        memcached_with(|port| ["-t", "1", "-U", &port.to_string()].map(String::from).into())
    {
        check_datagrams(memcached.address);
    }
    for (io, threads) in loops().flat_map(|io| [(io, 1), (io, 3)]) {
        let port = crate::support::free_udp_port();
        let server = sphinxd(&format!("-t {threads} -U {port} --io {io}"));
        // Requests for keys of other threads are answered by them, and the reply goes back all the same.
        let udp = SocketAddr::new(server.address.ip(), port);
        let mut peers: Vec<Datagrams> = (0..8).map(|_| Datagrams::to(udp)).collect();
        for (i, peer) in peers.iter_mut().enumerate() {
            assert_eq!(peer.ask(format!("set p{i} 0 0 1\r\n{i}\r\n")), "STORED\r\n");
        }
        let keys: Vec<String> = (0..8).map(|i| format!("p{i}")).collect();
        let values: String =
            keys.iter().enumerate().map(|(i, key)| format!("VALUE {key} 0 1\r\n{i}\r\n")).collect();
        for peer in &mut peers {
            assert_eq!(peer.ask(format!("get {}\r\nversion\r\n", keys.join(" "))), {
                format!("{values}END\r\nVERSION {}\r\n", sphinx::VERSION)
            });
        }
        // Several of one peer at once are answered in their order.
        let peer = &mut peers[0];
        for number in 100..120 {
            peer.send(Header::of_request(number), format!("get p{}\r\n", number % 8));
        }
        for number in 100..120 {
            let i = number % 8;
            assert_eq!(peer.reply(number), format!("VALUE p{i} 0 1\r\n{i}\r\nEND\r\n").as_bytes());
        }
        let mut tcp = Client::connect(server.address);
        assert_eq!(tcp.stat("curr_connections"), 1, "datagrams are not connections");
    }
}

#[test]
fn a_datagram_is_no_lever_for_floods() {
    for threads in [1, 2] {
        let port = crate::support::free_udp_port();
        let server = sphinxd(&format!("-t {threads} -U {port} -m 64"));
        let mut tcp = Client::connect(server.address);
        for key in ["a", "b", "c", "d"] {
            tcp.set(key, vec![b'v'; 50_000]);
        }
        let mut udp = Datagrams::to(SocketAddr::new(server.address.ip(), port));
        let keys = "a b c d ".repeat(2_000);
        assert_eq!(udp.ask(format!("get {keys}\r\n")), "SERVER_ERROR out of memory writing get response\r\n");
        assert!(udp.ask("get a\r\n").starts_with("VALUE a 0 50000\r\n"));
    }
}

#[test]
fn datagrams_come_to_the_port_of_tcp_also_where_that_speaks_tls() {
    let papers = certificate();
    let (cert, key) = (papers.path().join("cert.pem"), papers.path().join("key.pem"));
    let tls = format!("--tls-cert {} --tls-key {}", cert.display(), key.display());
    for (io, threads) in loops().flat_map(|io| [(io, 1), (io, 2)]) {
        for args in [format!("-Z {tls}"), format!("--tls-port 0 {tls}"), String::new()] {
            let (_process, places) = places(&format!("-p 0 -U tcp -t {threads} --io {io} {args}"));
            let udp: Vec<&String> = places.iter().filter(|place| place.starts_with("udp://")).collect();
            let [udp] = udp[..] else { panic!("{args}: {places:?}") };
            // If --tls-port is given too, UDP uses the port of -p.
            let tcp = places.iter().find(|place| !place.starts_with("udp://")).unwrap();
            assert_eq!(port_of(udp), port_of(tcp), "{args}: {places:?}");
            let mut datagrams = Datagrams::to(port_of(udp));
            assert_eq!(datagrams.ask("set k 0 0 1\r\n1\r\n"), "STORED\r\n", "{args}");
        }
    }
}

#[test]
fn tls_has_a_port_of_its_own() {
    let papers = certificate();
    let file = |name: &str| papers.path().join(name).display().to_string();
    let config = client_config(Trust::Authorities(&papers.path().join("ca.pem")), None).unwrap();
    for (io, threads) in loops().flat_map(|io| [(io, 1), (io, 3)]) {
        let (cert, key) = (file("cert.pem"), file("key.pem"));
        let udp_port = crate::support::free_udp_port();
        let args = format!(
            "-p 0 -U {udp_port} -t {threads} --io {io} --tls-port 0 --tls-cert {cert} --tls-key {key}"
        );
        let (process, places) = places(&args);
        assert_eq!(places.len(), 3, "{places:?}");
        let encrypted = places[2].strip_prefix("tls://").unwrap();
        let mut plain = Client::connect(port_of(&places[0]));
        let value = vec![b'v'; 500_000];
        plain.set("large", &value);
        // Plain connections, datagrams and TLS side by side.
        let mut datagrams = Datagrams::to(port_of(&places[1]));
        assert_eq!(datagrams.ask("set k 0 0 1\r\n1\r\n"), "STORED\r\n");
        for i in 0..6 {
            let socket = TcpStream::connect(encrypted).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            let name = ServerName::try_from("localhost").unwrap();
            let mut stream =
                StreamOwned::new(ClientConnection::new(Arc::clone(&config), name).unwrap(), socket);
            stream
                .write_all(format!("set k{i} 0 0 1\r\n{i}\r\nget k{i} large\r\nquit\r\n").as_bytes())
                .unwrap();
            let mut said = Vec::new();
            stream.read_to_end(&mut said).unwrap();
            let expect = format!("STORED\r\nVALUE k{i} 0 1\r\n{i}\r\nVALUE large 0 500000\r\n");
            assert!(said.starts_with(expect.as_bytes()) && said.ends_with(b"vv\r\nEND\r\n"));
            assert_eq!(said.len(), expect.len() + value.len() + 7);
            assert!(plain.get(&format!("k{i}")).is_some());
        }
        // A client that does not speak TLS there is turned away, and no other client is disturbed.
        let mut wrong = Client::connect(encrypted.parse().unwrap());
        wrong.send("version\r\n".repeat(10));
        let mut rest = Vec::new();
        let _ = wrong.stream.read_to_end(&mut rest);
        assert!(!rest.starts_with(b"VERSION"));
        assert!(plain.ask("version").starts_with("VERSION "));
        await_stat(&mut plain, "tls_errors", |figure| figure == 1);
        assert_eq!(plain.stat("accept_failures"), 0, "the system has given all");
        process.stop(PATIENCE).unwrap();
    }
}

#[test]
fn clients_of_tls_are_connections_before_they_say_anything() {
    let papers = certificate();
    let (cert, key) = (papers.path().join("cert.pem"), papers.path().join("key.pem"));
    for (io, threads) in loops().flat_map(|io| [(io, 1), (io, 2)]) {
        let args = format!(
            "-p 0 -t {threads} -c 4 -o idle_timeout=2 --io {io} --tls-port 0 --tls-cert {} --tls-key {}",
            cert.display(),
            key.display()
        );
        let (_process, places) = places(&args);
        let encrypted = port_of(places[1].strip_prefix("tls://").unwrap());
        let mut plain = Client::connect(port_of(&places[0]));
        assert_eq!(plain.stat("curr_connections"), 1);
        let mut silent: Vec<TcpStream> = (0..6).map(|_| TcpStream::connect(encrypted).unwrap()).collect();
        // There is room for three.
        await_stat(&mut plain, "rejected_connections", |figure| figure == 3);
        assert_eq!(plain.stat("total_connections"), 4, "{args}");
        await_stat(&mut plain, "idle_kicks", |figure| figure == 3);
        await_stat(&mut plain, "curr_connections", |figure| figure == 1);
        for stream in &mut silent {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut said = Vec::new();
            let _ = stream.read_to_end(&mut said);
            assert!(said.len() < 100, "{args}: {}", said.escape_ascii());
        }
    }
}
