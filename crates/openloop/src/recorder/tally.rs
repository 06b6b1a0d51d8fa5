use hist::{Latency, Small};
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::Outcome;

/// What became of the arrivals of the window; `intended` is the sum of the other four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each field is its name; see `Outcome`")]
pub struct Tally {
    pub intended: u64,
    pub completed: u64,
    pub errors: u64,
    pub timeouts: u64,
    pub unfinished: u64,
}

impl Tally {
    #[inline]
    pub(crate) fn count(&mut self, outcome: Outcome) {
        self.intended += 1;
        *match outcome {
            Outcome::Completed => &mut self.completed,
            Outcome::Error => &mut self.errors,
            Outcome::Timeout => &mut self.timeouts,
            Outcome::Unfinished => &mut self.unfinished,
        } += 1;
    }

    pub(crate) fn merge(&mut self, other: &Tally) {
        self.intended += other.intended;
        self.completed += other.completed;
        self.errors += other.errors;
        self.timeouts += other.timeouts;
        self.unfinished += other.unfinished;
    }
}

/// The backlog at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BacklogPoint {
    /// After the start of the window.
    pub offset: Nanos,
    /// Arrivals due and not sent.
    pub backlog: u64,
    /// Requests sent and not answered.
    pub in_flight: u64,
    /// Sessions under way.
    pub sessions: u64,
}

/// What became of sessions over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTally {
    /// Under way when the load began.
    pub underway: u64,
    /// That arrived and were given a connection.
    pub begun: u64,
    /// That were given none, as there were too many, it could not be opened, or the workload had nothing to begin them with: all
    /// their steps are errors.
    pub refused: u64,
    /// That were due before the end of the load, which the generator had not come to by then: all their steps are unfinished.
    #[serde(default)]
    pub never_begun: u64,
    /// That had a connection which could not be established or was lost, or a wrong answer; once each, however often.
    #[serde(default)]
    pub faulty: u64,
    /// That came to their end.
    pub ended: u64,
    /// That would have gone on after the load.
    pub cut: u64,
}

impl SessionTally {
    pub(crate) fn merge(&mut self, other: &SessionTally) {
        self.underway += other.underway;
        self.begun += other.begun;
        self.refused += other.refused;
        self.never_begun += other.never_begun;
        self.faulty += other.faulty;
        self.ended += other.ended;
        self.cut += other.cut;
    }
}

/// What happened in 100 ms of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Arrivals that were due in it.
    pub offered: u64,
    /// Arrivals that were answered in it, whenever they were due.
    pub answered: u64,
    /// Arrivals that failed in it.
    pub failed: u64,
    /// Keys that the server had, of those asked for whose answers came in it.
    #[serde(default)]
    pub hits: u64,
    /// Keys asked for whose answers came in it; answers after the window are in the last.
    #[serde(default)]
    pub gets: u64,
}

/// The requests of one endpoint, follow-ups and parts of jobs included.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct EndpointTimes {
    /// Where it listens.
    pub address: String,
    /// Outcomes of the requests for it, due in the window; of those never sent, only if they were drawn.
    pub tally: Tally,
    /// done − intended; empty with a single endpoint.
    pub response_time: Latency,
    /// done − sent; empty with a single endpoint.
    pub service_time: Latency,
    /// In the window.
    pub bytes_sent: u64,
    /// In the window.
    pub bytes_received: u64,
}

impl EndpointTimes {
    pub(crate) fn new(address: String) -> EndpointTimes {
        EndpointTimes {
            address,
            tally: Tally::default(),
            response_time: Latency::new(),
            service_time: Latency::new(),
            bytes_sent: 0,
            bytes_received: 0,
        }
    }

    pub(crate) fn merge(&mut self, other: &EndpointTimes) {
        self.tally.merge(&other.tally);
        self.response_time.merge(&other.response_time);
        self.service_time.merge(&other.service_time);
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
    }
}

/// The requests of one connection that were answered, due in the window.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionTally {
    /// The endpoint that it leads to.
    pub endpoint: u16,
    /// How many.
    pub answered: u64,
    /// done − intended, of these and of those that had no answer in time; not of errors.
    pub response_time: Small,
}

/// What became of datagrams over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Datagrams {
    /// Requests sent as one.
    pub sent: u64,
    /// That came in.
    pub received: u64,
    /// Requests whose answer did not come, or not whole, within the time-out.
    pub lost: u64,
    /// Received for a request that had timed out.
    pub late: u64,
    /// Received for a request that had been answered.
    pub duplicated: u64,
    /// Received without a known request.
    pub stray: u64,
}

impl Datagrams {
    pub(crate) fn merge(&mut self, other: &Datagrams) {
        self.sent += other.sent;
        self.received += other.received;
        self.lost += other.lost;
        self.late += other.late;
        self.duplicated += other.duplicated;
        self.stray += other.stray;
    }
}
