//! RESP, the protocol of Redis and Valkey, of a running server: compared with a `redis-server`, and what Redis has not.
//!
//! Try it: `cargo test -p sphinx --test it resp`.

mod listed;
mod own;
mod random;
pub(crate) mod talk;
