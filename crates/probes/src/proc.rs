//! What `/proc` says of sockets and interrupts; of threads and processors the crate `host` tells.

/// A row of `/proc/net/tcp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Socket {
    pub local: u16,
    pub remote: u16,
    pub listens: bool,
    pub inode: u64,
}

/// The sockets of a table such as `/proc/net/tcp`. Source: the kernel's `Documentation/networking/proc_net_tcp.rst`.
pub(crate) fn sockets(table: &str) -> impl Iterator<Item = Socket> {
    table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let port = |field: &str| u16::from_str_radix(field.rsplit_once(':')?.1, 16).ok();
        Some(Socket {
            local: port(fields.get(1)?)?,
            remote: port(fields.get(2)?)?,
            listens: *fields.get(3)? == "0A",
            inode: fields.get(9)?.parse().ok()?,
        })
    })
}

/// The sum over `lines` of the numbers in each column of a table with a head of `CPU0 CPU1 …`.
pub(crate) fn columns<'a>(lines: impl Iterator<Item = &'a str>, cpus: usize) -> Vec<u64> {
    let mut sums = vec![0_u64; cpus];
    for line in lines {
        let Some((_, counts)) = line.split_once(':') else { continue };
        let counts = counts.split_whitespace().map_while(|word| word.parse::<u64>().ok());
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
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
            2: damaged\n";
        let found: Vec<Socket> = sockets(text).collect();
        let expect = [
            Socket { local: 11211, remote: 0, listens: true, inode: 4711 },
            Socket { local: 11211, remote: 0xC001, listens: false, inode: 4712 },
        ];
        assert_eq!(found, expect);
    }

    #[test]
    fn sums_columns() {
        let table = "           CPU0       CPU1\n  1:  10  20  IO-APIC\nNMI:  1  2  x\nERR:  5\n";
        assert_eq!(columns(table.lines().skip(1), 2), [16, 22]);
    }
}
