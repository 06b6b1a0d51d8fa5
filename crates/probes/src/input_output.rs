//! Disks and page cache, as counted in `/proc`.

use std::io;
use std::path::Path;

use host::cpu_time::Sample;
use host::read_lossy;
use host::threads::{field, stat_field};
use results::Probes;
use results::probes::{InputOutput, InputOutputSlot, Missing, Phase};

use crate::instrument::{Instrument, Reading, Summed};
use crate::slots::Slot;
use crate::subject::Subject;
use spec::Probe;
use units::Time;

/// Counts at one moment, or their increase between two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IoCounts {
    /// Units: ticks of all processors.
    waiting: u64,
    all: u64,
    /// Bytes that the server read by calls, and from disks; `None` without permission to read its file.
    read: Option<[u64; 2]>,
    major_faults: u64,
}

struct Io {
    pids: Vec<u32>,
    before: IoCounts,
}

pub(crate) fn open(subject: &Subject) -> Result<Box<dyn Instrument>, Vec<Missing>> {
    let counts = IoCounts::read(&subject.pids);
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
        self.before = IoCounts::read(&self.pids);
        Ok(())
    }

    fn pause(&mut self) -> Box<dyn Reading> {
        Box::new(IoCounts::read(&self.pids).since(self.before))
    }
}

impl IoCounts {
    fn read(pids: &[u32]) -> IoCounts {
        let ticks = Sample::read(Path::new("/")).unwrap_or_default().total();
        let (waiting, all) = (ticks.disk, ticks.all());
        let mut counts = IoCounts { waiting, all, ..IoCounts::default() };
        for pid in pids {
            let read = |name: &str| read_lossy(Path::new(&format!("/proc/{pid}/{name}"))).ok();
            if let Some([calls, disk]) = read("io").and_then(|text| bytes(&text)) {
                let [all_calls, all_disk] = counts.read.unwrap_or_default();
                counts.read = Some([all_calls + calls, all_disk + disk]);
            }
            let faults = read("stat").and_then(|text| stat_field(&text, 12)?.parse::<u64>().ok());
            counts.major_faults += faults.unwrap_or(0);
        }
        counts
    }

    fn since(self, before: IoCounts) -> IoCounts {
        let read = self.read.zip(before.read);
        IoCounts {
            waiting: self.waiting.saturating_sub(before.waiting),
            all: self.all.saturating_sub(before.all),
            read: read.map(|(now, then)| [0, 1].map(|i: usize| now[i].saturating_sub(then[i]))),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
        }
    }
}

/// Bytes read by system calls, and bytes read from disks. Source: `proc_pid_io(5)`.
fn bytes(io: &str) -> Option<[u64; 2]> {
    Some([field(io, "rchar")?, field(io, "read_bytes")?])
}

impl Summed for IoCounts {
    fn merge(&mut self, other: &IoCounts) {
        self.waiting += other.waiting;
        self.all += other.all;
        self.read = self.read.zip(other.read).map(|(a, b)| [a[0] + b[0], a[1] + b[1]]);
        self.major_faults += other.major_faults;
    }

    fn write_into(&self, into: &mut Probes, observed_s: f64) -> Option<String> {
        let per_s = |count: u64| count as f64 / observed_s;
        let hit_ratio = |[calls, disk]: [u64; 2]| {
            // A cache server reads only sockets: without reads from disk the ratio is unknown.
            (disk > 0 && calls > 0).then(|| (1.0 - disk as f64 / calls as f64).max(0.0))
        };
        into.io = Some(InputOutput {
            observed_s,
            wait_share: self.waiting as f64 / self.all.max(1) as f64,
            disk_read_bytes_per_s: self.read.map(|read| per_s(read[1])),
            read_bytes_per_s: self.read.map(|read| per_s(read[0])),
            page_cache_hit_ratio: self.read.and_then(hit_ratio),
            major_faults_per_s: per_s(self.major_faults),
            over_time: Vec::new(),
        });
        None
    }
}

/// Time series around a window: at most [`InputOutput::SLOTS`] of these slots, evenly chosen.
pub(crate) fn over_time(slots: &[Slot], opened: Time, closed: Time) -> Vec<InputOutputSlot> {
    let of = |slot: &Slot| {
        let (_, reading) = slot.readings.iter().find(|(of, _)| *of == Probe::Io)?;
        let observed_s = slot.to.since(slot.from).as_secs_f64();
        let mut seen = Probes::default();
        reading.enter(observed_s, &mut seen);
        let InputOutput { wait_share, disk_read_bytes_per_s, read_bytes_per_s, page_cache_hit_ratio, .. } =
            seen.io.filter(|_| observed_s > 0.0)?;
        let middle = Time(slot.from.0 / 2 + slot.to.0 / 2);
        let phase = match middle {
            at if at < opened => Phase::WarmUp,
            at if at < closed => Phase::Window,
            _ => Phase::Drain,
        };
        let at_s = (slot.from.0 as f64 - opened.0 as f64) / 1e9;
        Some(InputOutputSlot {
            phase,
            at_s,
            observed_s,
            wait_share,
            disk_read_bytes_per_s,
            read_bytes_per_s,
            page_cache_hit_ratio,
        })
    };
    let all: Vec<InputOutputSlot> = slots.iter().filter_map(of).collect();
    let step = all.len().div_ceil(InputOutput::SLOTS).max(1);
    all.into_iter().step_by(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_counts() {
        assert_eq!(bytes("rchar: 100\nwchar: 1\nread_bytes: 4096\n"), Some([100, 4096]));
        assert_eq!(bytes("rchar: 100\n"), None);
    }

    #[test]
    fn slots_belong_to_the_phase_in_which_most_of_them_lies() {
        let slot = |from: u64, to: u64| {
            let seen = IoCounts { waiting: 1, all: 4, read: Some([1_000, 100]), major_faults: 0 };
            let readings: Vec<(Probe, Box<dyn Reading>)> = vec![(Probe::Io, Box::new(seen))];
            let [from, to] = [from, to].map(|s| Time(s * 1_000_000_000));
            let looked = vec![Probe::Io];
            Slot { from, to, readings_span: (from, to), looked, readings, server_ns: None }
        };
        let other = Slot { readings: Vec::new(), ..slot(0, 1) };
        let slots = [slot(8, 10), slot(9, 12), other, slot(12, 13), slot(20, 22)];
        let [opened, closed] = [10, 20].map(|s| Time(s * 1_000_000_000));
        let found = over_time(&slots, opened, closed);
        let phases: Vec<(f64, Phase)> = found.iter().map(|slot| (slot.at_s, slot.phase)).collect();
        let expect =
            [(-2.0, Phase::WarmUp), (-1.0, Phase::Window), (2.0, Phase::Window), (10.0, Phase::Drain)];
        assert_eq!(phases, expect);
        assert_eq!((found[0].disk_read_bytes_per_s, found[0].wait_share), (Some(50.0), 0.25));
        let many: Vec<Slot> = (0..1_500).map(|s| slot(s, s + 1)).collect();
        assert_eq!(over_time(&many, opened, closed).len(), 500);
    }

    #[test]
    fn becomes_rates_and_shares() {
        let counts =
            |n: u64| IoCounts { waiting: n, all: 10 * n, read: Some([1000 * n, 100 * n]), major_faults: n };
        let mut sum = counts(3).since(counts(2));
        sum.add(&counts(1));
        let mut record = Probes::default();
        sum.enter(2.0, &mut record);
        let got = record.io.unwrap();
        assert_eq!((got.wait_share, got.major_faults_per_s), (0.1, 1.0));
        assert_eq!((got.disk_read_bytes_per_s, got.read_bytes_per_s), (Some(100.0), Some(1000.0)));
        assert_eq!(got.page_cache_hit_ratio, Some(0.9));
        let mut record = Probes::default();
        IoCounts { read: Some([1000, 0]), all: 1, ..IoCounts::default() }.enter(1.0, &mut record);
        assert_eq!(record.io.unwrap().page_cache_hit_ratio, None);
    }
}
