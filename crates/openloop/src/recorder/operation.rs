use hist::Latency;
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::recorder::Tally;
use crate::{Completion, Outcome};

/// The four times of one operation.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationTimes {
    /// The operation's name.
    pub name: String,
    /// Its requests followed from answers to others and are not arrivals.
    pub follow_up: bool,
    /// Outcomes of its requests; of those never sent, only if the operation was drawn.
    pub tally: Tally,
    /// The response time within which it is in time; operations with limits are judged by their share in time.
    #[serde(default)]
    pub limit: Option<Nanos>,
    /// Whether its time-out is the workload's own: a later answer is too late for its client, and no evidence of an
    /// overload. Otherwise it is the generator's time-out.
    #[serde(default)]
    pub has_deadline: bool,
    /// done − intended; unfinished and timed-out requests enter at their age.
    pub response_time: Latency,
    /// done − sent, of the requests that were answered.
    pub service_time: Latency,
    /// eligible − intended, of the requests that were sent.
    pub connection_wait: Latency,
    /// sent − eligible, of the requests that were sent; of every part, where a job has several.
    pub generator_lag: Latency,
}

impl OperationTimes {
    /// Empty histograms under a name.
    pub fn new(name: &str, follow_up: bool) -> OperationTimes {
        OperationTimes {
            name: name.into(),
            follow_up,
            tally: Tally::default(),
            limit: None,
            has_deadline: false,
            response_time: Latency::new(),
            service_time: Latency::new(),
            connection_wait: Latency::new(),
            generator_lag: Latency::new(),
        }
    }

    /// Enters a request that was sent, without its lag.
    #[inline]
    pub(crate) fn enter(&mut self, completion: &Completion) {
        self.tally.count(completion.outcome);
        self.connection_wait.record(completion.connection_wait());
        if completion.outcome == Outcome::Completed {
            self.service_time.record(completion.service_time());
        }
        if completion.outcome != Outcome::Error {
            self.response_time.record(completion.response_time());
        }
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &OperationTimes) {
        self.tally.merge(&other.tally);
        self.response_time.merge(&other.response_time);
        self.service_time.merge(&other.service_time);
        self.connection_wait.merge(&other.connection_wait);
        self.generator_lag.merge(&other.generator_lag);
    }
}
