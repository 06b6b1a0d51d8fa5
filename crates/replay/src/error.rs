use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::Format;

/// Why a trace cannot be replayed.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("cannot read the trace {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "cannot write the compiled trace {}: {source}; choose a place with taillight trace compile FILE --out OUT, and \
         replay OUT",
        path.display()
    )]
    Write { path: PathBuf, source: io::Error },
    #[error("the trace {}: it is not a file; give the path of a file", path.display())]
    NoFile { path: PathBuf },
    #[error(
        "the trace {}: its format is not recognised; name it with taillight trace compile FILE --format FORMAT: {}",
        path.display(),
        Format::names()
    )]
    Unrecognised { path: PathBuf },
    #[error("the trace {}, {place}: '{given}': {problem}", path.display())]
    Malformed { path: PathBuf, place: String, given: String, problem: String },
    #[error("the trace {}: it has no request", path.display())]
    Empty { path: PathBuf },
    #[error(
        "the compiled trace {}: {problem}; compile it again with taillight trace compile", path.display()
    )]
    Damaged { path: PathBuf, problem: String },
    #[error(
        "the trace {}: no request is left of {requests} by --sample, --from and --to; the trace lasts {span}",
        path.display()
    )]
    NothingSelected { path: PathBuf, requests: u64, span: units::Nanos },
    #[error("interrupted; no compiled trace remains")]
    Stopped,
}
