use std::fmt;

use thiserror::Error;

use crate::limits::{FLOOD_MAX, FRAME_MAX, HEAD_MAX};

/// Why a connection cannot be used further.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Defect {
    #[error(
        "the server does not begin with HTTP/2's settings; leave out --http 2 if it speaks HTTP/1.1 only"
    )]
    NotHttp2,
    #[error("a frame of {0} B, and at most {FRAME_MAX} B were agreed upon")]
    FrameTooLong(usize),
    #[error("a {0} frame of a length that it cannot have")]
    FrameLength(&'static str),
    #[error("a {0} frame on stream {1}, where it cannot be")]
    Misplaced(&'static str, u32),
    #[error("a frame within a head that was not done")]
    HeadInterrupted,
    #[error("padding that is longer than its frame")]
    Padding,
    #[error("header fields that cannot be read (HPACK): {0}")]
    Fields(&'static str),
    #[error("a head of more than {HEAD_MAX} B")]
    HeadTooLong,
    #[error("a setting that is not allowed: {0}")]
    Setting(&'static str),
    #[error("a window of more than 2147483647 B, or of 0 B more")]
    Window,
    #[error("more of a body than the window allowed")]
    WindowExceeded,
    #[error("a pushed answer, which our settings refuse")]
    Push,
    #[error("{FLOOD_MAX} frames in a row that belong to no answer")]
    Flood,
}

impl Defect {
    /// The code of the GOAWAY frame that reports it.
    pub fn code(&self) -> Code {
        match self {
            Defect::FrameTooLong(_) | Defect::FrameLength(_) => Code::FRAME_SIZE,
            Defect::Fields(_) => Code::COMPRESSION,
            Defect::Window | Defect::WindowExceeded => Code::FLOW_CONTROL,
            Defect::HeadTooLong | Defect::Flood => Code::CALM,
            _ => Code::PROTOCOL,
        }
    }
}

/// Why one request has no answer, while its connection goes on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Failure {
    #[error("the server reset the stream: {0}")]
    Reset(Code),
    #[error("the answer is malformed: {0}")]
    Malformed(&'static str),
}

/// A reason for the end of a stream or a connection. Source: RFC 9113 §7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub u32);

/// The names by their numbers.
const NAMES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

impl Code {
    /// Nothing is wrong.
    pub const NONE: Code = Code(0);
    pub(crate) const PROTOCOL: Code = Code(1);
    pub(crate) const FLOW_CONTROL: Code = Code(3);
    pub(crate) const FRAME_SIZE: Code = Code(6);
    /// The server has not begun with the request.
    pub const REFUSED: Code = Code(7);
    pub(crate) const CANCEL: Code = Code(8);
    pub(crate) const COMPRESSION: Code = Code(9);
    pub(crate) const CALM: Code = Code(11);
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.get(self.0 as usize) {
            Some(name) => f.pad(name),
            None => write!(f, "code {}", self.0),
        }
    }
}
