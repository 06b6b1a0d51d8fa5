//! HTTP/1.0 and 1.1 as pure functions over bytes: no sockets, no clocks, no threads.
//!
//! The load generator is the client: [`Template`] writes requests, [`ResponseParser`] reads what comes back, in whatever
//! pieces it comes, and hands bodies on as slices, so that a length or a checksum is had without gathering them.
//! [`server`] reads requests for servers whose answers are canned. `httparse` reads the heads; what an answer's end
//! follows from is here, by RFC 9112 §6.
//!
//! Try it: `cargo test -p proto-http`.

mod chunks;
mod defect;
mod head;
mod limits;
mod range;
mod request;
mod response;
pub mod server;

pub use defect::Defect;
pub use head::{Head, Version};
pub use limits::{HEAD_MAX, HEADERS_MAX};
pub use range::{ContentRange, Wanted};
pub use request::Template;
pub use response::{Asked, Parse, Response, ResponseParser, Sink};
pub use spec::Url;
pub use spec::workload::{Header, Method, check_target};
