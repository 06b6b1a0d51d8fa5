//! What the fuzzers run of what any client may send before the parser of requests sees it: datagrams, the first request
//! where a password is asked for, connections of the binary protocol, and other protocols; and of the file that a restart reads.
//!
//! Try it: `cargo test -p sphinx --test corpus`.

mod binary;
mod foreign;

use std::collections::VecDeque;

use crate::auth::{Attempt, attempt};
use crate::frames::Frames;

pub use binary::binary_connections;
pub use foreign::foreign_protocols;

/// Reads what a stop may have left beside a memory file, once more with a right checksum behind it.
pub fn saved_memory(bytes: &[u8]) {
    crate::memory_file::read_any(bytes);
}

/// Says that the datagram that is being served is done with, in place of a datagram's length.
const DONE: u8 = 255;
/// Datagrams that may wait.
const WAITING_MAX: usize = 64;

/// Takes a peer's datagrams and has them served, and compares with a plain queue. Each stands behind one byte with its
/// length, and a 255 ends the service of the present one.
pub fn udp_requests(bytes: &[u8]) {
    let mut rest = bytes;
    let mut frames = Frames::default();
    // What is being served comes first.
    let mut line: VecDeque<(u16, &[u8])> = VecDeque::new();
    while let Some((&length, after)) = rest.split_first() {
        rest = after;
        if length == DONE {
            line.pop_front();
            assert_eq!(frames.next().as_deref(), line.front().map(|(_, text)| *text));
        } else {
            let (datagram, after) = rest.split_at(rest.len().min(usize::from(length)));
            rest = after;
            let expect = match datagram {
                [high, low, _, _, 0, 1, _, _, text @ ..] if line.len() <= WAITING_MAX => {
                    line.push_back((u16::from_be_bytes([*high, *low]), text));
                    Ok((line.len() == 1).then_some(text))
                }
                [_, _, _, _, 0, 1, _, _, ..] => Err(()),
                _ => Ok(None),
            };
            assert_eq!(frames.take(datagram), expect);
        }
        assert_eq!(frames.answers(), line.front().map(|(request, _)| *request));
    }
}

/// Up to here a line that does not end is waited for, however it is cut. Units: bytes.
const LINE_MAX: usize = 2048;
/// A client that has not logged in may not have the server keep more than this, however slowly it comes. Units: bytes.
const KEPT_MAX: usize = 8 << 10;

/// Reads what comes before the client is known in three ways, whole and in steps, which must give the same.
///
/// Panics where they differ, or where something is promised that does not hold.
pub fn first_requests(bytes: &[u8]) {
    let short = &bytes[..bytes.len().min(LINE_MAX)];
    let whole = attempts(short, LINE_MAX);
    for step in [1, 3] {
        assert_eq!(attempts(short, step), whole, "in steps of {step}");
    }
    attempts(&bytes[..bytes.len().min(4 * KEPT_MAX)], 16);
}

/// Every attempt, as text, when the bytes come in steps of that many, and how many bytes are left over.
fn attempts(bytes: &[u8], step: usize) -> (Vec<String>, usize) {
    let (mut seen, mut start, mut end) = (Vec::new(), 0, 0);
    loop {
        let shown = &bytes[start..end];
        let found = attempt(shown);
        let used = match found {
            Attempt::NeedMore => {
                assert!(shown.len() < KEPT_MAX, "{} bytes of an unknown client are kept", shown.len());
                if end == bytes.len() {
                    return (seen, bytes.len() - start);
                }
                end = (end + step).min(bytes.len());
                continue;
            }
            Attempt::Close => {
                seen.push("closed".into());
                return (seen, 0);
            }
            Attempt::Refused(used, reply) => {
                assert!(reply.starts_with(b"CLIENT_ERROR ") && reply.ends_with(b"\r\n"));
                used
            }
            Attempt::Words(used, user, password) => {
                let is_word = |text: &[u8]| !text.is_empty() && !text.contains(&b' ');
                assert!(is_word(user) && is_word(password));
                assert!(shown[..used].ends_with(b"\r\n"));
                used
            }
        };
        assert!((1..=shown.len()).contains(&used));
        seen.push(format!("{found:?}"));
        start += used;
    }
}
