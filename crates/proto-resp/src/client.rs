//! The client's half: functions that append commands to a buffer, and a parser of replies.
//!
//! Replies come in the order of the commands and do not name them, so the caller keeps a queue of sent commands:
//!
//! ```
//! use proto_resp::client::{Parse, Reply, ReplyParser, get};
//!
//! let mut out = Vec::new();
//! get(&mut out, b"answer");
//! assert_eq!(out, b"*2\r\n$3\r\nGET\r\n$6\r\nanswer\r\n");
//!
//! let mut parser = ReplyParser::default();
//! assert_eq!(parser.parse(b"$2\r\n4"), Parse::NeedMore { at_least: 3 });
//! assert_eq!(parser.parse(b"$2\r\n42\r\n"), Parse::Done { consumed: 8, reply: Reply::Bulk(b"42") });
//! ```

pub mod cluster;
mod command;
mod malformed;
mod parser;
mod reply;

pub use command::{
    Condition, SetOptions, append, auth, command, decr, del, expire, get, get_and_expire, head, incr,
    incr_by, set, set_end, set_header, touch, word,
};
pub use malformed::Malformed;
pub use parser::{Limits, Parse, ReplyParser};
pub use reply::{Elements, Reply};
