//! Viewers against a video server, on simulated time: their playback is arithmetic.
//!
//! Run them: `cargo test -p workloads --test it video`. Every failure prints its seed.

mod accounting;
mod ffprobe;
mod simulation;
mod stall;
mod steady;
mod target;
