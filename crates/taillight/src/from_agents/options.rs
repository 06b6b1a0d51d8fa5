use std::path::PathBuf;

use ::agent::{CredentialFiles, Credentials, Party};
use anyhow::{Result, bail};
use clap::Args;
use reactor::Address;
use units::{CpuList, Nanos};

/// Which machines generate the load, and how they are spoken to.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Agents")]
pub(crate) struct AgentsOptions {
    /// Generate the load on these machines together instead of here; 'taillight agent' runs on each.
    #[arg(long, value_name = "HOST:PORT,…", value_delimiter = ',')]
    pub agents: Vec<String>,
    /// Processors to pin each agent's threads to [default: not pinned].
    #[arg(long, value_name = "LIST", requires = "agents")]
    pub agents_cpus: Option<CpuList>,
    /// A file that holds the token that the agents want [default: the environment variable TAILLIGHT_TOKEN].
    #[arg(long, value_name = "FILE")]
    pub agents_token_file: Option<PathBuf>,
    /// Agree to send the token in clear to agents that show no certificate.
    #[arg(long)]
    pub agents_insecure_token: bool,
    /// This side's certificate for the agents, PEM.
    #[arg(long, value_name = "FILE")]
    pub agents_tls_cert: Option<PathBuf>,
    /// The key of that certificate, PEM.
    #[arg(long, value_name = "FILE")]
    pub agents_tls_key: Option<PathBuf>,
    /// The authority whose agents are believed, PEM.
    #[arg(long, value_name = "FILE")]
    pub agents_tls_ca: Option<PathBuf>,
    /// How long an agent may be silent before it counts as lost.
    #[arg(long, default_value = "5s", value_name = "TIME")]
    pub agents_lease: Nanos,
}

impl AgentsOptions {
    /// The processors of each agent's threads.
    pub(crate) fn cpus(&self) -> Vec<usize> {
        self.agents_cpus.as_ref().map_or(Vec::new(), |cpus| cpus.as_slice().to_vec())
    }

    /// Whom the coordinator of a load speaks to, and how.
    pub(super) fn party(&self) -> Result<Party> {
        self.party_of(self.agents.clone())
    }

    /// How these agents are spoken to.
    pub(crate) fn party_of(&self, agents: Vec<String>) -> Result<Party> {
        let files = CredentialFiles {
            cert: self.agents_tls_cert.clone(),
            key: self.agents_tls_key.clone(),
            ca: self.agents_tls_ca.clone(),
            token: self.agents_token_file.clone(),
        };
        let user = std::env::var("USER").unwrap_or_else(|_| "somebody".into());
        Ok(Party {
            agents,
            credentials: Credentials::read(&files, std::env::var(crate::agent::TOKEN).ok().as_deref())?,
            insecure_token: self.agents_insecure_token,
            name: format!("{user}@{}", crate::agent::host_name()),
            lease: self.agents_lease.into(),
        })
    }

    /// Whether these agents can generate such a load.
    pub(super) fn check(&self, servers: &[Address], connections: u32, clients: Option<u32>) -> Result<()> {
        let agents = self.agents.len() as u32;
        for (what, number) in [("connections", Some(connections)), ("clients", clients)] {
            if let Some(number) = number.filter(|number| *number < agents) {
                bail!(
                    "{number} {what} for {agents} agents: each needs at least one; use --{what} {agents} or more"
                );
            }
        }
        let here = |agent: &String| {
            let host = agent.rsplit_once(':').map_or(agent.as_str(), |(host, _)| host);
            host == "localhost"
                || host.trim_matches(['[', ']']).parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
        };
        if let Some(agent) = self.agents.iter().find(|agent| !here(agent))
            && let Some(server) = servers.iter().find(|server| server.is_local())
        {
            bail!(
                "the agent {agent} cannot reach {server}, which is on this machine only; give a --target by an address of its network"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};

    fn options(words: &str) -> AgentsOptions {
        let command = AgentsOptions::augment_args(Command::new("x").no_binary_name(true));
        let matches = command.try_get_matches_from(words.split_whitespace()).unwrap();
        AgentsOptions::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn what_agents_can_do_is_checked_first() {
        let check =
            |agents: &str, server: &str, connections: u32, clients: Option<u32>, says: Option<&str>| {
                let servers = [Address::Tcp(server.parse().unwrap())];
                let found = options(&format!("--agents {agents}")).check(&servers, connections, clients);
                match says {
                    None => assert!(found.is_ok(), "{found:?}"),
                    Some(says) => assert!(found.unwrap_err().to_string().contains(says), "{agents} {server}"),
                }
            };
        check("a:1,b:1", "10.0.0.5:11211", 2, None, None);
        check("a:1,b:1", "10.0.0.5:11211", 1, None, Some("--connections 2"));
        check("a:1,b:1", "10.0.0.5:11211", 8, Some(1), Some("--clients 2"));
        check("127.0.0.1:1,[::1]:1,localhost:2", "127.0.0.1:11211", 8, None, None);
        check("127.0.0.1:1,10.0.0.6:1", "127.0.0.1:11211", 8, None, Some("10.0.0.6:1 cannot reach"));
    }

    #[test]
    fn the_lease_is_five_seconds() {
        assert_eq!(options("").agents_lease, Nanos::from(::agent::LEASE));
    }
}
