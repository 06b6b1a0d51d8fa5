//! Spans of requests that several services answer together: read from the files of each process, joined into trees, and
//! cut into parts along the critical path that sum to the whole, to the nanosecond.
//!
//! [`SpanFile::read`] parses the bytes of one file, [`join`] joins the spans of all, [`RequestTree::parts`] cuts one
//! request into parts, and [`summary()`] sums the parts up, as a trial keeps them. No file and no clock is read.
//!
//! Source: `apps/movies/chassis` defines the layout of the records.
//!
//! Try it: `cargo test -p traces`.

mod file;
mod parts;
mod span;
mod summary;
mod tree;

pub use file::{FileError, Origin, SpanFile};
pub use parts::Segment;
pub use span::{SPAN_BYTES, Span, SpanError, SpanKind, SpanOutcome, TraceId};
pub use summary::{CallCount, Edge, Names, Observed, STORE_METHODS, Sampled, store_method, summary};
pub use tree::{Call, RequestTree, Served, join};
