//! What `taillight wrk` prints of servers that are too slow, or no good.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use crate::hostile_servers::server;
use crate::hostile_web::{saying, turncoat};
use crate::run::{answers, finish, refuses, taillight, text};

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody";

/// The output for one second of load on a server.
fn wrk(address: &str, options: &[&str]) -> String {
    let url = format!("http://{address}/");
    let output = finish(taillight(&["wrk", "-t1", "-d1", &url]).args(options));
    answers(&output);
    text(&output)
}

/// The first number behind `words`.
#[track_caller]
fn behind(said: &str, words: &str) -> f64 {
    let rest = said.split_once(words).unwrap_or_else(|| panic!("it does not say '{words}': {said}")).1;
    let number = rest.split_whitespace().next().unwrap().trim_end_matches(',');
    number.parse().unwrap_or_else(|_| panic!("'{number}' is not a number: {said}"))
}

/// Requests sent within the second and answered later, in the drain, are not part of the rate.
#[test]
fn a_server_answers_no_faster_than_it_can() {
    let slow = server(|mut stream, _| {
        while let Ok(1..) = stream.read(&mut [0; 1024]) {
            thread::sleep(Duration::from_millis(20));
            if stream.write_all(GOOD).is_err() {
                return;
            }
        }
    });
    let said = wrk(&slow, &["-c1", "-R500", "--timeout", "1"]);
    let rate = behind(&said, "Requests/sec:");
    assert!((5.0..=51.0).contains(&rate), "it answers 50 in a second: {said}");
    assert!(said.contains(&format!("  {rate:.0} requests in 1.00s, ")), "{said}");
}

#[test]
fn each_kind_of_failure_has_its_place() {
    let load = ["-c4", "-R200"];
    let found = wrk(&saying(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", false), &load);
    let refused = behind(&found, "Non-2xx or 3xx responses:");
    // Pages that come in the drain are counted, but not in the rate.
    assert!((20.0..=refused).contains(&behind(&found, "Requests/sec:")), "{found}");
    assert!(found.contains(&format!("({refused} of {refused} requests failed")), "{found}");
    assert!(!found.contains("Socket errors"), "{found}");

    let closed = wrk(&turncoat(|_| false), &load);
    assert!(behind(&closed, "Socket errors: connect 0, read ") > 20.0, "{closed}");
    let cut = wrk(&saying(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", true), &load);
    assert!(behind(&cut, "Socket errors: connect 0, read ") > 20.0, "{cut}");

    let silent = wrk(&turncoat(|_| true), &[&load[..], &["--timeout", "100ms"]].concat());
    assert!(behind(&silent, "Socket errors: connect 0, read 0, write 0, timeout ") > 4.0, "{silent}");

    let garbage = wrk(&saying(b"ERROR\r\n", false), &load);
    assert!(behind(&garbage, "not what was asked for:") > 20.0, "{garbage}");
    assert_eq!(behind(&garbage, "Requests/sec:"), 0.0, "{garbage}");

    let gone = wrk(&vanishing(), &load);
    assert!(behind(&gone, "Socket errors: connect ") > 20.0, "{gone}");
}

/// A server that ends once the probing connection and four others have come.
fn vanishing() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let mut first = listener.accept().unwrap().0;
        let _ = first.read(&mut [0; 1024]);
        let _ = first.write_all(GOOD);
        let four = [(); 4].map(|()| listener.accept().unwrap().0);
        drop(listener);
        // They end with their first requests.
        four.into_iter().for_each(|mut stream| drop(stream.read(&mut [0; 1024])));
    });
    address
}

#[test]
fn commas_belong_to_the_url() {
    let (asked, first) = std::sync::mpsc::channel();
    let server = server(move |mut stream, _| {
        let mut request = [0; 1024];
        while let Ok(length @ 1..) = stream.read(&mut request) {
            let line = request[..length].split(|byte| *byte == b'\r').next().unwrap_or_default();
            let _ = asked.send(String::from_utf8_lossy(line).into_owned());
            let _ = stream.write_all(GOOD);
        }
    });
    let url = format!("http://{server}/a,b?from=http://h,http://i,c");
    let output = finish(&mut taillight(&["wrk", "-t1", "-c1", "-d1", "-R20", &url]));
    answers(&output);
    assert_eq!(first.try_recv().unwrap(), "GET /a,b?from=http://h,http://i,c HTTP/1.1");
}

#[test]
fn a_connection_for_each_request_is_asked_for_otherwise() {
    let mut command = taillight(&["wrk", "-R1", "-H", "Connection: close", "http://127.0.0.1:1"]);
    refuses(&mut command, 2, &["Connection: close", "--requests-per-connection 1"]);
}
