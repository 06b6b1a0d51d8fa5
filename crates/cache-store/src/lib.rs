//! The memory of one partition of the cache: a log of items in segments, and an index into it.
//!
//! ```text
//!  key ──xxh3──▶ hash ──┬─ high bits: which partition (the caller's business)
//!                       ├─ low bits:  which bucket of the index ─┐
//!                       └─ middle:    the tag in a bucket's slot │
//!                                                                ▼
//!        index     [tag|location]×7  [tag|location]×7  …   one cache line each
//!                        │
//!                        ▼
//!        log       | segment | segment | segment ▒▒▒▒▒░░░ |   2 MiB each, filled front to back
//!                    oldest ───────────────▶ active
//! ```
//!
//! A new value is appended to the active segment and the index is pointed at it; the old record stays behind as
//! garbage. When no segment is free, one is reclaimed whole, a little with each write: items read since are appended to
//! another, and the rest is dropped ([`Policy`]; first in, first out, as in Sphinx (ANCS'19), is one of them). Writes
//! never search for room.
//!
//! A value that is larger than a segment lies in adjacent segments of its own, which are emptied for it a little at a time
//! ([`Claim`]).
//!
//! A partition has one writer, holds no lock and reads no clock: every operation gets the time as a parameter. The same
//! bytes therefore always give the same answers, which the tests against a plain map rely on.
//!
//! Other threads may read it concurrently, by a [`Reader`]: a word of the index is an atomic, a record is never changed
//! once the index points at it, and a segment is reused only when [`Epochs`] show that no reader can see it, and no
//! unsent reply points into it ([`Pinned`]).
//!
//! Try it: `cargo test -p cache-store`.

mod arena;
mod bytes;
mod config;
mod epochs;
mod expiry;
mod extent;
mod hash;
mod index;
mod log;
mod marks;
mod pins;
mod policy;
mod provision;
mod reader;
mod record;
mod records;
mod stats;
mod store;
mod sync;

pub use bytes::Rest;
pub use config::{Config, ConfigError, InFile, Provide};
pub use epochs::Epochs;
pub use expiry::Expiry;
pub use hash::{Key, KeyHash, KeyHasher};
pub use marks::Marks;
pub use pins::Pinned;
pub use policy::Policy;
pub use provision::Provision;
pub use reader::{Lookup, Reader};
pub use stats::Stats;
pub use store::{
    Claim, Claimed, Counted, Cursor, Deleted, Entry, Evicted, Fields, Invalidate, Item, MetaCount, MetaStore,
    OnEviction, Reservation, Store, Stored, Unusable, View,
};
