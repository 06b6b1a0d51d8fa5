use serde::{Deserialize, Serialize};
use units::{Nanos, Time};

/// How an arrival ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Answered as requested.
    Completed,
    /// Refused, answered wrongly, or lost with its connection.
    Error,
    /// Not answered within the time-out.
    Timeout,
    /// Neither answered nor timed out when the drain ended, or when its user left.
    Unfinished,
}

/// The whole life of one request: the record that everything else is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Which operation it was; an index into the workload's names.
    pub operation: usize,
    /// When the schedule wanted it sent.
    pub intended: Time,
    /// When its connection could have taken it: the later of `intended` and the moment a place was free.
    pub eligible: Time,
    /// Just before the system call that carried its first byte.
    pub sent: Time,
    /// At the return of the receive that brought the answer's first byte.
    pub first_byte: Time,
    /// At the return of the receive that brought its last byte, before parsing.
    pub done: Time,
    /// How it ended.
    pub outcome: Outcome,
    /// Upper bound of the generator's own delay of the end: its own lag, the time that answers may have lain unread,
    /// and both of the request before it on its connection, up to the time that it waited for that one.
    pub late: Nanos,
}

impl Completion {
    /// done − intended: the wait of the service's user.
    pub fn response_time(&self) -> Nanos {
        self.done.since(self.intended)
    }

    /// done − sent: the latency that a closed loop would report.
    pub fn service_time(&self) -> Nanos {
        self.done.since(self.sent)
    }

    /// eligible − intended: the wait for a connection, the server's doing.
    pub fn connection_wait(&self) -> Nanos {
        self.eligible.since(self.intended)
    }

    /// sent − eligible: the generator's own fault, as is the rest of [`Completion::late`].
    pub fn generator_lag(&self) -> Nanos {
        self.sent.since(self.eligible)
    }
}

/// Start and end of the service time of a completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// As [`Completion::sent`].
    pub sent: Time,
    /// As [`Completion::done`].
    pub done: Time,
}
