//! Answers as servers send them, in any pieces.

#[path = "../../../fuzz/harness/http.rs"]
mod harness;

use harness::{Seen, responses};
use proptest::prelude::*;
use proto_http::{Asked, ContentRange, Defect, Head, Response, ResponseParse, ResponseParser, Sink, Version};

/// The expected answer: status, body, and whether the connection stays.
type Expected<'a> = (u16, &'a [u8], bool);

/// Reads `bytes` in pieces of every size; all must give these answers, then this defect.
#[track_caller]
fn check(asked: Asked, bytes: &str, expect: &[Expected<'_>], defect: Option<Defect>) {
    for step in 1..=bytes.len() {
        let Seen { answers, defect: found, .. } = responses(asked, bytes.as_bytes(), step);
        let answers: Vec<Expected<'_>> =
            answers.iter().map(|(r, _, body)| (r.status, &body[..], r.keep_alive)).collect();
        assert_eq!((&answers[..], found), (expect, defect), "in steps of {step}");
    }
}

#[test]
fn bodies_of_a_length_pipelined() {
    check(
        Asked::Any,
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n\
         HTTP/1.1 200 \r\ncontent-length: 1\r\nConnection: close\r\n\r\n!",
        &[(200, b"hello", true), (404, b"", true), (200, b"!", false)],
        None,
    );
}

#[test]
fn bodies_in_chunks() {
    check(
        Asked::Any,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n\
         5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX-Sum: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        &[(200, b"hello!", true), (200, b"x", true)],
        None,
    );
    let bad = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
    check(Asked::Any, bad, &[], Some(Defect::ChunkSize));
}

#[test]
fn answers_without_a_body() {
    check(
        Asked::Any,
        "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",
        &[(204, b"", true), (304, b"", true)],
        None,
    );
    check(
        Asked::Head,
        "HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        &[(200, b"", true), (200, b"", true)],
        None,
    );
}

#[test]
fn interim_answers_are_skipped() {
    check(
        Asked::Any,
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\
         Content-Length: 2\r\n\r\nok",
        &[(200, b"ok", true)],
        None,
    );
    check(Asked::Any, "HTTP/1.1 101 Switching Protocols\r\n\r\n", &[(101, b"", false)], None);
}

#[test]
fn the_version_decides_whether_a_connection_stays() {
    let with =
        |version: &str, field: &str| format!("HTTP/{version} 200 OK\r\nContent-Length: 0\r\n{field}\r\n");
    check(Asked::Any, &with("1.0", ""), &[(200, b"", false)], None);
    check(Asked::Any, &with("1.0", "Connection: Keep-Alive\r\n"), &[(200, b"", true)], None);
    check(Asked::Any, &with("1.1", ""), &[(200, b"", true)], None);
    check(Asked::Any, &with("1.1", "Connection: close\r\n"), &[(200, b"", false)], None);
}

#[test]
fn the_close_ends_what_has_no_length() {
    let open = Response { version: Version::Http11, status: 200, body: 3, keep_alive: false, range: None };
    let check = |bytes: &str, expect: Option<Result<(Response, &[u8]), Defect>>| {
        for step in 1..=bytes.len().max(1) {
            let seen = responses(Asked::Any, bytes.as_bytes(), step);
            let expect = expect.map(|ended| ended.map(|(response, body)| (response, body.to_vec())));
            assert_eq!(seen.closed, expect, "{bytes} in steps of {step}");
        }
    };
    check("HTTP/1.1 200 OK\r\n\r\nabc", Some(Ok((open, b"abc"))));
    let old = Response { version: Version::Http10, ..open };
    check("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nabc", Some(Ok((old, b"abc"))));
    check("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc", Some(Ok((open, b"abc"))));
    check("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", Some(Err(Defect::Truncated)));
    check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", Some(Err(Defect::Truncated)));
    check("HTTP/1.1 200", Some(Err(Defect::Truncated)));
    check("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", None);
    check("", None);
}

#[test]
fn parts_of_files() {
    let part = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 2-4/10\r\nContent-Length: 3\r\n\r\nabc";
    let seen = responses(Asked::Any, part.as_bytes(), 7);
    let range = seen.answers[0].0.range;
    assert_eq!(range, Some(ContentRange::Part { first: 2, last: 4, complete: Some(10) }));
    assert_eq!(range.and_then(ContentRange::length), Some(seen.answers[0].0.body));
}

#[test]
fn what_is_no_http_is_told_from_a_slow_head_at_once() {
    for wrong in ["E", "HTTP/2", "HTTP/1.2", "SSH-2.0", "\r\nHTTP/1.1 200 OK\r\n\r\n", "\0\0\x12\x04"] {
        check(Asked::Any, wrong, &[], Some(Defect::NotHttp));
    }
    check(Asked::Any, "HTTP/1.", &[], None);
    check(Asked::Any, "HTTP/1.1 20x OK\r\n\r\n", &[], Some(Defect::Status));
    check(Asked::Any, "HTTP/1.1 099 OK\r\n\r\n", &[], Some(Defect::Status));
}

#[test]
fn a_field_is_found_whatever_its_case() {
    struct Server(Option<Vec<u8>>);
    impl Sink for Server {
        fn head(&mut self, head: &Head<'_>) {
            self.0 = head.header("server").map(<[u8]>::to_vec);
        }
        fn body(&mut self, _: &[u8]) {}
    }
    let mut server = Server(None);
    let bytes = b"HTTP/1.1 200 OK\r\nSERVER: nginx/1.22.1\r\nContent-Length: 0\r\n\r\n";
    let parsed = ResponseParser::default().parse(Asked::Any, bytes, &mut server);
    assert!(matches!(parsed, ResponseParse::Done { consumed, .. } if consumed == bytes.len()));
    assert_eq!(server.0.as_deref(), Some(&b"nginx/1.22.1"[..]));
}

/// One answer with a body, however it is framed.
fn answer() -> impl Strategy<Value = (Vec<u8>, u16, Vec<u8>)> {
    let body = prop::collection::vec(any::<u8>(), 0..200);
    (200u16..600, body, prop::collection::vec(1usize..50, 0..8), any::<bool>(), 0u8..3).prop_map(
        |(status, body, cuts, chunked, interim)| {
            let bare = matches!(status, 204 | 304);
            let body = if bare { Vec::new() } else { body };
            let mut bytes = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(interim.into());
            bytes.extend_from_slice(format!("HTTP/1.1 {status} Words\r\nX-A: b\r\n").as_bytes());
            if bare {
                bytes.extend_from_slice(b"\r\n");
            } else if chunked {
                bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                let (mut rest, mut cuts) = (&body[..], cuts.into_iter());
                while !rest.is_empty() {
                    let (chunk, after) = rest.split_at(cuts.next().unwrap_or(usize::MAX).min(rest.len()));
                    bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                    bytes.extend_from_slice(chunk);
                    bytes.extend_from_slice(b"\r\n");
                    rest = after;
                }
                bytes.extend_from_slice(b"0\r\n\r\n");
            } else {
                bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
                bytes.extend_from_slice(&body);
            }
            (bytes, status, body)
        },
    )
}

proptest! {
    #[test]
    fn any_split_gives_what_was_sent(answers in prop::collection::vec(answer(), 1..6), step in 1usize..300) {
        let bytes: Vec<u8> = answers.iter().flat_map(|(bytes, _, _)| bytes.clone()).collect();
        let seen = responses(Asked::Any, &bytes, step);
        prop_assert_eq!(seen.defect, None);
        let found: Vec<_> = seen.answers.into_iter().map(|(r, _, body)| (r.status, body)).collect();
        let sent: Vec<_> = answers.into_iter().map(|(_, status, body)| (status, body)).collect();
        prop_assert_eq!(found, sent);
    }

    #[test]
    fn any_bytes_give_the_same_in_any_pieces(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        harness::http_responses(&bytes);
        harness::http_requests(&bytes);
    }

    /// Nearly right answers reach code that random bytes do not.
    #[test]
    fn a_changed_byte_gives_the_same_in_any_pieces(
        answers in prop::collection::vec(answer(), 1..4),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes: Vec<u8> =
            std::iter::once(0).chain(answers.iter().flat_map(|(bytes, _, _)| bytes.clone())).collect();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        harness::http_responses(&bytes);
    }
}
