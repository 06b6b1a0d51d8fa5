//! Reverts one change, unless another process has changed the knob since.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};

use serde::{Deserialize, Serialize};

use crate::kernel::Kernel;
use crate::{Action, State, Step};

/// A knob that another process changed while it was in force, so that the measured state is not the intended one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// The knob.
    pub knob: String,
    /// The action that set it, as a reader would type it.
    pub action: String,
    /// What was set.
    pub wrote: State,
    /// What was found.
    pub found: State,
}

impl Drift {
    pub(crate) fn of(action: &Action, wrote: &State, found: State) -> Drift {
        Drift { knob: action.knob.clone(), action: action.typed(), wrote: wrote.clone(), found }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |state: &State| {
            state.as_deref().map_or("nothing".to_owned(), |text| format!("'{}'", text.trim()))
        };
        let (wrote, found) = (shown(&self.wrote), shown(&self.found));
        write!(f, "{}: changed by another process: `{}` wrote {wrote}, found {found}", self.knob, self.action)
    }
}

/// The outcome of a revert.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PutBack {
    /// It is as before.
    Done,
    /// The changed thing no longer exists: a process, a device, a namespace.
    Gone,
    /// Another process has changed it since; it keeps that value.
    Drifted(State),
}

/// Reverts a change. `after` is the state right after it; `None`: unknown because of a crash.
///
/// Errors: the state cannot be read or written, or reads back as another.
pub(crate) fn put_back(
    kernel: &dyn Kernel,
    held: &File,
    step: &Step,
    before: &State,
    after: Option<&State>,
) -> io::Result<PutBack> {
    let found = match step.observe(kernel, held) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(PutBack::Gone),
        found => found?,
    };
    // Processes started in a group since are moved, even if the original ones have ended.
    let moves = matches!(step, Step::Move { .. });
    if step.same(&found, before) && !moves {
        return Ok(PutBack::Done);
    }
    let ours = match after {
        Some(after) => step.same(&found, after),
        None => step.same(&found, &step.wanted()),
    } || step.is_between(&found, before, after);
    if !ours && !moves {
        return Ok(PutBack::Drifted(found));
    }
    step.put(kernel, before, held)?;
    let found = step.observe(kernel, held)?;
    if step.same(&found, before) {
        return Ok(PutBack::Done);
    }
    Err(io::Error::other(format!("it reads {found:?} where {before:?} was restored")))
}
