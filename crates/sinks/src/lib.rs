//! Traces of a result sent to what stores or shows them: Jaeger or another receiver of OTLP, Cassandra, a file.
//!
//! A trial keeps its traced requests and their spans beside its record; [`Kept`] reads them, [`export`] sends them to a
//! [`Destination`] and then counts what that holds. It is done with results that are whole, so it costs no measurement anything.
//! Memory is bounded by the largest request and one batch, waiting by a [`Patience`].
//!
//! Try it: `cargo test -p sinks`; with `-- --ignored` against Jaeger and Cassandra, which it builds and starts.

mod cassandra;
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
mod sample;
#[cfg(test)]
mod tests;
mod trace;

pub use destination::{Destination, Host};
pub use error::Error;
pub use export::{Exported, Progress, export};
pub use kept::Kept;
pub use patience::Patience;
