use std::path::Path;

use launch::Spec;

use crate::message::{Generate, Tune};

/// How a generator is started on the agent's machine.
///
/// The process that it names speaks to the agent as follows. It fills nothing, connects, prints a line `ready`, and
/// waits for a line on its standard input: `start NS` has it begin when `CLOCK_MONOTONIC` reads that, `stop` has it
/// end. A line that begins with `{"live"` is passed on to the coordinator. On SIGTERM it ends its window early. It
/// leaves its recording in the file that it was given, also when it ended early, and exits with 0.
pub trait Generators: Send + Sync + 'static {
    /// The process that generates this part of the load and writes what it measured to `recording`.
    ///
    /// Errors: why it will not; the coordinator is told. What comes from the network is checked here.
    fn spec(&self, task: &Generate, recording: &Path) -> Result<Spec, String>;

    /// Plans, applies, shows or undoes knobs of this machine for the session's generator; returns what there is to say.
    fn tune(&self, session: u64, tune: &Tune) -> Result<String, String>;

    /// The coordinator disconnected or finished: its knobs are to be reverted. Its generator has ended already.
    fn leave(&self, session: u64);
}

/// How a coordinator is told that a generator is ready.
pub(crate) const READY: &str = "ready";
/// How a line begins that is passed on.
pub(crate) const LIVE: &str = "{\"live\"";
/// What is written to a generator's input to have it end.
pub(crate) const STOP: &str = "stop";

/// What is written to a generator's input to have it begin.
pub(crate) fn start_line(at_ns: u64) -> String {
    format!("start {at_ns}")
}
