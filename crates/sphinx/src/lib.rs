//! Sphinx: a memcached-compatible cache in which every thread owns its core, its connections and its keys.
//!
//! ```text
//!            client          client                client
//!              │               │                     │        SO_REUSEPORT: the kernel gives each
//!   ┌──────────▼───────────────▼──┐       ┌──────────▼──────┐ connection to one thread for good
//!   │ Core 0, pinned to cpu 0     │       │ Core 1, cpu 1   │
//!   │  connections ─▶ parser      │       │                 │
//!   │        │ key's owner?       │ asks  │                 │
//!   │        ├─ self ─▶ Store     ├──────▶│ ─▶ Store        │ one bounded queue per pair,
//!   │        └─ other ─▶ queue    │◀──────┤                 │ direction and kind
//!   │  replies in request order   │answers│                 │
//!   └─────────────────────────────┘       └─────────────────┘
//! ```
//!
//! Nothing is shared and nothing is locked. A request for a key of another thread is passed to it as a
//! message, and its answer comes back as one; the connection's replies wait in line so that they leave in the
//! order of the requests. After *The Impact of Thread-Per-Core Architecture on Application Tail Latency*
//! (ANCS'19), §IV-A.
//!
//! That is `--sharing nothing`. The rest of the paper's design space, and a way past its weakness, differ in which
//! thread does an operation, and in nothing else:
//!
//! ```text
//!   --sharing     a key of another thread
//!   nothing       is asked for and written by message
//!   read          is looked up in place, without lock or message;   written by message, or in place if its owner sleeps
//!   something     of the own group: in place under a short lock;    else by message
//!   everything    in place under a short lock
//! ```
//!
//! Read in this order: `server` starts the threads, `core` is the loop of each, `client` is one connection,
//! `partitions` decides which thread executes an operation, `link` is the queue to another thread, `operation` is the
//! effect on a key.
//!
//! Try it: `cargo run --release -p sphinx -- -t 2`, then `printf 'version\r\n' | nc -q1 127.0.0.1 11211`.
//!
//! # Differences from memcached
//!
#![doc = include_str!("../DIFFERENCES.md")]

mod allocator;
mod arriving;
mod auth;
mod binary;
mod budget;
mod buffers;
mod certificates;
mod client;
mod clock;
mod config;
mod config_file;
mod core;
mod daemon;
mod draft;
mod dump;
mod explain;
mod extended;
mod flags;
mod foreign;
mod frames;
#[doc(hidden)]
pub mod fuzz;
mod group_limits;
mod irq;
mod large_inputs;
mod link;
mod listen;
mod log;
mod memcached_flags;
mod memory_file;
mod memory_limit;
mod message;
mod metrics;
mod operation;
mod options;
mod own_files;
mod partitions;
mod phase;
mod pidfile;
mod ports;
mod ports_file;
mod privileges;
mod process_limits;
mod provider;
mod replies;
mod resp;
mod run;
mod sampling;
mod server;
mod service;
mod sharing;
mod spin;
mod stats;
mod steering;
mod telling;
mod thread;
mod trimmed;
mod watch;

pub use auth::UsersFormat;
pub use cache_store::Provide;
pub use config::{Config, Tls, segment_length};
pub use explain::explain;
pub use flags::{LogFormat, Protocol};
pub use metrics::{Exporter, Format};
pub use options::Options;
pub use run::run;
pub use server::Server;
pub use sharing::Sharing;
pub use spin::Spin;

/// The limits of the division of memory, with their reasons.
pub fn limits() -> Vec<units::Limit> {
    config::limits()
}

/// The version of memcached whose answers these are.
macro_rules! memcached_version {
    () => {
        "1.6.45"
    };
}

/// The answer to `version`: the version of memcached that answers the same, since clients parse it and libmemcached
/// refuses versions that begin with 0; then our own. Bounds: libmemcached has room for 23 bytes.
pub const VERSION: &str = concat!(memcached_version!(), "-sphinx-", env!("CARGO_PKG_VERSION"));

/// The text printed behind `memcached` by `-V`, and in the first line of `-h`: the same two versions, as scripts parse
/// them there, then commit and profile. One line: scripts take the second word of all that `memcached -V` prints.
const VERSION_LINE: &str =
    concat!(memcached_version!(), " (sphinxd ", env!("CARGO_PKG_VERSION"), ", ", env!("BUILT_FROM"), ")");

/// A memcached-compatible cache in which every thread owns its core, its connections and its keys.
///
/// Exit codes: 0 stopped by a signal, 1 failed, 2 wrong usage.
#[derive(clap::Parser, Debug)]
#[command(
    name = "sphinxd",
    // Scripts read the version of memcached from the first line of -h and -V: `memcached 1.6.45`.
    display_name = "memcached",
    version = VERSION_LINE,
    before_help = format!("memcached {VERSION_LINE}"),
    max_term_width = 100
)]
pub struct CommandLine {
    #[command(flatten)]
    options: Options,
}

impl CommandLine {
    /// Its options.
    pub fn into_options(self) -> Options {
        self.options
    }
}

#[cfg(test)]
mod tests;
