use thiserror::Error;

/// An export that failed.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("cannot write the table as Parquet: {0}")]
    Parquet(String),
}
