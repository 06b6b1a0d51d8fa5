/// The longest head that is read, with any number of fields; an answer's trailers may be as long again.
/// Units: bytes. Source: curl reads 300 kB (`CURL_MAX_HTTP_HEADER` and the limit of all headers), browsers 256 KiB.
pub const HEAD_MAX: usize = 300 * 1024;

/// The most header fields of a request. Source: the default of Apache's `LimitRequestFields` is 100.
pub(crate) const HEADERS_MAX: usize = 128;

/// The longest line before a chunk, for extensions, which are not used in practice. Units: bytes.
pub(crate) const CHUNK_LINE_MAX: usize = 4 * 1024;
