//! The kernel's tables of sockets.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use super::{Endpoint, reached};
use crate::tree::read_lossy;

/// The state of a socket that listens, and of a UDP socket that is not connected.
/// Source: `TCP_LISTEN` and `TCP_CLOSE` in the kernel's `include/net/tcp_states.h`.
const LISTENS: &str = "0A";
const UNCONNECTED: &str = "07";
/// The state of a connection that is not accepted yet. Source: `TCP_SYN_RECV` there.
const HALF_OPEN: &str = "03";
/// The flag of a Unix socket that listens. Source: `__SO_ACCEPTCON` in the kernel's `include/uapi/linux/net.h`.
const ACCEPTS: u32 = 1 << 16;

/// The inodes of the sockets in the tables of folder `net` that receive for `endpoint`, each with its account.
///
/// `net` is a process's folder `/proc/PID/net`, which shows the sockets of its network namespace.
pub fn sockets(net: &Path, endpoint: Endpoint<'_>) -> BTreeMap<u64, Option<u32>> {
    let text = |name: &str| read_lossy(&net.join(name)).unwrap_or_default();
    let both = |[v4, v6]: [String; 2], state: &str, address: SocketAddr| {
        best(rows(&v4, state, address).chain(rows(&v6, state, address)))
    };
    match endpoint {
        Endpoint::Tcp(address) => both(tcp_listeners(net), LISTENS, address),
        Endpoint::Udp(address) => both(["udp", "udp6"].map(text), UNCONNECTED, address),
        Endpoint::Unix(path) => unix(&text("unix"), path),
    }
}

/// The tables of listening TCP sockets in folder `net`, of IPv4 and of IPv6; empty if they cannot be read.
///
/// The kernel lists these before all connections, of which there may be many thousands, so that only the start of its tables
/// is read. Source: `tcp_get_idx` in the kernel's `net/ipv4/tcp_ipv4.c`. Before Linux 4.4, connections that were not accepted
/// yet stood between them.
pub fn tcp_listeners(net: &Path) -> [String; 2] {
    ["tcp", "tcp6"].map(|name| {
        let mut text = String::new();
        let Ok(file) = File::open(net.join(name)) else { return text };
        let mut table = BufReader::new(file);
        let mut row = 0;
        while table.read_line(&mut text).is_ok_and(|bytes| bytes > 0) {
            let state = text[row..].split_whitespace().nth(3);
            if row > 0 && !matches!(state, Some(LISTENS | HALF_OPEN)) {
                text.truncate(row);
                break;
            }
            row = text.len();
        }
        text
    })
}

/// A socket that may receive for an address.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) fit: Fit,
    pub(super) inode: u64,
    pub(super) uid: Option<u32>,
}

/// How well a socket fits an address, the worst first. Source: `compute_score` in the kernel's `net/ipv4/inet_hashtables.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// On all addresses of IPv6 and of IPv4.
    BothFamilies,
    /// On all addresses of its family.
    Family,
    /// On this address only.
    Itself,
}

/// The best matches, which alone get connections.
fn best(rows: impl Iterator<Item = Row>) -> BTreeMap<u64, Option<u32>> {
    let rows: Vec<Row> = rows.collect();
    let best = rows.iter().map(|row| row.fit).max();
    rows.into_iter().filter(|row| Some(row.fit) == best).map(|row| (row.inode, row.uid)).collect()
}

/// A row of a table of TCP or UDP.
#[derive(Debug, PartialEq, Eq)]
pub struct TableRow<'a> {
    /// This end.
    pub local: SocketAddr,
    /// The other end; unspecified for a socket that listens.
    pub remote: SocketAddr,
    state: &'a str,
    uid: Option<u32>,
    /// The number of the socket, as in `/proc/PID/fd`.
    pub inode: u64,
}

impl TableRow<'_> {
    /// Whether it is a TCP socket that listens.
    pub fn listens(&self) -> bool {
        self.state == LISTENS
    }
}

/// The rows of a table such as `/proc/net/tcp`. Source: the kernel's `Documentation/networking/proc_net_tcp.rst`.
pub fn table_rows(table: &str) -> impl Iterator<Item = TableRow<'_>> {
    table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        Some(TableRow {
            local: parse_address(fields.get(1)?)?,
            remote: parse_address(fields.get(2)?)?,
            state: fields.get(3)?,
            uid: fields.get(7)?.parse().ok(),
            inode: fields.get(9)?.parse().ok()?,
        })
    })
}

/// The sockets in `table` in this state that may receive for `address`.
pub(super) fn rows(table: &str, state: &str, address: SocketAddr) -> impl Iterator<Item = Row> {
    let to = reached(address.ip());
    let found = table_rows(table).filter(move |row| row.state == state && row.local.port() == address.port());
    found.filter_map(move |TableRow { local, uid, inode, .. }| {
        let fit = match (local.ip(), to) {
            (own, to) if own.to_canonical() == to => Fit::Itself,
            (IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V4(_))
            | (IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V6(_)) => Fit::Family,
            (IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(_)) => Fit::BothFamilies,
            _ => return None,
        };
        Some(Row { fit, uid, inode })
    })
}

/// An address as the kernel prints it: 32-bit words in the machine's byte order, and the port.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (hex, port) = text.split_once(':')?;
    let word = |i: usize| Some(u32::from_str_radix(hex.get(8 * i..8 * i + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match hex.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let mut bytes = [0; 16];
            for i in 0..4 {
                bytes[4 * i..4 * i + 4].copy_from_slice(&word(i)?);
            }
            IpAddr::from(bytes)
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// The sockets in `/proc/net/unix` that listen at `path`. Source: `unix_seq_show` in the kernel's `net/unix/af_unix.c`.
fn unix(table: &str, path: &Path) -> BTreeMap<u64, Option<u32>> {
    let canonical = path.canonicalize().ok();
    let is_it = |bound: &Path| {
        bound == path || bound.is_absolute() && canonical.is_some() && bound.canonicalize().ok() == canonical
    };
    let row = |line: &str| {
        let mut fields = line.split_whitespace();
        let flags = u32::from_str_radix(fields.nth(3)?, 16).ok()?;
        let inode = fields.nth(2)?;
        // The path is the rest of the line, and may hold spaces.
        let (_, bound) = line.split_once(&format!(" {inode} "))?;
        (flags & ACCEPTS != 0 && is_it(Path::new(bound))).then_some((inode.parse().ok()?, None))
    };
    table.lines().skip(1).filter_map(row).collect()
}
