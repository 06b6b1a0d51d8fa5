//! Sends the traces of a result to a store or viewer: Jaeger or another receiver of OTLP, a file.
//!
//! A trial keeps its traced requests and their spans next to its record; [`Kept`] reads them, [`export`] sends them to
//! a [`Destination`] and then counts the spans there. It works on finished results, so it does not affect measurements.
//! Memory is bounded by the largest request and one batch, waiting by a [`Patience`].
//!
//! Try it: `cargo test -p sinks`; with `-- --ignored` against Jaeger, which it builds and starts.

mod destination;
mod error;
mod export;
mod file;
mod http;
mod kept;
mod otlp;
mod patience;
mod receiver;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod trace;

pub use destination::{Destination, Host};
pub use error::Error;
pub use export::{Exported, Progress, export};
pub use kept::Kept;
pub use patience::Patience;
