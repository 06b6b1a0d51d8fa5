//! Processor use by process: reads all processes repeatedly, and sums each one's use between the readings.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::threads::numbers;
use crate::tree::read_lossy;

/// All processes that can be seen, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census(BTreeMap<u32, Process>);

/// A process at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    name: String,
    /// Its start, in ticks after boot: distinguishes reused process ids.
    began: u64,
    ticks: u64,
    /// The processor on which it last ran; only for a process of one thread.
    cpu: Option<usize>,
}

/// Processor time used by the processes of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taker {
    /// Their name, as the kernel keeps it: at most 15 bytes.
    pub name: String,
    /// The process of them that used most.
    pub pid: u32,
    /// How many processes used any time.
    pub processes: usize,
    /// Processor time. Units: ticks, see [`crate::cpu_time::ticks_per_second`].
    pub ticks: u64,
    /// The processor on which all of it was used, if known.
    pub cpu: Option<usize>,
}

impl Census {
    /// Reads `proc/PID/stat` below `root`. Cost: about 10 µs a process.
    pub fn read(root: &Path) -> Census {
        let process = |pid: u32| {
            let stat = read_lossy(&root.join(format!("proc/{pid}/stat"))).ok()?;
            Some((pid, Process::parse(&stat)?))
        };
        Census(numbers(&root.join("proc")).into_iter().filter_map(process).collect())
    }
}

impl Process {
    /// Source: `proc_pid_stat(5)`: fields 14, 15, 20, 22 and 39 (processor). The name (field 2) may hold anything.
    fn parse(stat: &str) -> Option<Process> {
        let (before, after) = stat.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        let fields: Vec<&str> = after.split_whitespace().collect();
        // After the name, the first is field 3.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let shown = |c: char| if c.is_control() { '?' } else { c };
        Some(Process {
            name: name.chars().map(shown).collect(),
            began: field(22)?,
            ticks: field(14)? + field(15)?,
            cpu: (field(20)? == 1).then(|| field(39)).flatten().map(|cpu| cpu as usize),
        })
    }
}

/// Processor time by process, summed look by look.
#[derive(Clone, Debug, Default)]
pub struct Used {
    last: Option<Census>,
    by_pid: BTreeMap<(u32, u64), Taker>,
}

impl Used {
    /// Adds each process's use since the last look; for a process that began since, all its use.
    pub fn look(&mut self, now: Census) {
        if let Some(last) = self.last.replace(now) {
            let now = self.last.iter().flat_map(|census| &census.0);
            for (pid, process) in now {
                let before = last.0.get(pid).filter(|before| before.began == process.began);
                let ticks = process.ticks.saturating_sub(before.map_or(0, |before| before.ticks));
                if ticks == 0 {
                    continue;
                }
                let taker = self.by_pid.entry((*pid, process.began)).or_insert_with(|| Taker {
                    name: process.name.clone(),
                    pid: *pid,
                    processes: 1,
                    ticks: 0,
                    cpu: process.cpu,
                });
                taker.ticks += ticks;
                taker.cpu = taker.cpu.filter(|cpu| process.cpu == Some(*cpu));
            }
        }
    }

    /// Processor time of these processes. Units: ticks.
    pub fn of(&self, pids: &[u32]) -> u64 {
        self.by_pid.values().filter(|taker| pids.contains(&taker.pid)).map(|taker| taker.ticks).sum()
    }

    /// Use by all processes other than `but`, summed by name, the busiest first.
    pub fn takers(&self, but: &[u32]) -> Vec<Taker> {
        let mut by_name: BTreeMap<&str, (Taker, u64)> = BTreeMap::new();
        for taker in self.by_pid.values().filter(|taker| !but.contains(&taker.pid)) {
            match by_name.get_mut(taker.name.as_str()) {
                None => {
                    by_name.insert(&taker.name, (taker.clone(), taker.ticks));
                }
                Some((all, most)) => {
                    if taker.ticks > *most {
                        (all.pid, *most) = (taker.pid, taker.ticks);
                    }
                    all.ticks += taker.ticks;
                    all.processes += 1;
                    all.cpu = all.cpu.filter(|cpu| taker.cpu == Some(*cpu));
                }
            }
        }
        let mut takers: Vec<Taker> = by_name.into_values().map(|(taker, _)| taker).collect();
        takers.sort_by(|a, b| b.ticks.cmp(&a.ticks).then(a.pid.cmp(&b.pid)));
        takers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stat(pid: u32, name: &str, ticks: u64, began: u64, threads: u64, cpu: usize) -> String {
        let head =
            format!("{pid} ({name}) R 1 7 7 0 -1 4194560 1 2 3 4 {ticks} 0 700 80 20 0 {threads} 0 {began}");
        format!("{head} 1000 10 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 {cpu} 0 0 0 0 0\n")
    }

    fn census(processes: &[(u32, &str, u64, u64)]) -> Census {
        let process = |&(pid, name, ticks, began): &(u32, &str, u64, u64)| {
            (pid, Process::parse(&stat(pid, name, ticks, began, 1, 1)).unwrap())
        };
        Census(processes.iter().map(process).collect())
    }

    #[test]
    fn reads_a_process() {
        let of = |text: &str| Process::parse(text);
        let plain = Process { name: "cc1".into(), began: 9, ticks: 50, cpu: Some(3) };
        assert_eq!(of(&stat(7, "cc1", 50, 9, 1, 3)), Some(plain.clone()));
        // The processor is only known for a process of one thread.
        assert_eq!(of(&stat(7, "cc1", 50, 9, 2, 3)), Some(Process { cpu: None, ..plain.clone() }));
        let odd = Process { name: "a) (b?[31m".into(), ..plain };
        assert_eq!(of(&stat(7, "a) (b\u{1b}[31m", 50, 9, 1, 3)), Some(odd));
        assert_eq!((of(""), of("7 (x) R 1")), (None, None));
    }

    #[test]
    fn a_name_that_is_no_text_is_a_process_too() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/7")).unwrap();
        let mut text = stat(7, "na*", 50, 9, 1, 3).into_bytes();
        // The kernel cuts a name at 15 bytes, also within a character.
        let cut = text.iter().position(|byte| *byte == b'*').unwrap();
        text[cut] = 0xc3;
        std::fs::write(root.path().join("proc/7/stat"), text).unwrap();
        let odd = Process { name: "na\u{fffd}".into(), began: 9, ticks: 50, cpu: Some(3) };
        assert_eq!(Census::read(root.path()).0.get(&7), Some(&odd));
    }

    #[test]
    fn what_is_used_is_summed_by_name() {
        let mut used = Used::default();
        used.look(census(&[(1, "init", 100, 0), (7, "cc1", 10, 5), (8, "sphinxd", 0, 6)]));
        used.look(census(&[
            (1, "init", 100, 0),
            (7, "cc1", 30, 5),
            (8, "sphinxd", 70, 6),
            (9, "cc1", 15, 20),
        ]));
        // The number 7 is another process now, and 9 has ended.
        used.look(census(&[(1, "init", 100, 0), (7, "cc1", 2, 30), (8, "sphinxd", 90, 6)]));
        let cc1 = Taker { name: "cc1".into(), pid: 7, processes: 3, ticks: 37, cpu: Some(1) };
        assert_eq!(used.takers(&[8]), std::slice::from_ref(&cc1));
        assert_eq!(used.of(&[8]), 90);
        let all = used.takers(&[]);
        assert_eq!((all.len(), all[0].name.as_str(), &all[1]), (2, "sphinxd", &cc1));
        assert!(Used::default().takers(&[]).is_empty());
    }

    #[test]
    fn sees_this_process() {
        let me = std::process::id();
        let now = Census::read(Path::new("/"));
        assert!(now.0.contains_key(&me));
        let mut used = Used::default();
        used.look(Census::default());
        used.look(now);
        assert!(used.takers(&[]).len() > used.takers(&[me]).len() || used.of(&[me]) == 0);
    }

    proptest! {
        #[test]
        fn survives_any_text(text: String) {
            let _ = Process::parse(&text);
        }

        #[test]
        fn nothing_is_lost_or_counted_twice(looks in prop::collection::vec((0u64..50, 0u64..50, 0u64..50), 2..8)) {
            let mut used = Used::default();
            let mut sums = [0; 3];
            for (n, (a, b, c)) in looks.iter().enumerate() {
                if n > 0 {
                    sums = [sums[0] + a, sums[1] + b, sums[2] + c];
                }
                used.look(census(&[(1, "x", sums[0], 0), (2, "x", sums[1], 0), (3, "y", sums[2], 0)]));
            }
            let total: u64 = used.takers(&[]).iter().map(|taker| taker.ticks).sum();
            prop_assert_eq!(total, sums.iter().sum::<u64>());
            prop_assert_eq!(used.of(&[3]), sums[2]);
            prop_assert_eq!(used.takers(&[3]).iter().map(|taker| taker.ticks).sum::<u64>(), sums[0] + sums[1]);
        }
    }
}
