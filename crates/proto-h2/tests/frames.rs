//! Frames of servers, in any pieces: answers, messages of the connection, and forbidden frames.

#[path = "../../../fuzz/harness/h2.rs"]
mod harness;

use harness::{Ended, Kept, Seen, asked, h2_frames, served};
use proptest::prelude::*;
use proto_h2::{Code, Defect, Failure, Response, Step};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

/// Flags: END_STREAM or ACK, END_HEADERS, PADDED, PRIORITY.
const END: u8 = 1;
const HEAD_ENDS: u8 = 4;
const PADDED: u8 = 8;
const PRIORITIZED: u8 = 0x20;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = (payload.len() as u32).to_be_bytes();
    [&length[..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn number(kind: u8, stream: u32, number: u32) -> Vec<u8> {
    frame(kind, 0, stream, &number.to_be_bytes())
}

fn settings(all: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> =
        all.iter().flat_map(|(n, v)| [&n.to_be_bytes()[..], &v.to_be_bytes()].concat()).collect();
    frame(SETTINGS, 0, 0, &payload)
}

fn literal(name: &str, value: &str) -> Vec<u8> {
    [&[0, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat()
}

/// `:status: 200`, and the length of a body.
fn head(stream: u32, flags: u8, length: &str) -> Vec<u8> {
    frame(HEADERS, HEAD_ENDS | flags, stream, &[&[0x88][..], &literal("content-length", length)].concat())
}

/// Reads frames after the server's first settings, in pieces of every size; all must give the same.
#[track_caller]
fn read(requests: &[(bool, usize)], frames: &[Vec<u8>]) -> Seen {
    let bytes = [settings(&[]), frames.concat()].concat();
    let whole = served(requests, &bytes, bytes.len());
    for step in 1..bytes.len().min(300) {
        assert_eq!(served(requests, &bytes, step), whole, "in steps of {step}");
    }
    whole
}

const ONE: &[(bool, usize)] = &[(false, 0)];

/// A request's number, and its status and body, or a part of the failure's text.
type Outcome<T> = (u32, Result<(u16, T), T>);

#[track_caller]
fn ended(seen: &Seen, expect: &[Outcome<&str>]) {
    let found: Vec<Outcome<String>> = seen
        .ended
        .iter()
        .map(|(number, outcome, kept): &Ended| {
            let body = String::from_utf8_lossy(&kept.body).into_owned();
            (*number, outcome.clone().map(|r: Response| (r.status, body)).map_err(|e: Failure| e.to_string()))
        })
        .collect();
    assert_eq!(found.len(), expect.len(), "{found:?}");
    for ((number, outcome), (expected, expect)) in found.iter().zip(expect) {
        assert_eq!(number, expected);
        match (outcome, expect) {
            (Ok((status, body)), Ok(expect)) => assert_eq!((*status, &**body), *expect),
            (Err(found), Err(says)) => assert!(found.contains(says), "{found}"),
            other => panic!("{number}: {other:?}"),
        }
    }
}

/// The frames sent after the requests, as kind, flags, stream and payload.
fn said(seen: &Seen, requests: &[(bool, usize)]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let mut before = Vec::new();
    asked(requests, &mut before);
    let mut rest = seen.said.strip_prefix(&before[..]).unwrap();
    let mut all = Vec::new();
    while let [a, b, c, kind, flags, s @ ..] = rest {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        let stream = u32::from_be_bytes(s[..4].try_into().unwrap());
        all.push((*kind, *flags, stream, rest[9..9 + length].to_vec()));
        rest = &rest[9 + length..];
    }
    all
}

#[test]
fn answers_in_any_order_and_mixed() {
    let three = &[(false, 0), (false, 0), (true, 0)];
    let seen = read(
        three,
        &[
            head(5, END, "10"),
            head(3, 0, "5"),
            head(1, 0, "3"),
            frame(DATA, 0, 3, b"he"),
            frame(DATA, END, 1, b"one"),
            frame(DATA, 0, 3, b"llo"),
            frame(DATA, END, 3, b""),
        ],
    );
    ended(&seen, &[(3, Ok((200, ""))), (1, Ok((200, "one"))), (2, Ok((200, "hello")))]);
    assert_eq!(seen.ended[0].2.fields, "content-length=10\n");
    // Only our acknowledgement of the settings.
    assert_eq!(said(&seen, three), [(SETTINGS, END, 0, vec![])]);
}

#[test]
fn interim_answers_trailers_and_padding() {
    let continues = frame(HEADERS, HEAD_ENDS, 1, &literal(":status", "100"));
    let padded = frame(HEADERS, HEAD_ENDS | PADDED | PRIORITIZED, 1, b"\x02\x00\x00\x00\x00\x05\x88..");
    let body = frame(DATA, PADDED, 1, b"\x03body...");
    let trailers = frame(HEADERS, HEAD_ENDS | END, 1, &literal("x-sum", "1"));
    let seen = read(ONE, &[continues.clone(), continues, padded, body, trailers]);
    ended(&seen, &[(1, Ok((200, "body")))]);
    assert_eq!(seen.ended[0].2.fields, "", "neither of interim answers nor of trailers");
}

#[test]
fn a_head_in_pieces() {
    let block = [&[0x88][..], &literal("a", "1"), &literal("b", "2")].concat();
    let seen = read(
        ONE,
        &[
            frame(HEADERS, END, 1, &block[..3]),
            frame(CONTINUATION, 0, 1, &block[3..3]),
            frame(CONTINUATION, 0, 1, &block[3..8]),
            frame(CONTINUATION, HEAD_ENDS, 1, &block[8..]),
        ],
    );
    ended(&seen, &[(1, Ok((200, "")))]);
    assert_eq!(seen.ended[0].2.fields, "a=1\nb=2\n");
    let check = |frames: &[Vec<u8>], defect: Defect| assert_eq!(read(ONE, frames).defect, Some(defect));
    check(&[frame(HEADERS, 0, 1, &block), frame(PING, 0, 0, &[0; 8])], Defect::HeadInterrupted);
    check(&[frame(HEADERS, 0, 1, &block), frame(CONTINUATION, 4, 3, b"")], Defect::HeadInterrupted);
    check(&[frame(CONTINUATION, HEAD_ENDS, 1, &block)], Defect::Misplaced("CONTINUATION", 1));
    let endless: Vec<Vec<u8>> = std::iter::once(frame(HEADERS, 0, 1, &block))
        .chain((0..20).map(|_| frame(CONTINUATION, 0, 1, &[0x88; 16_384])))
        .collect();
    let bytes = [settings(&[]), endless.concat()].concat();
    assert_eq!(served(ONE, &bytes, 4096).defect, Some(Defect::HeadTooLong));
}

#[test]
fn malformed_answers_end_alone() {
    let check = |frames: &[Vec<u8>], says: &str| {
        let two = &[(false, 0), (false, 0)];
        let seen = read(two, &[frames.concat(), head(3, END, "0")]);
        ended(&seen, &[(1, Err(says)), (2, Ok((200, "")))]);
        let reset = (RST_STREAM, 0, 1, vec![0, 0, 0, 1]);
        let cut = says.contains("shorter");
        assert!(cut || said(&seen, two).contains(&reset), "the server is told");
    };
    let fields = |flags: u8, block: &[u8]| frame(HEADERS, HEAD_ENDS | flags, 1, block);
    check(&[head(1, 0, "3"), frame(DATA, END, 1, b"ab")], "shorter");
    check(&[head(1, 0, "3"), frame(DATA, 0, 1, b"abcd")], "longer");
    check(&[frame(DATA, END, 1, b"ab")], "before its head");
    check(&[fields(END, &literal("a", "b"))], "status");
    check(&[fields(END, &literal(":status", "20"))], "status");
    check(&[fields(END, &literal(":status", "101"))], "status");
    check(&[fields(END, &literal(":status", "103"))], "interim");
    check(&[fields(END, &[&literal("a", "b")[..], &[0x88]].concat())], ":status where");
    check(&[fields(END, &[0x88, 0x88])], ":status where");
    check(&[fields(END, &[&[0x88][..], &literal("Server", "x")].concat())], "name");
    check(&[fields(END, &[&[0x88][..], &literal("connection", "close")].concat())], "name");
    check(&[head(1, END, "x")], "content-length");
    check(&[head(1, 0, "0"), fields(0, &literal("a", "b"))], "do not end it");
    check(&[number(WINDOW_UPDATE, 1, 0)], "window");
    check(&[number(WINDOW_UPDATE, 1, 0x7fff_ffff)], "window");
    // Answers without a body have none.
    let seen = read(&[(true, 0)], &[head(1, 0, "3"), frame(DATA, END, 1, b"abc")]);
    ended(&seen, &[(1, Err("longer"))]);
    ended(&read(ONE, &[fields(END, &[0x8b])]), &[(1, Ok((304, "")))]);
}

#[test]
fn resets_of_each_kind() {
    for (code, name) in (0..).zip(["NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR"]) {
        ended(&read(ONE, &[number(RST_STREAM, 1, code)]), &[(1, Err(name))]);
    }
    for (code, name) in [(7, "REFUSED_STREAM"), (8, "CANCEL"), (13, "HTTP_1_1_REQUIRED"), (99, "code 99")] {
        let frames = [head(1, 0, "9"), frame(DATA, 0, 1, b"a"), number(RST_STREAM, 1, code)];
        ended(&read(ONE, &frames), &[(1, Err(name))]);
    }
    // After the end, and again.
    let frames = [head(1, END, "0"), number(RST_STREAM, 1, 0), number(RST_STREAM, 1, 0)];
    ended(&read(ONE, &frames), &[(1, Ok((200, "")))]);
}

#[test]
fn a_leaving_server_says_what_it_has_taken() {
    let goaway = |last: u32, code: u32, words: &[u8]| {
        frame(GOAWAY, 0, 0, &[&last.to_be_bytes()[..], &code.to_be_bytes(), words].concat())
    };
    let three = &[(false, 0), (false, 0), (false, 0)];
    let frames = [goaway(0x7fff_ffff, 0, b""), goaway(3, 0, b""), head(5, END, "0"), head(3, END, "0")];
    let seen = read(three, &frames);
    assert_eq!(seen.leaving, [(3, Code::NONE, String::new()), (2, Code::NONE, String::new())]);
    ended(&seen, &[(2, Ok((200, "")))]);
    let seen = read(three, &[goaway(0, 11, b"too\nmany")]);
    assert_eq!(seen.leaving, [(0, Code(11), "too\\nmany".into())]);
}

/// The length of all bodies that were sent, and whether the last frame ended one.
fn sent(seen: &Seen, requests: &[(bool, usize)]) -> (usize, bool) {
    let mut all = Vec::new();
    asked(requests, &mut all);
    let mut rest = &seen.said[24..];
    let (mut length, mut end) = (0, false);
    while let [a, b, c, kind, flags, ..] = rest {
        let payload = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        if *kind == DATA {
            (length, end) = (length + payload, flags & END != 0);
        }
        rest = &rest[9 + payload..];
    }
    (length, end)
}

#[test]
fn bodies_of_requests_wait_for_their_windows() {
    let check = |frames: &[Vec<u8>], expect: (usize, bool)| {
        let one = &[(false, 100_000)];
        assert_eq!(sent(&read(one, frames), one), expect);
    };
    check(&[], (65_535, false));
    check(&[number(WINDOW_UPDATE, 0, 10)], (65_535, false));
    check(&[number(WINDOW_UPDATE, 1, 10)], (65_535, false));
    check(&[number(WINDOW_UPDATE, 0, 10), number(WINDOW_UPDATE, 1, 9)], (65_544, false));
    // A smaller window in the middle has to be made up for first.
    check(
        &[settings(&[(4, 0)]), number(WINDOW_UPDATE, 0, 1 << 20), number(WINDOW_UPDATE, 1, 65_535)],
        (65_535, false),
    );
    check(
        &[settings(&[(4, 0)]), number(WINDOW_UPDATE, 0, 1 << 20), number(WINDOW_UPDATE, 1, 65_536)],
        (65_536, false),
    );
    check(&[settings(&[(4, 100_000)]), number(WINDOW_UPDATE, 0, 1 << 20)], (100_000, true));
    // An early answer ends it.
    let one = &[(false, 100_000)];
    let seen = read(one, &[head(1, END, "0"), number(WINDOW_UPDATE, 0, 1 << 20)]);
    ended(&seen, &[(1, Ok((200, "")))]);
    assert!(said(&seen, one).contains(&(RST_STREAM, 0, 1, vec![0, 0, 0, 8])));
    assert_eq!(sent(&seen, one), (65_535, false));
}

#[test]
fn our_windows_are_moved_as_bodies_come() {
    let bytes = [settings(&[]), frame(HEADERS, HEAD_ENDS, 1, &[0x88])].concat();
    let data = frame(DATA, 0, 1, &[0; 16_384]);
    let long = [bytes, data.repeat(1000)].concat();
    let seen = served(ONE, &long, 100_000);
    assert_eq!(seen.defect, None);
    let moved = |stream: u32| -> u32 {
        let of = |(kind, _, on, payload): &(u8, u8, u32, Vec<u8>)| {
            (*kind == WINDOW_UPDATE && *on == stream)
                .then(|| u32::from_be_bytes(payload[..].try_into().unwrap()))
        };
        said(&seen, ONE).iter().filter_map(of).sum()
    };
    // In steps of half a window: 15 MiB and 6 MiB.
    assert_eq!((moved(0), moved(1)), (2 * (15 << 19), 5 * (6 << 19)));
}

#[test]
fn what_no_server_may_send() {
    let check = |frames: &[Vec<u8>], expect: Defect| {
        let seen = read(ONE, frames);
        assert_eq!(seen.defect, Some(expect.clone()));
        let (kind, _, _, payload) = said(&seen, ONE).pop().unwrap();
        assert_eq!((kind, payload[4..].to_vec()), (GOAWAY, expect.code().0.to_be_bytes().to_vec()));
    };
    check(&[frame(PUSH_PROMISE, HEAD_ENDS, 1, &[0, 0, 0, 2, 0x82])], Defect::Push);
    check(&[frame(DATA, 0, 3, b"x")], Defect::Misplaced("DATA", 3));
    check(&[frame(HEADERS, HEAD_ENDS, 2, &[0x88])], Defect::Misplaced("HEADERS", 2));
    check(&[number(RST_STREAM, 0, 0)], Defect::Misplaced("RST_STREAM", 0));
    check(&[number(WINDOW_UPDATE, 5, 1)], Defect::Misplaced("WINDOW_UPDATE", 5));
    check(&[frame(PING, 0, 1, &[0; 8])], Defect::Misplaced("PING", 1));
    check(&[frame(PING, 0, 0, &[0; 7])], Defect::FrameLength("PING"));
    check(&[frame(SETTINGS, 0, 0, &[0; 5])], Defect::FrameLength("SETTINGS"));
    check(&[frame(SETTINGS, END, 0, &[0; 6])], Defect::FrameLength("SETTINGS"));
    check(&[frame(GOAWAY, 0, 0, &[0; 7])], Defect::FrameLength("GOAWAY"));
    check(&[settings(&[(2, 1)])], Defect::Setting("a server pushes and is not pushed to"));
    check(&[settings(&[(4, 1 << 31)])], Defect::Window);
    check(&[number(WINDOW_UPDATE, 0, 0)], Defect::Window);
    check(&[number(WINDOW_UPDATE, 0, 0x7fff_ffff)], Defect::Window);
    check(&[frame(DATA, PADDED, 1, b"\x05abc")], Defect::Padding);
    check(&[frame(HEADERS, HEAD_ENDS | PADDED, 1, b"\x05\x88")], Defect::Padding);
    check(&[frame(HEADERS, HEAD_ENDS | PRIORITIZED, 1, b"\x00")], Defect::FrameLength("HEADERS"));
    let unknown = Defect::Fields("a number of a field that is not in the table");
    check(&[frame(HEADERS, HEAD_ENDS, 1, &[0xbe])], unknown);
    let long = [0, 0x40, 1, DATA, 0, 0, 0, 0, 1].to_vec();
    check(&[long], Defect::FrameTooLong(16_385));
    let flood = frame(PRIORITY, 0, 1, &[0; 5]).repeat(10_001);
    assert_eq!(served(ONE, &[settings(&[]), flood].concat(), 65_536).defect, Some(Defect::Flood));
}

#[test]
fn other_protocols_are_told_at_once() {
    let others: [&[u8]; 3] =
        [b"HTTP/1.1 400 Bad Request\r\n", b"ERROR\r\nERROR\r\n", &frame(PING, 0, 0, &[0; 8])];
    for bytes in others {
        assert_eq!(served(ONE, bytes, 1).defect, Some(Defect::NotHttp2));
    }
    assert_eq!(served(ONE, &frame(SETTINGS, END, 0, b""), 1).defect, Some(Defect::NotHttp2));
}

#[test]
fn what_means_nothing_to_us_is_passed_over() {
    let frames = [
        frame(PRIORITY, 0, 1, &[0; 5]),
        frame(0x0a, 0xff, 7, &[1; 300]),
        settings(&[(3, 7), (0x77, 1), (5, 20_000)]),
        frame(PING, 0, 0, b"12345678"),
        frame(PING, END, 0, b"12345678"),
        head(1, END, "0"),
        number(WINDOW_UPDATE, 1, 1),
        frame(DATA, 0, 1, b"late"),
    ];
    let seen = read(ONE, &frames);
    assert_eq!((seen.defect.clone(), &seen.streams[..]), (None, &[u32::MAX, 7][..]));
    ended(&seen, &[(1, Ok((200, "")))]);
    assert!(said(&seen, ONE).contains(&(PING, END, 0, b"12345678".to_vec())));
    assert_eq!(said(&seen, ONE).len(), 3, "two acknowledgements, and that of the ping");
}

#[test]
fn a_cancelled_request_is_answered_to_nobody() {
    let mut said = Vec::new();
    let mut connection = asked(&[(false, 0), (false, 0)], &mut said);
    let step = |connection: &mut proto_h2::Connection<Kept>, bytes: &[u8]| connection.next(bytes).unwrap();
    step(&mut connection, &settings(&[]));
    assert!(matches!(step(&mut connection, &head(1, 0, "4")), Step::Part { number: 1, .. }));
    // In the middle of a frame.
    let data = frame(DATA, END, 1, b"abcd");
    assert!(matches!(step(&mut connection, &data[..11]), Step::Part { used: 11, number: 1 }));
    connection.cancel(1);
    said.clear();
    connection.speak(&mut said);
    assert!(said.ends_with(&number(RST_STREAM, 1, 8)));
    assert_eq!(step(&mut connection, &data[11..]), Step::Used(2));
    assert!(matches!(step(&mut connection, &head(3, END, "0")), Step::Ended { number: 2, .. }));
}

#[test]
fn long_heads_of_requests_go_in_pieces() {
    let mut connection = proto_h2::Connection::<()>::default();
    let mut out = Vec::new();
    connection.request((1, false), |out| out.extend_from_slice(&[0x82; 40_000]), None, (), &mut out);
    let heads: Vec<(usize, u8, u8)> = {
        let mut rest = &out[24..];
        let mut all = Vec::new();
        while let [a, b, c, kind, flags, ..] = rest {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            all.push((length, *kind, *flags));
            rest = &rest[9 + length..];
        }
        all
    };
    let ours = [(18, SETTINGS, 0), (4, WINDOW_UPDATE, 0)];
    let pieces = [(16_384, HEADERS, END), (16_384, CONTINUATION, 0), (7_233, CONTINUATION, HEAD_ENDS)];
    assert_eq!(heads, [&ours[..], &pieces].concat());
}

/// A frame that may mean something.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        Just(vec![0x88]),
        Just(vec![0, 0, 0, 1]),
        Just(vec![0; 8]),
        Just(vec![0, 3, 0, 0, 0, 2]),
    ];
    (0u8..11, prop_oneof![Just(0u8), Just(1), Just(4), Just(5), any::<u8>()], 0u32..6, payload)
        .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload))
}

proptest! {
    #[test]
    fn any_frames_in_any_pieces(
        requests in any::<(u8, u8)>(),
        frames in prop::collection::vec(any_frame(), 0..20),
        rest in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        h2_frames(&[&[requests.0, requests.1][..], &settings(&[]), &frames.concat(), &rest].concat());
    }

    #[test]
    fn any_bytes_in_any_pieces(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        h2_frames(&bytes);
    }
}
