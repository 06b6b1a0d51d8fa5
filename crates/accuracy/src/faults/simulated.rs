//! Faults that are planted in a simulated world: one table for each place.

pub(super) mod agents;
pub(super) mod generator;
pub(super) mod knobs;
pub(super) mod network;
pub(super) mod server;

/// How the true figures are known where the schedule and the server's times give them.
const RECURSION: &str = "the same arrivals and service times without the fault, by Lindley's recursion";
/// The same where the fault is the server's own.
const OWN_RECURSION: &str = "the same arrivals and service times, by Lindley's recursion";
/// A verdict allows as many failures. Source: `ERRORS` in `crates/openloop/src/judge.rs`.
const ERRORS_ALLOWED: f64 = 0.001;
