//! The ruler is tested before anything that it measures: the engine on a simulated clock, against a null
//! server whose response times are known exactly.
//!
//! Run them: `cargo test -p openloop --test ruler`. Every failure prints its seed.

mod absence;
mod accounting;
mod clients;
mod closed;
mod cut;
mod datagrams;
mod death;
mod generator_fault;
mod host;
mod live_reporter;
mod multiplexed;
mod parts;
mod property;
mod queueing;
mod reading;
mod receiving;
mod renewal;
mod scripted;
mod sending;
mod session_links;
mod session_population;
mod sessions;
mod simulation;
mod stall;
mod steps;
mod unsteady;
