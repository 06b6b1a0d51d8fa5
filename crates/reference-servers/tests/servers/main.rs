//! The server from the client's side: on simulated time, where a fault's cost is arithmetic, and over sockets.
//!
//! Try it: `cargo test -p reference-servers --test servers`.

mod simulated;
mod sockets;
mod udp;

use std::sync::Arc;

use datasets::videos::Catalog;
use reference_servers::Stalls;
use reference_servers::video::{Faults, Limits, ServerCounters, VideoServer};

/// A small set: a chunk of 480p has 51 200 B.
fn catalog() -> Catalog {
    Catalog::new(&"10x1/64".parse().unwrap(), 1).unwrap()
}

fn server(faults: &str, stalls: Stalls, limits: Limits) -> VideoServer {
    let faults: Faults = faults.parse().unwrap();
    VideoServer::new(catalog(), faults, stalls, limits, Arc::new(ServerCounters::default()))
}

/// A request for a part of a file.
fn part(path: &str, first: u64, last: u64) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: h\r\nRange: bytes={first}-{last}\r\n\r\n").into_bytes()
}

/// The bytes of a part of a rung of a video.
fn bytes(video: u64, rung: usize, first: u64, last: u64) -> Vec<u8> {
    let mut content = catalog().content(video, rung).range(first..last + 1);
    let mut out = vec![0; content.left() as usize];
    content.fill(&mut out);
    out
}

/// An answer as received: its status, its body, and the body length announced by its head.
#[derive(Debug, PartialEq)]
struct Answer {
    status: u16,
    head: String,
    announced: usize,
    body: Vec<u8>,
}

/// The answers in a connection's received bytes; the last may be incomplete.
fn answers(mut received: &[u8]) -> Vec<Answer> {
    let mut all = Vec::new();
    while let Some(at) = received.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = String::from_utf8(received[..at + 2].to_vec()).unwrap();
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let announced: usize = field("Content-Length: ").unwrap().parse().unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let rest = &received[at + 4..];
        let length = announced.min(rest.len());
        all.push(Answer { status, announced, body: rest[..length].to_vec(), head });
        received = &rest[length..];
    }
    all
}
