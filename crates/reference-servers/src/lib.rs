//! Servers with known behaviour, as references for generators: one with known service times, and one of videos with known contents
//! and planted faults.
//!
//! Try it: `cargo test -p reference-servers`.

pub mod null;
mod stalls;
pub mod video;

pub use stalls::Stalls;
