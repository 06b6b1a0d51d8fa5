//! Malformed frames at the port of a service, and more calls than it accepts.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::movies::http::{Answer, Request};
use crate::movies::site::{Site, until};

/// A bound on waiting: a service closes a connection at once.
const PATIENCE: Duration = Duration::from_secs(30);
/// More than compose-page processes (20) and queues (64), by so much that the last call is rejected in any order.
const CALLS: usize = 200;
/// Types of fields.
const I64: u8 = 10;
const I32: u8 = 8;

/// A call in Thrift's framed binary protocol. Source: doc/specs of Apache Thrift.
fn call(method: &str, arguments: &[u8]) -> Vec<u8> {
    let name = [&(method.len() as u32).to_be_bytes()[..], method.as_bytes()].concat();
    let message = [&0x8001_0001_u32.to_be_bytes()[..], &name, &[0; 4], arguments, &[0]].concat();
    [&(message.len() as u32).to_be_bytes()[..], &message].concat()
}

/// The page of film 1 for a visitor: `compose(1, 0, 0, 5)`.
fn compose() -> Vec<u8> {
    let mut arguments = Vec::new();
    for (place, value) in [(1, 1_u64), (2, 0)] {
        arguments.extend([I64, 0, place]);
        arguments.extend(value.to_be_bytes());
    }
    for (place, value) in [(3, 0_u32), (4, 5)] {
        arguments.extend([I32, 0, place]);
        arguments.extend(value.to_be_bytes());
    }
    call("compose", &arguments)
}

fn connected(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Whether the service ends the connection, without an answer.
fn is_closed(mut stream: TcpStream) -> bool {
    match stream.read(&mut [0; 64]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

/// A frame's bytes.
fn frame(stream: &mut TcpStream) -> Vec<u8> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

/// A malformed frame ends its connection and is counted; half a frame is waited for, while others are answered.
pub(crate) fn what_is_no_frame_is_refused(site: &Site) {
    let services = site.running.services().filter(|one| one.service.interface.is_some());
    let names: Vec<String> = services.map(|one| one.service.name.clone()).collect();
    assert_eq!(names.len(), 24);
    let bad = |name: &str| site.running.counters(name).unwrap().unwrap()["bad_frames"] as u64;
    for name in &names {
        let (address, before) = (site.address_of(name, 0), bad(name));
        for garbage in [
            &b"GET / HTTP/1.1\r\nHost: site\r\n\r\n"[..],
            &[0x7f, 0xff, 0xff, 0xff, 0x80, 1, 0, 1],
            &[0, 0, 0, 4, 1, 2, 3, 4],
        ] {
            let mut stream = connected(&address);
            stream.write_all(garbage).unwrap();
            assert!(is_closed(stream), "{name}: {garbage:?}");
        }
        let mut half = connected(&address);
        half.write_all(&call("ping", &[])[..10]).unwrap();
        until(&format!("{name} counts what is no frame"), || bad(name) >= before + 3);
        half.write_all(&call("ping", &[])[10..]).unwrap();
        assert!(frame(&mut half).len() > 12, "{name} answers once the frame is whole");
    }
    // On a busy machine a part may be late.
    until("the page is whole", || {
        let page = site.in_time(&Request::get("/api/movie/1"));
        assert_eq!(page.status, 200, "{page:?}");
        page.header("x-degraded").is_none()
    });
}

/// Calls beyond a service's capacity are rejected at once; it answers again once it has caught up.
pub(crate) fn what_is_too_much_is_refused(site: &Site) {
    // On a busy machine the calls may pass their deadline before the page is requested.
    let (mut last, mut page) = overloaded(site);
    for _ in 0..4 {
        if page.status == 504 || !last.contains("overloaded: ") {
            (last, page) = overloaded(site);
        }
    }
    assert!(last.contains("overloaded: "), "{last}");
    assert_eq!((page.status, page.code().as_str()), (503, "OVERLOADED"), "{page:?}");
    assert_eq!(page.header("retry-after"), Some("1"));
    until("it answers again", || site.get("/api/movie/1").status == 200);
    let answer = site.in_time(&Request::get("/api/movie/2"));
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// The answer to the last of too many calls, and a page requested during the overload.
fn overloaded(site: &Site) -> (String, Answer) {
    site.freeze("movie-info", 0);
    let mut calls: Vec<TcpStream> =
        (0..CALLS).map(|_| connected(&site.address_of("compose-page", 0))).collect();
    calls.iter_mut().for_each(|stream| stream.write_all(&compose()).unwrap());
    // The last one comes when the others are at work or wait.
    let last = String::from_utf8_lossy(&frame(calls.last_mut().unwrap())).into_owned();
    let page = site.get("/api/movie/1");
    site.thaw("movie-info", 0);
    (last, page)
}
