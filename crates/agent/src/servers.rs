use std::time::Duration;

use crate::message::{Serve, Tune, Watch};

/// The agent's actions in the role of a server, for a coordinator.
///
/// Data from the network are checked here: which programs may be started, and with which options. `session` identifies
/// the coordinator; each has one server at a time.
pub trait Servers: Send + Sync + 'static {
    /// Starts a server and returns once it accepts connections.
    ///
    /// Errors: a reason for refusal or failure, which is reported to the coordinator.
    fn start(&self, session: u64, serve: &Serve) -> Result<Box<dyn Served>, String>;

    /// Facts about this machine, as JSON.
    fn facts(&self) -> Result<String, String>;

    /// Plans, applies, shows or undoes knobs of this machine for the session's server; returns the reply for the
    /// coordinator.
    fn tune(&self, session: u64, tune: &Tune) -> Result<String, String>;

    /// The coordinator disconnected or finished: reverts its knobs. Its server has already ended.
    fn leave(&self, session: u64);
}

/// A running server. Dropping it ends it.
pub trait Served {
    /// The server's record for a result, as JSON.
    fn record(&self) -> String;

    /// Why it ended unexpectedly; `None` while it runs.
    fn gone(&mut self) -> Option<String>;

    /// Its last lines of output.
    fn logs(&self) -> Vec<String>;

    /// Resources that its services have used so far, as JSON.
    fn usage(&self) -> String;

    /// Starts or ends an observation of the server and this machine during a trial, and returns the results as JSON;
    /// its times are by `CLOCK_MONOTONIC`.
    ///
    /// Errors: an unknown request.
    fn watch(&mut self, watch: &Watch) -> Result<String, String>;

    /// Stops it, but keeps its data and settings. Returns the time that this took.
    fn halt(&mut self) -> Result<Duration, String>;

    /// Starts it again in the same place; `called` lists the addresses of remote services, as in [`Serve::called`].
    /// Returns the time that this took.
    fn resume(&mut self, called: &str) -> Result<Duration, String>;

    /// Shuts it down cleanly.
    fn stop(self: Box<Self>);
}
