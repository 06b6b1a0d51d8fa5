//! The lengths that memcached 1.6 allows; both halves refuse what is longer before they store it.

/// The longest key. Units: bytes. Source: memcached's `KEY_MAX_LENGTH`.
pub const KEY_MAX: usize = 250;

/// The largest item by default, key and header included. Units: bytes. Source: memcached's `-I 1m`.
pub const ITEM_MAX: usize = 1 << 20;

/// The longest request line without a newline, unless it starts with `get ` or `gets `. Units: bytes.
/// Source: memcached's `try_read_command_ascii`.
pub const LINE_MAX: usize = 2048;

/// An expiry time above this is a date, not a span. Units: seconds. Source: memcached's `REALTIME_MAXDELTA`.
pub const RELATIVE_EXPTIME_MAX: i64 = 60 * 60 * 24 * 30;
