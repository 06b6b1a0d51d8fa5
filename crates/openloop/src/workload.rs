use units::Nanos;

use crate::{Distribution, Next, Route, StepEnd, Traced, Underway};

/// Turns arrivals into requests and bytes into outcomes.
///
/// Each generator thread has one. It draws keys and sizes from streams of its own and never reads a clock:
/// time belongs to the engine. An arrival is a *job*: usually one request, several at once where it is for
/// several servers ([`Parts`]), and one after another where an answer asks for the next ([`Then`]).
pub trait Workload {
    /// What must be remembered about a request from its draw to its answer.
    ///
    /// Bounds: the look-ahead holds up to a million of them, so keep it to some 32 B.
    type Job;
    /// The state of parsing: of one connection, carried over partial receives, or of one request where each
    /// datagram may be a part of an answer.
    type Wire: Default;

    /// The names of the operations; [`Workload::draw`] returns an index into it.
    fn operations(&self) -> Vec<String>;

    /// How many of the last operations are never drawn: they follow from the answers to others.
    fn follow_ups(&self) -> usize {
        0
    }

    /// Draws arrival `seq` at the moment at which it is due: its operation, and its requests.
    ///
    /// At least one part must be pushed. They all leave at the same intended time, each to its own endpoint,
    /// and the arrival is done when the last of them is. What cannot be asked for is refused ([`Parts::refuse`]).
    fn draw(&mut self, seq: u64, parts: &mut Parts<Self::Job>) -> usize;

    /// Appends the request of a part to `out`.
    ///
    /// `tag` tells the requests of a datagram connection apart, and the answer must carry it; on a stream,
    /// where answers come in order, it is 0.
    fn request(&mut self, job: &mut Self::Job, tag: u16, out: &mut Vec<u8>);

    /// The same for the last request that a connection takes ([`Plan::per_connection`](crate::Plan)).
    fn last_request(&mut self, job: &mut Self::Job, tag: u16, out: &mut Vec<u8>) {
        self.request(job, tag, out);
    }

    /// Looks for the answer to `job` at the front of `bytes`, on a stream.
    ///
    /// Called again with a longer `bytes` after [`Parsed::Partial`] and with what follows after [`Parsed::Used`], with
    /// the same `wire`.
    fn response(&mut self, job: &mut Self::Job, wire: &mut Self::Wire, bytes: &[u8]) -> Parsed<Self::Job>;

    /// The server has closed the connection cleanly while `job` waits for its answer: what that makes of it, where
    /// the close is the answer's end or cuts it off, and what follows. `None`: it was not answered.
    fn closed(&mut self, _: &mut Self::Job, _: &mut Self::Wire) -> Option<Closed<Self::Job>> {
        None
    }

    /// Which request a datagram belongs to; `None` where it is not of this protocol.
    fn tag(&self, _datagram: &[u8]) -> Option<u16> {
        None
    }

    /// Takes one datagram that carries the tag of `job`. After [`Parsed::Partial`] others must follow.
    fn datagram(&mut self, _: &mut Self::Job, _: &mut Self::Wire, _datagram: &[u8]) -> Parsed<Self::Job> {
        Parsed::Garbage("this workload has no datagrams".into())
    }

    /// The time-out of an operation; `None`: that of the plan.
    fn timeout(&self, _operation: usize) -> Option<Nanos> {
        None
    }

    /// Where arrivals are sessions: those that are under way when the load begins, of this thread's share. In a closed loop each
    /// of them is one of its clients, whose next session is drawn once this one has ended.
    fn underway(&mut self) -> Vec<Underway<Self::Job>> {
        Vec::new()
    }

    /// Where arrivals are sessions: how the connection of one is opened, also when it has to be opened again, and read.
    fn route(&self, _job: &Self::Job) -> Route {
        Route::default()
    }

    /// Where arrivals are sessions: a step of one has ended, and `job` has become what the next one needs. The first
    /// step is what [`Workload::draw`] draws, one part, due at the arrival.
    ///
    /// Each step that was due before the end of the load is told, also those that were never sent: of sessions that were
    /// refused, and of arrivals that the generator had not come to when the load ended.
    fn step_ended(&mut self, _job: &mut Self::Job, _ended: &StepEnd) -> Next {
        Next::End
    }

    /// Where arrivals are sessions: one has ended, though a step was to follow: it is lost, and would be due after the load. Nothing
    /// more is told of it. All other sessions end by [`Next::End`], or with the load.
    fn dropped(&mut self, _job: &mut Self::Job) {}

    /// Where arrivals are sessions: when the user of `job` leaves, after the session's start, unless the step that is under way has
    /// ended by then. It is unfinished then, and [`Workload::step_ended`] says what follows. Units: noticed within 10 ms
    /// of one that was sent; who waits for a connection stays until that stands or fails.
    fn leaves(&self, _job: &Self::Job) -> Option<Nanos> {
        None
    }

    /// Figures of the workload over the window, such as its hit ratio: name with unit, count, and of how many.
    fn counters(&self) -> Vec<(String, u64, u64)> {
        Vec::new()
    }

    /// The quantities that the workload measures by itself over the window.
    fn distributions(&self) -> Vec<Distribution> {
        Vec::new()
    }

    /// The requests due in the window that the server was told to trace, once.
    fn take_traced(&mut self) -> Vec<Traced> {
        Vec::new()
    }

    /// The window opens: what [`Workload::counters`] counts and [`Workload::distributions`] hold starts at 0 again.
    fn window_opens(&mut self) {}

    /// The window closes; what was due in it is still followed to its end.
    fn window_closes(&mut self) {}
}

/// The requests of one arrival, each with the endpoint that takes it.
#[derive(Debug)]
pub struct Parts<J> {
    parts: Vec<(usize, J)>,
    refused: Option<Fault>,
}

impl<J> Parts<J> {
    /// No parts yet.
    pub fn new() -> Parts<J> {
        Parts { parts: Vec::with_capacity(1), refused: None }
    }

    /// One more request, for the endpoint of this index in the engine's plan.
    #[inline]
    pub fn push(&mut self, endpoint: usize, job: J) {
        self.parts.push((endpoint, job));
    }

    /// The arrival cannot be asked for, such as a session for which no user is left: it is an error of this kind, and of a
    /// session all its steps are. Its parts have to be pushed all the same.
    pub fn refuse(&mut self, why: Fault) {
        self.refused = Some(why);
    }

    /// Why the arrival cannot be asked for, once.
    pub(crate) fn take_refusal(&mut self) -> Option<Fault> {
        self.refused.take()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Takes the part that was pushed last.
    #[inline]
    pub fn pop(&mut self) -> Option<(usize, J)> {
        self.parts.pop()
    }
}

impl<J> Default for Parts<J> {
    fn default() -> Parts<J> {
        Parts::new()
    }
}

/// What [`Workload::response`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed<J> {
    /// The answer is not whole yet.
    Partial,
    /// The same, and so many bytes of it are understood: they are not shown again, so that an answer may be longer than
    /// memory. Not for datagrams.
    Used(usize),
    /// The answer is whole.
    Done {
        /// Its length; the next answer starts there. Not looked at for datagrams.
        used: usize,
        /// What is wrong with it, if anything.
        outcome: Result<(), Fault>,
        /// The outcome.
        then: Then<J>,
    },
    /// The bytes are not an answer at all; the connection is given up.
    Garbage(String),
    /// The answer is not what was asked for, and the rest of it is not wanted, such as a whole file in place of a part: an
    /// error, and the connection is given up.
    Refused(Fault),
}

impl<J> Parsed<J> {
    /// A whole answer of `used` bytes after which nothing follows.
    pub fn done(used: usize, outcome: Result<(), Fault>) -> Parsed<J> {
        Parsed::Done { used, outcome, then: Then::End }
    }
}

impl<J> Then<J> {
    /// Whether the connection has had its last answer.
    pub(crate) fn ends_connection(&self) -> bool {
        matches!(self, Then::Close | Then::Anew { .. })
    }
}

/// What the close of its connection makes of a request: what is wrong with the answer, if anything, and what follows.
pub type Closed<J> = (Result<(), Fault>, Then<J>);

/// What follows an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then<J> {
    /// Nothing: the part is done.
    End,
    /// Nothing, and nothing else on this connection: the server closes it cleanly. What was sent behind is sent again
    /// on the next.
    Close,
    /// The next request of the same job, which the workload has changed to it: same arrival, same operation,
    /// and the response time runs on.
    Again {
        /// Which endpoint takes it.
        endpoint: usize,
    },
    /// The same where this connection has had its last answer, as with [`Then::Close`]: the next request waits for a new one,
    /// which a session has opened by its own route.
    Anew {
        /// Which endpoint takes it.
        endpoint: usize,
    },
    /// The part is done, and a request of its own follows at once, due at the moment of the answer. It is no
    /// arrival and counts among the follow-ups.
    Also {
        /// Its operation, one of the follow-ups.
        operation: usize,
        /// Which endpoint takes it.
        endpoint: usize,
        /// What it is.
        job: J,
    },
}

/// Why an answer is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A few words by which errors are counted: `wrong value`.
    pub kind: &'static str,
    /// What happened, of the first of its kind shown to the user.
    pub detail: String,
}

impl Fault {
    /// An error of a kind.
    pub fn new(kind: &'static str, detail: impl Into<String>) -> Fault {
        Fault { kind, detail: detail.into() }
    }
}
