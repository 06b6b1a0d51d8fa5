//! SASL PLAIN, against Sphinx and against a memcached with SASL.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use launch::{Process, Spec};
use proto_memcache::binary::testing::Packet;
use proto_memcache::binary::{Status, opcode};

use crate::binary::talk::{Pieces, Talk, get, set};
use crate::support::client::Client;
use crate::support::{PATIENCE, sphinxd};

fn login<'p>(words: &'p [u8]) -> Packet<'p> {
    Packet::new(opcode::SASL_AUTH).key(b"PLAIN").value(words)
}

fn step<'p>(words: &'p [u8]) -> Packet<'p> {
    Packet::new(opcode::SASL_STEP).key(b"PLAIN").value(words)
}

/// Checks common to every server with the user `ann` and the password `secret`.
fn check(address: SocketAddr) {
    for pieces in [Pieces::Whole, Pieces::Bytes] {
        let connect = || Talk::connect(address, pieces);
        // Before that, only the commands of SASL are executed.
        for packet in [get(b"k"), set(b"k", b"v"), Packet::new(opcode::STAT), Packet::new(opcode::FLUSHQ)] {
            connect().refuses(packet, Status::AuthError);
        }
        connect().refuses(Packet::new(opcode::NOOP), Status::AuthError);
        let ask = |talk: &mut Talk, packet: Packet<'_>| {
            let mut bytes = Vec::new();
            packet.opaque(5).append(&mut bytes);
            talk.send(&bytes);
            let answer = talk.next().expect("an answer");
            (answer.status(), String::from_utf8(answer.value).unwrap())
        };
        let refused = (Status::AuthError, "Auth failure.".to_owned());
        let mut talk = connect();
        let (status, mechanisms) = ask(&mut talk, Packet::new(opcode::SASL_LIST));
        assert_eq!(status, Status::Done);
        assert!(mechanisms.split(' ').any(|mechanism| mechanism == "PLAIN"), "{mechanisms}");
        assert_eq!(ask(&mut talk, Packet::new(opcode::VERSION)).0, Status::Done);
        for words in [&b"\0ann\0wrong"[..], b"\0eve\0secret", b"ann secret", b"\0ann\0"] {
            assert_eq!(ask(&mut talk, login(words)), refused, "{}", words.escape_ascii());
        }
        let mut talk = connect();
        assert_eq!(ask(&mut talk, step(b"\0ann\0secret")), refused, "nothing was begun");
        let unknown = Packet::new(opcode::SASL_AUTH).key(b"NONE-SUCH").value(b"\0ann\0secret");
        assert_eq!(ask(&mut talk, unknown), refused);
        assert_eq!(ask(&mut talk, login(b"\0ann\0secret")), (Status::Done, "Authenticated".to_owned()));
        talk.stored(set(b"k", b"v"));
        talk.shows(get(b"k"), 0, b"", b"v");
        // The words may come in a step of their own.
        let mut talk = connect();
        assert_eq!(ask(&mut talk, login(b"")), (Status::AuthContinue, String::new()));
        assert_eq!(ask(&mut talk, step(b"\0ann\0secret")), (Status::Done, "Authenticated".to_owned()));
        talk.shows(get(b"k"), 0, b"", b"v");
        // Who fails to become another is not known any more.
        assert_eq!(ask(&mut talk, login(b"\0ann\0wrong")), refused);
        talk.refuses(get(b"k"), Status::AuthError);
    }
}

/// Starts `sphinxd -S` with the users of a file in the variable of memcached.
fn sphinxd_with_pwdb(args: &str, file: &Path) -> (Process, SocketAddr) {
    let args = format!("-p 0 {args}");
    let spec = Spec::new("sphinxd", env!("CARGO_BIN_EXE_sphinxd")).args(args.split_whitespace());
    let mut process = Process::spawn(spec.env("MEMCACHED_SASL_PWDB", file.display().to_string())).unwrap();
    let address = launch::sphinx::await_ready(&mut process, PATIENCE).unwrap();
    (process, address)
}

#[test]
fn sphinx_knows_the_users_of_each_file() {
    let folder = tempfile::tempdir().unwrap();
    let (users, pwdb) = (folder.path().join("users"), folder.path().join("pwdb"));
    fs::write(&users, "bob:other\nann:secret\n").unwrap();
    // memcached takes the host for a part of the name.
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    fs::write(&pwdb, format!("bob:other words:\nann@{host}:secret:::\n")).unwrap();
    for args in ["-t 1 --io epoll", "-t 2", "-t 2 -S"] {
        let server = sphinxd(&format!("{args} -Y {}", users.display()));
        check(server.address);
    }
    let (_process, address) = sphinxd_with_pwdb("-t 2 -S", &pwdb);
    check(address);
    // With -S alone the text protocol is not spoken, as in memcached.
    let mut text = Client::connect(address);
    text.send("get k\r\n");
    assert!(text.text().starts_with("CLIENT_ERROR this server speaks memcached's binary protocol only"));
    assert!(text.line().is_none());
    // With -B auto it is, and its clients authenticate, too.
    let (_process, address) = sphinxd_with_pwdb("-t 1 -S -B auto", &pwdb);
    check(address);
    let mut text = Client::connect(address);
    assert_eq!(text.ask("get k"), "CLIENT_ERROR unauthenticated");
    assert_eq!(text.ask("set x 0 0 10\r\nann secret"), "STORED");
    assert_eq!(text.ask("get none"), "END");
}

#[test]
fn who_fails_too_often_is_closed_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    fs::write(&users, "ann:secret\n").unwrap();
    let server = sphinxd(&format!("-t 1 -Y {}", users.display()));
    let mut talk = Talk::connect(server.address, Pieces::Whole);
    let mut bytes = Vec::new();
    for _ in 0..10 {
        login(b"\0ann\0wrong").append(&mut bytes);
    }
    login(b"\0ann\0secret").append(&mut bytes);
    talk.send(&bytes);
    let answers: Vec<_> = std::iter::from_fn(|| talk.next()).collect();
    assert!(answers.len() <= 6, "{}", answers.len());
    assert!(answers.iter().all(|answer| answer.status() == Status::AuthError));
    let mut text = Client::connect(server.address);
    for _ in 0..6 {
        assert_eq!(text.ask("set x 0 0 9\r\nann wrong"), "CLIENT_ERROR authentication failure");
    }
    assert!(text.line().is_none(), "it has tried often enough");
    let mut text = Client::connect(server.address);
    assert_eq!(text.ask("set x 0 0 10\r\nann secret"), "STORED");
    assert_eq!((text.stat("auth_cmds"), text.stat("auth_errors")), (13, 12));
}

#[test]
fn what_comes_before_the_words_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    fs::write(&users, "ann:secret\n").unwrap();
    let server = sphinxd(&format!("-t 1 -Y {}", users.display()));
    // The header alone is refused, for any announced length.
    for (code, status) in [(opcode::SET, Status::AuthError), (opcode::SASL_AUTH, Status::NoMemory)] {
        let value = vec![b'v'; 1 << 20];
        let mut bytes = Vec::new();
        Packet::new(code).key(b"PLAIN").value(&value).append(&mut bytes);
        let mut talk = Talk::connect(server.address, Pieces::Whole);
        talk.send(&bytes[..24]);
        assert_eq!(talk.next().expect("an answer").status(), status);
        assert!(talk.next().is_none());
    }
}

#[test]
fn memcached_knows_the_users_alike() {
    let folder = tempfile::tempdir().unwrap();
    match crate::support::sasl::memcached(folder.path()) {
        Ok((_process, address, _)) => check(address),
        Err(reason) => println!("skipped: the half with memcached's SASL, as {reason}"),
    }
}
