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
    /// The specification for the process that generates this part of the load and writes its results to `recording`.
    ///
    /// Errors: a reason for refusal, which is reported to the coordinator. Data from the network are checked here.
    fn spec(&self, task: &Generate, recording: &Path) -> Result<Spec, String>;

    /// Plans, applies, shows or undoes knobs of this machine for the session's generator; returns what there is to say.
    fn tune(&self, session: u64, tune: &Tune) -> Result<String, String>;

    /// The coordinator disconnected or finished: its knobs are to be reverted. Its generator has ended already.
    fn leave(&self, session: u64);
}

/// Line by which a generator reports that it is ready.
pub(crate) const READY: &str = "ready";
/// How a line begins that is passed on.
pub(crate) const LIVE: &str = "{\"live\"";
/// Line on a generator's standard input that stops it.
pub(crate) const STOP: &str = "stop";

/// Line on a generator's standard input that starts it.
pub(crate) fn start_line(at_ns: u64) -> String {
    format!("start {at_ns}")
}
