use anyhow::{Result, bail};
use reactor::Address;
use spec::Agents;

/// Checks that these agents can generate such a load.
pub(super) fn check(
    asked: &Agents,
    servers: &[Address],
    connections: u32,
    clients: Option<u32>,
) -> Result<()> {
    let agents = asked.agents.len() as u32;
    for (what, number) in [("connections", Some(connections)), ("clients", clients)] {
        if let Some(number) = number.filter(|number| *number < agents) {
            bail!(
                "{number} {what} for {agents} agents: each needs at least one; use --{what} {agents} or more"
            );
        }
    }
    if let Some(agent) = asked.elsewhere()
        && let Some(server) = servers.iter().find(|server| server.is_local())
    {
        bail!(
            "the agent {agent} cannot reach {server}, which is on this machine only; give a --target by an address of its network"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use units::Nanos;

    #[test]
    fn what_agents_can_do_is_checked_first() {
        let check =
            |agents: &str, server: &str, connections: u32, clients: Option<u32>, says: Option<&str>| {
                let servers = [Address::Tcp(server.parse().unwrap())];
                let found = {
                    let agents = agents.split(',').map(str::to_owned).collect();
                    super::check(&Agents { agents, ..Agents::default() }, &servers, connections, clients)
                };
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
    fn the_lease_is_five_seconds_and_one_that_agents_give() {
        assert_eq!(Agents::default().agents_lease, Nanos::from(agent::LEASE));
        let bounds = [Agents::LEASES.start(), Agents::LEASES.end()].map(|bound| Duration::from(*bound));
        assert_eq!(bounds, [*agent::LEASES.start(), *agent::LEASES.end()]);
        let check = |ms: u64, is_given: bool| {
            let asked = Agents { agents_lease: Nanos::from_millis(ms), ..Agents::default() };
            match agent::AgentConfig::of(&asked, Vec::new()) {
                Ok(config) => assert!(is_given && config.lease == Duration::from_millis(ms), "{ms}"),
                Err(error) => {
                    let error = error.to_string();
                    assert!(!is_given && error.contains("between 200 ms and 60 s"), "{ms}: {error}");
                }
            }
        };
        check(0, false);
        check(40, false);
        check(200, true);
        check(60_000, true);
        check(300_000, false);
    }
}
