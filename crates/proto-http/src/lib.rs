//! HTTP/1.0 and 1.1 as pure functions over bytes: no sockets, no clocks, no threads.
//!
//! The load generator is the client: [`Template`] writes requests, [`ResponseParser`] reads responses in any pieces,
//! and passes bodies on as slices, so that lengths and checksums need no buffering. Further parts of a site's user are
//! here, too: forms ([`append_field`]), cookies ([`Jar`]), redirects ([`follow`]), values to take from a page
//! ([`Between`]), and server timings ([`timings`]). [`server`] reads requests for servers with canned answers.
//! `httparse` reads the heads; the rules for an answer's end are here, by RFC 9112 §6.
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
pub use limits::HEAD_MAX;
pub use location::{HOPS_MAX, LOCATION_MAX, Stray, follow};
pub use needle::{Between, NEEDLE_MAX, Needle, NeedleMatch, Take};
pub use range::{ContentRange, Wanted};
pub use request::Template;
pub use response::{Asked, Response, ResponseParse, ResponseParser, Sink};
pub use spec::Url;
pub use spec::workload::{Header, Method, check_target};
pub use timing::{Metric, TIMINGS_MAX, timings};
