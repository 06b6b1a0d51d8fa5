//! The subset of HTTP/2 that a load generator needs: status 200 and the same body to every request. Fields of requests
//! are not read, and windows not kept, so bodies of requests are limited to the first window (64 KiB).

/// How a client begins. Source: RFC 9113 §3.4.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes before a payload: length, kind, flags, stream.
const HEAD: usize = 9;
/// The longest frame that every client takes.
const FRAME_MAX: usize = 1 << 14;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// Whether these bytes are HTTP/2: the preface, or a frame, whose length is below 2¹⁹ and no letter of a method.
pub(crate) fn speaks(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| *first < 8)
        || bytes.starts_with(&PREFACE[..PREFACE.len().min(bytes.len())])
}

/// A frame's kind, flags, stream, and length with its head.
type Frame = (u8, u8, [u8; 4], usize);

fn frame(bytes: &[u8]) -> Option<Frame> {
    let [a, b, c, kind, flags, stream @ ..] = bytes.first_chunk::<HEAD>()?;
    let length = HEAD + u32::from_be_bytes([0, *a, *b, *c]) as usize;
    (bytes.len() >= length).then_some((*kind, *flags, *stream, length))
}

/// The frames of `bytes`, up to the first that is incomplete.
fn frames(bytes: &[u8]) -> impl Iterator<Item = Frame> {
    let mut rest = bytes.strip_prefix(PREFACE).unwrap_or(bytes);
    std::iter::from_fn(move || {
        let next = frame(rest)?;
        rest = &rest[next.3..];
        Some(next)
    })
}

fn ends_a_request((kind, flags, ..): &Frame) -> bool {
    matches!(*kind, HEADERS | DATA) && flags & END_STREAM != 0
}

/// The length of the first request with all that comes before it, or `None` while it is incomplete.
pub(crate) fn request(bytes: &[u8]) -> Option<usize> {
    let mut length = if bytes.starts_with(PREFACE) { PREFACE.len() } else { 0 };
    for frame in frames(bytes) {
        length += frame.3;
        if ends_a_request(&frame) {
            return Some(length);
        }
    }
    None
}

/// Appends the answer to a complete request.
pub(crate) fn answer(request: &[u8], body: &[u8], out: &mut Vec<u8>) {
    let mut says = |kind: u8, flags: u8, stream: [u8; 4], payload: &[u8]| {
        out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
        out.extend_from_slice(&[kind, flags]);
        out.extend_from_slice(&stream);
        out.extend_from_slice(payload);
    };
    if request.starts_with(PREFACE) {
        says(SETTINGS, 0, [0; 4], &[]);
    }
    let mut last = [0; 4];
    for frame in frames(request) {
        match frame {
            (SETTINGS, 0, ..) => says(SETTINGS, ACK, [0; 4], &[]),
            (_, _, stream, _) if ends_a_request(&frame) => last = stream,
            _ => {}
        }
    }
    // `:status: 200`, and `content-length` by its number in the static table, 28. Source: RFC 7541 appendix A.
    let length = body.len().to_string();
    let fields = [&[0x88, 0x0f, 28 - 15, length.len() as u8], length.as_bytes()].concat();
    if body.is_empty() {
        return says(HEADERS, END_HEADERS | END_STREAM, last, &fields);
    }
    says(HEADERS, END_HEADERS, last, &fields);
    let pieces = body.chunks(FRAME_MAX);
    let count = pieces.len();
    for (place, piece) in (1..).zip(pieces) {
        says(DATA, if place == count { END_STREAM } else { 0 }, last, piece);
    }
}

#[cfg(test)]
mod tests {
    use crate::null::Dialect;

    fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream], payload].concat()
    }

    #[test]
    fn finds_requests_and_answers_them() {
        let check = |body: usize, request: &[u8], expect: &[u8]| {
            let dialect = Dialect::http(body);
            assert_eq!(dialect.request(request), Some(request.len()));
            assert_eq!(dialect.request(&[request, b"\0\0"].concat()), Some(request.len()));
            for cut in 1..request.len() {
                assert_eq!(dialect.request(&request[..cut]), None, "cut at {cut}");
            }
            let mut out = Vec::new();
            assert!(!dialect.answer(request, &mut out), "the connection stays");
            assert_eq!(out, expect);
        };
        let settings = frame(4, 0, 0, &[0, 4, 0, 1, 0, 0]);
        let begins = [super::PREFACE, &settings, &frame(1, 5, 1, &[0x82])].concat();
        let head = |flags, stream| frame(1, flags, stream, b"\x88\x0f\x0d\x013");
        let page = |stream| [head(4, stream), frame(0, 1, stream, b"vvv")].concat();
        check(3, &begins, &[frame(4, 0, 0, b""), frame(4, 1, 0, b""), page(1)].concat());
        check(3, &[frame(4, 1, 0, b""), frame(1, 5, 3, &[0x82])].concat(), &page(3));
        // With a body of its own; and without one.
        check(3, &[frame(1, 4, 5, &[0x83]), frame(0, 0, 5, b"a"), frame(0, 1, 5, b"b")].concat(), &page(5));
        check(0, &frame(1, 5, 7, &[0x82]), &frame(1, 5, 7, b"\x88\x0f\x0d\x010"));
    }
}
