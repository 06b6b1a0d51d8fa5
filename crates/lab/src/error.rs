//! Why a run ended before its end.

use launch::Interrupted;
use thiserror::Error;

/// The reason why a run could not continue.
///
/// Earlier measurements are in the result folder; the message says what happened and what to do.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The generator refused its options before any server was started. `usage`: they were wrong as such.
    #[error("{message}")]
    Refused { message: String, usage: bool },
    #[error("trial {id} on {target} was not possible: {message}")]
    Trial { id: String, target: String, message: String },
    #[error(
        "trial {id} on {target} did not end within {allowed_s:.0} s and was stopped; is the server stuck? {message}"
    )]
    Stuck { id: String, target: String, allowed_s: f64, message: String },
    #[error(
        "trial {id} on {target} did not end within {allowed_s:.0} s and was stopped: its generator was ready to run and had no \
         processor for {waited_s:.0} s; other processes keep the processors busy (`top` names them)"
    )]
    Starved { id: String, target: String, allowed_s: f64, waited_s: f64 },
    #[error("{name} ended while it was measured{message}")]
    ServerGone { name: String, message: String },
    #[error("{target}: no maximum throughput was found to take shares of: {reason}")]
    NoThroughput { target: String, reason: String, ended_early: bool },
    #[error("the files {files} cannot be made for a web server: {message}")]
    NoFiles { files: String, message: String },
    #[error("{name} is unavailable on another machine: {message}")]
    RemoteHost { name: String, message: String },
    #[error("{asked} is unavailable: there are {here} such processors; choose fewer")]
    TooFewProcessors { asked: String, here: usize },
    #[error(
        "generators on another machine ({agent}) cannot reach {what}; have the server listen on an address of this machine \
         that they reach (--server-listen IP), or start it by an agent (--server-agent)"
    )]
    OutOfReach { agent: String, what: &'static str },
    #[error("{address} cannot be reached: {source}; start the server there, or name another target")]
    Unreachable { address: String, source: std::io::Error },
    #[error("{name} was not started here, so it cannot be restarted; name an application, such as sphinx")]
    NotOurs { name: String },
    #[error(
        "{name}: spans of traced requests are unavailable: {problem}; leave out --trace, or have an application that writes them \
         started on this machine, such as --target movies"
    )]
    NoSpans { name: String, problem: String },
    #[error(transparent)]
    Target(#[from] units::ParseError),
    #[error(transparent)]
    App(app::Error),
    #[error(transparent)]
    Launch(#[from] launch::Error),
    #[error(transparent)]
    Agent(#[from] agent::Error),
    #[error(transparent)]
    Knobs(#[from] knobs::Error),
    #[error(transparent)]
    Results(#[from] results::Error),
}

impl From<app::Error> for Error {
    fn from(error: app::Error) -> Error {
        match error {
            app::Error::Launch(error) => Error::Launch(error),
            app::Error::Quantity(error) => Error::Target(error),
            other => Error::App(other),
        }
    }
}

impl Error {
    /// A refusal that is not a matter of usage.
    pub(crate) fn refused(message: impl Into<String>) -> Error {
        Error::Refused { message: message.into(), usage: false }
    }

    /// An error of the system that concerns this process itself.
    pub(crate) fn of_system(error: std::io::Error) -> Error {
        Error::refused(error.to_string())
    }

    /// Whether the error is a usage error, such as a setting that the application does not have.
    pub fn is_usage(&self) -> bool {
        use app::Error::{Description, Setting, Unknown};
        matches!(
            self,
            Error::Refused { usage: true, .. }
                | Error::Target(_)
                | Error::App(Description { .. } | Setting { .. } | Unknown { .. })
        )
    }

    /// The reason recorded in a partial result.
    pub fn in_short(&self) -> String {
        match self {
            Error::Interrupted(Interrupted(cause)) => (*cause).into(),
            other => other.to_string(),
        }
    }

    /// Whether the error ends the whole study, instead of only skipping the affected part: the run was interrupted,
    /// nothing can be written, or the host's knobs are in a wrong state for all parts.
    pub(crate) fn ends_a_study(&self) -> bool {
        match self {
            Error::Interrupted(_) | Error::Results(_) => true,
            Error::Knobs(error) => !error.is_unsupported(),
            _ => false,
        }
    }

    /// Whether host or generator kept the run from an answer: another try may have one.
    pub fn is_not_measurable(&self) -> bool {
        matches!(self, Error::NoThroughput { ended_early: true, .. } | Error::Starved { .. })
    }

    /// Whether the run was interrupted.
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Error::Interrupted(_))
    }
}
