/// The first byte of a request.
pub const REQUEST: u8 = 0x80;
/// The first byte of a response.
pub const RESPONSE: u8 = 0x81;
/// The length of a header. Units: bytes.
pub const HEADER: usize = 24;

/// The header of a request or a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// [`REQUEST`] or [`RESPONSE`].
    pub magic: u8,
    /// The command.
    pub opcode: u8,
    /// The length of the key. Units: bytes.
    pub key: u16,
    /// The length of the extras. Units: bytes.
    pub extras: u8,
    /// How a request ended; of no meaning in a request.
    pub status: u16,
    /// The length of extras, key and value. Units: bytes.
    pub body: u32,
    /// The client's own number.
    pub opaque: u32,
    /// The item's unique number, or 0.
    pub cas: u64,
}

/// The fields that a response echoes from its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echo {
    /// The command.
    pub opcode: u8,
    /// The client's own number.
    pub opaque: u32,
}

impl Header {
    /// Reads the 24 bytes of a header, with any content.
    #[inline]
    pub fn read(bytes: &[u8; HEADER]) -> Header {
        let [magic, opcode, k0, k1, extras, _, s0, s1, rest @ ..] = *bytes;
        let [b0, b1, b2, b3, o0, o1, o2, o3, c0, c1, c2, c3, c4, c5, c6, c7] = rest;
        Header {
            magic,
            opcode,
            key: u16::from_be_bytes([k0, k1]),
            extras,
            status: u16::from_be_bytes([s0, s1]),
            body: u32::from_be_bytes([b0, b1, b2, b3]),
            opaque: u32::from_be_bytes([o0, o1, o2, o3]),
            cas: u64::from_be_bytes([c0, c1, c2, c3, c4, c5, c6, c7]),
        }
    }

    /// Appends the 24 bytes.
    #[inline]
    pub fn append(&self, out: &mut Vec<u8>) {
        let mut bytes = [0; HEADER];
        bytes[0] = self.magic;
        bytes[1] = self.opcode;
        bytes[2..4].copy_from_slice(&self.key.to_be_bytes());
        bytes[4] = self.extras;
        bytes[6..8].copy_from_slice(&self.status.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.body.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.opaque.to_be_bytes());
        bytes[16..].copy_from_slice(&self.cas.to_be_bytes());
        out.extend_from_slice(&bytes);
    }

    /// The fields that the response echoes.
    pub fn echo(&self) -> Echo {
        Echo { opcode: self.opcode, opaque: self.opaque }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header = Header {
            magic: RESPONSE,
            opcode: 0x24,
            key: 0x0102,
            extras: 20,
            status: 0x81,
            body: 0x0304_0506,
            opaque: 0xdead_beef,
            cas: 0x0708_090a_0b0c_0d0e,
        };
        let mut out = Vec::new();
        header.append(&mut out);
        let expect: &[u8] =
            b"\x81\x24\x01\x02\x14\0\0\x81\x03\x04\x05\x06\xde\xad\xbe\xef\x07\x08\x09\x0a\x0b\x0c\x0d\x0e";
        assert_eq!(out, expect);
        assert_eq!(Header::read(out[..].try_into().unwrap()), header);
        assert_eq!(header.echo(), Echo { opcode: 0x24, opaque: 0xdead_beef });
    }
}
