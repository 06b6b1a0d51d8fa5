//! The servers of a study on another machine, where an agent starts them.

use std::sync::Arc;

use anyhow::{Context, Result};
use host::Host;
use lab::study::{Facts, Machinery};
use lab::{Error, Server, ServerOptions, TargetName};
use lab::{RemoteHost, Tuner};
use spec::{Agents, Cpus};
use trial::agent_config;

use crate::targets::remote::{FromAgents, SharedTenant, tune};

/// The agent that starts them.
pub(super) struct Agent {
    address: String,
    credentials: Agents,
    machine: Machinery,
}

impl Agent {
    /// The agent at `address`, asked for what its machine tells of itself.
    ///
    /// Errors: it is unavailable, or is of another release.
    pub(super) fn ask(address: &str, credentials: &Agents) -> Result<Agent> {
        let mut tenant = ::agent::Tenant::open(&agent_config(credentials, vec![address.into()])?)?;
        let machine = serde_json::from_str(&tenant.facts()?);
        let machine = machine.context("the agent's facts of its machine are damaged")?;
        Ok(Agent { address: address.into(), credentials: credentials.clone(), machine })
    }

    /// The machine's facts, which determine the possible measurements.
    pub(super) fn facts(&self) -> Facts {
        Facts::told(&self.machine)
    }
}

impl RemoteHost for Agent {
    fn start(&self, target: &TargetName, options: &ServerOptions) -> Result<(Server, Arc<dyn Tuner>), Error> {
        let listed = || Cpus::List(options.cpus.iter().copied().collect());
        let cpus = if options.cpus.is_empty() { Cpus::Apart } else { listed() };
        let machines = FromAgents::new(&self.credentials, cpus);
        let options = ServerOptions { agent: Some(self.address.clone()), ..options.clone() };
        let server = Server::start_with(target, &options, Some(&machines))
            .map_err(|error| failed(&target.to_string(), &error.into()))?;
        let tenant = machines.only_session().map_err(|error| failed(&target.to_string(), &error))?;
        Ok((server, Arc::new(RemoteKnobs { tenant })))
    }

    fn note(&self) -> String {
        format!("The servers ran on another machine, started by the agent at {}.", self.address)
    }

    fn host(&self) -> &Host {
        &self.machine.host
    }
}

/// The knobs of the agent's machine, for one server.
struct RemoteKnobs {
    tenant: SharedTenant,
}

impl RemoteKnobs {
    fn tune(&self, action: &str, knobs: &[String], device: Option<&str>) -> Result<String, Error> {
        let about = || if knobs.is_empty() { "the knobs".into() } else { knobs.join(", ") };
        tune(&self.tenant, action, knobs, device).map_err(|error| failed(&about(), &error))
    }
}

impl Tuner for RemoteKnobs {
    fn plan(&self, knobs: &[String], device: Option<&str>) -> Result<String, Error> {
        self.tune("plan", knobs, device)
    }

    fn apply(&self, knobs: &[String], device: Option<&str>) -> Result<(), Error> {
        self.tune("apply", knobs, device).map(drop)
    }

    fn undo(&self) -> Result<Vec<String>, Error> {
        Ok(self.tune("undo", &[], None)?.lines().map(str::to_owned).collect())
    }
}

fn failed(name: &str, error: &anyhow::Error) -> Error {
    Error::RemoteHost { name: name.into(), message: format!("{error:#}") }
}
