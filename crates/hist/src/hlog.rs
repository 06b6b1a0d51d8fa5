//! Interval logs (`.hlog`), the file format of the HdrHistogram tools.
//!
//! A result keeps its distributions in this format so that they can be merged and questioned years
//! later, with or without this program: HistogramLogProcessor, HistogramLogAnalyzer and the libraries of
//! a dozen languages read it. Each line is one histogram with a tag, a start and a duration.
//!
//! The recorded values are nanoseconds. The third column, which is there for human eyes, is the maximum in
//! milliseconds: the format divides it by an "output value unit ratio", whose usual value for nanoseconds
//! is 10⁶, and HistogramLogProcessor divides its percentiles by the same.
//!
//! Try it: `cargo test -p hist hlog`.

pub(crate) mod decode;
mod read;

use std::io;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError, Tag};
use thiserror::Error;
use units::Nanos;

use crate::Latency;

/// Nanoseconds in the unit of the maximum that each line shows.
///
/// Source: the default of HistogramLogProcessor's `-outputValueUnitRatio`, milliseconds.
const SHOWN_UNIT: f64 = 1e6;

/// One line of a log: a histogram, and what and when it is of.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The measured quantity: `get.response_time`. Bounds: not empty; no comma, space or line break.
    pub tag: Option<String>,
    /// Its start, from [`Log::base`] on. Bounds: the format keeps whole milliseconds.
    pub start: Nanos,
    /// Its length. Bounds: the format keeps whole milliseconds.
    pub duration: Nanos,
    /// The times.
    pub latency: Latency,
}

/// A whole log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// Lines for people to read. Bounds: none starts with `[`, which the format keeps for itself.
    pub comments: Vec<String>,
    /// The moment that the starts count from, since the Unix epoch, in whole milliseconds.
    pub base: Option<Nanos>,
    /// The histograms, by convention ordered by their start.
    pub intervals: Vec<Interval>,
}

/// Why a log could not be written or read.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum HlogError {
    #[error("cannot write the histogram log: {0}")]
    Write(#[from] io::Error),
    #[error("cannot write the histogram log: the {what} '{given}' {problem}")]
    Unwritable { what: &'static str, given: String, problem: &'static str },
    #[error("histogram log, line {line}: {problem}; the file is damaged or no HdrHistogram interval log")]
    Damaged { line: usize, problem: String },
}

impl Log {
    /// Writes the log.
    ///
    /// The number of intervals is written ahead of them, so that a file cut at the end of a line is noticed.
    /// Errors: an error of the writer; a tag or a comment out of its bounds.
    pub fn write(&self, to: &mut impl io::Write) -> Result<(), HlogError> {
        let mut header = IntervalLogWriterBuilder::new();
        header.add_comment("[Histogram log format version 1.3]");
        for line in self.comments.iter().flat_map(|comment| comment.lines()) {
            if line.starts_with('[') {
                return Err(unwritable("comment", line, "starts with '['"));
            }
            header.add_comment(line);
        }
        if let Some(base) = self.base {
            // Not by the builder's own method: it takes a SystemTime, which the pure crates do without.
            header.add_comment(&format!("[BaseTime: {} (seconds since epoch)]", seconds(base)));
        }
        header.add_comment(&format!("[Intervals: {}]", self.intervals.len()));
        let mut serializer = V2DeflateSerializer::new();
        let mut lines = header.with_max_value_divisor(SHOWN_UNIT).begin_log_with(to, &mut serializer)?;
        for interval in &self.intervals {
            let tag = interval.tag.as_deref().map(checked).transpose()?;
            lines
                .write_histogram(
                    interval.latency.inner(),
                    interval.start.into(),
                    interval.duration.into(),
                    tag,
                )
                .map_err(|error| match error {
                    IntervalLogWriterError::IoError(error) => HlogError::Write(error),
                    IntervalLogWriterError::SerializeError(error) => {
                        HlogError::Write(io::Error::other(error.to_string()))
                    }
                })?;
        }
        Ok(())
    }

    /// Reads a log, of this program or any other that writes the format.
    ///
    /// Histograms of other bounds are taken over to the precision of the coarser one; a maximum over one
    /// hour becomes one hour. Errors: the line that is damaged and how.
    pub fn read(text: &[u8]) -> Result<Log, HlogError> {
        read::read(text)
    }
}

/// Seconds with three digits, as the format has them.
fn seconds(time: Nanos) -> String {
    let millis = time.0 / 1_000_000;
    format!("{}.{:03}", millis / 1_000, millis % 1_000)
}

fn checked(tag: &str) -> Result<Tag<'_>, HlogError> {
    Tag::new(tag)
        .filter(|_| !tag.is_empty())
        .ok_or_else(|| unwritable("tag", tag, "is empty or holds a comma, a space or a line break"))
}

fn unwritable(what: &'static str, given: &str, problem: &'static str) -> HlogError {
    HlogError::Unwritable { what, given: given.into(), problem }
}

#[cfg(test)]
mod tests;
