//! Spans of requests that several services answer together: read from the files of each process, joined into trees, and
//! cut into parts along the critical path that sum to the whole, to the nanosecond.
//!
//! [`SpanFile::read`] parses the bytes of one file, [`join`] joins the spans of all, [`Request::parts`] cuts one
//! request into parts.
//!
//! Source: `apps/movies/chassis` defines the layout of the records.
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
