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
        /// The place and what is wrong there.
        problem: String,
    },
    /// There is no such application.
    #[error("there is no application '{name}'; there are {known}{near}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
        /// The nearest, as half a sentence.
        near: String,
    },
    /// A setting cannot be read, or there is none of the name.
    #[error("{service}: {problem}")]
    Setting {
        /// The service, or the application where it has only one.
        service: String,
        /// What was given, what is wrong with it, what to write.
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
        /// What the template engine says.
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
        /// What is wrong, and what to do.
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
        /// What is in the way.
        problem: String,
    },
    /// Services that an agent is to run do not run there.
    #[error("{services}: {problem}")]
    Elsewhere {
        /// Their names.
        services: String,
        /// What the agent said.
        problem: String,
    },
    /// A process could not be started, did not become ready, or did not end.
    #[error(transparent)]
    Launch(#[from] launch::Error),
}
