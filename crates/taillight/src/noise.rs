//! What the host did besides the measurement.

use openloop::Recording;
use results::Noise;

use crate::trial;

/// Watches the machine's processors while a load runs.
pub(crate) struct Watch {
    _server_pid: Option<u32>,
}

impl Watch {
    /// Begins to watch.
    pub(crate) fn start(server_pid: Option<u32>) -> Watch {
        Watch { _server_pid: server_pid }
    }

    /// Ends it, marks the windows that were disturbed, and sums up.
    pub(crate) fn finish(self, recording: &mut Recording) -> Noise {
        trial::stalls(recording)
    }
}
