//! Which process listens on a port: a connection that succeeds may have reached another process.
//!
//! The kernel lists listening sockets with their inode in `/proc/PID/net/tcp`, and each open file of a process
//! in `/proc/PID/fd`, sockets as `socket:[INODE]`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Which processes listen at an address, seen from one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// No process.
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
    let mut listening = BTreeSet::new();
    for table in ["tcp", "tcp6"] {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        listening.extend(listeners_at(&text, address));
    }
    let mut own = BTreeSet::new();
    for file in fs::read_dir(format!("/proc/{pid}/fd"))? {
        // A file that was closed since is not the listener.
        let Ok(link) = fs::read_link(file?.path()) else { continue };
        own.extend(socket_inode(&link.to_string_lossy()));
    }
    let its = listening.intersection(&own).count();
    Ok(match (its, listening.len() - its) {
        (0, 0) => Owner::None,
        (_, 0) => Owner::Itself,
        (0, _) => Owner::Another,
        _ => Owner::Both,
    })
}

/// The inodes of the sockets in `table` that listen where a connection to `address` ends.
fn listeners_at(table: &str, address: SocketAddr) -> impl Iterator<Item = u64> {
    table.lines().skip(1).filter_map(move |line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // Source: the kernel's `Documentation/networking/proc_net_tcp.rst`; state 0A is TCP_LISTEN.
        let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        let (ip, port) = local.split_once(':')?;
        let ip = parse_ip(ip)?;
        let here = ip.is_unspecified() || ip.to_canonical() == address.ip().to_canonical();
        let listens = *state == "0A" && here && u16::from_str_radix(port, 16) == Ok(address.port());
        if listens { inode.parse().ok() } else { None }
    })
}

/// An address as the kernel prints it: 32-bit words in the machine's byte order.
fn parse_ip(hex: &str) -> Option<IpAddr> {
    let word = |i: usize| Some(u32::from_str_radix(hex.get(8 * i..8 * i + 8)?, 16).ok()?.to_ne_bytes());
    match hex.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let mut bytes = [0; 16];
            for i in 0..4 {
                bytes[4 * i..4 * i + 4].copy_from_slice(&word(i)?);
            }
            Some(Ipv6Addr::from(bytes).into())
        }
        _ => None,
    }
}

fn socket_inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;
    use std::time::Duration;

    const TCP: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 10 0
   1: 0100007F:2BCB 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 12 1 0 20 4 30 10 -1
   2: 00000000:2BCC 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 13 1 0 100 0 0 10 0
   3: 0200007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 14 1 0 100 0 0 10 0
";
    const TCP6: &str = "\
  sl  local_address                         remote_address                        st tx_queue rx_queue
   0: 00000000000000000000000000000000:2BCB 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 21 1 0 100
   1: 00000000000000000000000001000000:2BCC 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 22 1 0 100
";

    #[test]
    #[cfg(target_endian = "little")]
    fn finds_the_listeners_that_a_connection_reaches() {
        let check = |table: &str, address: &str, expect: &[u64]| {
            let found: Vec<u64> = listeners_at(table, address.parse().unwrap()).collect();
            assert_eq!(found, expect, "{address}");
        };
        check(TCP, "127.0.0.1:11211", &[11]);
        check(TCP, "127.0.0.1:11212", &[13]);
        check(TCP, "127.0.0.1:11213", &[]);
        check(TCP6, "127.0.0.1:11211", &[21]);
        check(TCP6, "[::1]:11212", &[22]);
        check(TCP6, "127.0.0.1:11212", &[]);
    }

    #[test]
    fn tells_own_listeners_from_others() {
        // An address that no other test uses: another process may take a released port at once.
        let listener = TcpListener::bind("127.83.7.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(owner(std::process::id(), address).unwrap(), Owner::Itself);
        drop(listener);
        // A child that another test has forked just now holds a copy until it executes its program.
        let released = (0..60_000).any(|_| {
            thread::sleep(Duration::from_millis(1));
            owner(std::process::id(), address).unwrap() == Owner::None
        });
        assert!(released);
    }
}
