use std::fmt;
use std::io;

use spec::Io;

use crate::{Epoll, Reactor, Submit, Uring};

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
    /// The reason, as half a sentence: for the log and the result.
    pub reason: String,
}

/// Finds the backend to use, with `preferred` for [`Io::Auto`], by setting up a ring if one may be used and closing
/// it again.
///
/// Errors: the user chose io_uring and it is unavailable; says why.
pub fn choose(io: Io, preferred: Backend) -> io::Result<Choice> {
    let asked = |backend| Choice { backend, reason: "asked for".into() };
    match io {
        Io::Epoll => Ok(asked(Backend::Epoll)),
        Io::Uring => Uring::new(Submit::AtOnce).map(|_| asked(Backend::Uring)),
        Io::Auto => Ok(automatic(preferred, || Uring::new(Submit::AtOnce).map(drop))),
    }
}

fn automatic(preferred: Backend, probe: impl FnOnce() -> io::Result<()>) -> Choice {
    let (backend, reason) = match preferred {
        Backend::Epoll => (Backend::Epoll, "it costs no more than io_uring".into()),
        Backend::Uring => match probe() {
            Ok(()) => (Backend::Uring, "it is available here".into()),
            Err(error) => (Backend::Epoll, error.to_string()),
        },
    };
    Choice { backend, reason }
}

impl Backend {
    /// The choice of [`Io::Auto`] for a generator, if available.
    ///
    /// Source: `cargo run --release -p reactor --example echo`, clients of 64 connections at depth 1. A generator
    /// must submit each send by itself, so io_uring cannot batch; it has not been cheaper there so far.
    pub const FOR_GENERATORS: Backend = Backend::Epoll;
    /// The choice of [`Io::Auto`] for a server, if available.
    pub const FOR_SERVERS: Backend = Backend::Uring;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chooses_what_can_be_had() {
        assert_eq!(choose(Io::Epoll, Backend::Uring).unwrap().backend, Backend::Epoll);
        match choose(Io::Uring, Backend::Epoll) {
            Ok(choice) => assert_eq!(choice.backend, Backend::Uring),
            Err(error) => assert!(error.to_string().contains("io_uring is not available"), "{error}"),
        }
        let refused =
            automatic(Backend::Uring, || Err(io::Error::other("io_uring is not available: it is forbidden")));
        assert_eq!(refused.backend, Backend::Epoll);
        assert!(refused.reason.contains("forbidden"));
        assert_eq!(automatic(Backend::Uring, || Ok(())).backend, Backend::Uring);
        assert_eq!(automatic(Backend::Epoll, || unreachable!("no ring is tried")).backend, Backend::Epoll);
        assert_eq!(choose(Io::Auto, Backend::Epoll).unwrap().backend, Backend::Epoll);
    }
}
