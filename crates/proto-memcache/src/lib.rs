//! memcached's text protocol, classic and meta, and its [`binary`] one, as pure functions over bytes: no sockets, no clocks, no
//! threads.
//!
//! Two halves share one crate so that each is the other's test: what [`client`] writes, [`server`] must
//! read, and back. Sphinx uses the server half, the load generator the client half. Both are incremental:
//! they are shown all bytes of a message so far, as often as more arrive, and never look twice at a part
//! that they have understood. memcached 1.6 is the reference for every reply, down to which errors leave
//! the bytes of a refused value behind to be read as commands.
//!
//! Try it: `cargo test -p proto-memcache`.

pub mod binary;
pub mod client;
mod command;
mod digits;
pub mod limits;
mod meta_flag;
pub mod partition;
mod scan;
pub mod server;

pub use command::{Reply, StoreVerb};
pub use digits::append_u64;
pub use meta_flag::{MetaFlag, MetaMode};
