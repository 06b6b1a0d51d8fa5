use std::time::Duration;

/// How long the two halves of a restart took, over all processes of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// From the order to stop until the last process had ended.
    pub stop: Duration,
    /// From the order to start until the last one was ready.
    pub start: Duration,
}

impl Restart {
    /// Both halves: how long no request was served.
    pub fn whole(&self) -> Duration {
        self.stop + self.start
    }
}
