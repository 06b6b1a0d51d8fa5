use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use dist::Process;
use units::{Nanos, ParseError, Rate};

/// Which connection takes an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Any, with equal chance, fixed at the intended time, busy or not: users who hold a connection each.
    Random,
    /// One that is free, any of those; while none is, the arrival waits for the first: a connection pool.
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
    ($type:ident, $what:literal, $lever:literal, $($name:literal => $variant:ident),+) => {
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
                        lever: $lever,
                    }),
                }
            }
        }
    };
}

names!(Binding, "binding", "write random or idle", "random" => Random, "idle" => Idle);
names!(Pace, "pace", "write spin or sleep", "spin" => Spin, "sleep" => Sleep);

/// All that one thread needs to know.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where the server listens.
    pub server: SocketAddr,
    /// The form of the arrival process.
    pub process: Process,
    /// The offered load of the whole generator.
    pub rate: Rate,
    /// The seed of the whole generator.
    pub seed: u64,
    /// Which thread this is, from 0.
    pub share: u32,
    /// How many threads there are.
    pub shares: u32,
    /// Connections of this thread.
    pub connections: usize,
    /// Requests that may be in flight on one connection.
    pub depth: usize,
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
    /// A request unanswered for this long after it was sent has failed.
    pub timeout: Nanos,
}
