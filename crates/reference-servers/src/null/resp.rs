//! The subset of RESP that a load generator needs: `GET` and its kin, and `OK` or 1 to all else.

use proto_resp::client::{Parse, Reply, ReplyParser};

/// Whether a request that begins with these bytes is one of RESP: no line of memcached's protocols begins so.
pub(crate) fn speaks(bytes: &[u8]) -> bool {
    bytes.first() == Some(&b'*')
}

/// The length of the first request, or `None` while it is incomplete; of no request, all bytes.
pub(crate) fn request(bytes: &[u8]) -> Option<usize> {
    // A request has the form of an array of values.
    match ReplyParser::default().parse(bytes) {
        Parse::NeedMore { .. } => None,
        Parse::Done { consumed, .. } => Some(consumed),
        Parse::Malformed { .. } => Some(bytes.len()),
    }
}

/// Appends the answer to a complete request: `value` to every key that is read.
pub(crate) fn answer(request: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let Parse::Done { reply: Reply::Array(words), .. } = ReplyParser::default().parse(request) else {
        return out.extend_from_slice(b"-ERR no request\r\n");
    };
    let bulk = |out: &mut Vec<u8>| {
        out.extend_from_slice(format!("${}\r\n", value.len()).as_bytes());
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    };
    match words.iter().next() {
        Some(Reply::Bulk(b"GET" | b"GETEX")) => bulk(out),
        Some(Reply::Bulk(b"MGET")) => {
            out.extend_from_slice(format!("*{}\r\n", words.len() - 1).as_bytes());
            (1..words.len()).for_each(|_| bulk(out));
        }
        Some(Reply::Bulk(b"SET" | b"AUTH" | b"FLUSHALL")) => out.extend_from_slice(b"+OK\r\n"),
        Some(Reply::Bulk(b"INFO")) => out.extend_from_slice(b"$20\r\nredis_version:null\r\n\r\n"),
        // It stores nothing.
        Some(Reply::Bulk(b"DBSIZE")) => out.extend_from_slice(b":0\r\n"),
        _ => out.extend_from_slice(b":1\r\n"),
    }
}

#[cfg(test)]
mod tests {
    use crate::null::Dialect;

    #[test]
    fn finds_requests_and_answers_them() {
        let check = |request: &str, expect: &str| {
            let dialect = Dialect::memcached(3);
            let request = request.replace('|', "\r\n");
            assert_eq!(dialect.request(request.as_bytes()), Some(request.len()));
            for cut in 1..request.len() {
                assert_eq!(dialect.request(&request.as_bytes()[..cut]), None, "cut at {cut}");
            }
            let mut out = Vec::new();
            dialect.answer(request.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap().replace("\r\n", "|"), expect);
        };
        check("*2|$3|GET|$1|k|", "$3|vvv|");
        check("*3|$4|MGET|$1|a|$1|b|", "*2|$3|vvv|$3|vvv|");
        check("*3|$3|SET|$1|k|$4|v|\n|", "+OK|");
        check("*2|$4|INFO|$6|server|", "$20|redis_version:null||");
        check("*2|$3|DEL|$1|k|", ":1|");
        assert_eq!(Dialect::memcached(3).request(b"*1\r\nno\r\n"), Some(8));
    }
}
