//! Which process listens on a port: a connection that succeeds may have reached another process.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use host::listening::{Endpoint, open_sockets, sockets};

/// Which processes listen at an address, seen from one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    None,
    /// That process alone.
    Itself,
    /// Another process alone.
    Another,
    /// Both (`SO_REUSEPORT`): connections go now to one, now to the other.
    Both,
}

/// Which process listens where a connection to `address` ends, seen from process `pid` and its network namespace.
///
/// Errors: its files may not be read, as is so while it ends.
pub(crate) fn owner(pid: u32, address: SocketAddr) -> io::Result<Owner> {
    let proc = Path::new("/proc");
    let listening = sockets(&proc.join(format!("{pid}/net")), Endpoint::Tcp(address));
    // A process may have a socket open several times.
    let own: BTreeSet<u64> = open_sockets(proc, pid)?.collect();
    let its = listening.keys().filter(|inode| own.contains(inode)).count();
    Ok(match (its, listening.len() - its) {
        (0, 0) => Owner::None,
        (_, 0) => Owner::Itself,
        (0, _) => Owner::Another,
        _ => Owner::Both,
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::testing::comes_true;

    #[test]
    fn tells_own_listeners_from_others() {
        // An address that no other test uses: another process may take a released port at once.
        let listener = TcpListener::bind("127.83.7.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(owner(std::process::id(), address).unwrap(), Owner::Itself);
        let again = listener.try_clone().unwrap();
        assert_eq!(owner(std::process::id(), address).unwrap(), Owner::Itself);
        drop((listener, again));
        // A child that another test has forked just now holds a copy until it executes its program.
        assert!(comes_true(|| owner(std::process::id(), address).unwrap() == Owner::None));
    }
}
