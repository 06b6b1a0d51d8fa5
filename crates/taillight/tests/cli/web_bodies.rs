//! Requests that carry a body: each body arrives complete and is the configured one.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use proto_http::server::{RequestParse, request};
use results::Trial;

use crate::run::{answers, finish, refuses, taillight};

/// Method and body of a request.
type Seen = (String, Vec<u8>);

/// A server that answers every whole request, and what those were, the first (which only looks) included.
fn recording() -> (String, Arc<Mutex<Vec<Seen>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let kept = Arc::clone(&seen);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, kept) = (stream.unwrap(), Arc::clone(&kept));
            thread::spawn(move || {
                let (mut received, mut piece) = (Vec::new(), vec![0; 1 << 16]);
                while let Ok(length @ 1..) = stream.read(&mut piece) {
                    received.extend_from_slice(&piece[..length]);
                    while let RequestParse::Done { consumed, request } = request(&received) {
                        kept.lock().unwrap().push((request.method.to_owned(), request.body.to_vec()));
                        received.drain(..consumed);
                        if stream.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").is_err() {
                            return;
                        }
                    }
                }
            });
        }
    });
    (address, seen)
}

fn trial(address: &str, options: &[&str]) -> Trial {
    let mut command = taillight(&["load", "web", "--target", &format!("http://{address}/form"), "--json"]);
    command.args(["--warmup", "0s", "--window", "500ms", "--connections", "2", "--pace", "sleep"]);
    let output = finish(command.args(options));
    answers(&output);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_request_carries_the_body() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), b"name=value\r\n\r\nGET / HTTP/1.1\r\n\r\n").unwrap();
    let name = file.path().display().to_string();
    let check = |options: &[&str], method: &str, length: usize| -> Vec<u8> {
        let (address, seen) = recording();
        let trial = trial(&address, options);
        assert_eq!(trial.arrivals.errors, 0, "{:?}", trial.errors);
        assert!(trial.arrivals.completed > 5, "{:?}", trial.arrivals);
        assert_eq!(trial.operations[0].name, method.to_lowercase());
        let body = trial.found.body.unwrap();
        assert_eq!((body.length, body.xxh3.len()), (length as u64, 16));
        let seen = seen.lock().unwrap();
        assert!(seen.len() as u64 > trial.arrivals.completed, "{} requests", seen.len());
        assert!(seen.iter().all(|one| *one == seen[0] && one.0 == method && one.1.len() == length));
        seen[0].1.clone()
    };
    // The body stays one body, although its content looks like further requests.
    assert_eq!(
        check(&["--rate", "200", "--method", "POST", "--body", &name], "POST", 32),
        std::fs::read(file.path()).unwrap()
    );
    check(&["--rate", "200", "--method", "PUT", "--body-size", "1KiB"], "PUT", 1024);
    // Longer than any buffer of a socket.
    let long =
        ["--rate", "40", "--method", "POST", "--body-size", "2MiB", "--timeout", "20s", "--drain", "20s"];
    check(&long, "POST", 2 << 20);
}

#[test]
fn a_body_that_cannot_be_sent_is_refused() {
    let check = |options: &[&str], code: i32, says: &[&str]| {
        let mut command =
            taillight(&["load", "web", "--target", "http://127.0.0.1:1", "--rate", "1k", "--json"]);
        refuses(command.args(options), code, says);
    };
    check(&["--body-size", "1KiB"], 1, &["'GET'", "--method POST"]);
    check(&["--method", "POST", "--body", "/no/such/file"], 1, &["/no/such/file"]);
    check(&["--method", "POST", "--body", "/dev/zero"], 1, &["up to 16 MiB"]);
    check(&["--method", "POST", "--body-size", "1GiB"], 1, &["up to 16 MiB"]);
    check(&["--method", "POST", "--body", "x", "--body-size", "1"], 2, &["--body-size"]);
}
