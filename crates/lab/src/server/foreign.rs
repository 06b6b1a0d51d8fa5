//! A server that already ran: its processes, found by the sockets that listen at its addresses.

use std::collections::BTreeSet;
use std::path::Path;

use host::listening::{Endpoint, Holder, Listening, is_local};
use reactor::Address;

use super::usage::Usage;

/// Figures that are missing if the server's processes are unknown, as they cannot be separated from the host's.
const UNKNOWN: &str = "so that its processor time, its memory and what others took from it are not known";

/// External servers, and their processes at the last look.
#[derive(Debug)]
pub(super) struct Foreign {
    addresses: Vec<Address>,
    seen: ForeignUse,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ForeignUse {
    sockets: BTreeSet<u64>,
    /// The processes of all servers; empty if any server's processes are unknown, as its share of every figure would be
    /// missing.
    processes: Vec<Holder>,
    /// The reason why none are known, if the servers are on this machine.
    missing: Option<String>,
}

impl Foreign {
    /// Servers at these addresses. Cost: as [`Listening::at`] for each address of this machine.
    pub(super) fn at(addresses: Vec<Address>) -> Foreign {
        let seen = ForeignUse::of(&addresses);
        Foreign { addresses, seen }
    }

    /// The processes of all servers; empty unless all are known.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.seen.processes.iter().map(|process| process.pid).collect()
    }

    /// Their resource usage so far; `None` if their processes are unknown. Cost: about 20 µs a process.
    pub(super) fn usage(&self) -> Option<Usage> {
        let name = &self.seen.processes.first()?.name;
        Some(Usage::of_processes(name, &self.pids()))
    }

    /// Looks for them again, before a load: workers come and go.
    pub(super) fn look(&mut self) {
        self.seen = ForeignUse::of(&self.addresses);
    }

    /// Their change since the last look, after which the figures of a load describe two servers; `None` if unchanged. A
    /// replaced worker is not a change.
    pub(super) fn change(&mut self) -> Option<String> {
        let before = std::mem::replace(&mut self.seen, ForeignUse::of(&self.addresses));
        let change = self.seen.change_from(&before)?;
        Some(format!("the server at {} {change}", listed(&self.addresses)))
    }

    /// Note for the reader on how they were found; `None` if none runs on this machine.
    pub(super) fn note(&self) -> Option<String> {
        let at = listed(&self.addresses);
        match &self.seen {
            ForeignUse { missing: Some(missing), .. } => Some(format!("{missing}, {UNKNOWN}.")),
            ForeignUse { processes, .. } if processes.is_empty() => None,
            ForeignUse { processes, .. } => Some(format!(
                "The server at {at} was found by its listening socket: {}. Its processor time, its memory and what others took \
                 from it are those of all of its threads.",
                listed(
                    &processes
                        .iter()
                        .map(|one| format!("{} (PID {})", one.name, one.pid))
                        .collect::<Vec<_>>()
                )
            )),
        }
    }

    /// The part of the note that names missing figures and the remedy; `None` if complete.
    pub(super) fn missing(&self) -> Option<String> {
        self.seen.missing.as_ref().and_then(|_| self.note())
    }
}

impl ForeignUse {
    fn of(addresses: &[Address]) -> ForeignUse {
        let mut seen = ForeignUse::default();
        let mut elsewhere = false;
        for address in addresses {
            let endpoint = match address {
                Address::Tcp(socket) => Endpoint::Tcp(*socket),
                Address::Udp(socket) => Endpoint::Udp(*socket),
                Address::Unix(path) => Endpoint::Unix(path),
            };
            if address.socket().is_some_and(|socket| !is_local(socket.ip())) {
                elsewhere = true;
                continue;
            }
            let found = Listening::at(Path::new("/"), endpoint);
            seen.missing = seen.missing.take().or(missing(address, &found));
            seen.sockets.extend(found.sockets.keys());
            seen.processes.extend(found.processes);
        }
        seen.processes.sort_by_key(|process| process.pid);
        seen.processes.dedup();
        if elsewhere || seen.missing.is_some() {
            seen.processes.clear();
        }
        seen
    }

    fn change_from(&self, before: &ForeignUse) -> Option<String> {
        let pids = |seen: &ForeignUse| seen.processes.iter().map(|one| one.pid).collect::<BTreeSet<_>>();
        let [was, is] = [pids(before), pids(self)];
        let new_sockets = !before.sockets.is_empty() && self.sockets.is_disjoint(&before.sockets);
        let new_processes = !was.is_empty() && is.is_disjoint(&was);
        if !new_sockets && !new_processes {
            return None;
        }
        let ids = |pids: &BTreeSet<u32>| match pids.first() {
            Some(first) => format!(" (PID {first})"),
            None => String::new(),
        };
        Some(match self.sockets.is_empty() {
            true => format!("ended during the trial{}", ids(&was)),
            false => format!(
                "is another{} than at the beginning of the trial{}: it was restarted",
                ids(&is),
                ids(&was)
            ),
        })
    }
}

/// The reason why the processes of the server at a local address are unknown; `None` if they are known.
fn missing(address: &Address, found: &Listening) -> Option<String> {
    if found.sockets.is_empty() {
        let why = match address {
            Address::Unix(_) => "it is one of a container, or was bound by another path",
            Address::Tcp(_) | Address::Udp(_) => "connections are forwarded, perhaps to a container",
        };
        return Some(format!(
            "No socket of this network namespace listens at {address}: {why}. Have \
             Taillight start the server (--target NAME --form docker, podman or lxc) to account for it. Its processes are not known"
        ));
    }
    if let Some(proxy) = found.proxy() {
        return Some(format!(
            "What listens at {address} is {} (PID {}), which only forwards to a server elsewhere, perhaps in a container. Have \
             Taillight start the server (--target NAME --form docker, podman or lxc) to account for it. Its processes are not known",
            proxy.name, proxy.pid
        ));
    }
    if found.unheld == 0 {
        return None;
    }
    let owner = found.sockets.values().flatten().next();
    let owner = owner.map_or(String::new(), |uid| format!(" of the account with the number {uid}"));
    Some(format!(
        "The server at {address} is a process{owner} whose open files this account may not read, or of another PID namespace: run \
         taillight as that account or as root (sudo) to account for it. Its processes are not known"
    ))
}

fn listed<T: ToString>(all: &[T]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::TcpListener;

    use super::*;

    fn holder(pid: u32, name: &str) -> Holder {
        Holder { pid, name: name.into() }
    }

    fn seen(sockets: &[u64], pids: &[u32]) -> ForeignUse {
        ForeignUse {
            sockets: sockets.iter().copied().collect(),
            processes: pids.iter().map(|pid| holder(*pid, "nginx")).collect(),
            missing: None,
        }
    }

    #[test]
    fn a_restart_is_told_from_a_change_of_workers() {
        let check = |before: &ForeignUse, now: &ForeignUse, words: Option<&str>| {
            let change = now.change_from(before);
            match words {
                None => assert_eq!(change, None),
                Some(words) => {
                    assert!(change.as_ref().is_some_and(|change| change.contains(words)), "{change:?}")
                }
            }
        };
        check(&seen(&[1], &[7, 8]), &seen(&[1], &[7, 8]), None);
        // A reload: the master keeps the socket.
        check(&seen(&[1], &[7, 8]), &seen(&[1], &[7, 9]), None);
        check(
            &seen(&[1], &[7]),
            &seen(&[2], &[9]),
            Some("is another (PID 9) than at the beginning of the trial (PID 7)"),
        );
        // Another process holds the socket, and opened it for the server.
        check(&seen(&[1], &[7]), &seen(&[1], &[9]), Some("is another (PID 9)"));
        check(&seen(&[1], &[7]), &seen(&[], &[]), Some("ended during the trial (PID 7)"));
        // Also if the processes belong to another account.
        check(&seen(&[1], &[]), &seen(&[2], &[]), Some("restarted"));
        check(&seen(&[1], &[]), &seen(&[1], &[]), None);
        check(&seen(&[], &[]), &seen(&[], &[]), None);
    }

    #[test]
    fn what_is_missing_is_said_with_how_to_get_it() {
        let address = Address::Tcp("127.0.0.1:11211".parse().unwrap());
        let check = |found: &Listening, words: Option<&str>| {
            let missing = missing(&address, found);
            match words {
                None => assert_eq!(missing, None),
                Some(words) => {
                    assert!(missing.as_ref().is_some_and(|why| why.contains(words)), "{missing:?}")
                }
            }
        };
        let sockets = BTreeMap::from([(1, Some(112))]);
        let of =
            |processes: Vec<Holder>, unheld: usize| Listening { sockets: sockets.clone(), processes, unheld };
        check(&Listening::default(), Some("forwarded"));
        check(&of(vec![], 1), Some("number 112"));
        check(&of(vec![], 1), Some("root (sudo)"));
        check(&of(vec![holder(7, "docker-proxy")], 0), Some("docker-proxy (PID 7), which only forwards"));
        check(&of(vec![holder(7, "memcached")], 0), None);
    }

    #[test]
    fn a_server_of_a_cluster_that_is_elsewhere_leaves_all_unknown() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = Address::Tcp(listener.local_addr().unwrap());
        let elsewhere = Address::Tcp("192.0.2.1:11211".parse().unwrap());
        let of = |addresses: &[&Address]| Foreign::at(addresses.iter().map(|one| (*one).clone()).collect());
        assert!(of(&[&here]).pids().contains(&std::process::id()));
        assert!(of(&[&here]).usage().is_some() && of(&[&here]).missing().is_none());
        assert!(of(&[&here]).note().unwrap().contains("was found by its listening socket"));
        let cluster = of(&[&here, &elsewhere]);
        assert_eq!((cluster.pids(), cluster.note()), (vec![], None));
        assert_eq!(of(&[&elsewhere]).note(), None);
    }

    #[test]
    fn a_server_that_ends_has_changed() {
        // An address that no other test uses: another process may take a released port at once.
        let listener = TcpListener::bind("127.83.7.2:0").unwrap();
        let mut foreign = Foreign::at(vec![Address::Tcp(listener.local_addr().unwrap())]);
        foreign.look();
        assert_eq!(foreign.change(), None);
        drop(listener);
        let ended = launch::testing::found(|| foreign.change());
        assert!(ended.is_some_and(|ended| ended.contains("ended during the trial")));
        assert!(foreign.note().unwrap().contains("No socket"));
    }
}
