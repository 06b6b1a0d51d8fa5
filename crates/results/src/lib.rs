//! What is kept of a measurement: plain records, written as JSON, that a program can read years later.
//!
//! A result is a folder. `result.json` holds the [`Experiment`]: what was asked, on which host, with which
//! targets, the summary of every [`Trial`] and the findings. `trials/<id>.hlog` holds each trial's
//! histograms in full. `report.html` is made from these two alone. Field names end in their unit; a field
//! that could not be measured is `null`, never 0.
//!
//! Try it: `cargo test -p results`, or `jq .trials[0].verdict results/*/result.json`.

mod comparison;
mod experiment;
mod folder;
mod latency;
mod trial;
mod verdict;

pub use comparison::{Comparison, ComparisonPoint, Metric, PeakPair, RatioInterval, Side};
pub use experiment::{Experiment, Kind, MaxThroughput, Peak, SCHEMA, Target};
pub use folder::{Error, ResultFolder};
pub use latency::LatencySummary;
pub use trial::{Arrivals, Generator, Noise, Operation, Purpose, Trial, WindowPoint};
pub use verdict::{Invalid, Reason, Verdict};
