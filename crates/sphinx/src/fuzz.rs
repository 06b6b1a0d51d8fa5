//! Fuzz targets for input that reaches the server before the request parser: datagrams, the first request if a password
//! is required, connections of the binary protocol, and other protocols; and for the file that a restart reads.
//!
//! Try it: `cargo test -p sphinx --test it corpus`.

mod binary;
mod datagrams;
mod foreign;
mod passwords;

pub use binary::binary_connections;
pub use datagrams::udp_requests;
pub use foreign::foreign_protocols;
pub use passwords::first_requests;

/// Reads a state file that a stop may have left, once more with a correct checksum.
pub fn saved_memory(bytes: &[u8]) {
    crate::memory_file::read_any(bytes);
}
