//! A simulated clock and network: exact time, no threads, the same code as in a measurement.
//!
//! A [`World`] holds the clock and the wires. Each program (a generator, a null server) runs on a
//! [`SimReactor`] of its own, as a machine of one core: sending and receiving cost it time, and it can be
//! frozen for a while, as a hypervisor would. The world always runs the program that is ready first, so one
//! seed gives one history.
//!
//! Datagrams can be lost, doubled and made to overtake each other ([`World::faults`]); streams can be cut, held up and
//! reset ([`World::stream_faults`]).
//!
//! Try it: `cargo test -p reactor sim`.

mod datagrams;
mod faults;
mod reactor;
mod streams;
mod world;

pub use faults::{Faults, Mishaps};
pub use reactor::{SimReactor, SimWaker};
pub use streams::StreamFaults;
pub use world::{Costs, Program, Running, World};
