/// The most bytes of the fields of an answer's head, as sent and as decoded: names and values, and 32 B for each field as
/// RFC 7541 §4.1 counts them. Source: as for HTTP/1.
pub const HEAD_MAX: usize = proto_http::HEAD_MAX;

/// The most requests of one connection: their streams have the odd numbers below 2³¹ (RFC 9113 §5.1.1).
pub const NUMBERS_MAX: u64 = 1 << 30;

/// How much of an answer's body may be under way. Units: bytes. Source: Chromium's window for a stream.
pub const STREAM_WINDOW: u32 = 6 << 20;

/// The bytes of all bodies on a connection that may be under way. Source: Chromium's window for a connection.
pub(crate) const CONNECTION_WINDOW: u32 = 15 << 20;

/// The first window, in both directions. Units: bytes. Source: RFC 9113 §6.9.2.
pub(crate) const FIRST_WINDOW: u32 = 65_535;

/// The largest window. Source: RFC 9113 §6.9.1.
pub(crate) const WINDOW_MAX: i64 = (1 << 31) - 1;

/// The longest frame that we take, which is the protocol's default. Units: bytes. Source: RFC 9113 §4.2.
pub(crate) const FRAME_MAX: usize = 1 << 14;

/// The dynamic table of the fields that we receive, which is the protocol's default. Units: bytes. Source: RFC 9113 §6.5.2.
pub(crate) const TABLE_MAX: usize = 4096;

/// Frames in a row that belong to no answer: acknowledging more would let a server have us work for nothing. Source:
/// ten times nghttp2's limit of acknowledgements that wait to be sent.
pub(crate) const FLOOD_MAX: u32 = 10_000;
