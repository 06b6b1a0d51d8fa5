//! The client's half: functions that append requests to a buffer, and a parser of responses.
//!
//! A response does not identify its request, so the caller keeps a queue of sent requests and passes the next
//! [`Expect`] to [`ResponseParser::parse`]:
//!
//! ```
//! use proto_memcache::client::{Expect, Outcome, Parse, ResponseParser, get};
//!
//! let mut out = Vec::new();
//! get(&mut out, b"answer");
//! assert_eq!(out, b"get answer\r\n");
//!
//! let mut parser = ResponseParser::default();
//! let first = b"VALUE answer 0 2\r\n4";
//! assert_eq!(parser.parse(Expect::Values { keys: 1 }, first), Parse::NeedMore { at_least: 3 });
//! let all = b"VALUE answer 0 2\r\n42\r\nEND\r\n";
//! match parser.parse(Expect::Values { keys: 1 }, all) {
//!     Parse::Done { consumed: 27, outcome: Outcome::Values(values) } => {
//!         assert_eq!(values.hits(), 1);
//!         assert_eq!(values.iter().next().unwrap().data, b"42");
//!     }
//!     other => panic!("{other:?}"),
//! }
//! ```

mod expect;
mod malformed;
mod meta_reply;
mod meta_request;
mod outcome;
mod request;
mod response;
pub mod udp;
mod values;

pub use expect::{Expect, Parse};
pub use malformed::{Excerpt, Malformed};
pub use meta_reply::{MetaCode, MetaReply};
pub use meta_request::{
    meta_count, meta_delete, meta_get, meta_get_quietly, meta_no_op, meta_set, meta_set_header,
};
pub use outcome::{ErrorKind, Outcome, Stats};
pub use request::{
    decr, delete, gat, get, get_many, gets, incr, set, stats, store, store_header, touch, version,
};
pub use response::ResponseParser;
pub use values::{Value, Values};

pub use crate::command::{Reply, StoreVerb};
pub use crate::meta_flag::{MetaFlag, MetaMode};
