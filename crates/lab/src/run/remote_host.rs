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

    /// Note for the reader about the machine.
    fn note(&self) -> String;

    /// That machine.
    fn host(&self) -> &Host;
}

/// Changes the knobs of the machine that a server runs on.
pub trait Tuner: Send + Sync {
    /// The changes that the knobs would make there, one per line, without changing anything; profile knobs that the
    /// machine lacks follow [`crate::LEFT_OUT`]. Without a device, the machine's only card is used.
    fn plan(&self, knobs: &[String], device: Option<&str>) -> Result<String, Error>;

    /// Applies them.
    fn apply(&self, knobs: &[String], device: Option<&str>) -> Result<(), Error>;

    /// Reverts the knobs; returns those that another process has changed since.
    fn undo(&self) -> Result<Vec<String>, Error>;
}
