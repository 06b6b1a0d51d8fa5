use thiserror::Error as ThisError;
use units::ParseError;

/// An application that cannot be read, set up or run.
#[derive(Debug, ThisError)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("{file}: {problem}")]
    Description { file: String, problem: String },
    #[error("there is no application '{name}'; there are {known}{near}")]
    Unknown { name: String, known: String, near: String },
    #[error("{service}: {problem}")]
    Setting { service: String, problem: String },
    #[error(transparent)]
    Quantity(#[from] ParseError),
    #[error("{file}: {service}: {problem}")]
    Template { file: String, service: String, problem: String },
    #[error("{service} must have something to serve: {remedy}")]
    NothingToServe { service: String, remedy: &'static str },
    #[error("{service}: {problem}")]
    Unfit { service: String, problem: String },
    #[error("{service}: cannot {doing}: {problem}")]
    Answer { service: String, doing: String, problem: String },
    #[error("the data were not made, as this was stopped")]
    Stopped,
    #[error("{app}: cannot make its data set: {problem}")]
    DataSet { app: String, problem: String },
    #[error("{services}: {problem}")]
    Elsewhere { services: String, problem: String },
    #[error("{0}")]
    Supervision(String),
    #[error(transparent)]
    Launch(#[from] launch::Error),
}
