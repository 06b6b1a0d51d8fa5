//! Disks and page cache, as `/proc` counts them.

use std::fs;
use std::io;
use std::path::Path;

use host::cpu_time::Sample;
use host::threads::field;
use results::Probes;
use results::probes::{InputOutput, Missing};

use crate::instrument::{Instrument, Reading, Summed};
use crate::subject::Subject;
use spec::Probe;

/// What was counted at one moment, or between two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Units: ticks of all processors.
    waiting: u64,
    all: u64,
    /// Bytes that the server read by calls, and that disks gave for it; `None` where its file may not be read.
    read: Option<[u64; 2]>,
    major_faults: u64,
}

struct Io {
    pids: Vec<u32>,
    before: Counts,
}

/// Opens it.
pub(crate) fn open(subject: &Subject) -> Result<Box<dyn Instrument>, Vec<Missing>> {
    let counts = Counts::read(&subject.pids);
    if subject.pids.is_empty() || counts.read.is_none() {
        return Err(vec![Missing {
            probe: Probe::Io.name().into(),
            what: "leave to read /proc/PID/io of the server (its user, or root)".into(),
            disables: "disk reads and the page cache's hit ratio".into(),
        }]);
    }
    Ok(Box::new(Io { pids: subject.pids.clone(), before: counts }))
}

impl Instrument for Io {
    fn probe(&self) -> Probe {
        Probe::Io
    }

    fn resume(&mut self) -> io::Result<()> {
        self.before = Counts::read(&self.pids);
        Ok(())
    }

    fn pause(&mut self) -> Box<dyn Reading> {
        Box::new(Counts::read(&self.pids).since(self.before))
    }
}

impl Counts {
    fn read(pids: &[u32]) -> Counts {
        let ticks = Sample::read(Path::new("/")).unwrap_or_default().total();
        let (waiting, all) = (ticks.disk, ticks.all());
        let mut counts = Counts { waiting, all, ..Counts::default() };
        for pid in pids {
            let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
            if let Some([calls, disk]) = read("io").and_then(|text| bytes(&text)) {
                let [all_calls, all_disk] = counts.read.unwrap_or_default();
                counts.read = Some([all_calls + calls, all_disk + disk]);
            }
            counts.major_faults += read("stat").and_then(|text| major_faults(&text)).unwrap_or(0);
        }
        counts
    }

    fn since(self, before: Counts) -> Counts {
        let read = self.read.zip(before.read);
        Counts {
            waiting: self.waiting.saturating_sub(before.waiting),
            all: self.all.saturating_sub(before.all),
            read: read.map(|(now, then)| [0, 1].map(|i: usize| now[i].saturating_sub(then[i]))),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
        }
    }
}

/// Bytes read by system calls, and bytes that disks gave. Source: `proc_pid_io(5)`.
fn bytes(io: &str) -> Option<[u64; 2]> {
    Some([field(io, "rchar")?, field(io, "read_bytes")?])
}

/// Field 12 of `proc_pid_stat(5)`; the name before may hold anything.
fn major_faults(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(9)?.parse().ok()
}

impl Summed for Counts {
    fn merge(&mut self, other: &Counts) {
        self.waiting += other.waiting;
        self.all += other.all;
        self.read = self.read.zip(other.read).map(|(a, b)| [a[0] + b[0], a[1] + b[1]]);
        self.major_faults += other.major_faults;
    }

    fn write_into(&self, into: &mut Probes, observed_s: f64) -> Option<String> {
        let per_s = |count: u64| count as f64 / observed_s;
        let hit_ratio = |[calls, disk]: [u64; 2]| {
            // What a server of a cache reads are sockets: no file, no ratio.
            (disk > 0 && calls > 0).then(|| (1.0 - disk as f64 / calls as f64).max(0.0))
        };
        into.io = Some(InputOutput {
            observed_s,
            wait_share: self.waiting as f64 / self.all.max(1) as f64,
            disk_read_bytes_per_s: self.read.map(|read| per_s(read[1])),
            read_bytes_per_s: self.read.map(|read| per_s(read[0])),
            page_cache_hit_ratio: self.read.and_then(hit_ratio),
            major_faults_per_s: per_s(self.major_faults),
        });
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_counts() {
        assert_eq!(bytes("rchar: 100\nwchar: 1\nread_bytes: 4096\n"), Some([100, 4096]));
        assert_eq!(bytes("rchar: 100\n"), None);
        assert_eq!(major_faults("7 (a) b) S 1 7 7 0 -1 4194560 11 22 33 44 5 6"), Some(33));
    }

    #[test]
    fn becomes_rates_and_shares() {
        let counts =
            |n: u64| Counts { waiting: n, all: 10 * n, read: Some([1000 * n, 100 * n]), major_faults: n };
        let mut sum = counts(3).since(counts(2));
        sum.add(&counts(1));
        let mut record = Probes::default();
        sum.enter(2.0, &mut record);
        let got = record.io.unwrap();
        assert_eq!((got.wait_share, got.major_faults_per_s), (0.1, 1.0));
        assert_eq!((got.disk_read_bytes_per_s, got.read_bytes_per_s), (Some(100.0), Some(1000.0)));
        assert_eq!(got.page_cache_hit_ratio, Some(0.9));
        let mut record = Probes::default();
        Counts { read: Some([1000, 0]), all: 1, ..Counts::default() }.enter(1.0, &mut record);
        assert_eq!(record.io.unwrap().page_cache_hit_ratio, None);
    }
}
