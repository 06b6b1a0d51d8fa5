//! Parsers of `/proc` for sockets and interrupts; those for threads and processors are in the crate `host`.

use std::collections::BTreeMap;

/// A row of `/proc/net/tcp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Socket {
    pub local: u16,
    pub remote: u16,
    pub listens: bool,
    /// Whether its packets are IPv4, which is also possible on an IPv6 socket.
    pub by_ipv4: bool,
    pub inode: u64,
}

/// Prefix of an IPv4 address in `/proc/net/tcp6`: ::ffff:0:0/96, in words of this processor's byte order.
const MAPPED: &str = "0000000000000000FFFF0000";

/// The sockets of a table such as `/proc/net/tcp`. Source: the kernel's `Documentation/networking/proc_net_tcp.rst`.
pub(crate) fn sockets(table: &str) -> impl Iterator<Item = Socket> {
    table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let port = |field: &str| u16::from_str_radix(field.rsplit_once(':')?.1, 16).ok();
        let (other, _) = fields.get(2)?.split_once(':')?;
        Some(Socket {
            local: port(fields.get(1)?)?,
            remote: port(fields.get(2)?)?,
            listens: *fields.get(3)? == "0A",
            by_ipv4: other.len() == 8 || other.starts_with(MAPPED),
            inode: fields.get(9)?.parse().ok()?,
        })
    })
}

/// The sums by processor over those lines of a table whose name `wanted` accepts. Its head `CPU0 CPU2 …` names
/// the processors of its columns, which may not be all.
pub(crate) fn columns(table: &str, wanted: impl Fn(&str) -> bool) -> BTreeMap<u32, u64> {
    let mut lines = table.lines();
    let head = lines.next().unwrap_or_default().split_whitespace();
    let cpus: Vec<u32> = head.filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    let mut sums = BTreeMap::new();
    for line in lines {
        let Some((_, counts)) = line.split_once(':').filter(|(name, _)| wanted(name.trim())) else {
            continue;
        };
        let counts = counts.split_whitespace().map_while(|word| word.parse::<u64>().ok());
        cpus.iter().zip(counts).for_each(|(cpu, count)| *sums.entry(*cpu).or_insert(0) += count);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_tables_of_sockets() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000 65534 0 4711 1 0 100 0 0 10 0\n\
            1: 0100007F:2BCB 0100007F:C001 01 00000000:00000000 00:00000000 00000000 65534 0 4712 1 0 20 4 30 10 -1\n\
            2: damaged\n\
            3: 0000000000000000FFFF00000100007F:2BCB 0000000000000000FFFF00000100007F:C002 01 0:0 00:0 0 65534 0 4713\n\
            4: 00000000000000000000000001000000:2BCB 00000000000000000000000001000000:C003 01 0:0 00:0 0 65534 0 4714\n";
        let found: Vec<Socket> = sockets(text).collect();
        let expect = [
            Socket { local: 11211, remote: 0, listens: true, by_ipv4: true, inode: 4711 },
            Socket { local: 11211, remote: 0xC001, listens: false, by_ipv4: true, inode: 4712 },
            Socket { local: 11211, remote: 0xC002, listens: false, by_ipv4: true, inode: 4713 },
            Socket { local: 11211, remote: 0xC003, listens: false, by_ipv4: false, inode: 4714 },
        ];
        assert_eq!(found, expect);
    }

    #[test]
    fn sums_columns() {
        let table = "           CPU0       CPU1\n  1:  10  20  IO-APIC\nNMI:  1  2  x\nERR:  5\n";
        assert_eq!(columns(table, |_| true), BTreeMap::from([(0, 16), (1, 22)]));
        assert_eq!(columns(table, |name| name == "NMI"), BTreeMap::from([(0, 1), (1, 2)]));
        // One processor is offline.
        assert_eq!(columns("  CPU0 CPU2\n 1: 10 20\n", |_| true)[&2], 20);
        assert!(columns("", |_| true).is_empty());
    }
}
