//! A real memcached, if installed.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use launch::memcached::{self, Memcached, Options};
use launch::{Error, Process};
use units::Bytes;

const LONG: Duration = Duration::from_secs(60);

fn options() -> Options {
    Options { threads: 1, memory: Bytes(16 << 20), connections: 64, cpus: None, extra: vec![] }
}

fn installed() -> Option<Memcached> {
    match memcached::find() {
        Ok(found) => Some(found),
        Err(error @ Error::NotFound { .. }) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn answers_on_loopback_and_ends_when_told() {
    let Some(memcached) = installed() else { return };
    let (process, address) = memcached.start(&options(), LONG).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(b"version\r\n").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    assert_eq!(line, format!("VERSION {}\r\n", memcached.version));
    assert!(!process.stop(LONG).unwrap().killed);
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_taken_port_is_told_apart_from_a_server() {
    let Some(memcached) = installed() else { return };
    let (_first, address) = memcached.start(&options(), LONG).unwrap();
    let mut second = Process::spawn(memcached.spec(address.port(), &options())).unwrap();
    let error = second.await_port(address, LONG).unwrap_err();
    assert!(matches!(error, Error::PortTaken { .. }), "{error}");
    assert!(error.to_string().contains("Address already in use"), "{error}");
}

#[test]
fn a_wrong_argument_is_told_in_its_own_words() {
    let Some(memcached) = installed() else { return };
    let options = Options { extra: vec!["--no-such-option".into()], ..options() };
    let error = memcached.start(&options, LONG).err().unwrap();
    assert!(error.to_string().contains("no-such-option"), "{error}");
}
