//! The client side of HTTP/2 as pure functions over bytes: no sockets, no clocks, no threads. Source: RFC 9113, and RFC
//! 7541 for header fields (HPACK).
//!
//! A [`Connection`] takes the server's bytes in any pieces, tells the parts of answers by the numbers of their requests,
//! and writes what the protocol wants in between: settings, acknowledgements, windows, resets. A [`Template`] holds the
//! fields of requests that differ by their path only. Bodies are passed on as slices and never gathered.
//!
//! Our side uses no dynamic table for the fields that it sends, which the protocol allows; the server may use one.
//!
//! Try it: `cargo test -p proto-h2`.

mod connection;
mod defect;
mod frame;
mod hpack;
mod huffman;
mod limits;
mod settings;
mod static_fields;
mod step;
mod streams;
mod template;

pub use connection::Connection;
pub use defect::{Code, Defect, Failure};
pub use limits::{HEAD_MAX, NUMBERS_MAX, STREAM_WINDOW};
pub use step::{Answer, Step};
pub use streams::Response;
pub use template::Template;
