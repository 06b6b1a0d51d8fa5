use std::fmt;
use std::str::FromStr;

use dist::{Arrivals, Process};
use reactor::Address;
use units::{Nanos, ParseError, Rate};

/// Which connection takes an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Any, with equal chance, fixed at the intended time, busy or not: users who hold a connection each.
    Random,
    /// One that is free, any of those; while none is, the arrival waits for the first: a connection pool, one for
    /// each endpoint, so that none waits for another's.
    Idle,
}

/// How a thread waits for the next arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// By looking at clock and sockets without pause: sends are on time to a few µs; takes a whole core.
    Spin,
    /// By sleeping: sends are late by a wake-up, some 10 to 60 µs; for machines that are shared.
    Sleep,
}

macro_rules! names {
    ($type:ident, $what:literal, $hint:literal, $($name:literal => $variant:ident),+) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $($type::$variant => $name),+ })
            }
        }

        impl FromStr for $type {
            type Err = ParseError;
            fn from_str(text: &str) -> Result<$type, ParseError> {
                match text {
                    $($name => Ok($type::$variant),)+
                    _ => Err(ParseError {
                        what: $what,
                        given: text.into(),
                        problem: "there is no such one".into(),
                        hint: $hint,
                    }),
                }
            }
        }
    };
}

names!(Binding, "binding", "write random or idle", "random" => Random, "idle" => Idle);
names!(Pace, "pace", "write spin or sleep", "spin" => Spin, "sleep" => Sleep);

/// One server, or one of the ways to reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Where it listens.
    pub address: Address,
    /// Connections to it.
    pub connections: usize,
}

/// What makes requests leave.
#[derive(Clone, Debug)]
pub enum Load {
    /// The schedule: an open loop.
    Open {
        /// The arrivals of the whole generator.
        arrivals: Arrivals,
        /// Their mean rate over all of the window, of which the rest is quiet where a trace ends before it.
        rate: Rate,
        /// Whether the rate stays the same: without bursts, profile or trace, whose response times are no steady
        /// state by design.
        steady: bool,
    },
    /// The answers: each virtual client asks again once it has its answer. Its response times leave out what
    /// nobody asked while the server was slow; for comparison with tools that do the same.
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
    /// What makes requests leave.
    pub load: Load,
    /// Virtual clients of this thread, each with connections of its own where there are enough, else sharing
    /// them. `None`: each connection is one.
    pub clients: Option<usize>,
    /// The seed of the whole generator.
    pub seed: u64,
    /// Which thread this is, from 0.
    pub share: u32,
    /// How many threads there are.
    pub shares: u32,
    /// Requests that may be in flight on one connection.
    pub depth: usize,
    /// Requests after which a connection is ended; the next that is bound to it has it established anew, and waits for
    /// that. `None`: connections stay. Datagrams know no end.
    pub per_connection: Option<u64>,
    /// Which connection takes an arrival.
    pub binding: Binding,
    /// How the thread waits.
    pub pace: Pace,
    /// Load before the window, not recorded.
    pub warmup: Nanos,
    /// The time in which arrivals are recorded.
    pub window: Nanos,
    /// The longest wait for answers after the window.
    pub drain: Nanos,
    /// A request unanswered for this long after it was sent has failed, and so has a connection that is lost and takes
    /// so long to be established again.
    pub timeout: Nanos,
}

impl Load {
    /// The open loop of a process whose rate stays the same.
    pub fn steady(process: Process, rate: Rate) -> Load {
        Load::Open { arrivals: Arrivals::new(process, None, rate), rate, steady: true }
    }
}

impl Plan {
    /// All connections of this thread.
    pub fn connections(&self) -> usize {
        self.endpoints.iter().map(|endpoint| endpoint.connections).sum()
    }

    /// Virtual clients of this thread; as many as connections to the first endpoint and requests on each where
    /// nothing else was said.
    pub fn clients(&self) -> usize {
        let first = self.endpoints.first().map_or(1, |endpoint| endpoint.connections);
        self.clients.unwrap_or(first * self.depth)
    }
}
