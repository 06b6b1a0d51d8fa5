//! Replies to meta commands: a code, the data requested by flags, a line end.

use crate::digits::{append_i64, append_u64};
use crate::server::base64;

/// Done; no value follows.
pub const DONE: &[u8] = b"HD";
/// No such item, said by `mg`.
pub const MISS: &[u8] = b"EN";
/// No such item, said by the others.
pub const NOT_FOUND: &[u8] = b"NF";
/// The condition of the command did not hold.
pub const NOT_STORED: &[u8] = b"NS";
/// The item has another unique number.
pub const EXISTS: &[u8] = b"EX";
/// The complete answer to `mn`.
pub const NO_OP: &[u8] = b"MN\r\n";
/// The complete answer to `me` for a missing item.
pub const DEBUG_MISS: &[u8] = b"EN\r\n";
/// Behind the last key of `lru_crawler mgdump`.
pub const END_OF_KEYS: &[u8] = b"EN\r\n";

/// Appends the code before a value of `length` bytes.
#[inline]
pub fn value(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(b"VA ");
    append_u64(out, length as u64);
}

/// Appends a flag with a number.
#[inline]
pub fn number(out: &mut Vec<u8>, letter: u8, number: u64) {
    out.extend_from_slice(&[b' ', letter]);
    append_u64(out, number);
}

/// Appends the flag `t`: the seconds left to live, or none forever.
pub fn time_to_live(out: &mut Vec<u8>, seconds: Option<u32>) {
    out.extend_from_slice(b" t");
    append_i64(out, seconds.map_or(-1, i64::from));
}

/// Appends the flag `O` with the request's token.
pub fn opaque(out: &mut Vec<u8>, token: &[u8]) {
    out.extend_from_slice(b" O");
    out.extend_from_slice(token);
}

/// Appends the flag `k` with the key, in base 64 and with a flag `b` if it is binary.
#[inline]
pub fn key(out: &mut Vec<u8>, key: &[u8], binary: bool) {
    out.extend_from_slice(b" k");
    key_text(out, key, binary);
    if binary {
        out.extend_from_slice(b" b");
    }
}

/// Appends a flag without anything: `W`, `X`, `Z`.
pub fn mark(out: &mut Vec<u8>, letter: u8) {
    out.extend_from_slice(&[b' ', letter]);
}

/// The data that `me` shows of an item.
#[derive(Clone, Copy, Debug)]
pub struct Debug<'k> {
    /// The key.
    pub key: &'k [u8],
    /// Whether it is shown in base 64.
    pub binary: bool,
    /// Seconds left to live, or none forever.
    pub time_to_live: Option<u32>,
    /// Seconds since it was last used.
    pub last_access: u32,
    /// Its unique number.
    pub cas: u64,
    /// Whether it was read since it was stored.
    pub fetched: bool,
    /// As [`limits::item_size`](crate::limits::item_size) counts it.
    pub size: usize,
}

impl Debug<'_> {
    /// Appends the complete answer to `me`. There is one class of sizes, and it is 1.
    pub fn append(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"ME ");
        key_text(out, self.key, self.binary);
        out.extend_from_slice(b" exp=");
        append_i64(out, self.time_to_live.map_or(-1, i64::from));
        out.extend_from_slice(b" la=");
        append_u64(out, u64::from(self.last_access));
        out.extend_from_slice(b" cas=");
        append_u64(out, self.cas);
        out.extend_from_slice(if self.fetched { b" fetch=yes" } else { b" fetch=no" });
        out.extend_from_slice(b" cls=1 size=");
        append_u64(out, self.size as u64);
        out.extend_from_slice(b"\r\n");
    }
}

fn key_text(out: &mut Vec<u8>, key: &[u8], binary: bool) {
    if binary {
        base64::encode(key, out);
    } else {
        out.extend_from_slice(key);
    }
}
