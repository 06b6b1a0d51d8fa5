use thiserror::Error;

/// The reason why bytes are not a reply; the connection cannot be used any further.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Malformed {
    /// A line that begins no reply.
    #[error("no reply of RESP begins so")]
    UnknownType,
    /// A line whose content does not fit its type.
    #[error("{expected} was expected behind the first character")]
    BadLine {
        /// The expected content.
        expected: &'static str,
    },
    /// A line without an end.
    #[error("the line has over {limit} bytes")]
    LineTooLong {
        /// The longest line that is read.
        limit: usize,
    },
    /// A line that ends in `\n` alone.
    #[error("the line ends without a carriage return")]
    NoCarriageReturn,
    /// A value longer than the reader allows.
    #[error("a value of {length} bytes is announced; at most {limit} are read")]
    ValueTooLong {
        /// Its announced length.
        length: u64,
        /// The reader's limit.
        limit: usize,
    },
    /// A value that is longer or shorter than announced.
    #[error("a value of {length} bytes does not end with a line end")]
    BadValueEnd {
        /// Its announced length.
        length: usize,
    },
    /// More elements than the reader allows.
    #[error("over {limit} elements are announced")]
    TooManyElements {
        /// The reader's limit.
        limit: u64,
    },
    /// Aggregates in aggregates.
    #[error("aggregates are nested more than {limit} deep")]
    TooDeep {
        /// The reader's limit.
        limit: usize,
    },
    /// A push message or attributes within a reply.
    #[error("a push message or attributes stand within a reply")]
    PushWithin,
}
