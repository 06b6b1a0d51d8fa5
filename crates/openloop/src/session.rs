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

/// What a session does after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another step.
    Send(Step),
    /// A step that the session would have had, and has not because it failed: an error, at the time at which it was due.
    /// What comes after it is asked for at once.
    Lose(Step),
    /// Nothing: it is over, and its connection is closed.
    End,
}

/// How fast a session reads what comes: a token bucket, whose tokens are bytes.
///
/// Bounds: over any time it reads no more than `bits_per_s` allow, and `burst` and a receive of a quarter of that, or of
/// 4 KiB, more. What was received beyond the rate is waited for afterwards, so that the mean is exact.
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
    /// Which endpoint it is with.
    pub endpoint: usize,
    /// Its next step, due after `age`.
    pub step: Step,
    /// Its state.
    pub job: J,
}

/// What owns a connection for as long as it lasts.
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
    /// When it may read, where it does not always.
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
