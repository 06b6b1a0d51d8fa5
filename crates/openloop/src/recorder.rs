//! The recording of a run: histograms and counts, merged over threads and machines without loss.

mod distribution;
mod errors;
mod late;
mod merge;
mod operation;
mod receives;
mod stalled;
mod taken;
mod tally;
mod withheld;

use hist::{Latency, Windows};
use results::Quota;
use serde::{Deserialize, Serialize};
use units::{Nanos, Time};

use crate::{Completion, Outcome, Stall, Traced};

pub use distribution::Distribution;
pub use errors::{ErrorCount, Errors};
pub use late::{LATE, Late};
pub use operation::OperationTimes;
pub use receives::Receives;
pub use taken::Taken;
pub use tally::{BacklogPoint, ConnectionTally, Datagrams, EndpointTimes, Interval, SessionTally, Tally};
pub use withheld::Withheld;

/// All that one thread, or after merging all threads, measured.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The start of the window.
    pub window_start: Time,
    /// The length of the window.
    pub window: Nanos,
    /// One per operation of the workload.
    pub operations: Vec<OperationTimes>,
    /// The response times of the arrivals by intended time.
    pub windows: Windows,
    /// Requests that the generator alone may have delayed.
    pub late: Late,
    /// What became of the arrivals; of sessions, of their steps, each of which counts as an arrival here and below.
    pub tally: Tally,
    /// What became of the requests that are not arrivals but followed from answers.
    pub follow_ups: Tally,
    /// Arrivals answered within the window, whenever they were due.
    pub answered_in_window: u64,
    /// One per endpoint of the plan.
    pub endpoints: Vec<EndpointTimes>,
    /// One per connection, in the order of the endpoints.
    pub connections: Vec<ConnectionTally>,
    /// Counts of sessions, if arrivals are sessions.
    pub sessions: SessionTally,
    /// Counts of datagrams, if the load uses them.
    pub datagrams: Datagrams,
    /// Offered, answered and failed in each of `windows`.
    pub intervals: Vec<Interval>,
    /// The length of each interval, equal to that of windows over time.
    pub interval: Nanos,
    /// The backlog over the window, every [`Recording::backlog_step`].
    pub backlog: Vec<BacklogPoint>,
    /// The most requests in flight at once.
    pub max_in_flight: u64,
    /// The virtual clients of a closed loop; 0 for an open one.
    pub clients: u64,
    /// Time that the threads worked within the window, summed up.
    pub busy: Nanos,
    /// Processor time that they used within the window, summed up; 0 if unknown.
    pub used: Nanos,
    /// Time that they waited for something to do.
    pub idle: Nanos,
    /// Time in which requests were due, none outstanding, and nothing was sent.
    pub starved: Nanos,
    /// Times in which a thread did not run although it wanted to; the first few thousand.
    pub stalls: Vec<Stall>,
    /// How many there were.
    pub stall_count: u64,
    /// Times in which a thread had no processor, and the arrivals withheld for them; stalls are not included.
    #[serde(default)]
    pub withheld: Withheld,
    /// Processor time taken by others.
    pub taken: Taken,
    /// How long stalls held up requests, over their own length; 0 if there were none.
    #[serde(default)]
    pub catch_up: f64,
    /// Quotas of processor time, and how often they were used up.
    #[serde(default)]
    pub quotas: Vec<Quota>,
    /// How long the drain took.
    pub drain: Nanos,
    /// How often the server sent bytes without a request.
    pub unsolicited: u64,
    /// How receives were timed.
    #[serde(default)]
    pub receives: Receives,
    /// Events for unknown connections; above 0 only by a fault of the event loop or the engine.
    #[serde(default)]
    pub unowned: u64,
    /// The failures by kind.
    pub errors: Errors,
    /// Errors for which sessions were refused, by kind.
    #[serde(default)]
    pub refusals: Errors,
    /// The workload's own figures: name, count, of how many.
    pub counters: Vec<(String, u64, u64)>,
    /// The quantities that the workload measured by itself.
    pub distributions: Vec<Distribution>,
    /// The requests that the server had to trace.
    #[serde(default)]
    pub traced: Vec<Traced>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Threads behind it.
    pub threads: u32,
}

impl Recording {
    /// Gives operations the limits by which they are judged (see [`OperationTimes::limit`]).
    pub fn limit(&mut self, of: impl Fn(&str) -> Option<Nanos>) {
        for operation in &mut self.operations {
            operation.limit = of(&operation.name);
        }
    }

    pub(crate) fn new(
        operations: &[String],
        follow_ups: usize,
        endpoints: Vec<EndpointTimes>,
        window: Nanos,
        windows: Windows,
    ) -> Recording {
        let drawn = operations.len() - follow_ups;
        let times =
            operations.iter().enumerate().map(|(i, name)| OperationTimes::new(name, i >= drawn)).collect();
        let interval = Windows::length_for(window);
        let intervals = vec![Interval::default(); window.0.div_ceil(interval.0).max(1) as usize];
        Recording {
            window_start: Time(0),
            window,
            operations: times,
            late: Late::new(windows.clone()),
            windows,
            tally: Tally::default(),
            follow_ups: Tally::default(),
            answered_in_window: 0,
            endpoints,
            connections: Vec::new(),
            sessions: SessionTally::default(),
            datagrams: Datagrams::default(),
            interval,
            intervals,
            backlog: Vec::new(),
            max_in_flight: 0,
            clients: 0,
            busy: Nanos::ZERO,
            used: Nanos::ZERO,
            idle: Nanos::ZERO,
            starved: Nanos::ZERO,
            stalls: Vec::new(),
            stall_count: 0,
            withheld: Withheld::default(),
            taken: Taken::default(),
            catch_up: 0.0,
            quotas: Vec::new(),
            drain: Nanos::ZERO,
            unsolicited: 0,
            receives: Receives::default(),
            unowned: 0,
            errors: Errors::default(),
            refusals: Errors::default(),
            counters: Vec::new(),
            distributions: Vec::new(),
            traced: Vec::new(),
            interrupted: false,
            threads: 1,
        }
    }

    /// From one point of the backlog to the next: 10 ms, and as many times longer as the intervals are.
    pub fn backlog_step(&self) -> Nanos {
        Nanos(self.interval.0 / 10)
    }

    /// Ends the window after `window`, as nothing was due later.
    pub(crate) fn shorten(&mut self, window: Nanos) {
        self.window = window;
        self.windows.shorten(window);
        self.late.shorten(window);
        self.intervals.truncate(window.0.div_ceil(self.interval.0).max(1) as usize);
    }

    pub(crate) fn in_window(&self, moment: Time) -> bool {
        (self.window_start..self.window_start + self.window).contains(&moment)
    }

    /// Counts a failed request that was due at `due`.
    pub(crate) fn failed(&mut self, kind: &str, due: Time, detail: impl FnOnce() -> String) {
        let in_window = self.in_window(due);
        self.errors.add(kind, in_window, detail);
    }

    /// Counts a failure at this moment that is not a request.
    pub(crate) fn noted(&mut self, kind: &str, moment: Time, detail: impl FnOnce() -> String) {
        let in_window = self.in_window(moment);
        self.errors.note(kind, in_window, detail);
    }

    /// Enters the end of one arrival that was sent; those due outside the window only count as throughput.
    #[inline]
    pub(crate) fn enter(&mut self, completion: &Completion) {
        if self.in_window(completion.done) {
            let interval = self.interval(completion.done);
            if completion.outcome == Outcome::Completed {
                interval.answered += 1;
                self.answered_in_window += 1;
            } else {
                interval.failed += 1;
            }
        }
        if !self.in_window(completion.intended) {
            return;
        }
        self.tally.count(completion.outcome);
        self.operations[completion.operation].enter(completion);
        // A failure is not a fast answer: an error enters no response time, an unanswered request enters at its age.
        if completion.outcome != Outcome::Error {
            let offset = completion.intended.since(self.window_start);
            self.windows.record(offset, completion.response_time());
            if completion.late > LATE {
                self.late.record(offset, completion.response_time(), completion.late);
            }
        }
    }

    /// Enters the end of a request that followed from an answer.
    pub(crate) fn enter_follow_up(&mut self, completion: &Completion) {
        if self.in_window(completion.intended) {
            self.follow_ups.count(completion.outcome);
            self.operations[completion.operation].enter(completion);
        }
    }

    /// Makes room for one more connection, to `endpoint`.
    pub(crate) fn note_connection(&mut self, endpoint: usize) {
        let endpoint = endpoint as u16;
        self.connections.push(ConnectionTally { endpoint, ..ConnectionTally::default() });
    }

    /// Enters a request, due in the window, for its connection, unless a session owns it, and its endpoint; `times`
    /// if each endpoint has histograms of its own.
    #[allow(clippy::too_many_arguments, reason = "one call in the hot path, each a plain number")]
    #[inline]
    pub(crate) fn step(
        &mut self,
        connection: Option<usize>,
        endpoint: usize,
        times: bool,
        intended: Time,
        sent: Time,
        done: Time,
        outcome: Outcome,
    ) {
        let endpoint = &mut self.endpoints[endpoint];
        endpoint.tally.count(outcome);
        if outcome == Outcome::Error {
            return;
        }
        let response = done.since(intended);
        if let Some(connection) = connection.map(|index| &mut self.connections[index]) {
            connection.response_time.record(response);
            connection.answered += u64::from(outcome == Outcome::Completed);
        }
        if times {
            endpoint.response_time.record(response);
            if outcome == Outcome::Completed {
                endpoint.service_time.record(done.since(sent));
            }
        }
    }

    /// Enters a request that was sent: how late.
    #[inline]
    pub(crate) fn lag(&mut self, operation: usize, intended: Time, lag: Nanos) {
        if self.in_window(intended) {
            self.operations[operation].generator_lag.record(lag);
        }
    }

    /// Enters an arrival that was never sent, due at `intended` and ended at `now`.
    ///
    /// `operation`: `None` if it was not drawn yet; the first, most frequent one stands for it then.
    pub(crate) fn never_sent(
        &mut self,
        operation: Option<usize>,
        intended: Time,
        now: Time,
        outcome: Outcome,
    ) {
        if outcome == Outcome::Error && self.in_window(now) {
            self.interval(now).failed += 1;
        }
        if !self.in_window(intended) {
            return;
        }
        self.tally.count(outcome);
        if let Some(drawn) = operation {
            self.operations[drawn].tally.count(outcome);
        }
        if outcome != Outcome::Error {
            self.operations[operation.unwrap_or(0)].response_time.record(now.since(intended));
            self.windows.record(intended.since(self.window_start), now.since(intended));
        }
    }

    /// Enters a request that followed from an answer and was never sent, given up at `now`.
    pub(crate) fn follow_up_never_sent(
        &mut self,
        operation: usize,
        intended: Time,
        now: Time,
        outcome: Outcome,
    ) {
        if self.in_window(intended) {
            self.follow_ups.count(outcome);
            self.operations[operation].tally.count(outcome);
            if outcome != Outcome::Error {
                self.operations[operation].response_time.record(now.since(intended));
            }
        }
    }

    /// Enters a request that was bound to an endpoint and never sent, given up at `now`.
    pub(crate) fn step_never_sent(
        &mut self,
        endpoint: usize,
        times: bool,
        intended: Time,
        now: Time,
        outcome: Outcome,
    ) {
        if self.in_window(intended) {
            let endpoint = &mut self.endpoints[endpoint];
            endpoint.tally.count(outcome);
            if times && outcome != Outcome::Error {
                endpoint.response_time.record(now.since(intended));
            }
        }
    }

    /// An arrival is due: it counts as offered with any outcome.
    #[inline]
    pub(crate) fn offered(&mut self, intended: Time) {
        if self.in_window(intended) {
            self.interval(intended).offered += 1;
        }
    }

    /// Enters how many keys the server had by `now`, and of how many, since the window opened.
    pub(crate) fn note_hits(&mut self, now: Time, (hits, gets): (u64, u64)) {
        if gets == 0 {
            return;
        }
        let before = self.intervals.iter().fold((0, 0), |(h, g), one| (h + one.hits, g + one.gets));
        let Some(last) = self.intervals.len().checked_sub(1) else { return };
        let at = (now.since(self.window_start).0 / self.interval.0) as usize;
        let interval = &mut self.intervals[at.min(last)];
        interval.hits += hits.saturating_sub(before.0);
        interval.gets += gets.saturating_sub(before.1);
    }

    /// The interval of a moment in the window.
    #[inline]
    fn interval(&mut self, moment: Time) -> &mut Interval {
        &mut self.intervals[(moment.since(self.window_start).0 / self.interval.0) as usize]
    }

    /// All arrivals together, over all operations.
    pub fn all(&self) -> OperationTimes {
        let mut all = OperationTimes::new("all", false);
        for operation in self.operations.iter().filter(|operation| !operation.follow_up) {
            all.merge(operation);
        }
        all
    }

    /// Arrivals answered within the window, per second; of sessions, their steps.
    pub fn achieved_rps(&self) -> f64 {
        let window = self.window.as_secs_f64();
        // One that was stopped before its window opened has none.
        if window > 0.0 { self.answered_in_window as f64 / window } else { 0.0 }
    }

    /// Share of the threads' time that was spent working, 0 to 1.
    pub fn busy_share(&self) -> f64 {
        let total = (self.busy + self.idle).as_secs_f64();
        if total > 0.0 { self.busy.as_secs_f64() / total } else { 0.0 }
    }

    /// The same without the time in which they had work and no processor, as far as that is known.
    pub fn used_share(&self) -> f64 {
        let total = (self.busy + self.idle).as_secs_f64();
        if self.used == Nanos::ZERO || total <= 0.0 {
            return self.busy_share();
        }
        (self.used.as_secs_f64() / total).min(self.busy_share())
    }

    /// The time between two requests of one client of a closed loop, were all answers as fast as the mean.
    ///
    /// `None` for an open loop, or without answers.
    pub fn expected_interval(&self) -> Option<Nanos> {
        let answered = self.answered_in_window;
        (self.clients > 0 && answered > 0)
            .then(|| Nanos((self.clients as f64 * self.window.0 as f64 / answered as f64) as u64))
    }

    /// The response times of a closed loop with the requests added that each client would have sent while it
    /// waited: coordinated omission made good as far as that can be done afterwards.
    ///
    /// Source: Gil Tene's correction, as in HdrHistogram, with [`Recording::expected_interval`].
    pub fn corrected(&self) -> Option<Latency> {
        Some(self.all().response_time.corrected(self.expected_interval()?))
    }
}
