//! The open-loop load engine: requests leave when the schedule says so, not when answers come.
//!
//! One aggregate arrival process ([`Schedule`]) is cut among the threads. Each thread runs an [`Engine`] on
//! a reactor of its own: it binds every arrival to a connection at its intended time, sends it as soon as that
//! connection can take it, and follows it to its end ([`Completion`]). The [`Recording`] is merged over the threads
//! and judged ([`judge`]), which reports a generator that was too slow. The engine is independent of the protocol; a
//! [`Workload`] turns arrivals into bytes and bytes into outcomes, and never reads a clock.
//!
//! Try it: `cargo test -p openloop`, which checks the engine on a simulated clock against exact results.

mod completion;
mod connection;
mod engine;
mod gather;
mod generator;
mod judge;
mod looks;
mod pacing;
mod reader;
mod recorder;
mod schedule;
mod session;
mod source;
mod traced;
mod waiting;
mod workload;

pub use completion::{Answered, Completion, Outcome};
pub use engine::{Binding, Endpoint, Engine, Load, Pace, Plan, WhenAbsent};
pub use generator::{Failure, Generator, Stamps, StartSignal};
pub use judge::{Footing, judge, judge_strictly, lag_limit, moved_limit, slowed, within_at_most};
pub use pacing::{STALL_THRESHOLD, Stall};
pub use reactor::Via;
pub use recorder::{
    BacklogPoint, ConnectionTally, Datagrams, Distribution, EndpointTimes, ErrorCount, Errors, Interval,
    LATE, Late, OperationTimes, Receives, Recording, SessionTally, Taken, Tally, Withheld,
};
pub use schedule::{Arrival, Schedule};
pub use session::{Next, ReadRate, Route, Step, StepEnd, Underway};
pub use traced::{Moments, SendTimes, Traced};
pub use workload::{Belongs, Closed, Fault, Parsed, Parts, Then, Unasked, Workload};

/// The limits of verdicts, with their reasons.
pub fn limits() -> Vec<units::Limit> {
    judge::all_limits()
}
