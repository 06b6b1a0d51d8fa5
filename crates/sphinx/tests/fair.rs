//! Misbehaving clients delay no other client: neither by memory that they hold, nor by work that they cause.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use reactor::tls::{Trust, client_config};
use rustix::net::sockopt::{set_socket_linger, set_socket_recv_buffer_size};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use tempfile::TempDir;

use crate::support::certificate::certificate;
use crate::support::client::{Client, await_stat};
use crate::support::{MODES, PATIENCE, resident, sphinxd, sphinxd_with_tls};

/// Long enough that no test reaches it: connections are closed only because others wait. Units: seconds.
const NEVER: u64 = 10_000;

/// A client of TLS that has asked for something and reads nothing.
fn dead(address: SocketAddr, papers: &TempDir, request: &str) -> StreamOwned<ClientConnection, TcpStream> {
    let stream = TcpStream::connect(address).unwrap();
    set_socket_recv_buffer_size(&stream, 4096).unwrap();
    let config = client_config(Trust::Authorities(&papers.path().join("ca.pem")), None).unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = StreamOwned::new(ClientConnection::new(Arc::clone(&config), name).unwrap(), stream);
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// A connection that breaks while it waits has no more work done for it: the rest of its keys is not looked up.
#[test]
fn a_broken_connection_has_no_more_work_done() {
    const DEAD: usize = 12;
    const KEYS: u64 = 1000;
    let papers = certificate();
    for mode in MODES {
        for io in ["epoll", "auto"] {
            let args = format!("-t 2 -m 64 --io {io} {mode} -o reader_timeout={NEVER}");
            let (server, encrypted) = sphinxd_with_tls(&args, &papers);
            let mut client = Client::connect(server.address);
            (0..8).for_each(|i| client.set(&format!("key-{i}"), vec![b'v'; 900_000]));
            let keys: String = (0..KEYS).map(|i| format!(" key-{}", i % 8)).collect();
            let dead: Vec<_> =
                (0..DEAD).map(|_| dead(encrypted, &papers, &format!("get{keys}\r\n"))).collect();
            for stream in dead {
                // With a reset, as of a process that was killed with data unread.
                set_socket_linger(stream.get_ref(), Some(Duration::ZERO)).unwrap();
            }
            await_stat(&mut client, "curr_connections", |connections| connections == 1);
            // Each may have got some values before, of which a socket and the budget hold a few.
            let looked_up = client.stat("cmd_get");
            assert!(looked_up < DEAD as u64 * KEYS / 4, "{args}: {looked_up} keys were looked up");
            // Buffers of the sets are kept for others, but not for longer than a second.
            await_stat(&mut client, "connection_memory", |bytes| bytes == 0);
        }
    }
}

/// Clients that have sent a part of a large request, and no more, lose their memory to those that send all of it.
#[test]
fn halves_of_requests_hold_up_no_whole_one() {
    const HALVES: usize = 100;
    for mode in MODES {
        for io in ["epoll", "auto"] {
            let args =
                format!("-t 2 -m 64 --connection-memory 8MiB --io {io} {mode} -o reader_timeout={NEVER}");
            let server = sphinxd(&args);
            let mut client = Client::connect(server.address);
            // Joined to another, it is gathered in any mode.
            client.set("joined", "v");
            let part = [b"append joined 0 0 1000000\r\n".as_slice(), &vec![b'h'; 600_000]].concat();
            let mut halves: Vec<(TcpStream, &[u8])> = (0..HALVES)
                .map(|_| {
                    let stream = TcpStream::connect(server.address).unwrap();
                    stream.set_nonblocking(true).unwrap();
                    (stream, &part[..])
                })
                .collect();
            let deadline = Instant::now() + PATIENCE;
            while client.stat("connection_memory_waits") == 0 {
                assert!(Instant::now() < deadline, "{args}: nobody waits");
                for (stream, rest) in &mut halves {
                    match stream.write(rest) {
                        Ok(n) => *rest = &rest[n..],
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                        Err(_) => *rest = &[],
                    }
                }
            }
            // Small requests have memory of their own; larger ones take memory from the others.
            for length in [100, 20_000, 50_000, 120_000, 400_000, 900_000] {
                for round in 0..4 {
                    let key = format!("whole-{length}-{round}");
                    client.set(&key, vec![b'w'; length]);
                    assert_eq!(client.get(&key).map(|value| value.len()), Some(length), "{args}");
                }
            }
            await_stat(&mut client, "connection_memory_kicks", |kicks| kicks > 0);
        }
    }
}

/// Lists that every thread has a part in take no more memory than the budget, even if no client reads them.
#[test]
fn lists_of_prefixes_that_are_not_read_take_no_more_than_the_budget() {
    const PREFIXES: usize = 4_000;
    const READERS: usize = 20;
    // Each list has half a MB, and all requested lists have more than this.
    const MOST: u64 = 64 << 20;
    for mode in MODES {
        let args = format!(
            "-t 2 -m 64 --eager-memory --connection-memory 8MiB {mode} -o reader_timeout={NEVER} --no-sampling"
        );
        let server = sphinxd(&args);
        let mut client = Client::connect(server.address);
        assert_eq!(client.ask("stats detail on"), "OK");
        let prefix = "p".repeat(100);
        (0..PREFIXES).for_each(|i| client.set(&format!("{prefix}{i}:k"), "v"));
        let before = resident(&server);
        let readers: Vec<TcpStream> = (0..READERS)
            .map(|_| {
                let mut stream = TcpStream::connect(server.address).unwrap();
                set_socket_recv_buffer_size(&stream, 4096).unwrap();
                stream.write_all(&b"stats detail dump\r\n".repeat(60)).unwrap();
                stream
            })
            .collect();
        let mut most = 0;
        let mut look = |client: &mut Client| {
            client.set("small", "v");
            assert_eq!(client.get("small").as_deref(), Some(&b"v"[..]), "{args}");
            most = most.max(resident(&server).saturating_sub(before));
        };
        (0..200).for_each(|_| look(&mut client));
        await_stat(&mut client, "connection_memory_waits", |waits| waits > 0);
        (0..200).for_each(|_| look(&mut client));
        assert!(most <= MOST, "{args}: {most} B more than before");
        drop(readers);
        await_stat(&mut client, "curr_connections", |connections| connections == 1);
        await_stat(&mut client, "connection_memory", |bytes| bytes == 0);
    }
}

/// As long as no other client waits, one may be silent within its request.
#[test]
fn a_silent_client_keeps_its_memory_while_there_is_enough() {
    let server = sphinxd(&format!("-t 2 -m 64 -o reader_timeout={NEVER}"));
    let mut client = Client::connect(server.address);
    client.set("joined", "v");
    let mut silent = TcpStream::connect(server.address).unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    silent.write_all(&[b"append joined 0 0 500000\r\n".as_slice(), &vec![b'h'; 300_000]].concat()).unwrap();
    for round in 0..200 {
        client.set("whole", vec![b'w'; 200_000 + round]);
        thread::sleep(Duration::from_millis(2));
    }
    silent.write_all(&[vec![b'h'; 200_000], b"\r\n".to_vec()].concat()).unwrap();
    let mut said = [0; 8];
    silent.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"STORED\r\n");
    assert_eq!(client.stat("connection_memory_kicks"), 0);
}

/// Handshakes that come at once are made one after the other, and all of them are.
#[test]
fn many_handshakes_at_once_are_all_completed() {
    let papers = certificate();
    for io in ["epoll", "auto"] {
        let (server, encrypted) = sphinxd_with_tls(&format!("-t 1 -m 64 --io {io}"), &papers);
        let mut client = Client::connect(server.address);
        client.set("k", "v");
        let clients: Vec<_> = (0..60)
            .map(|_| {
                let folder = papers.path().to_owned();
                thread::spawn(move || {
                    let config = client_config(Trust::Authorities(&folder.join("ca.pem")), None).unwrap();
                    let name = ServerName::try_from("localhost").unwrap();
                    let stream = TcpStream::connect(encrypted).unwrap();
                    stream.set_read_timeout(Some(PATIENCE)).unwrap();
                    let session = ClientConnection::new(config, name).unwrap();
                    let mut stream = StreamOwned::new(session, stream);
                    stream.write_all(b"get k\r\n").unwrap();
                    let mut said = [0; 17];
                    stream.read_exact(&mut said).unwrap();
                    assert_eq!(&said, b"VALUE k 0 1\r\nv\r\nE");
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        assert_eq!(client.stat("tls_errors"), 0);
    }
}
