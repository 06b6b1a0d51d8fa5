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
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("{name}: there is no program {}; {hint}", program.display())]
    NotFound { name: String, program: PathBuf, hint: String },
    #[error("{name}: cannot start {}: {source}", program.display())]
    Spawn { name: String, program: PathBuf, source: io::Error },
    #[error("{name}: cannot confine it to the processors {cpus:?}; this process may use {allowed:?}")]
    Cpus { name: String, cpus: Vec<usize>, allowed: Vec<usize> },
    #[error("{name} ended {when}: {status}{}", last_words(stderr))]
    Died { name: String, when: &'static str, status: ExitStatus, stderr: Vec<String> },
    #[error("{name} did not {what} within {within:?}{}", last_words(stderr))]
    NotReady { name: String, what: String, within: Duration, stderr: Vec<String> },
    #[error(
        "{name} cannot have {address}: another process listens there; choose another port or stop that one{}",
        last_words(stderr)
    )]
    PortTaken { name: String, address: SocketAddr, stderr: Vec<String> },
    #[error("{name} did not end within {within:?}{}", last_words(stderr))]
    StillRunning { name: String, within: Duration, stderr: Vec<String> },
    #[error("{name} printed '{got}', which is not {expected}")]
    Unexpected { name: String, got: String, expected: &'static str },
    #[error("the form {form} is unavailable here: {why}; {remedy}")]
    NoForm { form: Form, why: String, remedy: &'static str },
    #[error("{name}: {doing}: {source}")]
    Os { name: String, doing: &'static str, source: io::Error },
}

impl Error {
    /// Makes the error of a refusal by the operating system: `name` is the process or file, `doing` the operation that
    /// failed.
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
