//! A result in the formats of other tools: tables as CSV or Parquet, metrics as OpenMetrics or OTLP.
//!
//! `result.json` stays the complete record; exports are derived from it for a spreadsheet, a data frame or a monitoring
//! system. [`trials`] and [`windows`] are [`Table`]s with stable column names that end in their unit. [`Metrics`] are
//! one trial's figures; [`Live`] has those of a run that lasts.
//!
//! Formats that need large libraries are behind features, all off: `parquet`, `push` (metrics to an HTTP address) and
//! `otlp` (to an OpenTelemetry collector, or by Prometheus' remote write).
//!
//! Try it: `cargo test -p export --all-features`.

mod csv;
mod error;
mod live;
mod metrics;
mod openmetrics;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "parquet")]
mod parquet_file;
#[cfg(feature = "push")]
mod push;
#[cfg(feature = "otlp")]
mod remote_write;
mod table;
mod trials;
mod windows;

pub use csv::quoted;
pub use error::Error;
pub use live::{Live, Step};
pub use metrics::{Kind, Metric, Metrics, Point, Value};
pub use openmetrics::CONTENT_TYPE;
pub use table::{Cell, Column, Table, Type};
pub use trials::trials;
pub use windows::windows;
