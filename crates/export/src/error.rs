use thiserror::Error;

/// An export that failed.
#[derive(Debug, Error)]
pub enum Error {
    /// The table could not be written as Parquet.
    #[error("cannot write the table as Parquet: {0}")]
    Parquet(String),
    /// The receiver could not be reached or refused.
    #[error(
        "cannot push metrics to {address}: {problem}; give the address of a receiver that listens, as http://HOST:PORT"
    )]
    Push {
        /// Where to.
        address: String,
        /// What went wrong.
        problem: String,
    },
}
