//! Fuzzing harness: runs the parsers on the same bytes whole and in pieces; the results must be equal.
//!
//! Try it: `cargo test -p proto-http --test corpus`.

use proto_http::{Asked, Defect, Head, Response, ResponseParse, ResponseParser, Sink, server};

/// The longest input that is looked at; the square of it is tried. Units: bytes.
const LENGTH_MAX: usize = 4096;

/// All results of one connection.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    /// Each answer, with its head and its body.
    pub(crate) answers: Vec<(Response, Vec<u8>, Vec<u8>)>,
    /// The error that ended it early.
    pub(crate) defect: Option<Defect>,
    /// The result of the final close.
    pub(crate) closed: Option<Result<(Response, Vec<u8>), Defect>>,
}

#[derive(Default)]
struct Kept {
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Sink for Kept {
    fn head(&mut self, head: &Head<'_>) {
        assert!(self.head.is_empty() && self.body.is_empty(), "one head for one answer, before its body");
        self.head = format!("{} {}\n", head.status, head.reason).into_bytes();
        for (name, value) in head.headers() {
            assert!(head.header(name).is_some());
            self.head.extend_from_slice(name.as_bytes());
            self.head.extend_from_slice(b"=");
            self.head.extend_from_slice(value);
            self.head.push(b'\n');
        }
    }

    fn body(&mut self, slice: &[u8]) {
        assert!(!slice.is_empty(), "no piece of a body is empty");
        self.body.extend_from_slice(slice);
    }
}

/// Reads all answers when the bytes come in pieces of `step`, and closes after them.
pub(crate) fn responses(asked: Asked, bytes: &[u8], step: usize) -> Seen {
    let (mut parser, mut seen, mut kept) = (ResponseParser::default(), Seen::default(), Kept::default());
    let (mut start, mut end) = (0, 0);
    loop {
        match parser.parse(asked, &bytes[start..end], &mut kept) {
            ResponseParse::NeedMore { consumed } => {
                start += consumed;
                if end == bytes.len() {
                    let body = std::mem::take(&mut kept.body);
                    seen.closed = parser.closed().map(|ended| ended.map(|response| (response, body)));
                    return seen;
                }
                end = (end + step.max(1)).min(bytes.len());
            }
            ResponseParse::Done { consumed, response } => {
                assert!(consumed > 0 || start > 0, "an answer takes bytes");
                start += consumed;
                let Kept { head, body } = std::mem::take(&mut kept);
                assert_eq!(response.body, body.len() as u64);
                seen.answers.push((response, head, body));
            }
            ResponseParse::Malformed(defect) => {
                seen.defect = Some(defect);
                return seen;
            }
        }
    }
}

/// Reads answers whole and in pieces. The first byte says whether they are to `HEAD`.
///
/// Panics where the two differ, or where something is promised that does not hold.
pub(crate) fn http_responses(bytes: &[u8]) {
    let [kind, bytes @ ..] = bytes else { return };
    let asked = if kind % 2 == 1 { Asked::Head } else { Asked::Any };
    let bytes = &bytes[..bytes.len().min(LENGTH_MAX)];
    let whole = responses(asked, bytes, bytes.len());
    for step in [1, 3, 64] {
        assert_eq!(responses(asked, bytes, step), whole, "in steps of {step}");
    }
}

/// Reads requests; a prefix of a whole one is never another.
pub(crate) fn http_requests(bytes: &[u8]) {
    let mut rest = &bytes[..bytes.len().min(LENGTH_MAX)];
    while let server::RequestParse::Done { consumed, request } = server::request(rest) {
        assert!(consumed > 0 && consumed <= rest.len());
        assert!(!request.method.is_empty() && !request.target.is_empty());
        for cut in 0..consumed {
            assert_eq!(server::request(&rest[..cut]), server::RequestParse::NeedMore, "cut at {cut}");
        }
        rest = &rest[consumed..];
    }
}
