//! The coordinator: opens a session with each agent, compares clocks, starts all generators together, collects
//! recordings.

mod link;
mod members;
mod outcome;
mod run;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

pub(crate) use link::{Heard, Link};
use members::Members;
pub use outcome::{ClockReport, Outcome, Part};
use run::Run;

use crate::message::Tune;
use crate::{Comparison, CredentialFiles, Credentials, Error, TOKEN};

/// Capacity of the queue of received messages.
const INCOMING: usize = 64;
/// Time for the agents to confirm the end of their sessions.
const CLOSE_WAIT: Duration = Duration::from_secs(2);
/// The default lease of a session: several times as long as a loaded machine keeps a thread waiting.
pub const LEASE: Duration = Duration::from_secs(5);

/// Configuration of a coordinator.
#[derive(Clone)]
pub struct AgentConfig {
    /// The agents: `HOST:PORT`.
    pub agents: Vec<String>,
    /// Credentials of the coordinator.
    pub credentials: Credentials,
    /// Whether a token may be sent without TLS to other machines.
    pub insecure_token: bool,
    /// Name of the coordinator on the agents: `user@host`.
    pub name: String,
    /// How long a side may be silent before the other takes it for lost.
    pub lease: Duration,
}

impl AgentConfig {
    /// Configuration of connections with these `agents`, as the options of a load say.
    ///
    /// Errors: certificates or a token that cannot be read; a lease outside of the permitted range.
    pub fn of(options: &spec::Agents, agents: Vec<String>) -> Result<AgentConfig, Error> {
        options.check_lease().map_err(Error::Lease)?;
        let files = CredentialFiles {
            cert: options.agents_tls_cert.clone(),
            key: options.agents_tls_key.clone(),
            ca: options.agents_tls_ca.clone(),
            token: options.agents_token_file.clone(),
        };
        let user = std::env::var("USER").unwrap_or_else(|_| "unknown".into());
        Ok(AgentConfig {
            agents,
            credentials: Credentials::read(&files, std::env::var(TOKEN).ok().as_deref())?,
            insecure_token: options.agents_insecure_token,
            name: format!("{user}@{}", host::name()),
            lease: options.agents_lease.into(),
        })
    }
}

/// The part of each agent, and the time limits of the whole load.
#[derive(Clone, Debug)]
pub struct AgentsLoad {
    /// For each agent the specification of its generator, as JSON.
    pub specs: Vec<String>,
    /// Time limit from the order to prepare until all are ready.
    pub prepare_within: Duration,
    /// Time limit from the start until all have ended.
    pub end_within: Duration,
}

/// Sessions with all agents of a load. Dropping it ends them, and the agents' generators.
pub struct Coordinator {
    members: Members,
    /// The first comparison with each agent, the reference of its drift.
    first: Vec<Comparison>,
    runtime: Runtime,
}

impl Coordinator {
    /// Opens a session with each agent and compares its clock.
    ///
    /// Errors: the first agent that is unavailable; the other sessions are closed then.
    pub fn open(config: &AgentConfig) -> Result<Coordinator, Error> {
        for (i, address) in config.agents.iter().enumerate() {
            if config.agents[..i].contains(address) {
                return Err(Error::Twice { address: address.clone() });
            }
        }
        // A separate thread keeps sending beats while the coordinator is busy.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (tell, heard) = mpsc::channel(INCOMING);
        let members = Members { links: Vec::new(), heard, gone: vec![None; config.agents.len()] };
        let mut coordinator = Coordinator { members, first: Vec::new(), runtime };
        for (i, address) in config.agents.iter().enumerate() {
            let link = coordinator.runtime.block_on(Link::open(i, address, config, tell.clone()))?;
            coordinator.members.links.push(link);
        }
        drop(tell);
        coordinator.first = coordinator.runtime.block_on(coordinator.members.compare_all())?;
        Ok(coordinator)
    }

    /// Names of the agents in messages.
    pub fn agents(&self) -> Vec<String> {
        self.members.links.iter().map(Link::label).collect()
    }

    /// Plans, applies or undoes knobs on every agent's machine; returns each agent's reply or error. The knobs are
    /// reverted when the sessions end.
    pub fn tune(&mut self, tune: &Tune) -> Vec<Result<String, String>> {
        self.runtime.block_on(self.members.tune_all(tune))
    }

    /// Runs one load and returns each agent's recording; `live` gets the agents' live lines, with the agent's number.
    ///
    /// If an agent is lost after the start, the others stop and keep their data: see [`Outcome::lost`].
    /// Errors: nothing was measured, because an agent could not begin or `stop` was set; all agents are idle or gone
    /// then.
    pub fn run(
        &mut self,
        load: &AgentsLoad,
        stop: &AtomicBool,
        mut live: impl FnMut(usize, &str),
    ) -> Result<Outcome, Error> {
        assert_eq!(load.specs.len(), self.members.links.len(), "one specification for each agent");
        let run = Run::new(&mut self.members, load, stop, &mut live);
        self.runtime.block_on(run.run(&self.first))
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        // The readers stop waiting for room in the channel.
        self.members.heard.close();
        while self.members.heard.try_recv().is_ok() {}
        let links = std::mem::take(&mut self.members.links);
        self.runtime.block_on(async {
            let closing: Vec<_> =
                links.into_iter().map(|link| tokio::spawn(link.close(CLOSE_WAIT))).collect();
            for close in closing {
                let _ = close.await;
            }
        });
    }
}
