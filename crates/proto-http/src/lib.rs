//! HTTP/1.0 and 1.1 as pure functions over bytes: no sockets, no clocks, no threads.
//!
//! The load generator is the client: [`Template`] writes requests, [`ResponseParser`] reads what comes back, in whatever
//! pieces it comes, and hands bodies on as slices, so that a length or a checksum is had without gathering them.
//! What a user of a site does beside that is here, too: forms ([`append_field`]), cookies ([`Jar`]), redirects ([`follow`]), what
//! to take from a page ([`Between`]), and where its time went ([`timings`]). [`server`] reads requests for servers whose answers are canned. `httparse` reads the heads; what an answer's end
//! follows from is here, by RFC 9112 §6.
//!
//! Try it: `cargo test -p proto-http`.

mod chunks;
mod cookies;
mod date;
mod defect;
mod form;
mod head;
mod limits;
mod location;
mod needle;
mod range;
mod request;
mod response;
pub mod server;
mod timing;

pub use cookies::{COOKIE_MAX, COOKIES_MAX, Crumb, Jar, Page};
pub use defect::Defect;
pub use form::{append_encoded, append_field};
pub use head::{Head, Version};
pub use limits::{HEAD_MAX, HEADERS_MAX};
pub use location::{HOPS_MAX, LOCATION_MAX, Stray, follow};
pub use needle::{Between, NEEDLE_MAX, Needle, Seen, Take};
pub use range::{ContentRange, Wanted};
pub use request::Template;
pub use response::{Asked, Parse, Response, ResponseParser, Sink};
pub use spec::Url;
pub use spec::workload::{Header, Method, check_target};
pub use timing::{Metric, TIMINGS_MAX, timings};
