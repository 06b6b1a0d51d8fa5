use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use reactor::Address;

use crate::proc;

/// The observed subject: a server on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Its processes.
    pub pids: Vec<u32>,
    /// The processes of each of its services, if it has several.
    pub services: Vec<(String, Vec<u32>)>,
    /// Its ports, from its own point of view.
    pub ports: Vec<u16>,
    /// Addresses for its own counters, on any machine.
    pub servers: Vec<Address>,
}

impl Subject {
    /// The server with these processes at `addresses`. Without known processes, the listening ones are searched.
    pub fn new(pids: Vec<u32>, addresses: &[SocketAddr]) -> Subject {
        let mut ports: Vec<u16> = addresses.iter().map(SocketAddr::port).collect();
        ports.sort_unstable();
        ports.dedup();
        let pids = if pids.is_empty() { listeners(Path::new("/proc"), &ports) } else { pids };
        Subject { pids, ports, ..Subject::default() }
    }

    /// The same, with `servers` as addresses for its own counters.
    pub fn asked_at(self, servers: Vec<Address>) -> Subject {
        Subject { servers, ..self }
    }

    /// The same, divided into these services, each with its processes. A single service is not recorded separately.
    pub fn made_of(self, services: Vec<(String, Vec<u32>)>) -> Subject {
        let services = if services.len() > 1 { services } else { Vec::new() };
        Subject { services, ..self }
    }
}

/// The processes that listen on any of `ports`, as far as their open files are readable.
fn listeners(proc: &Path, ports: &[u16]) -> Vec<u32> {
    let inodes = listening(proc, &|port| ports.contains(&port));
    let has_one = |pid: &u32| open_files(proc, *pid).iter().any(|file| inodes.contains_key(file));
    host::threads::numbers(proc).into_iter().filter(has_one).collect()
}

/// The ports at which the process `pid` listens, as far as its open files are readable.
pub(crate) fn listened(proc: &Path, pid: u32) -> BTreeSet<u16> {
    let inodes = listening(proc, &|_| true);
    open_files(proc, pid).iter().filter_map(|file| inodes.get(file).copied()).collect()
}

/// The sockets that listen at the `wanted` ports, by their names in `/proc/PID/fd`.
fn listening(proc: &Path, wanted: &dyn Fn(u16) -> bool) -> BTreeMap<String, u16> {
    let mut inodes = BTreeMap::new();
    for table in ["net/tcp", "net/tcp6"] {
        let text = fs::read_to_string(proc.join(table)).unwrap_or_default();
        let listening = proc::sockets(&text).filter(|socket| socket.listens && wanted(socket.local));
        inodes.extend(listening.map(|socket| (format!("socket:[{}]", socket.inode), socket.local)));
    }
    inodes
}

/// Names of the open files of a process; empty without permission to read them.
fn open_files(proc: &Path, pid: u32) -> Vec<String> {
    let files = fs::read_dir(proc.join(format!("{pid}/fd"))).into_iter().flatten().flatten();
    let links = files.filter_map(|file| fs::read_link(file.path()).ok());
    links.map(|link| link.to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_who_listens() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(
            Subject::new(Vec::new(), &[address]),
            Subject { pids: vec![std::process::id()], ports: vec![address.port()], ..Subject::default() }
        );
        assert_eq!(
            Subject::new(vec![7], &[address, address]),
            Subject { pids: vec![7], ports: vec![address.port()], ..Subject::default() }
        );
        assert!(listened(Path::new("/proc"), std::process::id()).contains(&address.port()));
        assert!(listened(Path::new("/proc"), u32::MAX).is_empty());
    }

    #[test]
    fn services_are_told_apart_where_there_are_several() {
        let of = |names: &[&str]| {
            let services = names.iter().map(|name| ((*name).to_owned(), vec![7])).collect();
            Subject::default().made_of(services).services.len()
        };
        assert_eq!((of(&["php", "plot"]), of(&["nginx"]), of(&[])), (2, 0, 0));
    }
}
