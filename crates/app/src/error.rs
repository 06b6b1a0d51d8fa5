use thiserror::Error as ThisError;
use units::ParseError;

/// An application that cannot be read, set up or run.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The description is wrong.
    #[error("{file}: {problem}")]
    Description {
        /// Its file.
        file: String,
        /// The place and the mistake.
        problem: String,
    },
    /// No application has this name.
    #[error("there is no application '{name}'; there are {known}{near}")]
    Unknown {
        /// The requested name.
        name: String,
        /// What there is.
        known: String,
        /// The nearest, as half a sentence.
        near: String,
    },
    /// A setting has an invalid value, or does not exist.
    #[error("{service}: {problem}")]
    Setting {
        /// The service, or the application if it has only one service.
        service: String,
        /// The given text, the mistake, and the correct form.
        problem: String,
    },
    /// A quantity cannot be read.
    #[error(transparent)]
    Quantity(#[from] ParseError),
    /// A template or an expression fails.
    #[error("{file}: {service}: {problem}")]
    Template {
        /// The file of the template, or the description.
        file: String,
        /// The service.
        service: String,
        /// Message of the template engine.
        problem: String,
    },
    /// A service must be given something.
    #[error("{service} must have something to serve: {remedy}")]
    NothingToServe {
        /// The service.
        service: String,
        /// What to give.
        remedy: &'static str,
    },
    /// A service cannot be started with these settings, or not in this form.
    #[error("{service}: {problem}")]
    Unfit {
        /// The service.
        service: String,
        /// The problem and its remedy.
        problem: String,
    },
    /// Counters or a store did not answer as described.
    #[error("{service}: cannot {doing}: {problem}")]
    Answer {
        /// The service.
        service: String,
        /// What was tried.
        doing: String,
        /// The outcome.
        problem: String,
    },
    /// The data of a store were being made when that was to end.
    #[error("the data were not made, as this was stopped")]
    Stopped,
    /// The data set of an application cannot be made.
    #[error("{app}: cannot make its data set: {problem}")]
    DataSet {
        /// The application.
        app: String,
        /// The obstacle.
        problem: String,
    },
    /// Services that an agent is to run do not run there.
    #[error("{services}: {problem}")]
    Elsewhere {
        /// Their names.
        services: String,
        /// Message of the agent.
        problem: String,
    },
    /// An application that is started and watched apart from a measurement: its state, or a program that works on it.
    #[error("{0}")]
    Supervision(String),
    /// A process could not be started, did not become ready, or did not end.
    #[error(transparent)]
    Launch(#[from] launch::Error),
}
