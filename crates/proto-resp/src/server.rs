//! Commands read in any pieces, replies written.
//!
//! ```text
//!   *2\r\n $3\r\nGET\r\n $1\r\nk\r\n     an array of bulk strings, as every client sends
//!   GET k\r\n                            the same inline, as a person types it
//! ```

mod args;
mod glob;
mod inline;
mod number;
mod parser;
pub mod reply;

pub use args::Args;
pub use glob::matches;
pub use number::{append_i64, read_i64};
pub use parser::{Limits, Malformed, RequestParse, RequestParser};

/// The version of the protocol that a connection's replies are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// RESP2, with which each connection begins.
    #[default]
    Two,
    /// RESP3, after `HELLO 3`.
    Three,
}
