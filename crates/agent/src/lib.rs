//! Generators on other machines, and servers: an agent on each, a coordinator that has the generators act as one, and
//! a [`Tenant`] that has a server run.
//!
//! An [`Agent`] listens for one coordinator at a time and starts a generator as a child process for it. A
//! [`Coordinator`] opens a session with each agent, compares its clock with its own ([`Comparison`]), has all
//! generators begin at the same moment, and collects what they recorded. Either side knows within the *lease* that
//! the other disconnected: the agent kills its child then, the coordinator stops the others ([`Outcome::lost`]).
//!
//! What is generated, served and recorded is not known here: options go in ([`Generators`], [`Servers`]), bytes come
//! out ([`Part::recording`]). The network runtime that this crate brings runs in agents and coordinators only; a
//! generator is another process, with its own event loop.
//!
//! Try it: `cargo test -p agent`, which gives agents clocks that are off and sees them found out.

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
pub use coordinator::{AgentConfig, ClockReport, Coordinator, LEASE, Load, Outcome, Part};
pub use credentials::{CredentialFiles, Credentials, TOKEN};
pub use error::Error;
pub use generators::Generators;
pub use message::{Generate, Serve, Serving, Tune, Watch};
pub use servers::{Served, Servers};
pub use service::{Agent, LEASES, Settings};
pub use tenant::Tenant;
