//! Videos: what a set of them is, how each is cut into chunks, and what is in its files.
//!
//! A [`Catalog`] is the same description on both sides: what makes the files (`taillight fileset make --video`), what
//! serves them without files, and what asks for them know length, size and content of each without a list.

mod catalog;
mod content;
mod durations;
mod ladder;

pub use catalog::Catalog;
pub use content::Content;
pub use durations::{duration_at, share_up_to};
pub use ladder::{CHUNK, CHUNK_BYTES, HIGH_IN, RUNGS};
