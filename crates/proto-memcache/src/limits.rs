//! The lengths that memcached 1.6 allows; both halves refuse longer ones before they store anything.

/// The longest key. Units: bytes. Source: memcached's `KEY_MAX_LENGTH`.
pub const KEY_MAX: usize = 250;

/// The largest item by default, key and header included. Units: bytes. Source: memcached's `-I 1m`.
pub const ITEM_MAX: usize = 1 << 20;

/// The longest request line without a newline, unless it starts with `get ` or `gets `. Units: bytes.
/// Source: memcached's `try_read_command_ascii`.
pub const LINE_MAX: usize = 2048;

/// The longest token of the flag `O`. Units: bytes. Source: memcached's `MFLAG_MAX_OPAQUE_LENGTH`, which counts the
/// letter too.
pub const OPAQUE_MAX: usize = 31;

/// An expiry time above this is a date, not a span. Units: seconds. Source: memcached's `REALTIME_MAXDELTA`.
pub const RELATIVE_EXPTIME_MAX: i64 = 60 * 60 * 24 * 30;

/// The longest `get` or `gets` line. Units: bytes. memcached knows no limit; ours is the memory that a
/// connection may hold for one value, and takes 4 000 of the longest keys.
pub const GET_LINE_MAX: usize = 1 << 20;

/// The most blanks before `get` or `gets` on a line over [`LINE_MAX`]. Source: memcached's
/// `try_read_command_ascii`.
pub(crate) const LEADING_BLANKS_MAX: usize = 100;

/// The size that memcached counts against [`ITEM_MAX`] for an item, so that both servers accept the same items.
///
/// Units: bytes. Source: memcached 1.6's `item_make_header`: header 48, unique number 8, zero byte after the key 1,
/// line end after the value 2, flags 4 unless they are 0. Tested with 1.6.18: a 1 B key without flags takes 1 048 516
/// B, a 250 B key with flags 1 048 263 B.
pub fn item_size(key: usize, flags: u32, value: usize) -> usize {
    59 + key + value + if flags == 0 { 0 } else { 4 }
}
