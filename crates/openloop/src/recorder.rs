use hist::{Latency, Windows};
use units::{Nanos, Time};

use crate::{Completion, Outcome, Stall};

/// Messages of failed requests that are kept, to tell the reader what went wrong.
const MESSAGES_KEPT: usize = 8;

/// The four times of one operation.
#[derive(Clone, PartialEq)]
pub struct OperationTimes {
    /// The operation's name.
    pub name: String,
    /// done − intended; unfinished and timed-out requests enter at their age.
    pub response_time: Latency,
    /// done − sent, of the requests that were answered.
    pub service_time: Latency,
    /// eligible − intended, of the requests that were sent.
    pub connection_wait: Latency,
    /// sent − eligible, of the requests that were sent.
    pub generator_lag: Latency,
}

impl OperationTimes {
    /// Empty histograms under a name.
    pub fn new(name: &str) -> OperationTimes {
        OperationTimes {
            name: name.into(),
            response_time: Latency::new(),
            service_time: Latency::new(),
            connection_wait: Latency::new(),
            generator_lag: Latency::new(),
        }
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &OperationTimes) {
        self.response_time.merge(&other.response_time);
        self.service_time.merge(&other.service_time);
        self.connection_wait.merge(&other.connection_wait);
        self.generator_lag.merge(&other.generator_lag);
    }
}

/// What became of the arrivals of the window; `intended` is the sum of the other four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is its name; see `Outcome`")]
pub struct Tally {
    pub intended: u64,
    pub completed: u64,
    pub errors: u64,
    pub timeouts: u64,
    pub unfinished: u64,
}

/// The backlog at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BacklogPoint {
    /// After the start of the window.
    pub offset: Nanos,
    /// Arrivals due and not sent.
    pub backlog: u64,
    /// Requests sent and not answered.
    pub in_flight: u64,
}

/// All that one thread, or after merging all threads, measured.
#[derive(Clone, PartialEq)]
pub struct Recording {
    /// The start of the window.
    pub window_start: Time,
    /// The length of the window.
    pub window: Nanos,
    /// One per operation of the workload.
    pub operations: Vec<OperationTimes>,
    /// The response times by intended time.
    pub windows: Windows,
    /// What became of the arrivals.
    pub tally: Tally,
    /// Requests answered within the window, whenever they were due.
    pub answered_in_window: u64,
    /// The backlog over the window, every 10 ms.
    pub backlog: Vec<BacklogPoint>,
    /// The most requests in flight at once.
    pub max_in_flight: u64,
    /// Time that the threads worked within the window, summed up.
    pub busy: Nanos,
    /// Time that they waited for something to do.
    pub idle: Nanos,
    /// Time in which requests were due, none outstanding, and nothing was sent.
    pub starved: Nanos,
    /// Times in which a thread did not run although it wanted to; the first few thousand.
    pub stalls: Vec<Stall>,
    /// How many there were.
    pub stall_count: u64,
    /// How long the drain took.
    pub drain: Nanos,
    /// How often the server sent bytes that nobody had asked for.
    pub unsolicited: u64,
    /// What the failed requests were told; the first few different ones.
    pub messages: Vec<String>,
    /// The workload's own figures: name, count, of how many.
    pub counters: Vec<(String, u64, u64)>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Threads behind it.
    pub threads: u32,
}

impl Recording {
    pub(crate) fn new(operations: &[String], window_start: Time, window: Nanos) -> Recording {
        Recording {
            window_start,
            window,
            operations: operations.iter().map(|name| OperationTimes::new(name)).collect(),
            windows: Windows::new(window),
            tally: Tally::default(),
            answered_in_window: 0,
            backlog: Vec::new(),
            max_in_flight: 0,
            busy: Nanos::ZERO,
            idle: Nanos::ZERO,
            starved: Nanos::ZERO,
            stalls: Vec::new(),
            stall_count: 0,
            drain: Nanos::ZERO,
            unsolicited: 0,
            messages: Vec::new(),
            counters: Vec::new(),
            interrupted: false,
            threads: 1,
        }
    }

    fn in_window(&self, moment: Time) -> bool {
        (self.window_start..self.window_start + self.window).contains(&moment)
    }

    /// Enters the end of one request; requests due outside the window only count as throughput.
    #[inline]
    pub(crate) fn enter(&mut self, completion: &Completion) {
        if completion.outcome == Outcome::Completed && self.in_window(completion.done) {
            self.answered_in_window += 1;
        }
        if !self.in_window(completion.intended) {
            return;
        }
        self.count(completion.outcome, 1);
        let times = &mut self.operations[completion.operation];
        times.connection_wait.record(completion.connection_wait());
        times.generator_lag.record(completion.generator_lag());
        if completion.outcome == Outcome::Completed {
            times.service_time.record(completion.service_time());
        }
        // A failure is no fast answer: an error enters no response time, a request that has had none enters at its age.
        if completion.outcome != Outcome::Error {
            times.response_time.record(completion.response_time());
            self.windows.record(completion.intended.since(self.window_start), completion.response_time());
        }
    }

    /// Enters `n` arrivals that were never sent, due at `intended` and given up at `now`.
    pub(crate) fn never_sent(&mut self, intended: Time, now: Time, outcome: Outcome, n: u64) {
        if !self.in_window(intended) || n == 0 {
            return;
        }
        self.count(outcome, n);
        if outcome != Outcome::Error {
            // Which operation it would have been was not drawn yet; the first is the commonest.
            self.operations[0].response_time.record_n(now.since(intended), n);
            for _ in 0..n {
                self.windows.record(intended.since(self.window_start), now.since(intended));
            }
        }
    }

    fn count(&mut self, outcome: Outcome, n: u64) {
        self.tally.intended += n;
        *match outcome {
            Outcome::Completed => &mut self.tally.completed,
            Outcome::Error => &mut self.tally.errors,
            Outcome::Timeout => &mut self.tally.timeouts,
            Outcome::Unfinished => &mut self.tally.unfinished,
        } += n;
    }

    pub(crate) fn message(&mut self, message: &str) {
        if self.messages.len() < MESSAGES_KEPT && !self.messages.iter().any(|known| known == message) {
            self.messages.push(message.into());
        }
    }

    /// All operations together.
    pub fn all(&self) -> OperationTimes {
        let mut all = OperationTimes::new("all");
        for operation in &self.operations {
            all.merge(operation);
        }
        all
    }

    /// Requests answered within the window, per second.
    pub fn achieved_rps(&self) -> f64 {
        self.answered_in_window as f64 / self.window.as_secs_f64()
    }

    /// Share of the threads' time that was spent working, 0 to 1.
    pub fn busy_share(&self) -> f64 {
        let total = (self.busy + self.idle).as_secs_f64();
        if total > 0.0 { self.busy.as_secs_f64() / total } else { 0.0 }
    }

    /// Marks the windows that a stall hit.
    pub(crate) fn mark_stalls(&mut self) {
        for stall in &self.stalls {
            let end = stall.from + stall.span;
            if end > self.window_start && stall.from < self.window_start + self.window {
                self.windows.mark(stall.from.since(self.window_start), end.since(self.window_start));
            }
        }
    }

    /// Adds what another thread of the same run measured.
    pub fn merge(&mut self, other: &Recording) {
        assert_eq!((self.window_start, self.window), (other.window_start, other.window), "of one run");
        for (mine, theirs) in self.operations.iter_mut().zip(&other.operations) {
            mine.merge(theirs);
        }
        self.windows.merge(&other.windows);
        let (mine, theirs) = (&mut self.tally, &other.tally);
        mine.intended += theirs.intended;
        mine.completed += theirs.completed;
        mine.errors += theirs.errors;
        mine.timeouts += theirs.timeouts;
        mine.unfinished += theirs.unfinished;
        self.answered_in_window += other.answered_in_window;
        // Both were sampled on the same grid, unless one thread was stalled over a point of it.
        for point in &other.backlog {
            match self.backlog.binary_search_by_key(&point.offset, |mine| mine.offset) {
                Ok(at) => {
                    self.backlog[at].backlog += point.backlog;
                    self.backlog[at].in_flight += point.in_flight;
                }
                Err(at) => self.backlog.insert(at, *point),
            }
        }
        self.max_in_flight += other.max_in_flight;
        self.busy += other.busy;
        self.idle += other.idle;
        self.starved += other.starved;
        self.stalls.extend_from_slice(&other.stalls);
        self.stall_count += other.stall_count;
        self.drain = self.drain.max(other.drain);
        self.unsolicited += other.unsolicited;
        for message in &other.messages {
            self.message(message);
        }
        for (mine, theirs) in self.counters.iter_mut().zip(&other.counters) {
            mine.1 += theirs.1;
            mine.2 += theirs.2;
        }
        self.interrupted |= other.interrupted;
        self.threads += other.threads;
    }
}
