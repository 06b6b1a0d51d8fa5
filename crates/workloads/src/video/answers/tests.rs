use datasets::videos::Catalog;
use openloop::{Parsed, Then};
use spec::workload::Delivery;

use super::*;
use crate::status::CUT_OFF;
use crate::video::config::tests::listed;
use crate::video::library::Videos;

fn library(delivery: Delivery) -> Library {
    let catalog = Catalog::new(&"40x1/160".parse().unwrap(), 1).unwrap();
    Library::new(Videos::Set(catalog, delivery), 1)
}

/// A video of several chunks.
fn of() -> Watched {
    let library = library(Delivery::Ranges);
    let mut all = (0..library.videos()).map(|video| Watched { video, rung: 1 });
    let found = all.find(|of| library.chunks_until(1, library.duration(*of)) > 5);
    found.expect("some are longer than 50 s")
}

/// The object of the request, and its options.
struct Asked {
    library: Library,
    ask: Ask,
    verify: Verify,
}

fn chunk(chunk: u32, verify: Verify) -> Asked {
    Asked { library: library(Delivery::Ranges), ask: Ask::Chunk(chunk), verify }
}

/// Feeds `bytes` in pieces of `step` as the answer, then closes. Returns the kind of the fault, empty for none, and
/// whether the connection stays.
fn answered(asked: &Asked, bytes: &[u8], step: usize) -> (String, bool, Answers) {
    let of = if asked.library.videos() == 1 { Watched { video: 0, rung: 0 } } else { of() };
    let Asked { library, ask, verify } = asked;
    let request = FileRequest { library, of, ask: *ask, verify: *verify };
    let (mut wire, mut counts) = (Wire::default(), Answers::default());
    let found =
        |outcome: Result<(), Fault>| outcome.err().map_or_else(String::new, |fault| fault.kind.into());
    let mut shown: Vec<u8> = Vec::new();
    for piece in bytes.chunks(step) {
        shown.extend_from_slice(piece);
        match request.read(&mut wire, &shown, &mut counts) {
            Parsed::Partial => {}
            Parsed::Used(used) => drop(shown.drain(..used)),
            Parsed::Done { outcome, then, .. } => {
                return (found(outcome), !matches!(then, Then::Close), counts);
            }
            Parsed::Refused(fault) => return (fault.kind.into(), false, counts),
            Parsed::Garbage(_) => return ("garbage".into(), false, counts),
        }
    }
    let closed = request.closed(&mut wire, &mut counts);
    (closed.map_or("closed".into(), found), false, counts)
}

#[track_caller]
fn check(asked: &Asked, bytes: &[u8], kind: &str, stays: bool) {
    for step in [1, 7, 1000, bytes.len().max(1)] {
        let (found, stayed, _) = answered(asked, bytes, step);
        let head = &bytes[..bytes.len().min(200)];
        assert_eq!((found.as_str(), stayed), (kind, stays), "{} in steps of {step}", head.escape_ascii());
    }
}

/// The range of a chunk, and its content.
fn part(asked: &Asked) -> (u64, u64, u64, Vec<u8>) {
    let Part { range: Some(range), complete: Some(complete) } = asked.library.part(of(), asked.ask) else {
        panic!("no part")
    };
    let mut content = vec![0; range.length() as usize];
    asked.library.body(of(), asked.ask).unwrap().fill(&mut content);
    (range.first, range.last, complete, content)
}

fn partial(first: u64, last: u64, complete: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {first}-{last}/{complete}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn with_body(head: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

#[test]
fn a_part_must_be_the_one_that_was_asked_for() {
    for verify in [Verify::None, Verify::Length, Verify::Checksum] {
        let asked = chunk(1, verify);
        let (first, last, complete, body) = part(&asked);
        let all = complete.to_string();
        check(&asked, &partial(first, last, &all, &body), "", true);
        check(&asked, &partial(first, last, "*", &body), "", true);
        check(&asked, &partial(first + 1, last, &all, &body[1..]), "wrong range", false);
        check(&asked, &partial(first, last - 1, &all, &body[1..]), "wrong range", false);
        check(&asked, &partial(0, complete - 1, &all, &body), "wrong range", false);
        check(&asked, &with_body("200 OK", &body), "", true);
        check(&asked, &with_body("200 OK", &[&body[..], b"x"].concat()), "whole file", false);
        check(&asked, &with_body("206 Partial Content", &body), "no range", false);
        check(&asked, b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes */5\r\n\r\n", "no range", false);
    }
    let asked = chunk(1, Verify::Length);
    let (first, last, complete, body) = part(&asked);
    check(&asked, &partial(first, last, &(complete + 1).to_string(), &body), "wrong length", false);
    check(&asked, &partial(first, last, &complete.to_string(), &body[1..]), "wrong length", true);
    let unchecked = chunk(1, Verify::None);
    check(&unchecked, &partial(first, last, &(complete + 1).to_string(), &body), "", true);
}

#[test]
fn the_last_chunk_is_as_short_as_it_is() {
    let library = library(Delivery::Ranges);
    let last = library.chunks_until(1, library.duration(of())) - 1;
    let asked = chunk(last, Verify::Checksum);
    let (first, end, complete, body) = part(&asked);
    assert!(end + 1 == complete && body.len() < part(&chunk(0, Verify::None)).3.len());
    check(&asked, &partial(first, end, &complete.to_string(), &body), "", true);
}

#[test]
fn contents_are_compared_from_their_place_on() {
    let asked = chunk(1, Verify::Checksum);
    let (first, last, complete, body) = part(&asked);
    let all = complete.to_string();
    let mut garbled = body.clone();
    garbled[body.len() / 2] ^= 1;
    check(&asked, &partial(first, last, &all, &garbled), "wrong content", true);
    let (.., other) = part(&chunk(0, Verify::Checksum));
    check(&asked, &partial(first, last, &all, &other), "wrong content", true);
    check(&chunk(1, Verify::Length), &partial(first, last, &all, &other), "", true);
    let (_, _, counts) = answered(&asked, &partial(first, last, &all, &garbled), 1000);
    let expect = Answers { answered: 1, partial: 1, wrong: 1, verified: 1, ended: 0 };
    assert_eq!(counts, expect);
}

#[test]
fn other_answers_fail_by_what_they_are() {
    let asked = chunk(0, Verify::Length);
    let (first, last, complete, body) = part(&asked);
    check(&asked, &with_body("503 Service Unavailable", b"busy"), "status 503", true);
    check(&asked, &with_body("503 Service Unavailable\r\nConnection: close", b""), "status 503", false);
    check(&asked, &with_body("404 Not Found", b""), "status 404", true);
    check(
        &asked,
        &with_body("416 Range Not Satisfiable\r\nContent-Range: bytes */5", b""),
        "status 416",
        true,
    );
    check(&asked, b"ERROR\r\n", "garbage", false);
    check(&asked, b"", "closed", false);
    let whole = partial(first, last, &complete.to_string(), &body);
    check(&asked, &whole[..whole.len() - 1], CUT_OFF, false);
    check(&asked, &whole[..20], CUT_OFF, false);
}

#[test]
fn playlists_come_whole_and_as_they_were() {
    let of_set = |verify: Verify| Asked { library: library(Delivery::Hls), ask: Ask::Index(1), verify };
    let text = {
        let mut body = of_set(Verify::None).library.body(of(), Ask::Index(1)).unwrap();
        let mut text = vec![0; body.left() as usize];
        body.fill(&mut text);
        text
    };
    assert!(text.starts_with(b"#EXTM3U"));
    check(&of_set(Verify::Checksum), &with_body("200 OK", &text), "", true);
    check(&of_set(Verify::Checksum), &with_body("200 OK", &text[1..]), "wrong content", true);
    check(&of_set(Verify::Length), &with_body("200 OK", &text), "", true);
    check(&of_set(Verify::Length), &with_body("200 OK", &text[1..]), "wrong content", true);
    check(&of_set(Verify::Length), &with_body("200 OK", b""), "empty answer", true);
    check(&of_set(Verify::None), &with_body("200 OK", &text[1..]), "", true);
    check(&of_set(Verify::Length), &partial(0, 5, "7", &text[..6]), "unasked range", false);
    let listed = |verify: Verify| Asked { library: listed(), ask: Ask::Index(0), verify };
    let known = b"#EXTM3U\n#EXTINF:4,\na.ts\n#EXTINF:6,\n#EXT-X-BYTERANGE:70@30\nb.ts\n#EXT-X-ENDLIST\n";
    check(&listed(Verify::Length), &with_body("200 OK", known), "", true);
    let mut changed = known.to_vec();
    changed[20] ^= 1;
    check(&listed(Verify::Length), &with_body("200 OK", &changed), "wrong content", true);
    check(&listed(Verify::Length), &with_body("200 OK", &known[1..]), "wrong length", true);
    check(&listed(Verify::None), &with_body("200 OK", &known[1..]), "", true);
}

/// A request for a segment of another server.
fn segment(chunk: u32) -> Asked {
    Asked { library: listed(), ask: Ask::Chunk(chunk), verify: Verify::Length }
}

#[test]
fn segments_are_whole_files_or_parts() {
    check(&segment(0), &with_body("200 OK", b"any length"), "", true);
    check(&segment(0), &partial(0, 4, "5", b"abcde"), "", true);
    check(&segment(0), &partial(0, 4, "6", b"abcde"), "unasked range", false);
    check(&segment(0), &partial(1, 5, "6", b"abcde"), "unasked range", false);
    check(&segment(0), &partial(0, 4, "*", b"abcde"), "unasked range", false);
    check(&segment(1), &partial(30, 99, "*", &[b'x'; 70]), "", true);
}

#[test]
fn a_whole_file_of_the_requested_length_is_the_part() {
    check(&segment(1), &with_body("200 OK", &[b'x'; 70]), "", true);
    check(&segment(1), &with_body("200 OK", &[b'x'; 69]), "whole file", false);
    check(&segment(1), &with_body("200 OK", &[b'x'; 71]), "whole file", false);
    check(&segment(1), &with_body("200 OK", b""), "whole file", false);
    let chunked = |length: usize| {
        let body = "x".repeat(length);
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n")
            .into_bytes()
    };
    check(&segment(1), &chunked(70), "", true);
    check(&segment(1), &chunked(71), "whole file", false);
    check(&segment(1), &chunked(69), "wrong length", true);
    let until_the_close = [&b"HTTP/1.1 200 OK\r\n\r\n"[..], &[b'x'; 70]].concat();
    check(&segment(1), &until_the_close, "", false);
}

#[test]
fn pages_and_nothing_are_no_segments() {
    let page = b"<!DOCTYPE html><title>Maintenance</title>";
    let json = with_body("200 OK\r\nContent-Type: application/json", b"{\"error\": 404}");
    for verify in [Verify::Length, Verify::None] {
        let asked = Asked { verify, ..segment(0) };
        let kind = |kind: &'static str| if verify == Verify::None { "" } else { kind };
        check(&asked, &with_body("200 OK", b""), kind("empty answer"), true);
        check(&asked, b"HTTP/1.1 204 No Content\r\n\r\n", kind("empty answer"), true);
        check(
            &asked,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            kind("empty answer"),
            true,
        );
        check(&asked, b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", kind("empty answer"), false);
        check(&asked, &with_body("200 OK", page), kind("no media"), true);
        check(&asked, &with_body("200 OK\r\nContent-Type: video/mp2t", page), kind("no media"), true);
        check(&asked, &json, kind("no media"), true);
        check(&asked, &with_body("200 OK\r\nContent-Type: text/plain", b"not found"), kind("no media"), true);
        check(&asked, &with_body("200 OK\r\nContent-Type: text/html", b"G\x40\x00\x10"), "", true);
    }
    let (.., counts) = answered(&segment(0), &with_body("200 OK", page), 1000);
    assert_eq!((counts.wrong, counts.verified), (1, 1));
    // Each answer on a connection is judged by itself.
    let Asked { library, ask, verify } = &segment(0);
    let of = Watched { video: 0, rung: 0 };
    let request = FileRequest { library, of, ask: *ask, verify: *verify };
    let (mut wire, mut counts) = (Wire::default(), Answers::default());
    let mut kinds = Vec::new();
    for body in [&page[..], b"G\x40\x00\x10", page] {
        let Parsed::Done { outcome, .. } = request.read(&mut wire, &with_body("200 OK", body), &mut counts)
        else {
            panic!("it is whole")
        };
        kinds.push(outcome.err().map(|fault| fault.kind));
    }
    assert_eq!(kinds, [Some("no media"), None, Some("no media")]);
}
