//! Fuzzing harness: runs the parser of commands on the same bytes whole and in pieces; the results must be equal.
//!
//! Try it: `cargo test -p proto-resp --test it`.

use proto_resp::server::{Limits, Malformed, RequestParse, RequestParser};

/// The longest input that is looked at; the square of it is tried. Units: bytes.
const LENGTH_MAX: usize = 4096;
/// Small, so that commands beyond them are found.
const LIMITS: Limits = Limits { argument: 300, command: 1000 };

/// Everything that a connection's bytes were read as.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    /// The arguments of each command; `None` for a command that was too long.
    pub(crate) commands: Vec<Option<Vec<Vec<u8>>>>,
    /// The error that ended it.
    pub(crate) malformed: Option<Malformed>,
}

/// Reads commands byte by byte, in threes and all at once, of a client that may use the server and of one that may not.
///
/// Panics where the results differ, or where something is promised that does not hold.
pub(crate) fn resp_requests(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(LENGTH_MAX)];
    for known in [true, false] {
        let whole = requests(bytes, bytes.len(), known);
        for step in [1, 3] {
            assert_eq!(requests(bytes, step, known), whole, "in steps of {step}");
        }
    }
}

/// All commands when the bytes come in steps of that many.
pub(crate) fn requests(bytes: &[u8], step: usize, known: bool) -> Seen {
    let (mut parser, mut seen) = (RequestParser::new(LIMITS), Seen::default());
    let (mut start, mut end) = (0, 0);
    loop {
        match parser.parse(&bytes[start..end], known) {
            RequestParse::NeedMore { at_least } => {
                assert_eq!(parser.needed(), end - start + at_least);
                // A command whose arguments are not kept is dropped as it arrives.
                assert!(at_least > 0 && end - start <= LIMITS.command.max(64 << 10));
                if end == bytes.len() {
                    return seen;
                }
                end = (end + step.max(1)).min(bytes.len());
            }
            RequestParse::Skipped { consumed } => {
                assert!(consumed > 0);
                start += consumed;
            }
            RequestParse::Done { consumed } => {
                let command = &bytes[start..end];
                // It stays until it is done with.
                assert_eq!(parser.parse(command, known), RequestParse::Done { consumed });
                let args = parser.args(command);
                assert!(!args.is_empty() && args.get(args.len()).is_none());
                seen.commands.push(Some(args.iter().map(<[u8]>::to_vec).collect()));
                parser.next();
                start += consumed;
            }
            RequestParse::TooLong { consumed } => {
                seen.commands.push(None);
                start += consumed;
            }
            RequestParse::Malformed(malformed) => {
                assert!(!malformed.to_string().is_empty());
                seen.malformed = Some(malformed);
                return seen;
            }
        }
    }
}
