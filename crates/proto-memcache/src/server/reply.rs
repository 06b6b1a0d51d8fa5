//! Functions that append replies to a buffer, and the replies that never change.

pub mod list;
pub mod meta;

use crate::digits::append_u64;

/// After a storage command.
pub const STORED: &[u8] = b"STORED\r\n";
/// After a storage command whose condition did not hold.
pub const NOT_STORED: &[u8] = b"NOT_STORED\r\n";
/// After a `cas` with an outdated unique number.
pub const EXISTS: &[u8] = b"EXISTS\r\n";
/// No such item.
pub const NOT_FOUND: &[u8] = b"NOT_FOUND\r\n";
/// After `delete`.
pub const DELETED: &[u8] = b"DELETED\r\n";
/// After `touch`.
pub const TOUCHED: &[u8] = b"TOUCHED\r\n";
/// After `flush_all` and `verbosity`.
pub const OK: &[u8] = b"OK\r\n";
/// After `stats reset`.
pub const RESET: &[u8] = b"RESET\r\n";
/// After the last value of a `get`, and the last line of `stats`.
pub const END: &[u8] = b"END\r\n";

/// Appends one item of the answer to `get`, or to `gets` with its unique number `cas`.
#[inline]
pub fn value(out: &mut Vec<u8>, key: &[u8], flags: u32, cas: Option<u64>, data: &[u8]) {
    // 64 bytes hold `VALUE`, three numbers, blanks and line ends.
    out.reserve(key.len() + data.len() + 64);
    value_header(out, key, flags, data.len(), cas);
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

/// Appends the line before a value of `length` bytes, for values that are not copied into `out`.
#[inline]
pub fn value_header(out: &mut Vec<u8>, key: &[u8], flags: u32, length: usize, cas: Option<u64>) {
    out.extend_from_slice(b"VALUE ");
    out.extend_from_slice(key);
    out.push(b' ');
    append_u64(out, u64::from(flags));
    out.push(b' ');
    append_u64(out, length as u64);
    if let Some(cas) = cas {
        out.push(b' ');
        append_u64(out, cas);
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends the answer to `incr` and `decr`.
pub fn counter(out: &mut Vec<u8>, value: u64) {
    append_u64(out, value);
    out.extend_from_slice(b"\r\n");
}

/// Appends the answer to `version`.
pub fn version(out: &mut Vec<u8>, version: &str) {
    out.extend_from_slice(b"VERSION ");
    out.extend_from_slice(version.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Appends one line of the answer to `stats`.
pub fn stat(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in ["STAT ", name, " ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}
