//! Intentional differences of Sphinx, each a row of `DIFFERENCES.md`, and the interplay of the binary protocol with the
//! transports and the text protocol.

use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;

use proto_memcache::binary::testing::{Packet, Read, read};
use proto_memcache::binary::{Status, opcode};
use proto_memcache::client::udp::Header;
use reactor::tls::{Trust, client_config};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use crate::binary::talk::{Pieces, Talk, get, set};
use crate::support::certificate::certificate;
use crate::support::client::Client;
use crate::support::{PATIENCE, free_udp_port, spawn, sphinxd};

#[test]
fn sphinx_differs_as_listed() {
    let server = sphinxd("-t 2");
    let connect = || Talk::connect(server.address, Pieces::Whole);
    let mut talk = connect();
    // Only the body of an unknown command is dropped.
    talk.says(Packet::new(0x30).key(b"key").touch(7).value(b"value"), Status::Unknown);
    let answers = talk.ask(Packet::new(opcode::VERBOSITY).touch(2));
    assert_eq!((answers.len(), answers[0].status()), (1, Status::Done));
    assert!(talk.stats(b"conns").iter().any(|(name, _)| name.ends_with(":state")));
    talk.says(Packet::new(opcode::STAT).key(b"detail"), Status::NotFound);
    connect().refuses(Packet::new(opcode::TOUCH).key(b"k").touch(1).value(b"v"), Status::Invalid);
    connect().refuses(Packet::new(opcode::STAT).value(b"v"), Status::Invalid);
    let table = include_str!("../../DIFFERENCES.md");
    for row in [
        "binary-unknown",
        "binary-verbosity",
        "binary-stats",
        "binary-lengths",
        "sasl",
        "sasl-pwdb",
        "auth-attempts",
    ] {
        assert!(table.contains(&format!("| {row} |")), "{row} is not listed");
    }
}

#[test]
fn both_protocols_see_the_same_items() {
    let server = sphinxd("-t 2");
    let mut text = Client::connect(server.address);
    let mut talk = Talk::connect(server.address, Pieces::Bytes);
    text.set("k", "v");
    talk.shows(get(b"k"), 0, b"", b"v");
    talk.stored(Packet::new(opcode::SET).key(b"k").store(7, 0).value(b"w"));
    assert_eq!(text.ask("get k"), "VALUE k 7 1");
    assert_eq!(text.lines_to("END"), ["w"]);
    // A key that is not a word is shown in base 64, so that lists and replies keep their format.
    talk.stored(set(b"a b\r\n", b"x"));
    assert_eq!(text.ask("mg YSBiDQo= b k v"), "VA 1 kYSBiDQo= b");
    assert_eq!(text.text(), "x");
    text.send("lru_crawler mgdump all\r\n");
    assert_eq!(text.text(), "OK");
    let mut keys = text.lines_to("EN");
    keys.sort();
    assert_eq!(keys, ["mg YSBiDQo= b", "mg k"]);
}

#[test]
fn a_large_value_is_received_where_it_is_stored() {
    let server = sphinxd("-t 1");
    let mut talk = Talk::connect(server.address, Pieces::Bytes);
    let value: Vec<u8> = (0..300_000).map(|i| (i % 251) as u8).collect();
    let cas = talk.stored(Packet::new(opcode::SET).key(b"k").store(7, 0).value(&value));
    assert_eq!(talk.shows(get(b"k"), 7, b"", &value), cas);
    talk.silent(Packet::new(opcode::SETQ).key(b"k").store(8, 0).value(&value));
    talk.shows(get(b"k"), 8, b"", &value);
    // With a unique number it is compared first, and a key that is not a word has a mark.
    talk.says(set(b"k", &value).cas(cas), Status::Exists);
    talk.stored(set(b"a b", &value));
    let mut text = Client::connect(server.address);
    assert_eq!(text.stat("values_placed"), 2);
}

#[test]
fn flush_can_be_disabled() {
    let server = sphinxd("-t 2 -F");
    let mut talk = Talk::connect(server.address, Pieces::Whole);
    talk.stored(set(b"k", b"v"));
    talk.says(Packet::new(opcode::FLUSH), Status::AuthError);
    talk.says(Packet::new(opcode::FLUSHQ), Status::AuthError);
    talk.shows(get(b"k"), 0, b"", b"v");
}

/// Stores and reads, small and large, with a pipeline of quiet requests.
fn use_it(mut talk: Talk) {
    let value: Vec<u8> = (0..300_000).map(|i| (i % 251) as u8).collect();
    talk.stored(set(b"large", &value));
    talk.shows(Packet::new(opcode::GETK).key(b"large"), 0, b"large", &value);
    let keys: Vec<String> = (0..100).map(|i| format!("key-{i}")).collect();
    let sets: Vec<Packet> = (keys.iter())
        .map(|key| Packet::new(opcode::SETQ).key(key.as_bytes()).store(0, 0).value(key.as_bytes()))
        .collect();
    assert!(talk.ask_all(&sets).0.is_empty());
    let gets: Vec<Packet> = keys.iter().map(|key| Packet::new(opcode::GETQ).key(key.as_bytes())).collect();
    let found: Vec<Vec<u8>> = talk.ask_all(&gets).0.into_iter().map(|answer| answer.value).collect();
    assert_eq!(found, keys.iter().map(|key| key.clone().into_bytes()).collect::<Vec<_>>());
}

#[test]
fn it_is_spoken_over_tls_and_unix_sockets() {
    let folder = certificate();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for io in ["epoll", "auto"] {
        let socket = path(&format!("socket-{io}"));
        let tls = format!("-Z -o ssl_chain_cert={},ssl_key={}", path("cert.pem"), path("key.pem"));
        let mut process =
            spawn(&format!("-t 2 --io {io} -l notls:127.0.0.1:0,127.0.0.1:0 -p 0 -s {socket} {tls}"));
        let line = process.await_line(launch::sphinx::READY, PATIENCE).unwrap();
        let place = line.split_once("tls://").expect("a place with TLS").1;
        let address = place.split([' ', ',', ';']).next().unwrap();
        let config = client_config(Trust::Authorities(&folder.path().join("ca.pem")), None).unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let encrypted = StreamOwned::new(ClientConnection::new(config, name).unwrap(), stream);
        use_it(Talk::over(encrypted, Pieces::Whole));
        let stream = UnixStream::connect(&socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        use_it(Talk::over(stream, Pieces::Whole));
    }
}

#[test]
fn it_is_spoken_by_datagrams() {
    let port = free_udp_port();
    let _server = sphinxd(&format!("-t 2 -U {port}"));
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.connect(("127.0.0.1", port)).unwrap();
    udp.set_read_timeout(Some(PATIENCE)).unwrap();
    let ask = |number: u16, packets: &[Packet<'_>]| {
        let mut datagram = Vec::new();
        Header::of_request(number).append(&mut datagram);
        packets.iter().for_each(|packet| packet.append(&mut datagram));
        udp.send(&datagram).unwrap();
        let mut bytes = [0; 2000];
        let length = udp.recv(&mut bytes).unwrap();
        let (header, text) = Header::read(&bytes[..length]).unwrap();
        assert_eq!((header.request, header.count), (number, 1));
        let (mut rest, mut answers) = (text, Vec::new());
        while !rest.is_empty() {
            let Read::Done { consumed, response } = read(rest, 2000) else {
                panic!("{}", rest.escape_ascii())
            };
            answers.push((response.status().unwrap(), response.value.to_vec()));
            rest = &rest[consumed..];
        }
        answers
    };
    let done = (Status::Done, Vec::new());
    assert_eq!(ask(1, &[set(b"k", b"v")]), std::slice::from_ref(&done));
    let quiet = Packet::new(opcode::GETQ).key(b"none");
    assert_eq!(ask(2, &[get(b"k"), quiet, Packet::new(opcode::NOOP)]), [(Status::Done, b"v".to_vec()), done]);
    // Each datagram indicates its own protocol.
    let mut datagram = Vec::new();
    Header::of_request(3).append(&mut datagram);
    datagram.extend_from_slice(b"get k\r\n");
    udp.send(&datagram).unwrap();
    let mut bytes = [0; 2000];
    let length = udp.recv(&mut bytes).unwrap();
    assert_eq!(&bytes[8..length], b"VALUE k 0 1\r\nv\r\nEND\r\n");
    assert_eq!(ask(4, &[get(b"k")]), [(Status::Done, b"v".to_vec())]);
}
