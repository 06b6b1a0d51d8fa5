//! Trials, searches, sweeps and comparisons: the laboratory proper.
//!
//! A [`Session`] runs trials, each in a [`Generator`] process of its own against a [`Server`], and keeps the
//! [`results::Experiment`] on disk as it grows. A [`Plan`] says which trials: it searches for the maximum
//! throughput ([`MaxSearch`]), runs the loads of a sweep in interleaved blocks, and searches for the peak under
//! QoS ([`PeakSearch`]). [`compare`] sets two results side by side. Generators and servers are met through
//! processes and files only, so that the embedded server, memcached and any other are treated alike.
//!
//! Try it: `cargo test -p lab`, which runs whole sessions against a generator that only pretends.

mod agenda;
mod basis;
mod campaign;
mod compare;
mod error;
mod generator;
mod interrupt;
mod placement;
mod progress;
#[cfg(test)]
mod sample;
mod search;
mod seeds;
mod server;
mod session;
pub mod study;
mod target;
mod vote;

pub use agenda::Agenda;
pub use basis::choose_basis;
pub use campaign::{Plan, run_load};
pub use compare::{Choice, compare};
pub use error::Error;
pub use generator::{Generator, Load};
pub use interrupt::Interrupt;
pub use placement::{Placement, allowed_cpus};
pub use progress::{Event, Progress, Step, Unwatched, Where};
pub use search::{Bisection, Bracket, MaxSearch, Outcome, PeakSearch, Search, Tolerance, Vote};
pub use server::{Files, FilesPlace, Remote, Restart, Server, ServerOptions, restart_times, this_program};
pub use session::{Request, Session, Span};
pub use spec::TargetName;
pub use target::{address, addresses, application, needs_files, read_spec, refuses, target_name, workloads};
pub use vote::{met, sustained};
