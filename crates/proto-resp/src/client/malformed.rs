use thiserror::Error;

/// The reason why bytes are not a reply; the connection cannot be used any further.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Malformed {
    #[error("no reply of RESP begins so")]
    UnknownType,
    #[error("{expected} was expected behind the first character")]
    BadLine { expected: &'static str },
    #[error("the line has over {limit} bytes")]
    LineTooLong { limit: usize },
    #[error("the line ends without a carriage return")]
    NoCarriageReturn,
    #[error("a value of {length} bytes is announced; at most {limit} are read")]
    ValueTooLong { length: u64, limit: usize },
    #[error("a value of {length} bytes does not end with a line end")]
    BadValueEnd { length: usize },
    #[error("over {limit} elements are announced")]
    TooManyElements { limit: u64 },
    #[error("aggregates are nested more than {limit} deep")]
    TooDeep { limit: usize },
    #[error("a push message or attributes stand within a reply")]
    PushWithin,
}
