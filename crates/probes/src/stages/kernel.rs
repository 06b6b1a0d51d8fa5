use std::collections::HashMap;
use std::fs;
use std::io;

use host::listening::{TableRow, table_rows};

use super::compared::{Compared, Key};
use super::seen::{COUNTS, HISTOGRAMS, Seen};
use crate::histogram::Histogram;
use crate::instrument::{Instrument, Reading};
use crate::kernel::{Programs, empty, other};
use crate::packets::Timed;
use crate::packets::capture::Capture;
use crate::subject::Subject;
use spec::Probe;

/// `src/bpf/stages.bpf.c`, compiled.
const PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stages.bpf.o"));

/// TCP's program is attached last, so that no message is recorded whose read is missed. The first ones observe the
/// operations of a server with a ring, in addition to its calls.
static ORDER: [&str; 11] = [
    "on_turn",
    "on_sched_switch",
    "on_sock_send_length",
    "on_sock_recv_length",
    "on_io_uring_submit_req",
    "on_sys_exit",
    "on_sys_enter",
    "on_net_dev_queue",
    "on_netif_rx",
    "on_netif_receive_skb",
    "on_tcp_probe",
];
/// Number of programs at the front that a server without a ring does not need.
const OF_RINGS: usize = 5;
/// Minimum number of connections that are validated against packets.
const CHECKED: usize = 2;

/// Concurrent connections: more than a server may open here with the usual limit of 4096 files. Cost: 0.9 KiB each.
pub(crate) const CONNECTIONS: u32 = 8192;

/// The programs in the kernel, and the packet socket that validates them.
pub(crate) struct Kernel {
    programs: Programs,
    subject: Subject,
    /// Whether the server has a ring, and whether it reports the begin of a request's turn.
    by_ring: bool,
    tells: bool,
    capture: Result<Capture, String>,
    before: KernelCounts,
}

/// Counts since the programs were loaded.
#[derive(Default)]
struct KernelCounts {
    times: Vec<Histogram>,
    counts: [u64; COUNTS],
    skipped: u64,
}

impl Kernel {
    /// Loads the programs, detached at first, with a table of this many connections.
    ///
    /// Errors: this user lacks the privilege, or the kernel lacks a required feature.
    pub(crate) fn open(subject: &Subject, connections: u32) -> libbpf_rs::Result<Kernel> {
        let sizes = [("connections", connections)];
        let by_ring = subject.pids.iter().any(|pid| has_ring(*pid));
        let order = if by_ring { &ORDER[..] } else { &ORDER[OF_RINGS..] };
        let programs = Programs::load(PROGRAMS, order, &subject.pids, &sizes)?;
        let capture = Err("it did not look yet".into());
        Ok(Kernel {
            programs,
            subject: subject.clone(),
            by_ring,
            tells: false,
            capture,
            before: KernelCounts::default(),
        })
    }

    /// Discards everything under way; returns the number of discarded messages.
    fn forget(&self) -> libbpf_rs::Result<u64> {
        let mut under_way = 0;
        empty(&self.programs.map("connections")?, |_, connection| under_way += messages_of(connection))?;
        empty(&self.programs.map("threads")?, |_, _| {})?;
        empty(&self.programs.map("arrivals")?, |_, _| {})?;
        Ok(under_way)
    }

    /// Removes and returns the time of each request that is validated against packets. Units: ns.
    fn checked(&self) -> libbpf_rs::Result<HashMap<Key, u64>> {
        let mut times = HashMap::new();
        empty(&self.programs.map("checked")?, |key, time| times.extend(request_of(key).zip(word(time))))?;
        Ok(times)
    }

    fn read(&self) -> libbpf_rs::Result<KernelCounts> {
        Ok(KernelCounts {
            times: self.programs.histograms(HISTOGRAMS)?,
            counts: self.programs.counts("counts")?,
            skipped: self.programs.skipped(),
        })
    }

    /// Bits of a client's port that select a few connections, but enough of them.
    fn mask(&self) -> u16 {
        // Clients of IPv4 are in the second table if the server listens on a socket of IPv6.
        let tables = ["tcp", "tcp6"].into_iter().filter_map(|name| {
            fs::read_to_string(format!("/proc/{}/net/{name}", self.subject.pids.first()?)).ok()
        });
        let ours = |row: &TableRow<'_>| {
            let by_ipv4 = row.remote.ip().to_canonical().is_ipv4();
            !row.listens() && by_ipv4 && self.subject.ports.contains(&row.local.port())
        };
        let client = |row: TableRow<'_>| row.remote.port();
        let clients: Vec<u16> = tables
            .flat_map(|table| table_rows(&table).filter(ours).map(client).collect::<Vec<_>>())
            .collect();
        let enough = |mask: &u16| clients.iter().filter(|&port| port & mask == 0).count() >= CHECKED;
        [63, 31, 15, 7, 3, 1].into_iter().find(enough).unwrap_or(0)
    }
}

/// Messages in `struct connection` that were neither recorded nor dropped: its `head` minus its `tail`.
fn messages_of(connection: &[u8]) -> u64 {
    let word = |at: usize| Some(u32::from_ne_bytes(connection.get(at..at + 4)?.try_into().ok()?));
    // Source: the structure in `src/bpf/stages.bpf.c`: head, has_part, part, read, tail.
    word(0).zip(word(20)).map_or(0, |(head, tail)| u64::from(head.wrapping_sub(tail)))
}

/// Whether the process has a ring open.
fn has_ring(pid: u32) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    files
        .filter_map(|file| fs::read_link(file.path()).ok())
        .any(|link| link.as_os_str() == "anon_inode:[io_uring]")
}

fn word(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

/// The key of the table `checked` in `src/bpf/stages.bpf.c`: the client's port above the end of the request.
fn request_of(key: &[u8]) -> Option<Key> {
    let key = word(key)?;
    Some(((key >> 32) as u16, key as u32))
}

impl Instrument for Kernel {
    fn probe(&self) -> Probe {
        Probe::Stages
    }

    fn resume(&mut self) -> io::Result<()> {
        let mask = self.mask();
        self.programs.configure(&self.subject.ports, mask).map_err(other)?;
        self.capture = Capture::start(&self.subject.ports, mask).map_err(|error| {
            format!("the packet socket is unavailable ({error}); it takes root or CAP_NET_RAW")
        });
        self.before = self.read().map_err(other)?;
        self.tells = self.programs.attach()?;
        Ok(())
    }

    fn pause(&mut self) -> Box<dyn Reading> {
        self.programs.detach();
        let capture = std::mem::replace(&mut self.capture, Err("it did not look".into()));
        let (timed, untimed) = match capture {
            Ok(capture) => (capture.finish(), None),
            Err(why) => (Timed::default(), Some(why)),
        };
        let (Ok(now), Ok(checked), Ok(under_way)) = (self.read(), self.checked(), self.forget()) else {
            // This slot has no results: everything in it was lost.
            let times = vec![Histogram::default(); HISTOGRAMS];
            return Box::new(Seen { skipped: u64::from(u32::MAX), times, ..Seen::default() });
        };
        let before = &self.before;
        Box::new(Seen {
            times: now.times.iter().zip(&before.times).map(|(now, then)| now.since(then)).collect(),
            counts: std::array::from_fn(|i| now.counts[i].saturating_sub(before.counts[i])),
            under_way,
            skipped: now.skipped.saturating_sub(before.skipped),
            by_ring: self.by_ring,
            tells: self.tells,
            compared: Compared::new(&timed, &checked),
            untimed,
        })
    }
}

#[cfg(test)]
mod tests;
