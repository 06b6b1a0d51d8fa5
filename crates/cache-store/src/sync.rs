//! Synchronisation primitives: the standard library's atomics, or loom's, which try every order in which threads may
//! meet.
//!
//! Try it: `RUSTFLAGS='--cfg loom' cargo test -p cache-store --lib --target-dir target/loom loom`.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
