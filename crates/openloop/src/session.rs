use units::{Nanos, Time};

use crate::Outcome;
use crate::connection::Request;

/// One operation of a session: a request, and those that follow from its answers ([`Then::Again`](crate::Then)).
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
}

impl<J> Session<J> {
    pub(crate) fn new(base: Time, age: Nanos) -> Session<J> {
        Session { base, age, pending: None, over: false }
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
