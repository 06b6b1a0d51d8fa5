//! Observes the time of requests in the server, and the use of processors during a trial; changes nothing.
//!
//! An [`Observer`] runs during a trial, in the process that started it. It divides the time into slots, runs each probe
//! in some of them and not in others, and aligns them with the trial's windows afterwards: results of a slot go into
//! the record, and the difference between slots with and without a probe is its overhead.
//!
//! | probe | sees | by |
//! |---|---|---|
//! | `stages` | the stages of a request in the server | programs in the kernel, [feature](https://doc.rust-lang.org/cargo/reference/features.html) `bpf`, root |
//! | `runqueue` | how the server's threads come to run; interrupts | `/proc`, without privilege |
//! | `cpu` | which code uses the processors | sampling by `perf_event_open(2)` |
//! | `sockets` | how long requests wait unread, round trips, what held answers back | netlink, without privilege |
//! | `server` | what the server counts itself | its `stats`, NGINX's `stub_status`, Sphinx's metrics |
//! | `client` | when requests left the client's machine, and answers came to it | `SO_TIMESTAMPING` in the generator |
//! | `counters` | instructions, misses, faults | `perf_event_open(2)`, those that are there |
//! | `io` | disks and page cache | `/proc` |
//!
//! Features that this host, user or build lacks are listed in [`results::probes::Missing`] with the missing figures;
//! the rest is measured.
//!
//! Try it: `cargo test -p probes --features bpf` as root, or `taillight sweep cache --target memcached --probe all`.

mod counters;
mod histogram;
mod input_output;
mod instrument;
#[cfg(feature = "bpf")]
mod kernel;
mod observer;
mod overhead;
mod packets;
mod perf;
mod processor;
mod scheduling;
mod seen;
mod server;
mod slots;
mod sockets;
mod stages;
mod subject;

pub use observer::Observer;
pub use packets::{Answered, PacketLog, Timed};
pub use seen::{Beside, Seen};
pub use spec::{Probe, ProbeSet};
pub use subject::Subject;

/// The limits of probes, with their reasons.
pub fn limits() -> Vec<units::Limit> {
    [slots::limits(), processor::limits()].concat()
}

/// Why the stages of a request cannot be followed here, with a hint; `None` if they can.
///
/// Cost: some 100 ms, since the programs are loaded for a trial.
pub fn no_stages() -> Option<String> {
    stages::lack()
}
