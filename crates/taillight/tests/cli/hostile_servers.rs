//! Faulty servers: each ends in a clear error or in an invalid run, never in a hang or a figure.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use launch::memcached::Options;
use units::Bytes;

use crate::run::{finish, has_ended, refuses, taillight, text};

/// Listens on a free port and gives each connection to `serve`, with its number from 0.
pub(crate) fn server(serve: impl Fn(TcpStream, u32) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serve = std::sync::Arc::new(serve);
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let serve = std::sync::Arc::clone(&serve);
            thread::spawn(move || serve(stream.unwrap(), number as u32));
        }
    });
    address
}

fn load(address: &str) -> Command {
    load_filling(address, "never")
}

fn load_filling(address: &str, fill: &str) -> Command {
    taillight(&[
        "load",
        "cache",
        "--target",
        address,
        "--rate",
        "2k",
        "--fill",
        fill,
        "--connections",
        "4",
        "--window",
        "300ms",
        "--warmup",
        "0s",
        "--timeout",
        "100ms",
        "--pace",
        "sleep",
        "--json",
    ])
}

/// Ends a connection by a reset rather than in good order.
pub(crate) fn reset(stream: &TcpStream) {
    rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO)).unwrap();
}

#[test]
fn one_that_closes() {
    refuses(
        &mut load(&server(|stream, _| drop(stream))),
        1,
        &["closed the connection", "memcached-compatible"],
    );
}

#[test]
fn one_that_resets() {
    refuses(&mut load(&server(|stream, _| reset(&stream))), 1, &["closed the connection"]);
}

#[test]
fn one_that_speaks_another_protocol() {
    let web = server(|mut stream, _| {
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    });
    refuses(&mut load(&web), 1, &["is an HTTP server", "answered 'version' with", "HTTP/1.1"]);
}

#[test]
fn one_that_says_nothing() {
    let silent = server(|stream, _| {
        let _ = (&stream).read(&mut [0; 1024]);
        thread::park();
    });
    refuses(&mut load(&silent), 1, &["did not answer 'version' within 5 s"]);
}

#[test]
fn one_that_wants_authentication() {
    let locked = server(|mut stream, _| {
        while stream.read(&mut [0; 1024]).is_ok_and(|n| n > 0) {
            let _ = stream.write_all(b"CLIENT_ERROR unauthenticated\r\n");
        }
    });
    refuses(&mut load(&locked), 1, &["wants authentication", "-Y"]);
}

fn small() -> Options {
    Options { threads: 1, memory: Bytes(64 << 20), connections: 64, cpus: None, extra: Vec::new() }
}

/// The real one, since the line above was learnt from it.
#[test]
fn memcached_that_wants_authentication() {
    let Ok(memcached) = launch::memcached::find() else {
        return println!("skipped: memcached is not installed (apt-get install memcached)");
    };
    let users = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(users.path(), "user:secret\n").unwrap();
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(users.path(), permissions).unwrap();
    let extra = vec!["-Y".to_owned(), users.path().display().to_string()];
    let options = Options { extra, ..small() };
    let (_server, address) = memcached.start(&options, Duration::from_secs(10)).unwrap();
    refuses(&mut load(&address.to_string()), 1, &["wants authentication", "-Y"]);
}

/// Correct while it is probed, and then not: answers the first connection's questions properly.
fn turncoat(then: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> String {
    server(move |mut stream, number| {
        let mut request = [0; 4096];
        loop {
            let Ok(n @ 1..) = stream.read(&mut request) else { return };
            if number > 0 {
                return then(&mut stream);
            }
            let answer: &[u8] =
                if request[..n].starts_with(b"version") { b"VERSION 1\r\n" } else { b"END\r\n" };
            let _ = stream.write_all(answer);
        }
    })
}

/// Runs a load to an invalid verdict and checks the output.
#[track_caller]
fn invalid(address: &str, says: &[&str]) {
    let output = finish(&mut load(address));
    let text = text(&output);
    assert!(has_ended(&output), "a bad measurement is data: {text}");
    for part in ["\"invalid\"", "error_rate"].iter().chain(says) {
        assert!(text.contains(part), "it does not say '{part}': {text}");
    }
}

#[test]
fn one_that_closes_in_the_middle() {
    invalid(&turncoat(|_| {}), &["connection closed by the server"]);
}

#[test]
fn one_that_resets_in_the_middle() {
    invalid(&turncoat(|stream| reset(stream)), &["connection lost"]);
}

#[test]
fn one_that_turns_to_garbage() {
    let garbage = turncoat(|stream| {
        let _ = stream.write_all(&[0xff; 64 * 1024]);
    });
    invalid(&garbage, &["requests failed"]);
}

#[test]
fn one_that_falls_silent() {
    let silent = turncoat(|_| thread::park());
    invalid(&silent, &["no answer within 100 ms"]);
}

#[test]
fn one_that_says_more_than_it_was_asked() {
    static TOLD: AtomicU32 = AtomicU32::new(0);
    let chatty = turncoat(|stream| {
        TOLD.fetch_add(1, Ordering::Relaxed);
        let _ = stream.write_all(b"END\r\nEND\r\n");
        let _ = stream.read(&mut [0; 1]);
    });
    invalid(&chatty, &["without a request"]);
    assert!(TOLD.load(Ordering::Relaxed) > 0);
}

#[test]
fn one_that_refuses_every_request() {
    let busy = turncoat(|stream| {
        loop {
            if stream.write_all(b"SERVER_ERROR out of memory\r\n").is_err() {
                return;
            }
            let Ok(1..) = stream.read(&mut [0; 4096]) else { return };
        }
    });
    invalid(&busy, &["SERVER_ERROR out of memory"]);
}

/// Memory too small for the data set: the fill is found out before the window opens.
#[test]
fn one_with_too_little_memory() {
    let Ok(memcached) = launch::memcached::find() else {
        return println!("skipped: memcached is not installed (apt-get install memcached)");
    };
    let options = small();
    let (_server, address) = memcached.start(&options, Duration::from_secs(10)).unwrap();
    let mut command = load_filling(&address.to_string(), "always");
    // The values take 200 MB.
    command.args(["--keys", "20000", "--value-size", "10k", "--yes"]);
    let text = text(&finish(&mut command));
    assert!(text.contains("fill_failed"), "{text}");
}
