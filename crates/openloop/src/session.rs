use reactor::Via;
use units::{Nanos, Time};

use crate::connection::Request;
use crate::reader::Reader;
use crate::{Moments, Outcome};

/// One operation of a session: a request, and those that follow from its answers ([`Then::Again`](crate::Then)), which stay on
/// the session's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When it is due, after the start of the session. It is sent then, or once the step before it has ended.
    pub offset: Nanos,
    /// Which operation it is; an index into the workload's names.
    pub operation: usize,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepEnd {
    /// When it was due, after the start of the session.
    pub offset: Nanos,
    /// When it ended, after the start of the session.
    pub ended: Nanos,
    /// How.
    pub outcome: Outcome,
    /// When it was due, after the window opened; `None`: not in the window.
    pub in_window: Option<Nanos>,
    /// The same by the clock, and when it was sent.
    pub moments: Moments,
}

/// Decision of a session after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another step.
    Send(Step),
    /// A step that the session loses because it failed: an error, at the time at which it was due.
    /// [`Workload::step_ended`](crate::Workload::step_ended) is called at once for the step after it.
    Lose(Step),
    /// Nothing: it is over, and its connection is closed.
    End,
}

/// Rate at which a session reads its answers: a token bucket, whose tokens are bytes.
///
/// Bounds: over any time it reads no more than `bits_per_s` allow, and `burst` and a receive of a quarter of that, or
/// of 4 KiB, more. Bytes received beyond the rate are paid for by waiting, so that the mean is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRate {
    /// The mean. Units: bits per second of the answers' bytes, headers of HTTP with them and of TCP without; at least 1.
    pub bits_per_s: u64,
    /// What may come at once after a pause. Units: bytes; at least 1.
    pub burst: u32,
}

/// How the connection of a session is opened and read; by default as all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// How it is opened.
    pub via: Via,
    /// How fast it is read; `None`: as fast as it comes.
    pub read_rate: Option<ReadRate>,
}

/// A session that is under way when the load begins, so that the first second of it is as busy as all others.
#[derive(Debug)]
pub struct Underway<J> {
    /// How long ago it began.
    pub age: Nanos,
    /// Its endpoint.
    pub endpoint: usize,
    /// Its next step, due after `age`.
    pub step: Step,
    /// Its state.
    pub job: J,
}

/// The owner of a connection for the connection's lifetime.
pub(crate) struct Session<J> {
    /// Its start; of one that was under way when the load began, the start of the load...
    base: Time,
    /// ...and how old it was then.
    age: Nanos,
    /// The step that is not due yet.
    pub(crate) pending: Option<Request<J>>,
    /// It has no further step.
    pub(crate) over: bool,
    /// Its connection was established once.
    pub(crate) connected: bool,
    /// It had a fault: it counts as such once.
    pub(crate) faulty: bool,
    /// How its connection is opened.
    pub(crate) via: Via,
    /// Its reader, if it reads at a rate.
    pub(crate) reader: Option<Reader>,
}

impl<J> Session<J> {
    pub(crate) fn new(base: Time, age: Nanos, route: Route) -> Session<J> {
        let reader = route.read_rate.map(Reader::new);
        Session {
            base,
            age,
            pending: None,
            over: false,
            connected: false,
            faulty: false,
            via: route.via,
            reader,
        }
    }

    /// The load begins: the moment from which one that was under way counts.
    pub(crate) fn rebase(&mut self, start: Time) {
        self.base = start;
    }

    /// The moment of an offset from its start.
    pub(crate) fn at(&self, offset: Nanos) -> Time {
        self.base + (offset - self.age)
    }

    /// How long after its start a moment is.
    pub(crate) fn since_start(&self, at: Time) -> Nanos {
        at.since(self.base) + self.age
    }
}
