//! The ruler is tested before anything that it measures: the engine on a simulated clock, against a null
//! server whose response times are known exactly.
//!
//! Run them: `cargo test -p openloop --test ruler`. Every failure prints its seed.

mod accounting;
mod closed;
mod datagrams;
mod generator_fault;
mod parts;
mod queueing;
mod scripted;
mod simulation;
mod stall;
mod steps;
