use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error as ThisError;

/// Why a knob is not in force.
///
/// The first three are a host's answers, and each needs another reaction: an unsupported knob is skipped, a denied one
/// needs more rights, a failed one stops the measurement.
#[derive(Debug, ThisError)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("{0}")]
    Unsupported(Problem),
    #[error("{0}")]
    Denied(Problem),
    #[error("{0}")]
    Failed(Problem),
    #[error("{0}")]
    Usage(Problem),
    #[error(
        "the knobs of process {pid} were not reverted ({}); `taillight tune undo` does",
        journal.display()
    )]
    Unfinished { pid: u32, journal: PathBuf },
    #[error(
        "another run{} holds the knobs of this host ({}); wait for its end, or stop it",
        pid.map_or(String::new(), |pid| format!(", process {pid},")),
        lock.display()
    )]
    Busy { pid: Option<u32>, lock: PathBuf },
    #[error("cannot {doing} {}: {source}; choose another folder by TAILLIGHT_STATE", path.display())]
    State { doing: &'static str, path: PathBuf, source: io::Error },
}

/// An action that failed: the thing, the limit, and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The knob or the action: `cache.ways=0-3`.
    pub what: String,
    /// The limit that was hit.
    pub limit: String,
    /// The alternative.
    pub hint: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { what, limit, hint } = self;
        write!(f, "{what}: {limit}; {hint}")
    }
}

impl Problem {
    /// `what: limit; hint`.
    pub(crate) fn new(what: impl fmt::Display, limit: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem { what: what.to_string(), limit: limit.into(), hint: hint.into() }
    }
}

impl Error {
    pub(crate) fn unsupported(
        what: impl fmt::Display,
        limit: impl Into<String>,
        hint: impl Into<String>,
    ) -> Error {
        Error::Unsupported(Problem::new(what, limit, hint))
    }

    pub(crate) fn failed(
        what: impl fmt::Display,
        limit: impl Into<String>,
        hint: impl Into<String>,
    ) -> Error {
        Error::Failed(Problem::new(what, limit, hint))
    }

    pub(crate) fn usage(what: impl fmt::Display, limit: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::Usage(Problem::new(what, limit, hint))
    }

    /// Maps an I/O error of an action to an error of a knob.
    pub(crate) fn of_io(what: impl fmt::Display, doing: &str, source: &io::Error) -> Error {
        let limit = format!("{doing}: {source}");
        match source.kind() {
            io::ErrorKind::PermissionDenied => {
                Error::Denied(Problem::new(what, limit, "run it as root, or have an administrator set it"))
            }
            io::ErrorKind::ReadOnlyFilesystem => Error::Denied(Problem::new(
                what,
                limit,
                "run it outside of the container, or give the container a writable /sys and /proc/sys",
            )),
            io::ErrorKind::NotFound => {
                Error::unsupported(what, limit, "leave it out: this host does not have it")
            }
            _ => Error::failed(what, limit, "leave it out, or look into the kernel's log for the reason"),
        }
    }

    /// Maps an I/O error of a revert: never unsupported, as the change is still in force and no list may skip it.
    pub(crate) fn of_putting_back(what: impl fmt::Display, source: &io::Error) -> Error {
        match Error::of_io(what, "cannot be reverted", source) {
            Error::Unsupported(Problem { what, limit, .. }) => {
                Error::failed(what, limit, "have what it takes there, and run `taillight tune undo`")
            }
            other => other,
        }
    }

    /// Whether the host does not support the knob, so that a list may skip it.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Error::Unsupported(_))
    }
}
