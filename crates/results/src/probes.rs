//! Probe records of a trial: the time of its requests in the server, and the use of the processors.
//!
//! A probe is active in some slots of the window and inactive in the others, so that the two kinds can be
//! compared: the difference is its [`Overhead`]. All figures here are sums over the slots in which it was active.

mod client;
mod input_output;
mod overhead;
mod processor;
mod scheduling;
mod server;
mod service;
mod sockets;
mod stages;

use serde::{Deserialize, Serialize};

pub use client::ClientTimes;
pub use input_output::{InputOutput, InputOutputSlot, Phase};
pub use overhead::Overhead;
pub use processor::{CodeShare, CodeSplit, Counter, Processor, Stack};
pub use scheduling::{CoreActivity, Scheduling, ThreadScheduling};
pub use server::{ServerCounters, ServerTime};
pub use service::ServiceCode;
pub use sockets::Sockets;
pub use stages::{IndependentTime, Span, Stage, Stages, Uncorrelated};

/// All probes requested in one trial, and their results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Probes {
    /// Requested probes: `stages`, `cpu`, `runqueue`, `sockets`, `server`, `client`, `counters`, `io`.
    pub asked: Vec<String>,
    /// The slots of the window.
    pub slots: u32,
    /// The length of one slot.
    pub slot_s: f64,
    /// Unavailable probe features, and the figures that are missing because of it.
    pub missing: Vec<Missing>,
    /// The stages of a request in the server.
    pub stages: Option<Stages>,
    /// How the server's threads were scheduled, and the interrupts of the processors.
    pub scheduling: Option<Scheduling>,
    /// TCP's figures of the server's connections.
    #[serde(default)]
    pub sockets: Option<Sockets>,
    /// The server's own counters.
    #[serde(default)]
    pub server: Option<ServerCounters>,
    /// The kernel's time stamps in the client.
    #[serde(default)]
    pub client: Option<ClientTimes>,
    /// Use of the processors by code.
    pub processor: Option<Processor>,
    /// The available counters of the processor and of the kernel.
    pub counters: Vec<Counter>,
    /// Profile and counters of each service, if the target has several; empty in results of earlier versions.
    #[serde(default)]
    pub services: Vec<ServiceCode>,
    /// Disks and page cache.
    pub io: Option<InputOutput>,
    /// The overhead of each probe.
    pub overhead: Vec<Overhead>,
}

impl Probes {
    /// The record of one service; a new empty one if there is no record yet.
    pub fn service(&mut self, name: &str) -> &mut ServiceCode {
        let place = self.services.iter().position(|service| service.name == name).unwrap_or_else(|| {
            self.services.push(ServiceCode { name: name.into(), ..ServiceCode::default() });
            self.services.len() - 1
        });
        &mut self.services[place]
    }
}

/// A feature that this host, this user or this build lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Missing {
    /// The probe that needs it.
    pub probe: String,
    /// The missing feature, and how to get it.
    pub what: String,
    /// The figures that are unknown without it.
    pub disables: String,
}
