//! Fuzzing harness: reads the bytes of an HTTP/2 server whole and in pieces; the results must be equal.
//!
//! Try it: `cargo test -p proto-h2 --test corpus`.

use std::sync::Arc;

use proto_h2::{Answer, Code, Connection, Defect, Failure, Response, Step};

/// The longest input that is looked at; the square of it is tried. Units: bytes.
const LENGTH_MAX: usize = 4096;

/// One answer.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Kept {
    pub(crate) fields: String,
    pub(crate) body: Vec<u8>,
}

impl Answer for Kept {
    fn field(&mut self, status: u16, name: &[u8], value: &[u8]) {
        assert!((200..1000).contains(&status) && self.body.is_empty(), "a head comes before its body");
        let (name, value) = (name.escape_ascii(), value.escape_ascii());
        self.fields += &format!("{name}={value}\n");
    }

    fn body(&mut self, slice: &[u8]) {
        assert!(!slice.is_empty(), "no piece of a body is empty");
        self.body.extend_from_slice(slice);
    }
}

/// The end of one request.
pub(crate) type Ended = (u32, Result<Response, Failure>, Kept);

/// All results of one connection.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    /// Each request that ended, in that order.
    pub(crate) ended: Vec<Ended>,
    /// The numbers of requests at once in the server's settings.
    pub(crate) streams: Vec<u32>,
    /// Its announcements to take no more requests: the last one that it takes, the reason, and its words.
    pub(crate) leaving: Vec<(u32, Code, String)>,
    /// The error that ended it early.
    pub(crate) defect: Option<Defect>,
    /// All that was sent.
    pub(crate) said: Vec<u8>,
}

/// A connection with these requests: whether the answer of each is without a body, and the length of its own.
pub(crate) fn asked(requests: &[(bool, usize)], said: &mut Vec<u8>) -> Connection<Kept> {
    let mut connection = Connection::default();
    for (number, (bodiless, length)) in (1..).zip(requests) {
        let body: Arc<[u8]> = vec![b'b'; *length].into();
        connection.request((number, *bodiless), |out| out.push(0x82), Some(&body), Kept::default(), said);
    }
    connection
}

/// Reads `bytes` in pieces of `step` as the server's part of a connection with these requests.
pub(crate) fn served(requests: &[(bool, usize)], bytes: &[u8], step: usize) -> Seen {
    let mut seen = Seen::default();
    let mut connection = asked(requests, &mut seen.said);
    let (mut start, mut end) = (0, 0);
    loop {
        let shown = &bytes[start..end];
        let used = match if shown.is_empty() { Ok(Step::More) } else { connection.next(shown) } {
            Ok(Step::More) if end == bytes.len() => return seen,
            Ok(Step::More) => {
                end = (end + step.max(1)).min(bytes.len());
                continue;
            }
            Ok(Step::Used(used) | Step::Part { used, .. }) => used,
            Ok(Step::Settings { used, streams }) => {
                seen.streams.push(streams);
                used
            }
            Ok(Step::Ended { used, number, outcome, answer }) => {
                if let Ok(response) = &outcome {
                    assert_eq!(response.body, answer.body.len() as u64);
                }
                assert!(seen.ended.iter().all(|(ended, ..)| *ended != number), "{number} ends once");
                seen.ended.push((number, outcome, answer));
                used
            }
            Ok(Step::Leaving { used, last, code, words }) => {
                seen.leaving.push((last, code, words));
                used
            }
            Err(defect) => {
                connection.speak(&mut seen.said);
                seen.defect = Some(defect);
                return seen;
            }
        };
        assert!(used > 0 && used <= shown.len(), "a step takes bytes, and no others");
        start += used;
        connection.speak(&mut seen.said);
    }
}

/// Reads frames whole and in pieces. The first byte says how many requests there are, the second which have bodies.
///
/// Panics where the two differ, or where something is promised that does not hold.
pub(crate) fn h2_frames(bytes: &[u8]) {
    let [count, kinds, bytes @ ..] = bytes else { return };
    let requests: Vec<(bool, usize)> = (0..count % 8)
        .map(|place| (kinds >> place & 1 == 1, if kinds >> (7 - place) & 1 == 1 { 70_000 } else { 0 }))
        .collect();
    let bytes = &bytes[..bytes.len().min(LENGTH_MAX)];
    let whole = served(&requests, bytes, bytes.len());
    for step in [1, 3, 64] {
        assert_eq!(served(&requests, bytes, step), whole, "in steps of {step}");
    }
}
