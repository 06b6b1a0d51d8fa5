use std::path::Path;

use launch::Spec;

use crate::message::{Generate, Tune};

/// Starts generators on the agent's machine.
///
/// The process of the specification follows this protocol. It fills nothing, connects, prints a line `ready`, and
/// waits for a line on its standard input: `start NS` starts it when `CLOCK_MONOTONIC` reads that, `stop` ends
/// it. Lines that begin with `{"live"` are forwarded to the coordinator. On SIGTERM it ends its window early. It
/// writes its recording to the given file, even if it ended early, and exits with 0.
pub trait Generators: Send + Sync + 'static {
    /// The specification for the process that generates this part of the load and writes its results to `recording`.
    ///
    /// Errors: a reason for refusal, which is reported to the coordinator. Data from the network are checked here.
    fn spec(&self, task: &Generate, recording: &Path) -> Result<Spec, String>;

    /// Plans, applies, shows or undoes knobs of this machine for the session's generator; returns the reply for the
    /// coordinator.
    fn tune(&self, session: u64, tune: &Tune) -> Result<String, String>;

    /// The coordinator disconnected or finished: reverts its knobs. Its generator has already ended.
    fn leave(&self, session: u64);
}
