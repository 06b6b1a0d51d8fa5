//! Trials, searches, sweeps and comparisons: the laboratory proper.
//!
//! [`Trials`] runs the trials of a result, each in a [`Generator`] process of its own against a [`Server`], and keeps the
//! [`results::Experiment`] on disk as it grows. A [`Plan`], of a command or of a [`study`], says which trials: it
//! searches for the maximum throughput ([`MaxSearch`]), measures points in interleaved blocks, and searches for the peak
//! under QoS ([`PeakSearch`]); a [`Runner`] runs it. [`compare`] sets two results side by side. Generators and servers are
//! met through processes and files only, so that the embedded server, memcached and any other are treated alike.
//!
//! Try it: `cargo test -p lab`, which runs whole runs against a generator that only pretends.

pub mod agents;
pub mod compare;
mod error;
mod generator;
mod job;
mod lock;
mod page_cache;
mod placement;
mod priority;
mod run;
mod search;
mod server;
mod server_args;
pub mod study;
mod target;
#[cfg(test)]
pub(crate) mod testing;
mod vote;

pub use error::Error;
pub use generator::{Generator, connections};
pub use job::{CommandRun, ResultPlace, check_targets};
pub use lock::{Lock, newest, was_begun_here};
pub use page_cache::forget_files;
pub(crate) use placement::cores_of;
pub use placement::{Placement, allowed_cores, allowed_cpus, would_starve};
pub use priority::raise_priority;
pub use run::{
    Bench, Ended, Event, KnobGuard, LEFT_OUT, Plan, Progress, Record, RemoteHost, Request, Runner, Setup,
    Step, Sweep, Tracker, Trials, Tuner, Unkept, Unwatched, Where,
};
pub use search::{
    Bisection, Bracket, ENOUGH_SESSIONS, MaxSearch, Offers, Outcome, PeakSearch, Search, Tolerance, Vote,
};
pub(crate) use server::people_of;
pub use server::{
    Files, FilesPlace, Looks, Making, Restart, Seed, Server, ServerOptions, SetFiles, is_traced, make_data,
    processes_at, restart_times, this_program,
};
pub use server_args::{MakeData, ServerArgs};
pub use spec::TargetName;
pub use target::{
    address, addresses, application, check_reach, needs_files, read_spec, refuses, site, target_name,
    workloads,
};
pub use vote::{met, sustained};

/// The limits of searches, with their reasons.
pub fn limits() -> Vec<units::Limit> {
    [vote::limits(), search::limits(), run::limits()].concat()
}
