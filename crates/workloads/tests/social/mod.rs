//! Users against a site, on simulated time: the outcome of each operation is arithmetic.
//!
//! Run them: `cargo test -p workloads --test it social`. Every failure prints its seed.

mod accounting;
mod faults;
mod priming;
mod simulation;
mod site;
mod stall;
