//! A result in the formats of other tools: tables as CSV or Parquet, metrics as OpenMetrics.
//!
//! `result.json` stays the complete record; exports are derived from it for a spreadsheet, a data frame or a monitoring
//! system. [`trials`] and [`windows`] are [`Table`]s with stable column names that end in their unit. [`Metrics`] are
//! one trial's figures; [`Live`] has those of a run that lasts.
//!
//! Parquet needs a large library, so it is behind the feature `parquet`, which is off.
//!
//! Try it: `cargo test -p export --all-features`.

mod csv;
mod error;
mod live;
mod metrics;
mod openmetrics;
#[cfg(feature = "parquet")]
mod parquet_file;
mod table;
mod trials;
mod windows;

pub use csv::quoted;
pub use error::Error;
pub use live::{Live, LiveStep};
pub use metrics::{Kind, Metric, Metrics, Point, Value};
pub use openmetrics::{CONTENT_TYPE, Series};
pub use table::{Cell, Column, Table, Type};
pub use trials::trials;
pub use windows::windows;
