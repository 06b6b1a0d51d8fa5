use std::path::PathBuf;

use thiserror::Error;

/// Why traces or metrics were not sent, or traces did not all reach the sink.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("{}: {problem}; measure the trial again, or name the others by --trial", path.display())]
    Kept { path: PathBuf, problem: String },
    #[error("{}: {problem}; name another file by --to", path.display())]
    File { path: PathBuf, problem: String },
    #[error(
        "{sink}: {problem} ({tries} tries); see that it runs and that --to names its address, then send all again"
    )]
    NoAnswer { sink: String, problem: String, tries: u32 },
    #[error("{sink}: {problem}")]
    Refused { sink: String, problem: String },
    #[error(
        "{sink} holds {held} of the {sent} spans that it took: of {traces} traces not all, of which the first is {first}; it may \
         keep only so many or for so long, or share its storage with others: look at its settings, then send all again"
    )]
    Differs { sink: String, sent: u64, held: u64, traces: u64, first: String },
    #[error(
        "cannot push metrics to {address}: {problem}; give the address of a receiver that listens, as http://HOST:PORT"
    )]
    Push { address: String, problem: String },
    #[error("stopped before all was sent; what was sent stays, and sending again adds nothing twice")]
    Stopped,
}
