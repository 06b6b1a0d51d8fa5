//! What `/proc` says, read with as little ado as possible: probes read it while a server is measured.

use std::fs;
use std::path::Path;

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

/// The entries of a folder that are numbers: processes in `/proc`, threads in `/proc/PID/task`.
pub(crate) fn numbers(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// The threads of the processes `pids`, each with its process.
pub(crate) fn threads(pids: &[u32]) -> Vec<(u32, u32)> {
    let of = |&pid: &u32| {
        numbers(Path::new(&format!("/proc/{pid}/task")))
            .into_iter()
            .map(move |tid| (pid, tid))
            .collect::<Vec<_>>()
    };
    pids.iter().flat_map(of).collect()
}

/// Time that a thread ran and that it waited for a processor, and how often it got one. Units: ns.
///
/// Source: the kernel's `Documentation/scheduler/sched-stats.rst`.
pub(crate) fn schedstat(pid: u32, tid: u32) -> Option<[u64; 3]> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
    let numbers: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    numbers.try_into().ok()
}

/// Time that the threads of `pids` ran together. Units: ns. `None` where none of it may be read.
pub(crate) fn running_ns(pids: &[u32]) -> Option<u64> {
    let times: Vec<u64> =
        threads(pids).into_iter().filter_map(|(pid, tid)| Some(schedstat(pid, tid)?[0])).collect();
    (!times.is_empty()).then(|| times.iter().sum())
}

/// The number after `name:` in a file of such lines, such as `/proc/PID/status`.
pub(crate) fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'))?;
    rest.split_whitespace().next()?.parse().ok()
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
    fn reads_fields_and_columns() {
        let check = |name: &str, expect: Option<u64>| {
            let text = "Threads:\t4\nvoluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t3\nse.nr_migrations  :   9\n";
            assert_eq!(field(text, name), expect, "{name}");
        };
        check("voluntary_ctxt_switches", Some(17));
        check("nonvoluntary_ctxt_switches", Some(3));
        check("se.nr_migrations", Some(9));
        check("State", None);
        let table = "           CPU0       CPU1\n  1:  10  20  IO-APIC\nNMI:  1  2  x\nERR:  5\n";
        assert_eq!(columns(table.lines().skip(1), 2), [16, 22]);
    }

    #[test]
    fn knows_its_own_threads() {
        let own = std::process::id();
        assert!(threads(&[own]).contains(&(own, own)));
        assert!(running_ns(&[own]).is_some_and(|ns| ns > 0));
        assert_eq!(running_ns(&[u32::MAX]), None);
    }
}
