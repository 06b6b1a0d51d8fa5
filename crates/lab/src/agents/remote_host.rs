//! The servers of a study on another machine, where an agent starts them.

use std::sync::Arc;

use agent::{AgentConfig, Tenant};
use host::Host;
use spec::{Agents, Cpus};

use super::machines::{Machines, SharedTenant, tune};
use crate::study::{Facts, Machinery};
use crate::{Error, RemoteHost, Server, ServerOptions, TargetName, Tuner};

/// An agent that starts the servers of a study.
pub struct RemoteAgent {
    address: String,
    credentials: Agents,
    machine: Machinery,
}

impl RemoteAgent {
    /// The agent at `address`, asked for what its machine tells of itself.
    ///
    /// Errors: it is unavailable, or is of another release.
    pub fn ask(address: &str, credentials: &Agents) -> Result<RemoteAgent, Error> {
        let mut tenant = Tenant::open(&AgentConfig::of(credentials, vec![address.into()])?)?;
        let machine = serde_json::from_str(&tenant.facts()?).map_err(|error| {
            Error::refused(format!("the agent's facts of its machine are damaged: {error}"))
        })?;
        Ok(RemoteAgent { address: address.into(), credentials: credentials.clone(), machine })
    }

    /// The machine's facts, which determine the possible measurements.
    pub fn facts(&self) -> Facts {
        Facts::told(&self.machine)
    }
}

impl RemoteHost for RemoteAgent {
    fn start(&self, target: &TargetName, options: &ServerOptions) -> Result<(Server, Arc<dyn Tuner>), Error> {
        let mut options = options.clone();
        let listed = options.cpus.iter().copied().collect();
        options.target.cpus = if options.cpus.is_empty() { Cpus::Apart } else { Cpus::List(listed) };
        options.target.agent = Some(self.address.clone());
        let machines = Machines::new(&self.credentials);
        let server = Server::start_with(target, &options, Some(&machines))
            .map_err(|error| failed(&target.to_string(), &error))?;
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

fn failed(name: &str, error: &impl ToString) -> Error {
    Error::RemoteHost { name: name.into(), message: error.to_string() }
}
