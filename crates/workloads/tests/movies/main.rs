//! Visitors against a site of films, on simulated time: what becomes of each query is arithmetic.
//!
//! Run them: `cargo test -p workloads --test movies`. Every failure prints its seed.

mod accounting;
#[path = "../simulated/mod.rs"]
mod simulated;
mod site;
