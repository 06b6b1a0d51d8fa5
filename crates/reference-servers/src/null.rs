//! A server with fixed service times, which load generators are validated against.
//!
//! It is one queue and one server. A request begins when it has arrived and the one before is done, and
//! takes a drawn service time; scheduled stalls freeze it. So with Poisson arrivals and exponential service
//! it is an M/M/1 queue whose response times are known exactly, and a planted stall must show in the tail
//! as arithmetic says. Without service time it answers at once: the floor, against which a generator's own
//! ceiling is measured.
//!
//! It speaks lines ([`Dialect::Lines`]: any line is a request) or just enough of memcached's protocol
//! ([`Dialect::Memcached`]: `get` hits a canned value of a given size, `set` stores nothing; over UDP, too), or HTTP
//! ([`Dialect::Http`]: every request gets the same page).
//!
//! Try it: `taillight serve null --service exponential:300us`.

mod binary;
mod datagram;
mod dialect;
mod http2;
mod resp;
mod server;

pub use dialect::Dialect;
pub use server::{NullServer, Service};
