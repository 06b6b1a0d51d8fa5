//! memcached over UDP: a header before each datagram, and replies of several datagrams.
//!
//! A request is one datagram. Its reply is as many as it needs, each with the number of the request, its own
//! number and how many there are; they get lost, overtake one another and may come twice.
//!
//! ```
//! use proto_memcache::client::udp::{Arrived, Header, Reassembly};
//!
//! let [first, second] = [(0, &b"EN"[..]), (1, &b"D\r\n"[..])].map(|(sequence, payload)| {
//!     let mut datagram = Vec::new();
//!     Header { request: 7, sequence, count: 2 }.append(&mut datagram);
//!     datagram.extend_from_slice(payload);
//!     datagram
//! });
//! let mut reply = Reassembly::default();
//! assert_eq!(reply.push(&second, 1_000), Arrived::Partial { late: false });
//! assert_eq!(reply.push(&first, 1_000), Arrived::Whole { reply: b"END\r\n", late: true });
//! ```

mod header;
mod reassembly;

pub use header::Header;
pub use reassembly::{Arrived, Defect, Reassembly};
