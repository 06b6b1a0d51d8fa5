//! The client's half, by which tests speak to servers: requests, and a reader of responses. The load generator speaks the
//! text protocol.

use std::fmt;

use super::{HEADER, Header, REQUEST, RESPONSE, Status};

/// A request in the making.
#[derive(Clone, Copy)]
pub struct Packet<'p> {
    opcode: u8,
    opaque: u32,
    cas: u64,
    extras: [u8; 20],
    extras_len: u8,
    key: &'p [u8],
    value: &'p [u8],
}

impl fmt::Debug for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Packet { opcode, key, value, cas, .. } = self;
        let key = key.escape_ascii();
        write!(f, "{opcode:#04x} '{key}' with {} B and unique number {cas}", value.len())
    }
}

impl<'p> Packet<'p> {
    /// A request of this [opcode](super::opcode) with nothing in it.
    pub fn new(opcode: u8) -> Packet<'p> {
        Packet { opcode, opaque: 0, cas: 0, extras: [0; 20], extras_len: 0, key: b"", value: b"" }
    }

    /// With a key.
    pub fn key(self, key: &'p [u8]) -> Packet<'p> {
        Packet { key, ..self }
    }

    /// With a value.
    pub fn value(self, value: &'p [u8]) -> Packet<'p> {
        Packet { value, ..self }
    }

    /// With the client's own number, which the response repeats.
    pub fn opaque(self, opaque: u32) -> Packet<'p> {
        Packet { opaque, ..self }
    }

    /// With the unique number that the item must have.
    pub fn cas(self, cas: u64) -> Packet<'p> {
        Packet { cas, ..self }
    }

    /// With the extras of `set`, `add` and `replace`.
    pub fn store(self, flags: u32, exptime: u32) -> Packet<'p> {
        self.extras(&[flags.to_be_bytes(), exptime.to_be_bytes()].concat())
    }

    /// With the extras of `touch`, `gat`, `flush` and `verbosity`.
    pub fn touch(self, exptime: u32) -> Packet<'p> {
        self.extras(&exptime.to_be_bytes())
    }

    /// With the extras of `increment` and `decrement`.
    pub fn count(self, delta: u64, initial: u64, exptime: u32) -> Packet<'p> {
        let numbers = [delta.to_be_bytes(), initial.to_be_bytes()].concat();
        self.extras(&[&numbers[..], &exptime.to_be_bytes()].concat())
    }

    fn extras(mut self, extras: &[u8]) -> Packet<'p> {
        self.extras[..extras.len()].copy_from_slice(extras);
        self.extras_len = extras.len() as u8;
        self
    }

    /// Appends the request. Bounds: a key of 65 535 bytes, and a body of 4 GiB.
    pub fn append(&self, out: &mut Vec<u8>) {
        let extras = &self.extras[..usize::from(self.extras_len)];
        let header = Header {
            magic: REQUEST,
            opcode: self.opcode,
            key: self.key.len() as u16,
            extras: self.extras_len,
            status: 0,
            body: (extras.len() + self.key.len() + self.value.len()) as u32,
            opaque: self.opaque,
            cas: self.cas,
        };
        header.append(out);
        for part in [extras, self.key, self.value] {
            out.extend_from_slice(part);
        }
    }
}

/// One response. Slices point into the bytes that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'b> {
    /// Its header.
    pub header: Header,
    /// The item's flags, if any.
    pub extras: &'b [u8],
    /// The key.
    pub key: &'b [u8],
    /// The value, or the text of an error.
    pub value: &'b [u8],
}

impl Response<'_> {
    /// How the request ended, if there is such a status.
    pub fn status(&self) -> Option<Status> {
        Status::of(self.header.status)
    }
}

/// The result of [`read`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read<'b> {
    /// The response is incomplete.
    NeedMore {
        /// It cannot be complete with fewer than this many further bytes.
        at_least: usize,
    },
    /// A response is complete.
    Done {
        /// Its length.
        consumed: usize,
        /// The response.
        response: Response<'b>,
    },
    /// The bytes are not a response, or one over the limit.
    Malformed,
}

/// Looks for one complete response, with at most `body_max` bytes after its header, at the start of `bytes`.
pub fn read(bytes: &[u8], body_max: usize) -> Read<'_> {
    if bytes.first().is_some_and(|magic| *magic != RESPONSE) {
        return Read::Malformed;
    }
    let Some(header) = bytes.first_chunk() else { return Read::NeedMore { at_least: HEADER - bytes.len() } };
    let header = Header::read(header);
    let (extras, key) = (usize::from(header.extras), usize::from(header.key));
    let body = header.body as usize;
    if extras + key > body || body > body_max {
        return Read::Malformed;
    }
    let consumed = HEADER + body;
    let Some(body) = bytes.get(HEADER..consumed) else {
        return Read::NeedMore { at_least: consumed - bytes.len() };
    };
    let (extras, rest) = body.split_at(extras);
    let (key, value) = rest.split_at(key);
    Read::Done { consumed, response: Response { header, extras, key, value } }
}

#[cfg(test)]
mod tests {
    use super::super::{Echo, opcode, reply};
    use super::*;

    #[test]
    fn a_response_is_read_however_it_is_cut() {
        let mut bytes = Vec::new();
        let echo = Echo { opcode: opcode::GETK, opaque: 3 };
        reply::value(&mut bytes, echo, 9, Some(b"key"), 4, b"value");
        for end in 0..bytes.len() {
            let Read::NeedMore { at_least } = read(&bytes[..end], 100) else { panic!("{end}") };
            assert!(at_least > 0 && end + at_least <= bytes.len());
        }
        let Read::Done { consumed, response } = read(&bytes, 100) else { panic!() };
        assert_eq!(consumed, bytes.len());
        assert_eq!((response.extras, response.key), (&[0, 0, 0, 9][..], &b"key"[..]));
        assert_eq!((response.value, response.header.cas), (&b"value"[..], 4));
        assert_eq!(read(&bytes, 11), Read::Malformed);
        assert_eq!(read(b"\x80", 100), Read::Malformed);
        bytes[4] = 100;
        assert_eq!(read(&bytes, 100), Read::Malformed);
    }
}
