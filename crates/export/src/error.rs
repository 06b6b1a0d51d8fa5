use thiserror::Error;

/// An export that failed.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("cannot write the table as Parquet: {0}")]
    Parquet(String),
    #[error(
        "cannot push metrics to {address}: {problem}; give the address of a receiver that listens, as http://HOST:PORT"
    )]
    Push { address: String, problem: String },
}
