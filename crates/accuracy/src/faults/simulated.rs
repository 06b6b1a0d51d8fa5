//! Faults in a simulated world: one table for each place.

pub(super) mod agents;
pub(super) mod generator;
pub(super) mod knobs;
pub(super) mod network;
pub(super) mod server;

/// Source of the true figures if the schedule and the server's times determine them.
const RECURSION: &str = "the same arrivals and service times without the fault, by Lindley's recursion";
/// The same if the fault is the server's own.
const OWN_RECURSION: &str = "the same arrivals and service times, by Lindley's recursion";
/// Share of failures that a verdict allows. Source: `ERRORS` in `crates/openloop/src/judge.rs`.
const ERRORS_ALLOWED: f64 = 0.001;
