/// The header before the bytes of each datagram.
///
/// Shape: four big-endian numbers of 16 bits, the last of them reserved: written as 0, not looked at when read.
/// Source: memcached's `protocol.txt`, *UDP protocol*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The client's number of the request, which the reply repeats.
    pub request: u16,
    /// Which datagram of the message this is, from 0 on.
    pub sequence: u16,
    /// How many datagrams the message has.
    pub count: u16,
}

impl Header {
    /// Its length. Units: bytes.
    pub const SIZE: usize = 8;

    /// The longest datagram that memcached sends, header included. Units: bytes.
    /// Source: memcached's `UDP_MAX_PAYLOAD_SIZE`.
    pub const DATAGRAM_MAX: usize = 1400;

    /// The header of a request, which is always one datagram.
    pub fn of_request(request: u16) -> Header {
        Header { request, sequence: 0, count: 1 }
    }

    /// Appends it.
    #[inline]
    pub fn append(self, out: &mut Vec<u8>) {
        let numbers = [self.request, self.sequence, self.count, 0];
        numbers.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
    }

    /// Reads it and returns the bytes after it; `None` if the datagram is too short.
    #[inline]
    pub fn read(datagram: &[u8]) -> Option<(Header, &[u8])> {
        let (header, payload) = datagram.split_first_chunk::<{ Header::SIZE }>()?;
        let number = |i: usize| u16::from_be_bytes([header[2 * i], header[2 * i + 1]]);
        Some((Header { request: number(0), sequence: number(1), count: number(2) }, payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_big_endian() {
        let mut out = b"x".to_vec();
        let header = Header { request: 0x0102, sequence: 3, count: 0x0405 };
        header.append(&mut out);
        assert_eq!(out, [b'x', 1, 2, 0, 3, 4, 5, 0, 0]);
        assert_eq!(Header::read(&out[1..]), Some((header, &b""[..])));
        out.extend_from_slice(b"END");
        assert_eq!(Header::read(&out[1..]), Some((header, &b"END"[..])));
        assert_eq!(Header::of_request(9), Header { request: 9, sequence: 0, count: 1 });
    }

    #[test]
    fn a_short_datagram_has_none() {
        for length in 0..Header::SIZE {
            assert_eq!(Header::read(&vec![0; length]), None);
        }
    }
}
