use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use crate::proc;

/// What is observed: a server on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Its processes.
    pub pids: Vec<u32>,
    /// The ports at which it is asked, as it sees them.
    pub ports: Vec<u16>,
}

impl Subject {
    /// The server with these processes at `addresses`. Where no process is known, those that listen there are looked for.
    pub fn new(pids: Vec<u32>, addresses: &[SocketAddr]) -> Subject {
        let mut ports: Vec<u16> = addresses.iter().map(SocketAddr::port).collect();
        ports.sort_unstable();
        ports.dedup();
        let pids = if pids.is_empty() { listeners(Path::new("/proc"), &ports) } else { pids };
        Subject { pids, ports }
    }
}

/// The processes that listen on any of `ports`, as far as their open files may be read.
fn listeners(proc: &Path, ports: &[u16]) -> Vec<u32> {
    let mut inodes = BTreeSet::new();
    for table in ["net/tcp", "net/tcp6"] {
        let text = fs::read_to_string(proc.join(table)).unwrap_or_default();
        let listening = proc::sockets(&text).filter(|socket| socket.listens && ports.contains(&socket.local));
        inodes.extend(listening.map(|socket| format!("socket:[{}]", socket.inode)));
    }
    let has_one = |pid: &u32| {
        let files = fs::read_dir(proc.join(format!("{pid}/fd"))).into_iter().flatten().flatten();
        let mut links = files.filter_map(|file| fs::read_link(file.path()).ok());
        links.any(|link| inodes.contains(link.to_string_lossy().as_ref()))
    };
    host::threads::numbers(proc).into_iter().filter(has_one).collect()
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
            Subject { pids: vec![std::process::id()], ports: vec![address.port()] }
        );
        assert_eq!(
            Subject::new(vec![7], &[address, address]),
            Subject { pids: vec![7], ports: vec![address.port()] }
        );
    }
}
