use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;

use host::listening::{Endpoint, Listening, TableRow, open_sockets, table_rows, tcp_listeners};
use reactor::Address;

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
        let pids = if pids.is_empty() { listeners(addresses) } else { pids };
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

/// The processes that listen at any of `addresses`, as far as their open files are readable.
fn listeners(addresses: &[SocketAddr]) -> Vec<u32> {
    let at = |address: &SocketAddr| Listening::at(Path::new("/"), Endpoint::Tcp(*address)).pids();
    addresses.iter().flat_map(at).collect::<BTreeSet<u32>>().into_iter().collect()
}

/// The ports at which the process `pid` listens, as far as its open files are readable.
pub(crate) fn listened(proc: &Path, pid: u32) -> BTreeSet<u16> {
    let tables = tcp_listeners(&proc.join("net"));
    let listening = tables.iter().flat_map(|table| table_rows(table)).filter(TableRow::listens);
    let ports: BTreeMap<u64, u16> = listening.map(|row| (row.inode, row.local.port())).collect();
    open_sockets(proc, pid).into_iter().flatten().filter_map(|inode| ports.get(&inode).copied()).collect()
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
