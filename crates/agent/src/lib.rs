//! Generators and servers on other machines: an agent on each, a coordinator that makes the generators act as one, and
//! a [`Tenant`] that controls a server.
//!
//! An [`Agent`] listens for one coordinator at a time and starts a generator as a child process for it. A
//! [`Coordinator`] opens a session with each agent, compares its clock with its own ([`Comparison`]), starts all
//! generators at the same moment, and collects their recordings. Each side detects within the *lease* that the other
//! disconnected: the agent then kills its child, the coordinator stops the others ([`Outcome::lost`]).
//!
//! This crate does not interpret loads, servers or recordings: options go in ([`Generators`], [`Servers`]), bytes come
//! out ([`Part::recording`]). Its network runtime runs in agents and coordinators only; a generator is another process,
//! with its own event loop.
//!
//! Try it: `cargo test -p agent`, whose tests plant wrong clocks in agents and verify that they are detected.

mod clock;
mod comparison;
mod coordinator;
mod credentials;
mod error;
mod generators;
mod message;
mod rpc;
mod servers;
mod service;
mod tenant;

pub use clock::Clock;
pub use comparison::{Comparison, Drift};
pub use coordinator::{AgentConfig, AgentsLoad, ClockReport, Coordinator, LEASE, Outcome, Part};
pub use credentials::{CredentialFiles, Credentials, TOKEN};
pub use error::Error;
pub use generators::Generators;
pub use message::{Generate, Serve, Serving, Tune, Watch};
pub use servers::{Served, Servers};
pub use service::{Agent, LEASES, Settings};
pub use tenant::Tenant;
