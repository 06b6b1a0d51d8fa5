//! Cassandra's binary protocol, version 4, which Cassandra 2.2 to 5 speak: requests and answers.
//!
//! Source: `doc/native_protocol_v4.spec` of Apache Cassandra; section numbers are of that document.

/// The version in requests, and in answers. Source: §2.1.
const REQUEST: u8 = 0x04;
const ANSWER: u8 = 0x80;
/// Kinds of frames. Source: §2.4.
const ERROR: u8 = 0x00;
const STARTUP: u8 = 0x01;
const READY: u8 = 0x02;
const AUTHENTICATE: u8 = 0x03;
const QUERY: u8 = 0x07;
const RESULT: u8 = 0x08;
const PREPARE: u8 = 0x09;
const EXECUTE: u8 = 0x0A;
/// Kinds of results. Source: §4.2.5.
const ROWS: i32 = 2;
const PREPARED: i32 = 4;
/// Flags for optional fields before a response's body: trace, warnings, further values. Source: §2.2.
const WITH_TRACE: u8 = 0x02;
const WITH_PAYLOAD: u8 = 0x04;
const WITH_WARNINGS: u8 = 0x08;
/// A majority of the replicas of the nearest data center, for writes and reads, so that reads see the writes. Source:
/// §3.
const LOCAL_QUORUM: u16 = 0x0006;
/// Flags of a statement: it has values; its answer needs no description of columns. Source: §4.1.4.
const VALUES: u8 = 0x01;
const SKIP_METADATA: u8 = 0x02;
/// Flags of rows: without a description of columns; more pages follow. Source: §4.2.5.2.
const NO_METADATA: i32 = 0x04;
const MORE_PAGES: i32 = 0x02;
/// The length of a frame's header.
pub(super) const HEAD: usize = 9;
/// The longest frame that is read: a count takes some 50 bytes. Source: ours.
const LONGEST: u32 = 1 << 20;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    kind: u8,
    body: Vec<u8>,
}

impl Ask {
    /// The first request of a connection.
    pub(super) fn startup() -> Ask {
        let mut body = 1u16.to_be_bytes().to_vec();
        for word in ["CQL_VERSION", "3.0.0"] {
            body.extend((word.len() as u16).to_be_bytes());
            body.extend(word.as_bytes());
        }
        Ask { kind: STARTUP, body }
    }

    /// A statement without values.
    pub(super) fn query(statement: &str) -> Ask {
        let mut body = long_string(statement);
        body.extend(LOCAL_QUORUM.to_be_bytes());
        body.push(0);
        Ask { kind: QUERY, body }
    }

    pub(super) fn prepare(statement: &str) -> Ask {
        Ask { kind: PREPARE, body: long_string(statement) }
    }

    /// A prepared statement with its values.
    pub(super) fn execute(id: &[u8], values: &[Vec<u8>]) -> Ask {
        let mut body = (id.len() as u16).to_be_bytes().to_vec();
        body.extend(id);
        body.extend(LOCAL_QUORUM.to_be_bytes());
        body.push(VALUES | SKIP_METADATA);
        body.extend((values.len() as u16).to_be_bytes());
        for value in values {
            body.extend((value.len() as i32).to_be_bytes());
            body.extend(value);
        }
        Ask { kind: EXECUTE, body }
    }

    /// The frame, whose answer has the same `stream`.
    pub(super) fn frame(&self, stream: u16) -> Vec<u8> {
        let mut frame = vec![REQUEST, 0];
        frame.extend(stream.to_be_bytes());
        frame.push(self.kind);
        frame.extend((self.body.len() as u32).to_be_bytes());
        frame.extend(&self.body);
        frame
    }
}

fn long_string(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as i32).to_be_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

/// Values of columns. Source: §6.
pub(super) fn blob(value: &[u8]) -> Vec<u8> {
    value.to_vec()
}

pub(super) fn text(value: &str) -> Vec<u8> {
    value.as_bytes().to_vec()
}

pub(super) fn int(value: i32) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

pub(super) fn bigint(value: u64) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

pub(super) fn boolean(value: bool) -> Vec<u8> {
    vec![u8::from(value)]
}

pub(super) fn map<'a>(values: impl Iterator<Item = (&'a str, u64)>) -> Vec<u8> {
    let (mut count, mut pairs) = (0i32, Vec::new());
    for (name, value) in values {
        count += 1;
        for part in [text(name), bigint(value)] {
            pairs.extend((part.len() as i32).to_be_bytes());
            pairs.extend(part);
        }
    }
    [&count.to_be_bytes()[..], &pairs].concat()
}

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    flags: u8,
    pub(super) stream: u16,
    kind: u8,
    pub(super) length: u32,
}

impl Head {
    /// Errors: it is not the head of an answer, or of one that is too long.
    pub(super) fn read(bytes: [u8; HEAD]) -> Result<Head, String> {
        let [version, flags, one, two, kind, length @ ..] = bytes;
        if version & ANSWER == 0 {
            return Err("it does not answer in Cassandra's protocol; name the port for CQL".into());
        }
        let length = u32::from_be_bytes(length);
        if length > LONGEST {
            return Err(format!("it answers {length} bytes at once, and at most {LONGEST} are read"));
        }
        Ok(Head { flags, stream: u16::from_be_bytes([one, two]), kind, length })
    }
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The connection may be used.
    Ready,
    /// A login with this class is required.
    Authenticate(String),
    /// The identity of a prepared statement.
    Prepared(Vec<u8>),
    /// Rows: the columns of each.
    Rows(Vec<Vec<Option<Vec<u8>>>>),
    /// It was done.
    Done,
    /// It was not.
    Error {
        /// The error's number.
        code: i32,
        /// In words.
        message: String,
    },
}

impl Answer {
    /// Parses the answer in `head` and `body`; `None` if malformed.
    pub(super) fn read(head: Head, body: &[u8]) -> Option<Answer> {
        let mut rest = Rest(body);
        if head.flags & WITH_TRACE != 0 {
            rest.take(16)?;
        }
        if head.flags & WITH_WARNINGS != 0 {
            for _ in 0..rest.short()? {
                rest.string()?;
            }
        }
        if head.flags & WITH_PAYLOAD != 0 {
            for _ in 0..rest.short()? {
                rest.string()?;
                rest.bytes()?;
            }
        }
        Some(match head.kind {
            ERROR => Answer::Error { code: rest.int()?, message: rest.string()? },
            READY => Answer::Ready,
            AUTHENTICATE => Answer::Authenticate(rest.string()?),
            RESULT => match rest.int()? {
                ROWS => Answer::Rows(rest.rows()?),
                PREPARED => {
                    let length = rest.short()?;
                    Answer::Prepared(rest.take(length.into())?.to_vec())
                }
                _ => Answer::Done,
            },
            _ => return None,
        })
    }

    /// The number in the first column of its only row.
    pub(super) fn number(&self) -> Option<i64> {
        let Answer::Rows(rows) = self else { return None };
        let [row] = &rows[..] else { return None };
        let value = row.first()?.as_deref()?;
        Some(i64::from_be_bytes(value.try_into().ok()?))
    }
}

/// The unread rest of a body.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn int(&mut self) -> Option<i32> {
        Some(i32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn string(&mut self) -> Option<String> {
        let length = self.short()?;
        Some(String::from_utf8_lossy(self.take(length.into())?).into_owned())
    }

    /// Bytes; `Some(None)` for null.
    fn bytes(&mut self) -> Option<Option<&'a [u8]>> {
        match usize::try_from(self.int()?) {
            Ok(length) => self.take(length).map(Some),
            Err(_) => Some(None),
        }
    }

    /// Rows that come without a description of their columns.
    fn rows(&mut self) -> Option<Vec<Vec<Option<Vec<u8>>>>> {
        let (flags, columns) = (self.int()?, self.int()?);
        if flags & MORE_PAGES != 0 {
            self.bytes()?;
        }
        if flags & NO_METADATA == 0 {
            return None;
        }
        let count = self.int()?;
        let mut rows = Vec::new();
        for _ in 0..count {
            let mut row = Vec::new();
            for _ in 0..columns {
                row.push(self.bytes()?.map(<[u8]>::to_vec));
            }
            // A row without columns takes no bytes, so that the length would not bound their number.
            if row.is_empty() {
                return None;
            }
            rows.push(row);
        }
        Some(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(flags: u8, kind: u8, body: &[u8]) -> Option<Answer> {
        Answer::read(Head { flags, stream: 0, kind, length: body.len() as u32 }, body)
    }

    #[test]
    fn frames_are_those_of_the_specification() {
        assert_eq!(Ask::startup().frame(1), b"\x04\0\0\x01\x01\0\0\0\x16\0\x01\0\x0bCQL_VERSION\0\x053.0.0");
        assert_eq!(Ask::query("USE k").frame(258), b"\x04\0\x01\x02\x07\0\0\0\x0c\0\0\0\x05USE k\0\x06\0");
        assert_eq!(Ask::prepare("x").frame(0), b"\x04\0\0\0\x09\0\0\0\x05\0\0\0\x01x");
        let values = [bigint(5), boolean(true), text("")];
        assert_eq!(
            Ask::execute(b"id", &values).frame(0)[HEAD..],
            *b"\0\x02id\0\x06\x03\0\x03\0\0\0\x08\0\0\0\0\0\0\0\x05\0\0\0\x01\x01\0\0\0\0"
        );
        assert_eq!(map([("a", 7)].into_iter()), b"\0\0\0\x01\0\0\0\x01a\0\0\0\x08\0\0\0\0\0\0\0\x07");
        assert_eq!((int(-1), blob(b"ab")), (vec![255; 4], b"ab".to_vec()));
    }

    #[test]
    fn answers_are_read() {
        assert_eq!(answer(0, READY, b""), Some(Answer::Ready));
        assert_eq!(answer(0, AUTHENTICATE, b"\0\x01P"), Some(Answer::Authenticate("P".into())));
        assert_eq!(answer(0, RESULT, b"\0\0\0\x01"), Some(Answer::Done));
        assert_eq!(answer(0, RESULT, b"\0\0\0\x04\0\x02idrest"), Some(Answer::Prepared(b"id".to_vec())));
        let error = Answer::Error { code: 0x2000, message: "no".into() };
        assert_eq!(answer(0, ERROR, b"\0\0\x20\0\0\x02no"), Some(error.clone()));
        assert_eq!(answer(WITH_WARNINGS, ERROR, b"\0\x01\0\x01w\0\0\x20\0\0\x02no"), Some(error.clone()));
        assert_eq!(answer(WITH_PAYLOAD, ERROR, b"\0\x01\0\x01k\0\0\0\x01v\0\0\x20\0\0\x02no"), Some(error));
        let rows = b"\0\0\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x25";
        assert_eq!(answer(0, RESULT, rows).unwrap().number(), Some(37));
        let null = b"\0\0\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x01\xff\xff\xff\xff";
        assert_eq!(answer(0, RESULT, null), Some(Answer::Rows(vec![vec![None]])));
        assert_eq!(answer(0, RESULT, null).unwrap().number(), None);
        assert_eq!(Answer::Done.number(), None);
    }

    #[test]
    fn what_makes_no_sense_is_none() {
        for (kind, body) in [(0x0c, &b""[..]), (RESULT, &b""[..]), (ERROR, &b"\0\0\x20\0\0\x09no"[..])] {
            assert_eq!(answer(0, kind, body), None, "{kind}");
        }
        // Two thousand million rows of no columns.
        assert_eq!(answer(0, RESULT, b"\0\0\0\x02\0\0\0\x04\0\0\0\0\x7f\xff\xff\xff"), None);
        assert!(Head::read([0x84, 0, 0, 1, 8, 0, 0, 0, 4]).is_ok());
        assert!(Head::read(*b"HTTP/1.1 ").unwrap_err().contains("name the port for CQL"));
        assert!(Head::read([0x84, 0, 0, 1, 8, 255, 0, 0, 4]).unwrap_err().contains("at most 1048576"));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            flags in proptest::prelude::any::<u8>(),
            kind in 0u8..16,
            body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
        ) {
            let _ = answer(flags, kind, &body);
            let _ = answer(0, RESULT, &[&ROWS.to_be_bytes()[..], &body].concat());
        }
    }
}
