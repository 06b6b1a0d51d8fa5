//! The heads of frames:
//!
//! ```text
//! length 24 | type 8 | flags 8 | 0 | stream 31 | payload …
//! ```

/// Types of frames. Source: RFC 9113 §6.
pub(crate) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const PRIORITY: u8 = 2;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

pub(crate) const ACK: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;
pub(crate) const PRIORITIZED: u8 = 0x20;

/// Bytes before a payload.
pub(crate) const HEAD: usize = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHead {
    pub(crate) length: usize,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

impl FrameHead {
    /// Reads one; `None` while it is incomplete.
    #[inline]
    pub(crate) fn read(bytes: &[u8]) -> Option<FrameHead> {
        let head: &[u8; HEAD] = bytes.first_chunk()?;
        Some(FrameHead {
            length: usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]),
            kind: head[3],
            flags: head[4],
            stream: u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7fff_ffff,
        })
    }

    #[inline]
    pub(crate) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends the head of a frame.
#[inline]
pub(crate) fn head(length: usize, kind: u8, flags: u8, stream: u32, out: &mut Vec<u8>) {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    let [d, e, f, g] = stream.to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags, d, e, f, g]);
}

/// Appends a whole frame.
pub(crate) fn whole(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    head(payload.len(), kind, flags, stream, out);
    out.extend_from_slice(payload);
}

/// Appends a frame whose payload is one number.
pub(crate) fn number(kind: u8, stream: u32, number: u32, out: &mut Vec<u8>) {
    whole(kind, 0, stream, &number.to_be_bytes(), out);
}

/// The first four bytes as a number.
pub(crate) fn first_number(payload: &[u8]) -> u32 {
    payload.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
