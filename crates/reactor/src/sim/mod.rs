//! A simulated clock and network: exact time, no threads, the same code as in a measurement.
//!
//! A [`World`] holds the clock and the wires. Each program (a generator, a null server) runs on a
//! [`SimReactor`] of its own, as a machine of one core: sending and receiving cost it time, and it can be
//! frozen for a while, as a hypervisor would. The world always runs the program that is ready first, so one
//! seed gives one history.
//!
//! Try it: `cargo test -p reactor sim`.

mod reactor;
mod world;

pub use reactor::{SimReactor, SimWaker};
pub use world::{Costs, Program, World};
