//! memcached's binary protocol, both sides, as pure functions over bytes.
//!
//! ```text
//!   header 24 B   magic | opcode | key length (2) | extras length | data type | status (2) | body length (4) | opaque (4) | cas (8)
//!   body          extras | key | value
//! ```
//!
//! Lengths and numbers are big-endian. A response echoes the opcode and the opaque of its request, so that a client can
//! match them; a quiet request is answered only on an error, or with a value.
//!
//! Source: memcached's `protocol_binary.h` and the protocol's description (`BinaryProtocolRevamped`); every reply was compared
//! with memcached 1.6.18 and 1.6.45 (`crates/sphinx/tests/binary`).
//!
//! ```
//! use proto_memcache::binary::testing::{Packet, Read, read};
//! use proto_memcache::binary::{BinaryParse, BinaryParser, Command, opcode, reply};
//!
//! let mut sent = Vec::new();
//! Packet::new(opcode::GETK).key(b"answer").opaque(7).append(&mut sent);
//! let mut parser = BinaryParser::default();
//! let BinaryParse::Done { consumed: 30, request } = parser.parse(&sent, true) else { panic!() };
//! assert_eq!(request.command, Command::Get { key: b"answer", shows_key: true, quiet: false });
//!
//! let mut out = Vec::new();
//! reply::value(&mut out, request.echo, 5, Some(b"answer"), 1, b"42");
//! let Read::Done { response, .. } = read(&out, 1 << 20) else { panic!() };
//! assert_eq!((response.header.opaque, response.key, response.value), (7, &b"answer"[..], &b"42"[..]));
//! ```

mod header;
pub mod opcode;
mod parser;
pub mod reply;
mod request;
mod status;
pub mod testing;

pub use header::{Echo, HEADER, Header, REQUEST, RESPONSE};
pub use parser::{Awaited, BinaryParse, BinaryParser, MECHANISM_MAX, PLAIN_MAX};
pub use request::{BinaryRequest, Command, NO_VIVIFY};
pub use status::Status;
