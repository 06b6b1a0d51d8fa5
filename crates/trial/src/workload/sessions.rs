//! What sessions may take: places of the generator, and changes of the site.

use anyhow::{Result, bail};
use rustix::process::{Resource, getrlimit};
use spec::workload::Video;

use crate::task::Task;

/// Descriptors reserved for everything else that a generator opens: epoll, wake-ups, files, pipes, and inherited ones.
const OTHER_DESCRIPTORS: u64 = 128;
/// Ports of this machine towards one address of a server, if the kernel does not report it.
const PORTS: usize = Video::MOST_SESSIONS as usize;
const PORT_RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// Limit of concurrent sessions of this process with this number of servers, `asked` for or not; `None` if agents have
/// the sessions.
///
/// Errors: the requested limit exceeds the descriptors of the process.
pub(super) fn most_here(task: &Task, asked: Option<u32>, servers: usize) -> Result<Option<usize>> {
    if !task.spec.generator.agents.agents.is_empty() {
        return Ok(None);
    }
    let descriptors = getrlimit(Resource::Nofile).maximum.map_or(usize::MAX, |limit| {
        usize::try_from(limit.saturating_sub(OTHER_DESCRIPTORS)).unwrap_or(usize::MAX)
    });
    let ports = ports(std::fs::read_to_string(PORT_RANGE).ok().as_deref()).saturating_mul(servers.max(1));
    most(asked, descriptors, ports).map(Some)
}

fn most(asked: Option<u32>, descriptors: usize, ports: usize) -> Result<usize> {
    let Some(asked) = asked else { return Ok(descriptors.min(ports).max(1)) };
    let asked = asked as usize;
    if asked > descriptors {
        bail!(
            "--max-sessions {asked}: this process may have descriptors for {descriptors} sessions; ask for fewer, use \
             --agents, or raise the hard limit (ulimit -Hn)"
        );
    }
    Ok(asked)
}

/// Number of ports in the kernel's ephemeral range.
fn ports(range: Option<&str>) -> usize {
    let ends: Vec<usize> =
        range.unwrap_or_default().split_whitespace().filter_map(|end| end.parse().ok()).collect();
    match ends[..] {
        [first, last] if first <= last => last - first + 1,
        _ => PORTS,
    }
}

/// Makes sure that the site's data may be changed by a mix: the name of each operation, whether it changes data, and its
/// share.
///
/// Errors: the mix has operations that change data, and `agreed` is not set.
pub(super) fn may_write(agreed: bool, mix: &[(&str, bool, f64)], servers: &[String]) -> Result<()> {
    let writing = mix.iter().filter(|(_, writes, share)| *writes && *share > 0.0);
    let writing: Vec<&str> = writing.map(|(name, ..)| *name).collect();
    if agreed || writing.is_empty() {
        return Ok(());
    }
    bail!(
        "the load changes the data of the site at {}, which was not started for it: its --mix has {}; agree with --yes, \
         leave these out of the mix, or leave --target out to have a site started",
        servers.join(", "),
        writing.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_that_runs_is_changed_with_agreement_only() {
        let check = |agreed: bool, shares: [f64; 3]| {
            let [browse, review, rent] = shares;
            let mix = [("browse", false, browse), ("review", true, review), ("rent", true, rent)];
            may_write(agreed, &mix, &["http://a:1/".into()]).map_err(|e| e.to_string())
        };
        assert_eq!(check(true, [0.0, 0.0, 100.0]), Ok(()));
        assert_eq!(check(false, [100.0, 0.0, 0.0]), Ok(()));
        let error = check(false, [98.0, 1.0, 1.0]).unwrap_err();
        assert!(error.contains("http://a:1/") && error.contains("review, rent; agree with --yes"), "{error}");
    }

    #[test]
    fn sessions_are_bounded_by_descriptors_and_ports() {
        assert_eq!(ports(Some("32768\t60999\n")), PORTS);
        assert_eq!(ports(Some("1024 65535")), 64_512);
        for none in [None, Some(""), Some("5 4"), Some("a b")] {
            assert_eq!(ports(none), PORTS, "{none:?}");
        }
        let check = |asked: Option<u32>, expect: Option<usize>| {
            assert_eq!(most(asked, 1_000, 800).ok(), expect, "{asked:?}");
        };
        check(None, Some(800));
        check(Some(900), Some(900));
        check(Some(1_001), None);
    }
}
