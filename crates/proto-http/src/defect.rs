use thiserror::Error;

use crate::limits::{CHUNK_LINE_MAX, HEAD_MAX, HEADERS_MAX};

/// The reason why bytes are not valid or supported HTTP; the connection cannot be used further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Defect {
    #[error("the answer does not begin with HTTP/1.0 or HTTP/1.1; is that an HTTP server, and without TLS?")]
    NotHttp,
    #[error("the head is not done after {HEAD_MAX} B")]
    HeadTooLong,
    #[error("the head has more than {HEADERS_MAX} fields")]
    TooManyHeaders,
    #[error("the head cannot be read: {0}")]
    Head(&'static str),
    #[error("the status is not a number from 100 to 999")]
    Status,
    #[error("the content length is not a number, or there are several")]
    ContentLength,
    #[error("a chunk does not begin with its length in hexadecimal digits")]
    ChunkSize,
    #[error("the line before a chunk is longer than {CHUNK_LINE_MAX} B")]
    ChunkLine,
    #[error("a chunk is not as long as it says")]
    ChunkEnd,
    #[error("the trailers are not done after {HEAD_MAX} B, or not made of lines")]
    Trailers,
    #[error("the connection ended in the middle of an answer")]
    Truncated,
}
