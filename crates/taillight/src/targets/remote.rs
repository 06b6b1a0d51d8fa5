//! A server that an agent on another machine runs: the coordinator's side.

use std::time::Duration;

use ::agent::{Serve, Serving, Tenant, Tune};
use anyhow::{Context, Result};
use lab::{Remote, Restart, Server, TargetName};

use super::ServerArgs;
use crate::from_agents::AgentsOptions;

/// How long a server on another machine may take to start; those of the other forms take longer than bare ones.
const START: Duration = Duration::from_secs(120);

/// Has the agent at `address` start `target`.
///
/// Errors: it cannot be had, or will not or cannot start it.
pub(super) fn start(
    address: &str,
    credentials: &AgentsOptions,
    target: &TargetName,
    args: &ServerArgs,
    connections: usize,
) -> Result<Server> {
    let mut tenant = Tenant::open(&credentials.party_of(vec![address.into()])?)?;
    let serve = Serve { target: target.to_string(), options: args.words(), connections: connections as u32 };
    let serving = tenant.serve(serve, START)?;
    let mut record = record(&serving)?;
    record.agent = Some(tenant.label().into());
    if !args.server_knob.is_empty() {
        tenant.tune(Tune { action: "apply".into(), settings: args.server_knob.clone() })?;
    }
    Ok(Server::remote(record, Box::new(Tenanted { tenant })))
}

fn record(serving: &Serving) -> Result<results::Target> {
    serde_json::from_str(&serving.record).context("the agent's record of the server is damaged")
}

struct Tenanted {
    tenant: Tenant,
}

impl Remote for Tenanted {
    fn gone(&mut self) -> Option<String> {
        self.tenant.gone()
    }

    fn restart(&mut self) -> Result<(results::Target, Restart), String> {
        let serving = self.tenant.restart(START).map_err(|error| error.to_string())?;
        let record = record(&serving).map_err(|error| error.to_string())?;
        let (stop, start) = (Duration::from_nanos(serving.stop_ns), Duration::from_nanos(serving.start_ns));
        Ok((record, Restart { stop, start }))
    }

    fn stop(mut self: Box<Self>) -> Vec<String> {
        // One that is gone has no log.
        self.tenant.stop().unwrap_or_default().lines().map(str::to_owned).collect()
    }
}
