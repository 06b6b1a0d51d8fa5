//! Sends the traces of a result to a store or viewer (Jaeger or another receiver of OTLP, a file), and metrics to a push
//! gateway, a collector or a receiver of Prometheus' remote write.
//!
//! A trial keeps its traced requests and their spans next to its record; [`Kept`] reads them, [`export()`] sends them to
//! a [`Destination`] and then counts the spans there. It works on finished results, so it does not affect measurements.
//! Memory is bounded by the largest request and one batch, waiting by a [`Patience`].
//!
//! Try it: `cargo test -p sinks`; with `-- --ignored` against Jaeger, which it builds and starts.

mod destination;
mod error;
mod file;
mod http;
mod kept;
mod otlp;
mod patience;
mod push;
mod receiver;
mod remote_write;
mod sending;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod trace;

pub use destination::{Destination, Host};
pub use error::Error;
pub use kept::Kept;
pub use patience::Patience;
pub use push::{push_openmetrics, push_otlp};
pub use remote_write::remote_write;
pub use sending::{Exported, Progress, export};
