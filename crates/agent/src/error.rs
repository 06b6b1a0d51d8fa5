use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error as ThisError;

/// Why an agent cannot serve, or a load cannot be run through agents.
#[derive(Debug, ThisError)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("agent: cannot listen on {address}: {source}; choose another address with --listen")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(
        "agent: {address} can be reached from other machines, and any client there could start load from here; {remedy}"
    )]
    Exposed { address: SocketAddr, remedy: &'static str },
    #[error("cannot read {}: {source}; {remedy}", path.display())]
    Read { path: PathBuf, source: io::Error, remedy: &'static str },
    #[error("{0}")]
    Credentials(String),
    #[error("{0}")]
    Lease(String),
    #[error(
        "agent {address}: cannot connect: {why}; is 'taillight agent' running there, with credentials that match?"
    )]
    Connect { address: String, why: String },
    #[error("agent {address}: {why}")]
    Refused { address: String, why: String },
    #[error("'{given}' is not the address of an agent; write HOST:PORT, such as 10.0.0.5:7070")]
    Address { given: String },
    #[error("the same agent is named twice: {address}; each takes one part of the load")]
    Twice { address: String },
    #[error("agent {agent} was lost before the load began: {why}; nothing was measured")]
    LostEarly { agent: String, why: String },
    #[error("agent {agent}: {why}")]
    Failed { agent: String, why: String },
    #[error("agent {agent} was not {what} within {within_s} s; the load was given up")]
    Stuck { agent: String, what: &'static str, within_s: u64 },
    #[error("agent {agent} was not {what} within {within_s} s")]
    Late { agent: String, what: &'static str, within_s: u64 },
    #[error("interrupted before the window was over; nothing was recorded")]
    Interrupted,
    #[error("agents: {0}")]
    Runtime(#[from] io::Error),
}
