use units::Nanos;

use crate::{Distribution, Next, Route, StepEnd, Traced, Underway};

/// Turns arrivals into requests and bytes into outcomes.
///
/// Each generator thread has one. It draws keys and sizes from streams of its own and never reads a clock: time
/// belongs to the engine. An arrival is a *job*: usually one request, several at once for several servers
/// ([`Parts`]), and one after another if an answer requires the next ([`Then`]).
pub trait Workload {
    /// What must be remembered about a request from its draw to its answer.
    ///
    /// Bounds: the look-ahead holds up to a million of them, so keep it to some 32 B.
    type Job;
    /// The state of parsing: of one connection, carried over partial receives, or of one request where each
    /// datagram may be a part of an answer.
    type Wire: Default;

    /// Whether answers on a stream name their requests and come in any order, mixed with each other and with messages
    /// about the connection, as with HTTP/2. Then [`Workload::open`] writes the requests, [`Workload::belongs`] says
    /// whose the next bytes are, and there are no sessions.
    const MULTIPLEXED: bool = false;

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

    /// Appends the messages that begin a connection, such as a login, before the first request on it. Their answers
    /// come before the answer to that request, and are read with it.
    fn greeting(&mut self, _out: &mut Vec<u8>) {}

    /// Appends the request of a part to `out`.
    ///
    /// `tag` identifies the request on a datagram connection, and the answer must carry it; on a stream, whose
    /// answers come in order, it is 0.
    fn request(&mut self, job: &mut Self::Job, tag: u16, out: &mut Vec<u8>);

    /// As [`Workload::request`], for the last request that a connection takes
    /// ([`Plan::per_connection`](crate::Plan)).
    fn last_request(&mut self, job: &mut Self::Job, tag: u16, out: &mut Vec<u8>) {
        self.request(job, tag, out);
    }

    /// As [`Workload::request`], where answers name their requests: `number` is 1 for the first on the connection and
    /// counts on, and `last` says whether it is the last one.
    fn open(
        &mut self,
        _: &mut Self::Job,
        _: &mut Self::Wire,
        (_number, _last): (u32, bool),
        _out: &mut Vec<u8>,
    ) {
        unreachable!("only a multiplexed workload is asked for this");
    }

    /// Whose the bytes at the front of `bytes` are, where answers name their requests.
    ///
    /// If they are a request's, [`Workload::response`] is called for it with the same bytes.
    fn belongs(&mut self, _: &mut Self::Wire, _bytes: &[u8]) -> Belongs {
        unreachable!("only a multiplexed workload is asked for this");
    }

    /// Appends messages of the connection that belong to no request: when it is established, and after received bytes.
    fn speak(&mut self, _: &mut Self::Wire, _out: &mut Vec<u8>) {}

    /// The request of this number has timed out: its answer is no longer waited for, and the connection goes on.
    fn cancel(&mut self, _: &mut Self::Wire, _number: u32) {}

    /// Looks for the answer to `job` at the front of `bytes`, on a stream.
    ///
    /// Called again with a longer `bytes` after [`Parsed::Partial`] and with the rest after [`Parsed::Used`], with
    /// the same `wire`.
    fn response(&mut self, job: &mut Self::Job, wire: &mut Self::Wire, bytes: &[u8]) -> Parsed<Self::Job>;

    /// The server has closed the connection cleanly while `job` waits for its answer: the result, if the close ends
    /// the answer or truncates it, and the next request. `None`: not answered.
    fn closed(&mut self, _: &mut Self::Job, _: &mut Self::Wire) -> Option<Closed<Self::Job>> {
        None
    }

    /// What bytes are that came on a stream without a request in flight; the connection is opened again.
    fn unasked(&self, _bytes: &[u8]) -> Unasked {
        Unasked::Answer
    }

    /// The request that a datagram belongs to; `None` if it is not of this protocol.
    fn tag(&self, _datagram: &[u8]) -> Option<u16> {
        None
    }

    /// Takes one datagram that carries the tag of `job`. After [`Parsed::Partial`] others must follow.
    fn datagram(&mut self, _: &mut Self::Job, _: &mut Self::Wire, _datagram: &[u8]) -> Parsed<Self::Job> {
        Parsed::Garbage("this workload has no datagrams".into())
    }

    /// The time-out of an operation; `None`: the plan's.
    fn timeout(&self, _operation: usize) -> Option<Nanos> {
        None
    }

    /// If arrivals are sessions: those under way when the load begins, of this thread's share. In a closed loop each
    /// of them is one of its clients, whose next session is drawn once this one has ended.
    fn underway(&mut self) -> Vec<Underway<Self::Job>> {
        Vec::new()
    }

    /// Where arrivals are sessions: how the connection of one is opened, also when it has to be opened again, and read.
    fn route(&self, _job: &Self::Job) -> Route {
        Route::default()
    }

    /// If arrivals are sessions: a step of one has ended, and `job` holds the state for the next one. The first step
    /// comes from [`Workload::draw`]: one part, due at the arrival.
    ///
    /// Called for each step that was due before the end of the load, also for those that were never sent: of sessions
    /// that were refused, and of arrivals that the generator had not sent when the load ended.
    fn step_ended(&mut self, _job: &mut Self::Job, _ended: &StepEnd) -> Next {
        Next::End
    }

    /// If arrivals are sessions: one has ended although a step was to follow. The step is lost, and would be due
    /// after the load. No further calls are made for it. All other sessions end by [`Next::End`], or with the load.
    fn dropped(&mut self, _job: &mut Self::Job) {}

    /// If arrivals are sessions: when the user of `job` leaves, after the session's start, unless the present step
    /// has ended by then. It is unfinished then, and [`Workload::step_ended`] decides the next action. Units: noticed
    /// within 10 ms if the step was sent; a user who waits for a connection stays until it is established or fails.
    fn leaves(&self, _job: &Self::Job) -> Option<Nanos> {
        None
    }

    /// Figures of the workload over the window, such as its hit ratio: name with unit, count, and of how many.
    fn counters(&self) -> Vec<(String, u64, u64)> {
        Vec::new()
    }

    /// How many keys the server had, and of how many, since the window opened. Cost: called every 10 ms.
    fn hits(&self) -> (u64, u64) {
        (0, 0)
    }

    /// The quantities that the workload measures by itself over the window.
    fn distributions(&self) -> Vec<Distribution> {
        Vec::new()
    }

    /// Takes the traced requests that were due in the window.
    fn take_traced(&mut self) -> Vec<Traced> {
        Vec::new()
    }

    /// The window opens: what [`Workload::counters`] counts and [`Workload::distributions`] hold starts at 0 again.
    fn window_opens(&mut self) {}

    /// The window closes; requests due in it are still followed to their end.
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

    /// The arrival has no valid request, such as a session without a free user: it is an error of this kind, and so
    /// are all steps of a session. Its parts have to be pushed all the same.
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

/// What bytes without a request are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unasked {
    /// The server says why it closes the connection.
    Farewell,
    /// No answer: they belong to no request, and are only counted.
    Noise,
    /// They may be an answer, so that earlier ones may have been those to other requests: the trial is invalid.
    Answer,
}

/// What [`Workload::response`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed<J> {
    /// The answer is not whole yet.
    Partial,
    /// Incomplete, but this many bytes of it are processed: they are not shown again, so that an answer may exceed
    /// memory. Not for datagrams.
    Used(usize),
    /// The answer is whole.
    Done {
        /// Its length; the next answer starts there. Not looked at for datagrams.
        used: usize,
        /// Its fault, if any.
        outcome: Result<(), Fault>,
        /// The outcome.
        then: Then<J>,
    },
    /// The bytes are not an answer at all; the connection is closed.
    Garbage(String),
    /// A wrong answer, the rest of which is not worth reading, such as a whole file in place of a part: an error, and
    /// the connection is closed.
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

/// Whose received bytes are, where answers name their requests.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the other fields are their names")]
pub enum Belongs {
    /// More bytes must tell.
    Unknown,
    /// They are the connection's, or a request's that has ended, and this many are processed.
    Connection(usize),
    /// The same, and the server takes at most `places` requests at once from now on.
    Places { used: usize, places: usize },
    /// The same, and the server takes no more requests on this connection.
    Leaving {
        /// The bytes processed.
        used: usize,
        /// The last request that it has begun with; 0 for none.
        last: u32,
        /// Why those after it fail. `None`: they are sent again on the next connection.
        fault: Option<Fault>,
    },
    /// The request's of this number, which is in flight.
    Request(u32),
    /// They are not of this protocol; the connection is closed.
    Garbage(String),
}

/// Result of a request whose connection was closed: the fault of the answer, if any, and the next action.
pub type Closed<J> = (Result<(), Fault>, Then<J>);

/// Next action after an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum Then<J> {
    /// Nothing: the part is done.
    End,
    /// The part is done and the server closes the connection cleanly. Requests sent behind it are sent again on the
    /// next connection.
    Close,
    /// The next request of the same job, which the workload has prepared, at `endpoint`: same arrival, same operation,
    /// and the response time runs on.
    Again { endpoint: usize },
    /// As [`Then::Again`], but this connection has had its last answer, as with [`Then::Close`]: the next request
    /// waits for a new one, which a session opens by its own route.
    Anew { endpoint: usize },
    /// The part is done, and a separate request with an operation of the follow-ups comes at once, due at the moment of
    /// the answer. It counts among the follow-ups, not among the arrivals.
    Also { operation: usize, endpoint: usize, job: J },
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
