//! RESP, the protocol of Redis and Valkey, in versions 2 and 3, as pure functions over bytes: no sockets, no clocks, no threads.
//!
//! Sphinx uses the server half, the load generator the client half; each is the other's test.
//!
//! Try it: `cargo test -p proto-resp`.

pub mod client;
mod digits;
pub mod server;
