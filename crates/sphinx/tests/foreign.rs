//! Clients of unsupported protocols are refused at once, in their own protocol, and no byte of theirs is executed.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::Command;

use crate::support::client::Client;
use crate::support::{PATIENCE, Running, free_udp_port, sphinxd};
use launch::Process;
use proto_memcache::client::udp::Header;

/// Commands, as they appear in a value that a client stores.
const COMMANDS: &[u8] = b"\r\nflush_all\r\nset evil 0 0 1\r\nx\r\nset quiet 0 0 1 noreply\r\nx\r\n";

/// A request of the binary protocol: header, extras, key, value.
fn binary(opcode: u8, key: &[u8], extras: &[u8], value: &[u8]) -> Vec<u8> {
    let body = (key.len() + extras.len() + value.len()) as u32;
    let mut request = vec![0x80, opcode, 0, key.len() as u8, extras.len() as u8, 0, 0, 0];
    request.extend(body.to_be_bytes());
    request.extend([0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0, 0, 0, 0, 0]);
    request.extend([extras, key, value].concat());
    request
}

/// Checks that `answer` is a response that refuses `opcode`, with a text.
fn check_binary(answer: &[u8], opcode: u8) {
    assert!(answer.len() > 24, "{}", answer.escape_ascii());
    let (header, body) = answer.split_at(24);
    assert_eq!(header[..8], [0x81, opcode, 0, 0, 0, 0, 0, 0x83], "magic, opcode, no key, not supported");
    assert_eq!(header[8..12], (body.len() as u32).to_be_bytes());
    assert_eq!(header[12..16], [0xde, 0xad, 0xbe, 0xef], "the opaque");
    assert!(body.starts_with(b"This server speaks memcached's text protocol"), "{}", body.escape_ascii());
}

/// Sends bytes in pieces and reads until the server closes. That it may close while bytes are under way does not
/// matter.
fn answer(mut stream: impl Read + Write, bytes: &[u8], step: usize) -> Vec<u8> {
    for piece in bytes.chunks(step) {
        if stream.write_all(piece).is_err() {
            break;
        }
    }
    let (mut all, mut part) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut part) {
            Ok(0) => return all,
            Ok(length) => all.extend(&part[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return all,
            Err(error) => panic!("{error} after {}", all.escape_ascii()),
        }
    }
}

fn tcp(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Ends it by a signal.
fn end(process: &mut Process) {
    assert!(Command::new("kill").arg(process.pid().to_string()).status().unwrap().success());
    assert_eq!(process.wait(PATIENCE).unwrap().code(), Some(0));
}

#[test]
fn a_binary_client_is_refused_and_nothing_of_its_values_is_executed() {
    for args in ["-t 1 --io epoll -B ascii", "-t 2 -B ascii"] {
        let mut server = sphinxd(args);
        let mut client = Client::connect(server.address);
        client.set("k", "v");
        let set = binary(1, b"foo", &[0; 8], COMMANDS);
        for step in [1, 23, 24, 25, set.len()] {
            check_binary(&answer(tcp(server.address), &set, step), 1);
        }
        check_binary(&answer(tcp(server.address), &binary(0x0b, b"", b"", b""), 100), 0x0b);
        // After a header comes the body or the next request; after a refusal it is neither.
        let then_text = [binary(0x0a, b"", b"", b""), b"set evil 0 0 1 noreply\r\nx\r\n".to_vec()].concat();
        check_binary(&answer(tcp(server.address), &then_text, 24), 0x0a);
        // A header that never gets whole is not a request.
        let mut begun = tcp(server.address);
        begun.write_all(&set[..10]).unwrap();
        begun.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(answer(begun, b"", 1), b"");
        for (key, expect) in [("k", Some(&b"v"[..])), ("evil", None), ("quiet", None), ("foo", None)] {
            assert_eq!(client.get(key).as_deref(), expect, "{args}: {key}");
        }
        let stats = ["refused_binary", "refused_tls", "refused_http", "cmd_flush", "cmd_set"];
        assert_eq!(stats.map(|name| client.stat(name)), [7, 0, 0, 0, 1], "{args}");
        end(&mut server.process);
        let said = server.process.stderr_tail().join("\n");
        let lines = said.matches("refused a client").count();
        // Once per client and thread, and at most one in a second.
        assert!((1..=2).contains(&lines), "{args}: {said}");
        assert!(said.contains("memcached's binary protocol") && said.contains("127.0.0.1"), "{said}");
    }
}

#[test]
fn other_protocols_are_refused_on_every_transport_and_before_authentication() {
    let folder = tempfile::tempdir().unwrap();
    let (users, socket) = (folder.path().join("users"), folder.path().join("socket"));
    fs::write(&users, "ann:secret\n").unwrap();
    let set = binary(1, b"foo", &[0; 8], b"\r\nset any 0 0 10\r\nann secret\r\nset evil 0 0 1\r\nx\r\n");
    let hello = [&b"\x16\x03\x01\x00\x20"[..], &[1; 32], COMMANDS].concat();
    let form = [b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", &COMMANDS[2..]].concat();
    for args in [String::new(), format!("-Y {}", users.display())] {
        let server = sphinxd(&format!("-t 1 -B ascii -s {} {args}", socket.display()));
        let unix = || {
            let stream = UnixStream::connect(&socket).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream
        };
        for step in [1, 1000] {
            check_binary(&answer(unix(), &set, step), 1);
            check_binary(&answer(tcp(server.address), &set, step), 1);
            for answer in [answer(unix(), &hello, step), answer(tcp(server.address), &hello, step)] {
                assert_eq!(answer, [0x15, 3, 3, 0, 2, 2, 40], "a fatal alert: handshake_failure");
            }
            for answer in [answer(unix(), &form, step), answer(tcp(server.address), &form, step)] {
                let answer = String::from_utf8(answer).unwrap();
                assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
                assert!(answer.ends_with("text protocol, not HTTP.\r\n"), "{answer}");
            }
        }
        let mut client = Client::connect(server.address);
        if !args.is_empty() {
            client.send("set any 0 0 10\r\nann secret\r\n");
            assert_eq!(client.text(), "STORED");
        }
        let stats = ["refused_binary", "refused_tls", "refused_http", "cmd_flush", "cmd_set"];
        assert_eq!(stats.map(|name| client.stat(name)), [4, 4, 4, 0, 0], "{args}");
        server.process.stop(PATIENCE).unwrap();
    }
}

#[test]
fn text_is_refused_where_only_the_binary_protocol_is_spoken() {
    let server = sphinxd("-t 2 -B binary");
    for step in [1, 100] {
        let said = answer(tcp(server.address), b"set evil 0 0 1\r\nx\r\nset k 0 0 1\r\nx\r\n", step);
        let said = String::from_utf8(said).unwrap();
        assert_eq!(
            said,
            "CLIENT_ERROR this server speaks memcached's binary protocol only; set the client to binary\r\n"
        );
    }
    for garbage in ["Here is garbage", "HEADER", "GETS a", "G4", "garbage", "\0", "\n"] {
        let said = answer(tcp(server.address), garbage.as_bytes(), 1);
        assert!(said.starts_with(b"CLIENT_ERROR "), "{garbage}: {}", said.escape_ascii());
    }
    // As many bytes as a header has decide, also without a line end.
    let said = answer(tcp(server.address), b"GET /a-path-of-24-bytes-", 1);
    assert!(said.starts_with(b"HTTP/1.1 400 "), "{}", said.escape_ascii());
    let hello = [&b"\x16\x03\x01\x00\x20"[..], &[1; 32]].concat();
    assert_eq!(answer(tcp(server.address), &hello, 100), [0x15, 3, 3, 0, 2, 2, 40]);
    // `get evil`, a version, and the end.
    let asked =
        [binary(0, b"evil", b"", b""), binary(0x0b, b"", b"", b""), binary(7, b"", b"", b"")].concat();
    let said = answer(tcp(server.address), &asked, 7);
    assert_eq!(said[..8], [0x81, 0, 0, 0, 0, 0, 0, 1], "there is no such item");
    assert_eq!(said[said.len() - 24..][..2], [0x81, 7], "and the end is answered");
}

#[test]
fn a_binary_datagram_is_refused() {
    let port = free_udp_port();
    let Running { address, process: _process, .. } = sphinxd(&format!("-t 1 -B ascii -U {port}"));
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.connect(("127.0.0.1", port)).unwrap();
    udp.set_read_timeout(Some(PATIENCE)).unwrap();
    let send = |number: u16, payload: &[u8]| {
        let mut datagram = Vec::new();
        Header::of_request(number).append(&mut datagram);
        datagram.extend_from_slice(payload);
        udp.send(&datagram).unwrap();
    };
    let receive = || {
        let mut bytes = [0; 2000];
        let length = udp.recv(&mut bytes).unwrap();
        let (header, text) = Header::read(&bytes[..length]).unwrap();
        (header.request, text.to_vec())
    };
    send(7, &binary(1, b"foo", &[0; 8], COMMANDS));
    let (number, text) = receive();
    assert_eq!(number, 7);
    check_binary(&text, 1);
    // Too short for a header: no answer, and no command.
    send(8, &[b"\x80", COMMANDS].concat()[..20]);
    send(9, b"get evil quiet\r\n");
    assert_eq!(receive(), (9, b"END\r\n".to_vec()));
    let mut client = Client::connect(address);
    assert_eq!(["refused_binary", "cmd_flush", "cmd_set"].map(|name| client.stat(name)), [2, 0, 0]);
}
