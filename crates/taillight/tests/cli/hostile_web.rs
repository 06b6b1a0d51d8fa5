//! Faulty web servers: each ends in a clear error or in an invalid run, never in a hang or a figure.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use crate::hostile_servers::{reset, server};
use crate::run::{closes, finish, has_ended, refuses, taillight, text};

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody";

/// A page of which the length is known.
static LIST: LazyLock<PathBuf> = LazyLock::new(|| {
    let list = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-page");
    std::fs::write(&list, "/a 4\n").unwrap();
    list
});

fn load(address: &str) -> Command {
    load_within(address, "100ms")
}

fn load_within(address: &str, timeout: &str) -> Command {
    let mut command = taillight(&["load", "web", "--target", &format!("http://{address}"), "--rate", "1k"]);
    command.args(["--connections", "4", "--window", "300ms", "--warmup", "0s", "--timeout", timeout]);
    command.args(["--pace", "sleep", "--json", "--urls"]).arg(&*LIST);
    command
}

#[test]
fn one_that_closes() {
    refuses(&mut load(&server(|stream, _| drop(stream))), 1, &["closed the connection", "HTTP server"]);
}

#[test]
fn one_that_resets() {
    refuses(&mut load(&server(|stream, _| reset(&stream))), 1, &["closed the connection"]);
}

#[test]
fn one_that_speaks_another_protocol() {
    let cache = server(|mut stream, _| {
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(b"ERROR\r\n");
    });
    refuses(&mut load(&cache), 1, &["is a memcached-compatible cache", "taillight load cache --target"]);
}

#[test]
fn one_that_says_nothing() {
    let silent = server(|stream, _| {
        let _ = (&stream).read(&mut [0; 1024]);
        thread::park();
    });
    refuses(&mut load(&silent), 1, &["did not answer an HTTP request within 5 s"]);
}

#[test]
fn one_whose_head_trickles() {
    let trickling = |begin: &'static [u8]| {
        server(move |mut stream, _| {
            let _ = stream.write_all(begin);
            while stream.write_all(b"x").is_ok() {
                thread::park_timeout(Duration::from_millis(500));
            }
        })
    };
    let check = |command: &mut Command| {
        let begun = Instant::now();
        refuses(command, 1, &["did not answer an HTTP request within 5 s"]);
        assert!(begun.elapsed() < Duration::from_secs(30), "it waited for {:?}", begun.elapsed());
    };
    check(&mut load(&trickling(b"HTTP/1.1 200 OK\r\nX-Padding: ")));
    // Nor does it get longer for a handshake, of which a record begins here.
    let url = format!("https://{}", trickling(b"\x16\x03\x03\x40\x00"));
    check(&mut taillight(&["load", "web", "--target", &url, "--tls-insecure", "--rate", "1k", "--json"]));
}

#[test]
fn who_asks_to_stop_is_not_kept_by_a_silent_one() {
    let (came, comes) = std::sync::mpsc::channel();
    let silent = server(move |stream, _| {
        let _ = came.send(());
        thread::park();
        drop(stream);
    });
    let child = load(&silent).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    comes.recv_timeout(Duration::from_secs(60)).unwrap();
    let begun = Instant::now();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
    assert!(begun.elapsed() < Duration::from_secs(4), "it took {:?}", begun.elapsed());
}

#[test]
fn one_whose_head_has_no_end() {
    let endless = server(|mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"X-Padding: and so on, and so on\r\n").is_ok() {}
    });
    refuses(&mut load(&endless), 1, &["the head is not done after 307200 B"]);
}

/// Correct while it is probed, and then not: answers the first connection's request properly. Its `then` is called for
/// each request of the others, and ends the connection by returning false.
pub(crate) fn turncoat(then: impl Fn(&mut TcpStream) -> bool + Send + Sync + 'static) -> String {
    server(move |mut stream, number| {
        let mut request = [0; 4096];
        while let Ok(1..) = stream.read(&mut request) {
            if number == 0 {
                let _ = stream.write_all(GOOD);
            } else if !then(&mut stream) {
                return;
            }
        }
    })
}

/// Answers every request but the first connection's with these bytes, and closes behind them if it is to.
pub(crate) fn saying(answer: &'static [u8], closes: bool) -> String {
    turncoat(move |stream| stream.write_all(answer).is_ok() && !closes)
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
fn one_that_finds_nothing() {
    let answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nsorry";
    invalid(&saying(answer, false), &["status_404", "/a was answered with status 404"]);
}

#[test]
fn one_whose_gateway_is_down() {
    let answer = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    invalid(&saying(answer, true), &["status_502"]);
}

#[test]
fn one_that_sends_another_length() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbody!";
    invalid(&saying(answer, false), &["wrong_length", "came with 5 B and should have 4 B", "verify_failed"]);
}

#[test]
fn one_that_promises_more_than_it_sends() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\nbody";
    invalid(&saying(answer, true), &["answer_cut_off", "ended in the middle of an answer"]);
    invalid(&saying(answer, false), &["no answer within 100 ms"]);
}

#[test]
fn one_that_sends_more_than_it_promises() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody and more";
    // On a busy machine an answer may take longer than 100 ms, which would be an error of its own.
    let output = finish(&mut load_within(&saying(answer, false), "30s"));
    let text = text(&output);
    // The rest cannot be an answer, so it belongs to no request.
    assert!(has_ended(&output) && !text.contains("error_rate"), "{text}");
    assert!(text.contains("bytes_between_answers"), "{text}");
}

#[test]
fn one_whose_chunks_are_none() {
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nbody\r\n";
    invalid(&saying(head, false), &["length in hexadecimal digits"]);
    let long = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbody\r\n0\r\n\r\n";
    invalid(&saying(long, false), &["a chunk is not as long as it says"]);
}

#[test]
fn one_whose_lengths_contradict_each_other() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nbody";
    invalid(&saying(answer, false), &["the content length is not a number, or there are several"]);
}

#[test]
fn one_whose_head_never_ends_later() {
    let endless = turncoat(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(&[b'x'; 4096]).is_ok() {}
        false
    });
    invalid(&endless, &["the head is not done after 307200 B"]);
}

#[test]
fn one_that_takes_longer_than_the_timeout() {
    let slow = turncoat(|stream| {
        // A byte in 20 ms; the whole takes a second.
        GOOD.iter().all(|byte| {
            thread::park_timeout(Duration::from_millis(20));
            stream.write_all(&[*byte]).is_ok()
        })
    });
    invalid(&slow, &["no answer within 100 ms"]);
}

#[test]
fn one_that_falls_silent() {
    let silent = turncoat(|_| {
        thread::park();
        false
    });
    invalid(&silent, &["no answer within 100 ms"]);
}

#[test]
fn one_that_closes_in_the_middle() {
    invalid(&turncoat(|_| false), &["connection closed by the server"]);
}

#[test]
fn one_that_resets_in_the_middle() {
    let resets = turncoat(|stream| {
        reset(stream);
        false
    });
    invalid(&resets, &["connection lost"]);
}

#[test]
fn one_that_turns_to_garbage() {
    invalid(&saying(&[0xff; 64 * 1024], true), &["does not begin with HTTP/1"]);
}

#[test]
fn a_gate_closes_on_it() {
    let address = saying(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", false);
    let folder = tempfile::tempdir().unwrap();
    let mut command = taillight(&["load", "web", "--target", &format!("http://{address}"), "--rate", "500"]);
    command.args(["--window", "300ms", "--warmup", "0s", "--connections", "4", "--pace", "sleep", "--gate"]);
    let output = finish(command.arg("--out").arg(folder.path()));
    closes(&output);
    assert!(text(&output).contains("status 404"), "{}", text(&output));
}
