//! Videos: what is asked for, and what is an answer.

pub use videos::{CHUNK, CHUNK_BYTES, Catalog, Content, RUNGS};
