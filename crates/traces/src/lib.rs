//! Spans of requests that several services answer together: read from the files that each process leaves, joined into trees, and cut
//! into parts along the critical path that sum to the whole, to the nanosecond.
//!
//! [`SpanFile::read`] takes the bytes of one file, [`join`] the spans of all, [`Request::parts`] says where the time of one went.
//!
//! Source: the layout of the records is that of `apps/movies/chassis`.
//!
//! Try it: `cargo test -p traces`.

mod edges;
mod file;
mod parts;
mod span;
mod tree;

pub use edges::{Edge, edges};
pub use file::{FileError, Origin, SpanFile};
pub use parts::{Part, Segment};
pub use span::{Kind, Outcome, SPAN_BYTES, Span, SpanError, TraceId};
pub use tree::{Call, Request, Served, join};
