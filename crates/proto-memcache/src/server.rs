//! The server's half: a parser of requests, and functions that append replies to a buffer.
//!
//! ```
//! use proto_memcache::server::{Request, RequestParse, RequestParser, reply};
//!
//! let mut parser = RequestParser::default();
//! let received = b"get answer question\r\nver";
//! let RequestParse::Done { consumed, request: Request::Get { keys, .. } } = parser.parse(received) else { panic!() };
//! assert_eq!(consumed, 21);
//!
//! let mut out = Vec::new();
//! for key in keys {
//!     if key == b"answer" {
//!         reply::value(&mut out, key, 0, None, b"42");
//!     }
//! }
//! out.extend_from_slice(reply::END);
//! assert_eq!(out, b"VALUE answer 0 2\r\n42\r\nEND\r\n");
//! assert_eq!(parser.parse(&received[consumed..]), RequestParse::NeedMore { at_least: 1 });
//! ```

mod base64;
mod line;
mod meta;
mod meta_flags;
mod number;
mod parser;
mod refusal;
pub mod reply;
mod request;
mod tuning;
mod watch;

pub use base64::BINARY_KEY_MAX;
pub use line::StoreLine;
pub use meta::{Meta, MetaKey, MetaSet, MetaVerb};
pub use meta_flags::MetaFlags;
pub use number::{read_counter, strict_u32 as read_u32};
pub use parser::{Awaits, CloseReason, RequestParse, RequestParser};
pub use refusal::Refusal;
pub use request::{DumpKind, Keys, Request, Shutdown};
pub use tuning::Classes;
pub use watch::Watched;
