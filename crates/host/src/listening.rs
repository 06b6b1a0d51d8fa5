//! Which processes listen at an address of this machine.
//!
//! The kernel lists listening sockets with their inode in `/proc/net/{tcp,tcp6,udp,udp6,unix}`, those of the reader's own
//! network namespace only, and each open file of a process in `/proc/PID/fd`, sockets as `socket:[INODE]`. Inodes of sockets are
//! unique on a machine, so that a match is never another server's. Files of another account's processes take root.

mod table;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;

use crate::threads;

pub use table::{TableRow, sockets, table_rows, tcp_listeners};

/// The address of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint<'a> {
    /// A TCP port.
    Tcp(SocketAddr),
    /// A UDP port.
    Udp(SocketAddr),
    /// A stream socket in the file system.
    Unix(&'a Path),
}

/// The sockets and processes that listen at an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listening {
    /// The inodes of the sockets, each with the account that opened it; unknown for Unix sockets.
    pub sockets: BTreeMap<u64, Option<u32>>,
    /// The processes that hold any of them, ascending.
    pub processes: Vec<Holder>,
    /// The number of sockets without a readable process that holds them.
    pub unheld: usize,
}

/// A process that holds a listening socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its id.
    pub pid: u32,
    /// Its name, as the kernel keeps it: at most 15 bytes.
    pub name: String,
}

/// Programs that only forward accepted connections to a server elsewhere, mostly in a container, by their names in the
/// kernel. Source: moby `cmd/docker-proxy`, rootlesskit and podman `rootlessport`, slirp4netns, passt,
/// `systemd-socket-proxyd(8)`.
const FORWARD: [&str; 7] =
    ["docker-proxy", "rootlessport", "slirp4netns", "passt", "pasta", "pasta.avx2", "systemd-socket-"];
/// The program that opens sockets for services and keeps them. Source: `systemd.socket(5)`.
const OPENS: &str = "systemd";

impl Listening {
    /// The listeners at `endpoint`, by `proc` below `root`. If several sockets match, those to which the kernel gives
    /// connections: sockets on the address itself before sockets on all addresses, and all that share a port
    /// (`SO_REUSEPORT`).
    ///
    /// Cost: a directory and a link for each open file of each process: some 10 ms with 200 processes.
    pub fn at(root: &Path, endpoint: Endpoint<'_>) -> Listening {
        let proc = root.join("proc");
        let sockets = table::sockets(&proc.join("net"), endpoint);
        let mut held: Vec<u64> = Vec::new();
        let mut processes = Vec::new();
        let pids = if sockets.is_empty() { Vec::new() } else { threads::numbers(&proc) };
        for pid in pids {
            let of_it =
                open_sockets(&proc, pid).into_iter().flatten().filter(|inode| sockets.contains_key(inode));
            let before = held.len();
            held.extend(of_it);
            if held.len() > before {
                processes.push(Holder { pid, name: threads::name(root, pid, pid) });
            }
        }
        let unheld = sockets.keys().filter(|inode| !held.contains(inode)).count();
        if processes.iter().any(|holder| holder.name != OPENS) {
            processes.retain(|holder| holder.name != OPENS);
        }
        Listening { sockets, processes, unheld }
    }

    /// Their ids.
    pub fn pids(&self) -> Vec<u32> {
        self.processes.iter().map(|holder| holder.pid).collect()
    }

    /// The process that only forwards to a server elsewhere, if one of them is known to.
    pub fn proxy(&self) -> Option<&Holder> {
        self.processes.iter().find(|holder| FORWARD.contains(&holder.name.as_str()))
    }
}

/// Whether `ip` is an address of this machine, in this network namespace.
pub fn is_local(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

/// The destination of a connection to `ip`: the unspecified address means this machine. Source: `ip(7)`, `INADDR_ANY`.
fn reached(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}

/// The inodes of a process's open sockets.
///
/// Errors: its files may not be read: it has ended, or is another account's.
pub fn open_sockets(proc: &Path, pid: u32) -> io::Result<impl Iterator<Item = u64>> {
    let files = fs::read_dir(proc.join(format!("{pid}/fd")))?.flatten();
    Ok(files.filter_map(|file| {
        // A file that was closed since is not the listener.
        let link = fs::read_link(file.path()).ok()?;
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    }))
}

#[cfg(test)]
mod tests;
