use std::sync::Arc;

use openloop::{Parsed, Then, Workload};

use super::*;
use crate::web::config::tests::{config, with};
use crate::web::{Listed, Pages, Web};

/// Feeds `bytes` in pieces of `step` as the answer for a page, then closes. Returns the outcome, and whether the
/// connection stays.
fn answered(config: &WebConfig, page: u64, bytes: &[u8], step: usize) -> (Result<(), Fault>, bool, Vec<u64>) {
    let mut web = Web::new(config, Arc::new(Checked::new(config)), 0).unwrap();
    let (mut job, mut wire) = (Job { page, server: 0, last: false }, Wire::default());
    let mut shown: Vec<u8> = Vec::new();
    for piece in bytes.chunks(step) {
        shown.extend_from_slice(piece);
        match web.response(&mut job, &mut wire, &shown) {
            Parsed::Partial => {}
            Parsed::Used(used) => drop(shown.drain(..used)),
            Parsed::Done { outcome, then, .. } => {
                let counts = web.counters().iter().map(|(_, count, _)| *count).collect();
                return (outcome, !matches!(then, Then::Close), counts);
            }
            Parsed::Garbage(reason) => return (Err(Fault::new("garbage", reason)), false, Vec::new()),
            Parsed::Refused(fault) => return (Err(fault), false, Vec::new()),
        }
    }
    let closed = web.closed(&mut job, &mut wire).map(|(outcome, _)| outcome);
    let counts = web.counters().iter().map(|(_, count, _)| *count).collect();
    (closed.unwrap_or_else(|| Err(Fault::new("closed", ""))), false, counts)
}

/// Any pieces must give this: the kind of the fault, empty for none, and whether the connection stays.
#[track_caller]
fn check(config: &WebConfig, page: u64, bytes: &[u8], kind: &str, stays: bool) {
    for step in [1, 7, 100, bytes.len().max(1)] {
        let (outcome, stayed, _) = answered(config, page, bytes, step);
        let found = outcome.err().map_or("", |fault| fault.kind);
        assert_eq!((found, stayed), (kind, stays), "{} in steps of {step}", bytes.escape_ascii());
    }
}

fn with_body(head: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

/// The content of a file of the set.
fn content(config: &WebConfig, page: u64) -> Vec<u8> {
    let Pages::Files(files) = &config.pages else { panic!("no file set") };
    let mut body = vec![0; files.size(page) as usize];
    let (mut content, mut filled) = (files.content(page), 0);
    while filled < body.len() {
        filled += content.fill(&mut body[filled..]);
    }
    body
}

#[test]
fn lengths_are_checked() {
    let good = content(&config(), 4);
    check(&config(), 4, &with_body("200 OK", &good), "", true);
    check(&config(), 4, &with_body("200 OK\r\nConnection: close", &good), "", false);
    check(&config(), 4, &with_body("200 OK", &good[1..]), "wrong length", true);
    let none = with(|options| options.verify = Some(Verify::None));
    check(&none, 4, &with_body("200 OK", b"x"), "", true);
    let one = WebConfig { pages: Pages::One, ..config() };
    check(&one, 0, &with_body("200 OK", b"x"), "", true);
    // Compressed only if requested.
    let head = "200 OK\r\nContent-Encoding: gzip";
    check(&config(), 4, &with_body(head, b"x"), "wrong length", true);
    let asks = with(|options| options.header = vec!["Accept-Encoding: gzip".parse().unwrap()]);
    check(&asks, 4, &with_body(head, b"x"), "", true);
    check(&asks, 4, &with_body("200 OK", b"x"), "wrong length", true);
}

#[test]
fn only_what_was_compared_counts_as_verified() {
    let verified = |pages: Pages, page: u64, body: &[u8]| {
        let config = WebConfig { pages, ..config() };
        let mut web = Web::new(&config, Arc::new(Checked::new(&config)), 0).unwrap();
        let (mut job, mut wire) = (Job { page, server: 0, last: false }, Wire::default());
        web.response(&mut job, &mut wire, &with_body("200 OK", body));
        let (name, wrong, of) = web.counters().pop().unwrap();
        assert_eq!(name, "verify_failures");
        (wrong, of)
    };
    let listed = Pages::Listed(Arc::new(Listed::read("list", "/a 4\n/b\n").unwrap()));
    assert_eq!(verified(Pages::One, 0, b"body"), (0, 0));
    assert_eq!(verified(listed.clone(), 0, b"body"), (0, 1));
    assert_eq!(verified(listed.clone(), 0, b"other"), (1, 1));
    assert_eq!(verified(listed, 1, b"body"), (0, 0));
}

#[test]
fn contents_are_checked() {
    let config = with(|options| options.verify = Some(Verify::Checksum));
    let mut body = content(&config, 9);
    check(&config, 9, &with_body("200 OK", &body), "", true);
    check(&config, 8, &with_body("200 OK", &body), "wrong content", true);
    body[500] ^= 1;
    check(&config, 9, &with_body("200 OK", &body), "wrong content", true);
    let (_, _, counts) = answered(&config, 9, &with_body("200 OK", &body), 10);
    assert_eq!(counts, [1, 0, 1], "a success, the connection stays, a wrong body");
}

#[test]
fn everything_but_2xx_fails_by_its_status() {
    for (head, kind) in
        [("404 Not Found", "status 404"), ("502 Bad Gateway", "status 502"), ("302 Found", "status 302")]
    {
        check(&config(), 4, &with_body(head, b"words"), kind, true);
    }
    check(&config(), 4, b"HTTP/1.1 304 Not Modified\r\n\r\n", "status 304", true);
    check(&config(), 4, &with_body("499 Odd", b""), "status 499", true);
    check(&config(), 4, &with_body("777 Odder", b""), "status over 599", true);
    let (outcome, ..) = answered(&config(), 4, &with_body("404 Not Found", b""), 10);
    assert_eq!(outcome.unwrap_err().detail, "/000/000004.txt was answered with status 404");
}

#[test]
fn a_close_ends_an_answer_or_cuts_it_off() {
    let good = content(&config(), 4);
    check(&config(), 4, &[b"HTTP/1.0 200 OK\r\n\r\n", &good[..]].concat(), "", false);
    check(&config(), 4, &[b"HTTP/1.0 200 OK\r\n\r\n", &good[1..]].concat(), "wrong length", false);
    check(&config(), 4, b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\nhalf", "answer cut off", false);
    check(&config(), 4, b"", "closed", false);
}

#[test]
fn parts_must_be_what_they_say() {
    let config = with(|options| options.header = vec!["Range: bytes=0-3".parse().unwrap()]);
    let part = |range: &str, body: &[u8]| with_body(&format!("206 Partial Content\r\n{range}"), body);
    check(&config, 4, &part("Content-Range: bytes 0-3/1024", b"abcd"), "", true);
    check(&config, 4, &part("Content-Range: bytes 0-3/1024", b"abc"), "wrong length", true);
    check(&config, 4, &part("Content-Range: bytes 0-3/1023", b"abcd"), "wrong length", true);
    check(&config, 4, &part("X: y", b"abcd"), "no range", true);
    // A part that was not requested is not the file, even if labelled as such.
    for verify in [Verify::Length, Verify::Checksum] {
        let whole = with(|options| options.verify = Some(verify));
        check(&whole, 4, &part("Content-Range: bytes 0-3/1024", b"abcd"), "unasked range", true);
    }
    let unchecked = with(|options| options.verify = Some(Verify::None));
    check(&unchecked, 4, &part("Content-Range: bytes 0-3/1024", b"abcd"), "", true);
}

#[test]
fn what_is_no_http_ends_the_connection() {
    check(&config(), 4, b"ERROR\r\n", "garbage", false);
    check(&config(), 4, b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "garbage", false);
}

#[test]
fn head_brings_no_body() {
    let config = with(|options| options.method = "HEAD".parse().unwrap());
    check(&config, 4, b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n", "", true);
}
