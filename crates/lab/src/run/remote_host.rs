//! Servers of a study that run on another machine, and that machine's knobs.

use std::sync::Arc;

use host::Host;

use crate::{Error, Server, ServerOptions, TargetName};

/// Has the servers of a study started on another machine.
pub trait RemoteHost: Send + Sync {
    /// Starts `target` there. Where `options` name no processors, that machine chooses them.
    ///
    /// Errors: it is unavailable there.
    fn start(&self, target: &TargetName, options: &ServerOptions) -> Result<(Server, Arc<dyn Tuner>), Error>;

    /// What a reader must know of it.
    fn note(&self) -> String;

    /// That machine.
    fn host(&self) -> &Host;
}

/// Changes the knobs of the machine that a server runs on.
pub trait Tuner: Send + Sync {
    /// What they would change there, one in a line, without changing anything; what of a profile that machine lacks, behind
    /// [`crate::LEFT_OUT`]. Without a device it is that machine's only card.
    fn plan(&self, knobs: &[String], device: Option<&str>) -> Result<String, Error>;

    /// Applies them.
    fn apply(&self, knobs: &[String], device: Option<&str>) -> Result<(), Error>;

    /// Reverts what was applied; returns what another process has changed meanwhile.
    fn undo(&self) -> Result<Vec<String>, Error>;
}
