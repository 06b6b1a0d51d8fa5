use std::path::PathBuf;

use thiserror::Error;

/// Why traces were not sent, or did not all reach the sink.
#[derive(Debug, Error)]
pub enum Error {
    /// A file that a trial kept is damaged.
    #[error("{}: {problem}; measure the trial again, or name the others by --trial", path.display())]
    Kept {
        /// The file.
        path: PathBuf,
        /// The defect.
        problem: String,
    },
    /// A file cannot be written or read.
    #[error("{}: {problem}; name another file by --to", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        problem: String,
    },
    /// No answer, or none in time.
    #[error(
        "{sink}: {problem} ({tries} tries); see that it runs and that --to names its address, then send all again"
    )]
    NoAnswer {
        /// The destination.
        sink: String,
        /// The failure of the last try.
        problem: String,
        /// The number of tries.
        tries: u32,
    },
    /// A refusal that another try would not change.
    #[error("{sink}: {problem}")]
    Refused {
        /// The destination.
        sink: String,
        /// What it said.
        problem: String,
    },
    /// The sink accepted the traces, but holds a different number of spans.
    #[error(
        "{sink} holds {held} of the {sent} spans that it took: of {traces} traces not all, of which the first is {first}; it may \
         keep only so many or for so long, or share its storage with others: look at its settings, then send all again"
    )]
    Differs {
        /// The destination.
        sink: String,
        /// Spans that were sent.
        sent: u64,
        /// Spans of the same traces that it holds.
        held: u64,
        /// The number of traces whose span counts differ.
        traces: u64,
        /// One of them.
        first: String,
    },
    /// The caller stopped the export.
    #[error("stopped before all was sent; what was sent stays, and sending again adds nothing twice")]
    Stopped,
}
