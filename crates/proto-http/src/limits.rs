/// The longest head that is read; of an answer the trailers may be as long again. Units: bytes.
///
/// nginx sends heads of up to 4 or 8 KiB (`*_buffer_size`), Apache reads fields of 8 KiB; this is eight times as much.
pub const HEAD_MAX: usize = 64 * 1024;

/// The most header fields of one head. Source: the default of Apache's `LimitRequestFields` is 100.
pub const HEADERS_MAX: usize = 128;

/// The longest line before a chunk, for extensions, which are not used in practice. Units: bytes.
pub(crate) const CHUNK_LINE_MAX: usize = 4 * 1024;
