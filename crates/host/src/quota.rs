//! Quotas of processor time of control groups, such as a container's.

use std::fs;
use std::path::{Path, PathBuf};

use crate::groups;

/// A group's quota of processor time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quota {
    /// Processors' worth of time that the group's processes may use together.
    pub processors: f64,
    /// The file that sets it.
    pub file: String,
    folder: PathBuf,
}

/// The counters of a group with a quota. All of them only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Periods in which the group ran.
    pub periods: u64,
    /// Periods in which it used up its quota, and stopped.
    pub throttled: u64,
    /// Time stopped, summed over processors. Units: µs.
    pub throttled_us: u64,
}

impl Throttling {
    /// The difference since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Throttling) -> Throttling {
        Throttling {
            periods: self.periods.saturating_sub(earlier.periods),
            throttled: self.throttled.saturating_sub(earlier.throttled),
            throttled_us: self.throttled_us.saturating_sub(earlier.throttled_us),
        }
    }
}

impl Quota {
    /// The quotas of this process below `root`: of its own group, and of the groups around it.
    ///
    /// Source: `Documentation/admin-guide/cgroup-v2.rst`, `cpu.max` and `cpu.stat`; for version 1 `sched-bwc.rst`.
    pub fn own(root: &Path) -> Vec<Quota> {
        Quota::of_process(root, "self")
    }

    /// The quotas of the processes `pids`, each group once.
    pub fn of(root: &Path, pids: &[u32]) -> Vec<Quota> {
        let mut all: Vec<Quota> = Vec::new();
        for quota in pids.iter().flat_map(|pid| Quota::of_process(root, &pid.to_string())) {
            if !all.contains(&quota) {
                all.push(quota);
            }
        }
        all
    }

    /// The tightest; of equal ones the first.
    pub fn tightest(all: Vec<Quota>) -> Option<Quota> {
        all.into_iter().reduce(|least, other| if other.processors < least.processors { other } else { least })
    }

    /// The group's counters so far; zeros if unreadable. Cost: about 10 µs.
    pub fn throttling(&self) -> Throttling {
        throttling(&fs::read_to_string(self.folder.join("cpu.stat")).unwrap_or_default())
    }

    fn of_process(root: &Path, pid: &str) -> Vec<Quota> {
        let quota = |folder: PathBuf| {
            let (file, text) = groups::first(&folder, &["cpu.max", "cpu.cfs_quota_us"])?;
            let period = || fs::read_to_string(folder.join("cpu.cfs_period_us")).ok();
            let processors = match text.trim().split_once(' ') {
                Some((quota, period)) => over(quota, period),
                None => over(&text, &period()?),
            }?;
            Some(Quota { processors, file: groups::shown(root, &folder, file), folder })
        };
        groups::of(root, pid, "cpu").into_iter().filter_map(quota).collect()
    }
}

/// The quotient; `None` for `max`, and for a quota of -1, which is none.
fn over(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (f64, f64) = (quota.trim().parse().ok()?, period.trim().parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

fn throttling(stat: &str) -> Throttling {
    let of = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    // Version 1 counts in nanoseconds.
    let time = of("throttled_usec ").or_else(|| of("throttled_time ").map(|ns| ns / 1000));
    Throttling {
        periods: of("nr_periods ").unwrap_or(0),
        throttled: of("nr_throttled ").unwrap_or(0),
        throttled_us: time.unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::tests::{HYBRID, UNIFIED, planted};

    #[test]
    fn the_tightest_of_all_groups_counts() {
        let check = |own: &str, mounts: &str, files: &[(&str, &str)], expect: Option<(f64, &str)>| {
            let head = [("proc/self/cgroup", own), ("proc/self/mountinfo", mounts)];
            let root = planted(&[&head, files].concat());
            let found = Quota::tightest(Quota::own(root.path()));
            let found = found.as_ref().map(|quota| (quota.processors, quota.file.as_str()));
            assert_eq!(found, expect, "{own} {files:?}");
        };
        let at = "/sys/fs/cgroup/cpu.max";
        check("", "", &[], None);
        check("0::/\n", UNIFIED, &[("sys/fs/cgroup/cpu.stat", "usage_usec 5\n")], None);
        for (text, expect) in [
            ("150000 100000\n", Some((1.5, at))),
            ("50000 100000\n", Some((0.5, at))),
            ("1000 1000000\n", Some((0.001, at))),
            ("6400000 100000", Some((64.0, at))),
            ("max 100000\n", None),
            ("max\n", None),
            ("0 100000\n", None),
            ("100000 0\n", None),
            ("", None),
            ("a b\n", None),
        ] {
            // A container sees its own group as the root.
            check("0::/\n", UNIFIED, &[("sys/fs/cgroup/cpu.max", text)], expect);
        }
        let outer = ("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
        let outer_is = Some((0.5, "/sys/fs/cgroup/a/cpu.max"));
        check("0::/a/b\n", UNIFIED, &[outer, ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n")], outer_is);
        check("0::/a/b\n", UNIFIED, &[outer, ("sys/fs/cgroup/a/b/cpu.max", "60000 100000\n")], outer_is);
        let inner = ("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
        check("0::/a/b\n", UNIFIED, &[outer, inner], Some((0.5, "/sys/fs/cgroup/a/b/cpu.max")));
        let own = "4:cpu,cpuacct:/a\n3:memory:/b\n0::/\n";
        let group = "sys/fs/cgroup/cpu,cpuacct";
        let files = |quota: &'static str| {
            [
                (format!("{group}/a/cpu.cfs_quota_us"), quota),
                (format!("{group}/a/cpu.cfs_period_us"), "100000\n"),
                (format!("{group}/cpu.cfs_quota_us"), "-1\n"),
                (format!("{group}/cpu.cfs_period_us"), "100000\n"),
            ]
        };
        for (quota, expect) in [("200000\n", Some(2.0)), ("25000\n", Some(0.25)), ("-1\n", None), ("", None)]
        {
            let files = files(quota);
            let files: Vec<_> = files.iter().map(|(file, text)| (file.as_str(), *text)).collect();
            let file = "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us";
            check(own, HYBRID, &files, expect.map(|expect| (expect, file)));
        }
    }

    #[test]
    fn processes_in_one_group_have_one_quota() {
        let root = planted(&[
            ("proc/self/mountinfo", UNIFIED),
            ("proc/7/cgroup", "0::/a\n"),
            ("proc/8/cgroup", "0::/a\n"),
            ("proc/9/cgroup", "0::/b\n"),
            ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/b/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/b/cpu.stat", "nr_periods 30\nnr_throttled 20\nthrottled_usec 1500\n"),
        ]);
        let all = Quota::of(root.path(), &[7, 8, 9, 10]);
        assert_eq!(all.iter().map(|quota| quota.processors).collect::<Vec<_>>(), [0.5, 1.5]);
        let now = Throttling { periods: 30, throttled: 20, throttled_us: 1500 };
        assert_eq!((all[0].throttling(), all[1].throttling()), (Throttling::default(), now));
        assert_eq!(now.since(Throttling { periods: 10, throttled: 5, throttled_us: 500 }).throttled, 15);
        assert_eq!(throttling("nr_periods 3\nnr_throttled 2\nthrottled_time 1500000\n").throttled_us, 1500);
    }
}
