//! Messages between coordinator and agent, in protobuf.
//!
//! Each direction is one stream, in one call that lasts as long as the session: when either side disconnects, the
//! stream ends. A new kind of message or task gets a new tag; a change of an existing one, a new [`PROTOCOL`].

#![allow(unreachable_pub, reason = "the generated client and server take public messages")]

use std::sync::atomic::{AtomicU64, Ordering};

use prost::{Message, Oneof};

/// The version of this protocol. Both sides must have the same.
///
/// 2 added the role of a server; 3 the device that knobs act on; 4 describes generators and servers by specifications;
/// 5 serves, halts and resumes single services and reports their use of resources; 6 watches them and their machine
/// during a trial, lists the probes available there, and changes knobs of a generator's machine; 7 has an order for each
/// task, and no messages around single numbers and texts; 8 numbers the orders that are answered.
pub const PROTOCOL: u32 = 8;

/// The version of this program, sent to the other side.
pub const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// A number for an order, which its [`Answer`] repeats. No other order of this process has it.
pub(crate) fn next_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// From the coordinator to the agent.
#[derive(Clone, PartialEq, Message)]
pub struct ToAgent {
    /// The order; `None` for a kind that this version does not know.
    #[prost(oneof = "Order", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13")]
    pub order: Option<Order>,
}

/// An order of the coordinator.
#[derive(Clone, PartialEq, Oneof)]
pub enum Order {
    /// The first message of a session.
    #[prost(message, tag = "1")]
    Hello(Hello),
    /// Requests the agent's clock; the number is returned in the reply.
    #[prost(uint64, tag = "2")]
    Ping(u64),
    /// Prepares the task of one of several generators, which sends [`Event::Ready`] and then waits.
    #[prost(message, tag = "3")]
    Generate(Generate),
    /// Starts the generator that is ready, at this time by the agent's clock. Units: ns.
    #[prost(uint64, tag = "4")]
    Start(u64),
    /// Ends the task but keeps its measurements.
    #[prost(message, tag = "5")]
    Stop(()),
    /// Keeps the session alive.
    #[prost(message, tag = "6")]
    Beat(()),
    /// Starts the halted server of the task again; the text is as [`Serve::called`].
    #[prost(string, tag = "7")]
    Resume(String),
    /// Requests facts about the agent's machine; the number is returned in the reply.
    #[prost(uint64, tag = "8")]
    Facts(u64),
    /// Changes knobs of the agent's machine, or plans changes.
    #[prost(message, tag = "9")]
    Tune(Tune),
    /// Halts the server of the task, which keeps its addresses.
    #[prost(message, tag = "10")]
    Halt(()),
    /// Requests the resources that the task's server has used so far; the number is returned in the reply.
    #[prost(uint64, tag = "11")]
    Usage(u64),
    /// Observes the task's server and its machine during a trial.
    #[prost(message, tag = "12")]
    Watch(Watch),
    /// Runs the server under test as the task.
    #[prost(message, tag = "13")]
    Serve(Serve),
}

/// Introduces the coordinator.
#[derive(Clone, PartialEq, Message)]
pub struct Hello {
    /// Its [`PROTOCOL`].
    #[prost(uint32, tag = "1")]
    pub protocol: u32,
    /// Its [`PROGRAM`].
    #[prost(string, tag = "2")]
    pub program: String,
    /// Its name for messages: `user@host`.
    #[prost(string, tag = "3")]
    pub name: String,
    /// How long either side may be silent before the other takes it for lost. Units: ms.
    #[prost(uint64, tag = "4")]
    pub lease_ms: u64,
}

/// A server to run, which is ready when the agent reports it; its recording is its log.
#[derive(Clone, PartialEq, Message)]
pub struct Serve {
    /// The specification, as JSON: its target, and for a workload with files, the served files.
    #[prost(string, tag = "1")]
    pub spec: String,
    /// Number of connections that it will get.
    #[prost(uint32, tag = "2")]
    pub connections: u32,
    /// The services of the target to run here; empty: all.
    #[prost(string, repeated, tag = "3")]
    pub services: Vec<String>,
    /// Addresses of remote services that these services call, as JSON; empty without such services.
    #[prost(string, tag = "4")]
    pub called: String,
}

/// An action on knobs of the machine.
#[derive(Clone, PartialEq, Message)]
pub struct Tune {
    /// `plan`, `apply`, `status` or `undo`.
    #[prost(string, tag = "1")]
    pub action: String,
    /// The knobs, as on the command line: `cpu.set=0`.
    #[prost(string, repeated, tag = "2")]
    pub knobs: Vec<String>,
    /// The network device that they act on; empty: the machine's only card.
    #[prost(string, tag = "3")]
    pub device: String,
    /// The processors that they act on, as a list; empty: the server's, or all of a generator's.
    #[prost(string, tag = "4")]
    pub cpus: String,
    /// Number of the order, which is returned in the reply. This crate sets it.
    #[prost(uint64, tag = "5")]
    pub number: u64,
}

/// Starts or ends an observation during a trial.
#[derive(Clone, PartialEq, Message)]
pub struct Watch {
    /// `begin`, `noise` or `end`.
    #[prost(string, tag = "1")]
    pub action: String,
    /// As JSON: to begin, the probes; to end, the trial. Empty for the noise.
    #[prost(string, tag = "2")]
    pub about: String,
    /// When the trial's window opened, by the agent's clock; 0 if unknown. Units: ns.
    #[prost(uint64, tag = "3")]
    pub opened_ns: u64,
    /// The length of the window. Units: ns.
    #[prost(uint64, tag = "4")]
    pub window_ns: u64,
    /// Number of the order, which is returned in the reply. This crate sets it.
    #[prost(uint64, tag = "5")]
    pub number: u64,
}

/// One generator's part of a load.
#[derive(Clone, PartialEq, Message)]
pub struct Generate {
    /// The specification of the load, as JSON.
    #[prost(string, tag = "1")]
    pub spec: String,
    /// Which generator this is, from 0.
    #[prost(uint32, tag = "3")]
    pub share: u32,
    /// Number of generators.
    #[prost(uint32, tag = "4")]
    pub shares: u32,
}

/// From the agent to the coordinator.
#[derive(Clone, PartialEq, Message)]
pub struct FromAgent {
    /// The event; `None` for a kind that this version does not know.
    #[prost(oneof = "Event", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10")]
    pub event: Option<Event>,
}

/// An event from the agent.
#[derive(Clone, PartialEq, Oneof)]
pub enum Event {
    /// The reply to [`Order::Hello`].
    #[prost(message, tag = "1")]
    Welcome(Welcome),
    /// The reply to [`Order::Ping`].
    #[prost(message, tag = "2")]
    Pong(Pong),
    /// The task can begin.
    #[prost(message, tag = "3")]
    Ready(()),
    /// The generator's report while it runs: one line of JSON.
    #[prost(string, tag = "4")]
    Live(String),
    /// A piece of the recording; the task's process has already ended.
    #[prost(message, tag = "5")]
    Recording(Piece),
    /// The task failed, with the reason; its process has ended.
    #[prost(string, tag = "6")]
    Failed(String),
    /// Keeps the session alive.
    #[prost(message, tag = "7")]
    Beat(()),
    /// The server of the task accepts connections.
    #[prost(message, tag = "8")]
    Serving(Serving),
    /// The reply to [`Order::Facts`], [`Order::Tune`], [`Order::Usage`] and [`Order::Watch`].
    #[prost(message, tag = "9")]
    Answer(Answer),
    /// The server of the task is halted, and the stop took this long. Units: ns.
    #[prost(uint64, tag = "10")]
    Halted(u64),
}

/// A server that runs.
#[derive(Clone, PartialEq, Message)]
pub struct Serving {
    /// The server's record for a result, as JSON, including its address.
    #[prost(string, tag = "1")]
    pub record: String,
    /// Duration of its start. Units: ns.
    #[prost(uint64, tag = "3")]
    pub start_ns: u64,
}

/// A reply.
#[derive(Clone, PartialEq, Message)]
pub struct Answer {
    /// Text, or JSON.
    #[prost(string, tag = "1")]
    pub text: String,
    /// Whether `text` is the reason of a refusal.
    #[prost(bool, tag = "2")]
    pub refused: bool,
    /// Number of the order that it answers.
    #[prost(uint64, tag = "3")]
    pub number: u64,
}

impl Answer {
    /// The reply, or the reason of a refusal.
    pub(crate) fn said(self) -> Result<String, String> {
        if self.refused { Err(self.text) } else { Ok(self.text) }
    }
}

/// Introduces the agent.
#[derive(Clone, PartialEq, Message)]
pub struct Welcome {
    /// Its [`PROTOCOL`].
    #[prost(uint32, tag = "1")]
    pub protocol: u32,
    /// Its [`PROGRAM`].
    #[prost(string, tag = "2")]
    pub program: String,
    /// Its name.
    #[prost(string, tag = "3")]
    pub name: String,
}

/// The agent's clock.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Pong {
    /// Number of the ping.
    #[prost(uint64, tag = "1")]
    pub number: u64,
    /// When the ping was read. Units: ns by the agent's clock.
    #[prost(uint64, tag = "2")]
    pub received_ns: u64,
    /// When the reply was sent.
    #[prost(uint64, tag = "3")]
    pub replied_ns: u64,
}

/// A piece of a file.
#[derive(Clone, PartialEq, Message)]
pub struct Piece {
    /// Its bytes.
    #[prost(bytes = "vec", tag = "1")]
    pub bytes: Vec<u8>,
    /// Whether it is the last.
    #[prost(bool, tag = "2")]
    pub last: bool,
}

impl From<Order> for ToAgent {
    fn from(order: Order) -> ToAgent {
        ToAgent { order: Some(order) }
    }
}

impl From<Event> for FromAgent {
    fn from(event: Event) -> FromAgent {
        FromAgent { event: Some(event) }
    }
}

impl Event {
    /// The reply to the order of this number, or the reason of its refusal.
    pub(crate) fn answer(number: u64, said: Result<String, String>) -> Event {
        let refused = said.is_err();
        let (Ok(text) | Err(text)) = said;
        Event::Answer(Answer { text, refused, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_kind_that_is_not_known_is_none() {
        // Field 15, a length of 2: a message of a later version.
        let later = [0x7a, 0x02, 0x08, 0x01];
        assert_eq!(ToAgent::decode(&later[..]).unwrap(), ToAgent { order: None });
        assert_eq!(FromAgent::decode(&later[..]).unwrap(), FromAgent { event: None });
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = ToAgent::decode(&bytes[..]);
            let _ = FromAgent::decode(&bytes[..]);
        }
    }
}
