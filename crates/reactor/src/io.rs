use std::fmt;
use std::io;
use std::str::FromStr;

use units::ParseError;

use crate::{Epoll, Reactor, Submit, Uring};

/// Which backend a user wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// The one that costs least: [`Io::FOR_GENERATORS`] or [`Io::FOR_SERVERS`], where it can be had, else `epoll`.
    #[default]
    Auto,
    /// `epoll`, which every Linux has.
    Epoll,
    /// `io_uring`, from Linux 6.0 on and where nothing forbids it.
    Uring,
}

/// A backend on real sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// [`Epoll`].
    Epoll,
    /// [`Uring`].
    Uring,
}

/// The backend to use, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Which one.
    pub backend: Backend,
    /// The reason, as half a sentence: for whoever wonders, and for the result.
    pub reason: String,
}

impl Io {
    /// What [`Io::Auto`] takes for a generator where it can be had.
    ///
    /// Source: `cargo run --release -p reactor --example echo`, clients of 64 connections at depth 1. A generator must hand
    /// each send over by itself, which leaves io_uring nothing to batch; there it has not cost less so far.
    pub const FOR_GENERATORS: Backend = Backend::Epoll;
    /// What [`Io::Auto`] takes for a server where it can be had.
    pub const FOR_SERVERS: Backend = Backend::Uring;

    /// Finds the backend to use, where `preferred` is what [`Io::Auto`] stands for, by setting up a ring where one may be wanted and giving it back.
    ///
    /// Errors: io_uring was asked for and cannot be had; says why.
    pub fn choose(self, preferred: Backend) -> io::Result<Choice> {
        let asked = |backend| Choice { backend, reason: "asked for".into() };
        match self {
            Io::Epoll => Ok(asked(Backend::Epoll)),
            Io::Uring => Uring::new(Submit::AtOnce).map(|_| asked(Backend::Uring)),
            Io::Auto => Ok(automatic(preferred, || Uring::new(Submit::AtOnce).map(drop))),
        }
    }
}

fn automatic(preferred: Backend, probe: impl FnOnce() -> io::Result<()>) -> Choice {
    let (backend, reason) = match preferred {
        Backend::Epoll => (Backend::Epoll, "it costs no more than io_uring".into()),
        Backend::Uring => match probe() {
            Ok(()) => (Backend::Uring, "it can be had here".into()),
            Err(error) => (Backend::Epoll, error.to_string()),
        },
    };
    Choice { backend, reason }
}

impl Backend {
    /// The name by which results record it.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Epoll => Epoll::NAME,
            Backend::Uring => Uring::NAME,
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Io {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Io::Auto => "auto",
            Io::Epoll => "epoll",
            Io::Uring => "uring",
        })
    }
}

impl FromStr for Io {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Io, ParseError> {
        match text {
            "auto" => Ok(Io::Auto),
            "epoll" => Ok(Io::Epoll),
            "uring" => Ok(Io::Uring),
            _ => Err(ParseError {
                what: "io",
                given: text.into(),
                problem: "there is no such one".into(),
                hint: "write auto, epoll or uring",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_its_names() {
        for io in [Io::Auto, Io::Epoll, Io::Uring] {
            assert_eq!(io.to_string().parse(), Ok(io));
        }
        let error = "iocp".parse::<Io>().unwrap_err();
        assert!(error.to_string().contains("auto, epoll or uring"), "{error}");
    }

    #[test]
    fn chooses_what_can_be_had() {
        assert_eq!(Io::Epoll.choose(Backend::Uring).unwrap().backend, Backend::Epoll);
        match Io::Uring.choose(Backend::Epoll) {
            Ok(choice) => assert_eq!(choice.backend, Backend::Uring),
            Err(error) => assert!(error.to_string().contains("io_uring cannot be had"), "{error}"),
        }
        let refused =
            automatic(Backend::Uring, || Err(io::Error::other("io_uring cannot be had: it is forbidden")));
        assert_eq!(refused.backend, Backend::Epoll);
        assert!(refused.reason.contains("forbidden"));
        assert_eq!(automatic(Backend::Uring, || Ok(())).backend, Backend::Uring);
        assert_eq!(automatic(Backend::Epoll, || unreachable!("nobody asks")).backend, Backend::Epoll);
        assert_eq!(Io::Auto.choose(Backend::Epoll).unwrap().backend, Backend::Epoll);
    }
}
