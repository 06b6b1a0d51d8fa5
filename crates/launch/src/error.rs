use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use thiserror::Error as ThisError;

use crate::Form;

/// A process that could not be started, did not become ready, or did not end.
///
/// It names the process, what happened, and the last lines that the process wrote to standard error.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The program does not exist.
    #[error("{name}: there is no program {}; {hint}", program.display())]
    NotFound {
        /// The process.
        name: String,
        /// The program searched for.
        program: PathBuf,
        /// A package to install or a path to check.
        hint: String,
    },
    /// The program exists and could not be started.
    #[error("{name}: cannot start {}: {source}", program.display())]
    Spawn {
        /// The process.
        name: String,
        /// The program to start.
        program: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The processors that it should run on are not all there for it.
    #[error("{name}: cannot confine it to the processors {cpus:?}; this process may use {allowed:?}")]
    Cpus {
        /// The process.
        name: String,
        /// The requested processors.
        cpus: Vec<usize>,
        /// The processors allowed to the calling thread.
        allowed: Vec<usize>,
    },
    /// It ended before it was ready, or ended with a failure.
    #[error("{name} ended {when}: {status}{}", last_words(stderr))]
    Died {
        /// The process.
        name: String,
        /// `before it was ready`, …
        when: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// The last lines that it wrote to standard error.
        stderr: Vec<String>,
    },
    /// It runs and did not become ready in time.
    #[error("{name} did not {what} within {within:?}{}", last_words(stderr))]
    NotReady {
        /// The process.
        name: String,
        /// The expected event: `print 'ready'`, `listen on 127.0.0.1:80`.
        what: String,
        /// How long it was given.
        within: Duration,
        /// The last lines that it wrote to standard error.
        stderr: Vec<String>,
    },
    /// Another process listens on its address.
    #[error(
        "{name} cannot have {address}: another process listens there; choose another port or stop that one{}",
        last_words(stderr)
    )]
    PortTaken {
        /// The process.
        name: String,
        /// The address.
        address: SocketAddr,
        /// The last lines that it wrote to standard error.
        stderr: Vec<String>,
    },
    /// It did not end in time.
    #[error("{name} did not end within {within:?}{}", last_words(stderr))]
    StillRunning {
        /// The process.
        name: String,
        /// How long it was given.
        within: Duration,
        /// The last lines that it wrote to standard error.
        stderr: Vec<String>,
    },
    /// It said something that cannot be understood.
    #[error("{name} printed '{got}', which is not {expected}")]
    Unexpected {
        /// The process.
        name: String,
        /// The line.
        got: String,
        /// The expected content.
        expected: &'static str,
    },
    /// The form that a server is to run in is unavailable here.
    #[error("the form {form} is unavailable here: {why}; {remedy}")]
    NoForm {
        /// The requested form.
        form: Form,
        /// The obstacle.
        why: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The operating system refused something else.
    #[error("{name}: {doing}: {source}")]
    Os {
        /// The process.
        name: String,
        /// What was tried.
        doing: &'static str,
        /// The reason.
        source: io::Error,
    },
}

impl Error {
    /// Makes the error of what the operating system refused: `name` is the process or file, `doing` says what failed.
    pub fn os<E: Into<io::Error>>(name: impl Display, doing: &'static str) -> impl FnOnce(E) -> Error {
        move |source| Error::Os { name: name.to_string(), doing, source: source.into() }
    }
}

fn last_words(stderr: &[String]) -> String {
    match stderr {
        [] => "; it wrote nothing to standard error".into(),
        [line] => format!("; its last words: {line}"),
        lines => format!("; its last words:\n  {}", lines.join("\n  ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_who_what_and_the_last_words() {
        let check = |stderr: &[&str], expect: &str| {
            let error = Error::NotReady {
                name: "memcached".into(),
                what: "listen on 127.0.0.1:1".into(),
                within: Duration::from_millis(250),
                stderr: stderr.iter().map(|line| (*line).into()).collect(),
            };
            assert_eq!(
                error.to_string(),
                format!("memcached did not listen on 127.0.0.1:1 within 250ms; {expect}")
            );
        };
        check(&[], "it wrote nothing to standard error");
        check(&["no memory"], "its last words: no memory");
        check(&["a", "b"], "its last words:\n  a\n  b");
    }
}
