use std::collections::BTreeMap;
use std::path::Path;

use super::ProcessTicks;

/// The processor time of every process at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Processes(BTreeMap<u32, (String, u64)>);

impl Processes {
    /// Reads the processes below `root`. Cost: some 20 µs each.
    pub fn read(root: &Path) -> Processes {
        let entries = std::fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let process = |pid: u32| {
            let name = std::fs::read_to_string(root.join(format!("proc/{pid}/comm"))).ok()?;
            Some((pid, (name.trim().to_owned(), ProcessTicks::read(root, pid).ok()?.own)))
        };
        Processes(pids.filter_map(process).collect())
    }

    /// Ticks that one process has used since `earlier`; `None` where it was not there both times.
    pub fn ticks_since(&self, earlier: &Processes, pid: u32) -> Option<u64> {
        Some(self.0.get(&pid)?.1.saturating_sub(earlier.0.get(&pid)?.1))
    }

    /// The programs that used most since `earlier`, the busiest first: each name with the share of one processor that its
    /// processes used of `elapsed` ticks, those `ours` left out. One that has ended meanwhile is not known.
    pub fn busiest_since(
        &self,
        earlier: &Processes,
        elapsed: u64,
        ours: impl Fn(u32) -> bool,
    ) -> Vec<(String, f64)> {
        let mut used: BTreeMap<&str, u64> = BTreeMap::new();
        for (pid, (name, ticks)) in self.0.iter().filter(|(pid, _)| !ours(**pid)) {
            let before = earlier.0.get(pid).map_or(0, |(_, ticks)| *ticks);
            *used.entry(name).or_default() += ticks.saturating_sub(before);
        }
        let share = |(name, ticks): (&str, u64)| (name.to_owned(), ticks as f64 / elapsed.max(1) as f64);
        let mut busiest: Vec<(String, f64)> = used.into_iter().map(share).collect();
        busiest.sort_by(|a, b| b.1.total_cmp(&a.1));
        busiest
    }
}

impl<const N: usize> From<[(u32, &str, u64); N]> for Processes {
    fn from(processes: [(u32, &str, u64); N]) -> Processes {
        Processes(processes.into_iter().map(|(pid, name, ticks)| (pid, (name.to_owned(), ticks))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_named_by_what_all_their_processes_used() {
        let before =
            Processes::from([(7, "sphinxd", 50), (8, "rustc", 10), (9, "sleepy", 3), (6, "gone", 1)]);
        let after =
            Processes::from([(7, "sphinxd", 90), (8, "rustc", 40), (9, "sleepy", 3), (10, "rustc", 20)]);
        let busiest = after.busiest_since(&before, 100, |pid| pid == 7);
        assert_eq!(busiest, [("rustc".to_owned(), 0.5), ("sleepy".to_owned(), 0.0)]);
        assert_eq!([7, 6, 10].map(|pid| after.ticks_since(&before, pid)), [Some(40), None, None]);
        assert!(!Processes::read(Path::new("/")).0.is_empty());
    }
}
