//! Replies of a server, appended to its output.

use super::{Version, append_i64};

/// Appends a simple string, which has no line end: `+OK`.
#[inline]
pub fn simple(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'+');
    out.extend_from_slice(text);
    end(out);
}

/// Appends an error: a word in capitals, and a sentence. Line ends become blanks, as another client's words may be in it.
pub fn error(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'-');
    out.extend(text.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte }));
    end(out);
}

/// Appends an integer.
#[inline]
pub fn integer(out: &mut Vec<u8>, number: i64) {
    header(out, b':', number);
}

/// Appends a bulk string.
#[inline]
pub fn bulk(out: &mut Vec<u8>, value: &[u8]) {
    bulk_header(out, value.len());
    out.extend_from_slice(value);
    end(out);
}

/// Appends the part of a bulk string before its value, which `\r\n` follows.
#[inline]
pub fn bulk_header(out: &mut Vec<u8>, length: usize) {
    header(out, b'$', length as i64);
}

/// Appends a text that a person may read: in RESP3 with its format, in RESP2 as a bulk string.
pub fn verbatim(out: &mut Vec<u8>, text: &[u8], version: Version) {
    if version == Version::Two {
        return bulk(out, text);
    }
    const FORMAT: &[u8] = b"txt:";
    header(out, b'=', (FORMAT.len() + text.len()) as i64);
    out.extend_from_slice(FORMAT);
    out.extend_from_slice(text);
    end(out);
}

/// Appends the null reply.
#[inline]
pub fn null(out: &mut Vec<u8>, version: Version) {
    out.extend_from_slice(match version {
        Version::Two => b"$-1\r\n",
        Version::Three => b"_\r\n",
    });
}

/// Begins an array of that many elements.
#[inline]
pub fn array(out: &mut Vec<u8>, elements: usize) {
    header(out, b'*', elements as i64);
}

/// Begins a map of that many pairs; in RESP2 an array of keys and values.
pub fn map(out: &mut Vec<u8>, pairs: usize, version: Version) {
    match version {
        Version::Two => array(out, 2 * pairs),
        Version::Three => header(out, b'%', pairs as i64),
    }
}

/// Begins a set of that many elements; in RESP2 an array.
pub fn set(out: &mut Vec<u8>, elements: usize, version: Version) {
    match version {
        Version::Two => array(out, elements),
        Version::Three => header(out, b'~', elements as i64),
    }
}

#[inline]
fn header(out: &mut Vec<u8>, kind: u8, number: i64) {
    out.push(kind);
    append_i64(out, number);
    end(out);
}

#[inline]
fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_those_of_the_specification() {
        let check = |write: &dyn Fn(&mut Vec<u8>, Version), two: &str, three: &str| {
            for (version, expect) in [(Version::Two, two), (Version::Three, three)] {
                let mut out = Vec::new();
                write(&mut out, version);
                assert_eq!(out.escape_ascii().to_string(), expect.as_bytes().escape_ascii().to_string());
            }
        };
        check(&|out, _| simple(out, b"OK"), "+OK\r\n", "+OK\r\n");
        check(&|out, _| error(out, b"ERR a\r\nb"), "-ERR a  b\r\n", "-ERR a  b\r\n");
        check(&|out, _| integer(out, -1000), ":-1000\r\n", ":-1000\r\n");
        check(&|out, _| bulk(out, b"hello"), "$5\r\nhello\r\n", "$5\r\nhello\r\n");
        check(&|out, _| bulk(out, b""), "$0\r\n\r\n", "$0\r\n\r\n");
        check(&null, "$-1\r\n", "_\r\n");
        check(&|out, _| array(out, 2), "*2\r\n", "*2\r\n");
        check(&|out, version| map(out, 2, version), "*4\r\n", "%2\r\n");
        check(&|out, version| set(out, 2, version), "*2\r\n", "~2\r\n");
        check(
            &|out, version| verbatim(out, b"Some string", version),
            "$11\r\nSome string\r\n",
            "=15\r\ntxt:Some string\r\n",
        );
    }
}
