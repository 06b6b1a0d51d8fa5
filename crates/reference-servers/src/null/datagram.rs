//! Memcached's framing of datagrams: 8 bytes, then text.
//!
//! Source: memcached's `doc/protocol.txt`, "UDP protocol": request id, sequence number, number of datagrams of the
//! message, reserved; 16 bits each, in network order. A request is one datagram; an answer's datagrams bear its id.

/// Bytes of the frame's header.
pub(crate) const HEADER: usize = 8;

/// Bytes of an answer's datagram, header included. Source: memcached's `UDP_MAX_PAYLOAD_SIZE`.
const LONGEST: usize = 1400;

/// The id and the text of a request, or `None` unless it is one complete datagram.
pub(crate) fn request(datagram: &[u8]) -> Option<(u16, &[u8])> {
    let (header, text) = datagram.split_first_chunk::<HEADER>()?;
    let [id, sequence, count, _] = [0, 2, 4, 6].map(|i| u16::from_be_bytes([header[i], header[i + 1]]));
    (sequence == 0 && count == 1).then_some((id, text))
}

/// The datagrams that carry an answer: each one's header and text.
///
/// Bounds: an answer of more than 65 535 datagrams (91 MB) cannot be counted in the header and yields none.
pub(crate) fn answer(id: u16, text: &[u8]) -> impl Iterator<Item = ([u8; HEADER], &[u8])> {
    let chunks = text.chunks(LONGEST - HEADER);
    let count = u16::try_from(chunks.len()).unwrap_or(0);
    chunks.take(usize::from(count)).zip(0u16..).map(move |(chunk, sequence)| {
        let mut header = [0; HEADER];
        for (place, field) in header.chunks_exact_mut(2).zip([id, sequence, count, 0]) {
            place.copy_from_slice(&field.to_be_bytes());
        }
        (header, chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_requests_of_one_datagram() {
        let check = |datagram: &[u8], expect: Option<(u16, &[u8])>| assert_eq!(request(datagram), expect);
        check(b"\x12\x34\0\0\0\x01\0\0get a\r\n", Some((0x1234, b"get a\r\n")));
        check(b"\x12\x34\0\0\0\x01\0\0", Some((0x1234, b"")));
        check(b"\x12\x34\0\0\0\x01\0", None);
        check(b"", None);
        check(b"\x12\x34\0\0\0\x02\0\0get a\r\n", None);
        check(b"\x12\x34\0\x01\0\x02\0\0get a\r\n", None);
    }

    #[test]
    fn splits_answers() {
        let check = |length: usize, expect: &[usize]| {
            let text: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            let datagrams: Vec<_> = answer(0x1234, &text).collect();
            assert_eq!(datagrams.iter().map(|(_, chunk)| chunk.len()).collect::<Vec<_>>(), expect);
            for (i, (header, _)) in datagrams.iter().enumerate() {
                assert_eq!(header[..], [0x12, 0x34, 0, i as u8, 0, expect.len() as u8, 0, 0]);
            }
            assert_eq!(datagrams.iter().map(|(_, chunk)| *chunk).collect::<Vec<_>>().concat(), text);
        };
        check(1, &[1]);
        check(1392, &[1392]);
        check(1393, &[1392, 1]);
        check(3000, &[1392, 1392, 216]);
        let endless = vec![0; 1392 * 65_535 + 1];
        assert_eq!(answer(1, &endless).count(), 0);
        assert_eq!(answer(1, &endless[1..]).count(), 65_535);
    }
}
