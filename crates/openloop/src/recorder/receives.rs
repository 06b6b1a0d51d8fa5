use reactor::ReceiveClock;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// The clock for the ends of requests: stamps that the kernel made when the answer came, or the moment at which the
/// generator read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receives {
    /// Receives that the kernel stamped.
    pub stamped: u64,
    /// Receives timed by their reading: on Unix sockets, at a client's own bandwidth, and without a kernel stamp.
    pub unstamped: u64,
    /// The largest error with which stamps were converted to the clock of the generator.
    pub clock_error: Nanos,
    /// Steps of the wall clock.
    pub clock_steps: u32,
}

impl Receives {
    #[inline]
    pub(crate) fn count(&mut self, stamped: bool) {
        self.stamped += u64::from(stamped);
        self.unstamped += u64::from(!stamped);
    }

    /// Notes how well the stamps of a thread were converted.
    pub(crate) fn note_clock(&mut self, clock: ReceiveClock) {
        self.clock_error = self.clock_error.max(clock.error);
        self.clock_steps = self.clock_steps.max(clock.steps);
    }

    /// The share that the kernel stamped; `None` without receives.
    pub fn stamped_share(&self) -> Option<f64> {
        let all = self.stamped + self.unstamped;
        (all > 0).then(|| self.stamped as f64 / all as f64)
    }

    /// Adds what another thread or machine received.
    pub(crate) fn merge(&mut self, other: Receives) {
        self.stamped += other.stamped;
        self.unstamped += other.unstamped;
        self.clock_error = self.clock_error.max(other.clock_error);
        self.clock_steps = self.clock_steps.max(other.clock_steps);
    }
}
