//! The subset of memcached's binary protocol that load generators need which speak no other.
//!
//! Source: memcached's `doc/protocol-binary.txt`: 24 bytes of header (magic, opcode, length of the key, of the
//! extras, data type, status, length of the body, opaque, cas), then extras, key and value.

/// The first byte of each request; no line of the ASCII protocol begins with it.
const REQUEST: u8 = 0x80;
const ANSWER: u8 = 0x81;
const HEADER: usize = 24;
/// The flags of an item, before its value.
const FLAGS: [u8; 4] = [0; 4];

/// Whether a request that begins with these bytes is one of the binary protocol.
pub(crate) fn speaks(bytes: &[u8]) -> bool {
    bytes.first() == Some(&REQUEST)
}

/// The length of the first request, or `None` while it is incomplete.
pub(crate) fn request(bytes: &[u8]) -> Option<usize> {
    let body = u32::from_be_bytes(bytes.get(8..12)?.try_into().ok()?) as usize;
    let whole = HEADER.saturating_add(body);
    (bytes.len() >= whole).then_some(whole)
}

/// Appends the answer to a complete request: `value` to every get, success to all else.
pub(crate) fn answer(request: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let Some(header) = request.first_chunk::<HEADER>() else { return };
    let key_length = u16::from_be_bytes([header[2], header[3]]) as usize;
    let extras_length = header[4] as usize;
    let key = request.get(HEADER + extras_length..HEADER + extras_length + key_length).unwrap_or(&[]);
    // get, getq, getk, getkq; the last two want the key back.
    let (extras, key, value): (&[u8], &[u8], &[u8]) = match header[1] {
        0x00 | 0x09 => (&FLAGS, &[], value),
        0x0c | 0x0d => (&FLAGS, key, value),
        _ => (&[], &[], &[]),
    };
    let body = (extras.len() + key.len() + value.len()) as u32;
    out.extend_from_slice(&[ANSWER, header[1]]);
    out.extend_from_slice(&(key.len() as u16).to_be_bytes());
    // Data type 0, status 0.
    out.extend_from_slice(&[extras.len() as u8, 0, 0, 0]);
    out.extend_from_slice(&body.to_be_bytes());
    out.extend_from_slice(&header[12..16]);
    out.extend_from_slice(&[0; 8]);
    for part in [extras, key, value] {
        out.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use crate::null::Dialect;

    fn message(magic: u8, opcode: u8, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
        let mut bytes = vec![magic, opcode, 0, key.len() as u8, extras.len() as u8, 0, 0, 0];
        bytes.extend(((extras.len() + key.len() + value.len()) as u32).to_be_bytes());
        bytes.extend(*b"mark");
        bytes.extend([0; 8]);
        [extras, key, value].iter().for_each(|part| bytes.extend_from_slice(part));
        bytes
    }

    #[test]
    fn finds_requests_and_answers_them() {
        let check = |request: Vec<u8>, expect: Vec<u8>| {
            let dialect = Dialect::memcached(3);
            for cut in 0..request.len() {
                assert_eq!(dialect.request(&request[..cut]), None, "cut at {cut}");
            }
            let two = [request.clone(), request.clone()].concat();
            assert_eq!(dialect.request(&two), Some(request.len()));
            let mut out = Vec::new();
            dialect.answer(&request, &mut out);
            assert_eq!(out, expect);
        };
        let flags = [0; 4];
        check(message(0x80, 0x00, &[], b"key", &[]), message(0x81, 0x00, &flags, &[], b"vvv"));
        check(message(0x80, 0x0c, &[], b"key", &[]), message(0x81, 0x0c, &flags, b"key", b"vvv"));
        check(message(0x80, 0x01, &[0; 8], b"key", b"v\r\n"), message(0x81, 0x01, &[], &[], &[]));
        check(message(0x80, 0x0a, &[], &[], &[]), message(0x81, 0x0a, &[], &[], &[]));
    }

    #[test]
    fn lengths_that_contradict_each_other_are_survived() {
        let mut request = message(0x80, 0x0c, &[], b"key", &[]);
        request[3] = 200;
        let mut out = Vec::new();
        Dialect::memcached(3).answer(&request, &mut out);
        assert_eq!(out.len(), 24 + 4 + 3);
    }
}
