use dist::{Arrivals, Process};
use reactor::Address;
use spec::{Binding, Pace, WhenAbsent};
use units::{Nanos, Rate};

/// One server, or one of the ways to reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Where it listens.
    pub address: Address,
    /// Connections to it.
    pub connections: usize,
}

/// The loop that sends requests: open or closed.
#[derive(Clone, Debug)]
pub enum Load {
    /// The schedule: an open loop.
    Open {
        /// The arrivals of the whole generator.
        arrivals: Arrivals,
        /// Their mean rate over the whole window, including the quiet rest after the end of a trace; for sessions,
        /// the rate of sessions and not of steps.
        rate: Rate,
        /// Whether the rate stays the same: without bursts, profile or trace, whose response times are not a steady
        /// state by design.
        steady: bool,
    },
    /// The answers: each virtual client sends its next request once it has its answer. Its response times leave out
    /// the requests that were not sent while the server was slow; for comparison with tools that do the same.
    Closed {
        /// From an answer to the client's next request.
        think: Nanos,
    },
}

/// All that one thread needs to know.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The servers, by the numbers that the workload uses.
    pub endpoints: Vec<Endpoint>,
    /// The loop that sends requests: open or closed.
    pub load: Load,
    /// Virtual clients of this thread. If connections suffice, each has its own; else they share them. `None`: each
    /// connection is one.
    pub clients: Option<usize>,
    /// The seed of the whole generator.
    pub seed: u64,
    /// The number of this thread, from 0.
    pub share: u32,
    /// How many threads there are.
    pub shares: u32,
    /// The most sessions under way at once on this thread, each with a connection of its own; the endpoints need none then.
    /// `None`: arrivals are no sessions.
    pub sessions: Option<usize>,
    /// Requests that may be in flight on one connection.
    pub depth: usize,
    /// Requests after which a connection is ended; the next that is bound to it has it re-established, and waits for
    /// that. `None`: connections stay. Datagrams know no end.
    pub per_connection: Option<u64>,
    /// Which connection takes an arrival.
    pub binding: Binding,
    /// How the thread waits.
    pub pace: Pace,
    /// What becomes of arrivals that were due while the thread had no processor.
    pub when_absent: WhenAbsent,
    /// Load before the window, not recorded.
    pub warmup: Nanos,
    /// The time in which arrivals are recorded.
    pub window: Nanos,
    /// The longest wait for answers after the window.
    pub drain: Nanos,
    /// Time-out of a request after it was sent, unless its operation has a time-out of its own, and of
    /// re-establishing a lost connection.
    pub timeout: Nanos,
}

impl Load {
    /// The open loop of a process whose rate stays the same.
    pub fn steady(process: Process, rate: Rate) -> Load {
        Load::Open { arrivals: Arrivals::new(process, None, rate), rate, steady: true }
    }
}

impl Plan {
    /// All connections of this thread, with as many as sessions may have.
    pub fn connections(&self) -> usize {
        let fixed: usize = self.endpoints.iter().map(|endpoint| endpoint.connections).sum();
        fixed + self.sessions.unwrap_or(0)
    }

    /// Virtual clients of this thread. Default: connections to the first endpoint times requests on each.
    pub fn clients(&self) -> usize {
        let first = self.endpoints.first().map_or(1, |endpoint| endpoint.connections);
        self.clients.unwrap_or(first * self.depth)
    }
}
