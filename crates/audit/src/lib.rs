//! Audit of the outputs of other load generators.
//!
//! [`audit`] recognises the output by its content, reads it into an [`Output`], and judges it: open or closed loop and
//! what that hides, offered against achieved rate, samples behind each percentile, resolution, errors that the
//! percentiles leave out, warm-up. It measures nothing and runs nothing.
//!
//! A format is a file in `formats` and a line in its list.
//!
//! Try it: `cargo test -p audit`.

mod findings;
mod formats;
mod hidden;
mod number;
mod output;

pub use findings::{Audit, Finding, Weight};
pub use formats::names;
pub use hidden::{Hidden, hidden};
pub use output::{Failures, Given, Loop, Output, Percentile, Service};

use thiserror::Error;

/// A longer output is refused. The outputs have some kilobytes; a summary of k6 with many groups has a megabyte.
pub const LONGEST: usize = 16 << 20;

/// Why an output was not read.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("the output of no known load generator; known are {}", names().join(", "))]
    Unknown,
    #[error("an output of {format}, but {problem}; give the whole output of one run")]
    Damaged { format: &'static str, problem: String },
    #[error("over {} MiB; give the output of the program, not its log", LONGEST >> 20)]
    TooLong,
}

/// Reads the output of a load generator and judges it. `given` are facts that the output may lack.
///
/// Errors: the format is unknown, or the output is damaged.
pub fn audit(text: &[u8], given: &Given) -> Result<Audit, Error> {
    Ok(Audit::of(read(text)?.with(given)))
}

/// Reads the output of a load generator.
///
/// Errors: the format is unknown, or the output is damaged.
pub fn read(text: &[u8]) -> Result<Output, Error> {
    if text.len() > LONGEST {
        return Err(Error::TooLong);
    }
    formats::read(&formats::Content::of(text))
}
