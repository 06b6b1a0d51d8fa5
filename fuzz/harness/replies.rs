//! Fuzzing harness: parses replies of RESP whole and in pieces; the results must be equal.
//!
//! Try it: `cargo test -p proto-resp --test client_corpus`.

use proto_resp::client::cluster::{Redirect, ranges, slot};
use proto_resp::client::{Limits, Parse, Reply, ReplyParser};

/// The longest input that is looked at; the square of it is tried. Units: bytes.
const LENGTH_MAX: usize = 4096;

/// Parses replies in two ways: each prefix shown as it grows, and all at once.
///
/// Panics where the two differ, or where something is promised that does not hold.
pub(crate) fn resp_replies(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(LENGTH_MAX)];
    let whole = replies(bytes, bytes.len().max(1));
    for step in [1, 3] {
        assert_eq!(replies(bytes, step), whole, "in steps of {step}");
    }
}

/// Every reply, as text, when the bytes come in steps of that many; how many bytes are left over, and the pushes.
fn replies(bytes: &[u8], step: usize) -> (Vec<String>, usize, u64) {
    let mut parser = ReplyParser::with_limits(Limits { value: 1024, elements: 64 });
    let (mut seen, mut start, mut end) = (Vec::new(), 0, 0);
    loop {
        match parser.parse(&bytes[start..end]) {
            Parse::NeedMore { at_least } => {
                assert!(at_least > 0);
                if end == bytes.len() {
                    return (seen, bytes.len() - start, parser.pushes());
                }
                end = (end + step).min(bytes.len());
            }
            Parse::Done { consumed, reply } => {
                assert!(consumed >= 3);
                seen.push(format!("{reply:?}"));
                look(reply);
                start += consumed;
            }
            Parse::Malformed { at, reason } => {
                assert!(start + at <= end);
                seen.push(format!("{at}: {reason}"));
                return (seen, bytes.len() - start, parser.pushes());
            }
        }
    }
}

/// Reads everything that a reply can be read as.
fn look(reply: Reply<'_>) {
    if let Reply::Array(elements) | Reply::Map(elements) | Reply::Set(elements) = reply {
        assert_eq!(elements.iter().inspect(|each| look(*each)).count(), elements.len());
    }
    if let Reply::Error(text) | Reply::Bulk(text) = reply {
        slot(text);
        Redirect::of(text);
    }
    ranges(reply);
}
