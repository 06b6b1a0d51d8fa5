//! Visitors against a site of films, on simulated time: the outcome of each query is arithmetic.
//!
//! Run them: `cargo test -p workloads --test it movies`. Every failure prints its seed.

mod accounting;
mod site;
