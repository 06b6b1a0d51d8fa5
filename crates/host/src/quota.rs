//! Processor time limits of this process's control groups, such as a container's.

use std::fs;
use std::path::{Path, PathBuf};

/// The groups of a process that limit its processor time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quota {
    /// Processors' worth of time that it may use; `None` if unlimited.
    pub processors: Option<f64>,
    /// Time throttled so far in the tightest group. Units: µs. `None` if unknown.
    pub throttled_us: Option<u64>,
}

impl Quota {
    /// Reads the quota of this process below `root`: the tightest of its group and the groups around it.
    ///
    /// Source: `Documentation/admin-guide/cgroup-v2.rst`, `cpu.max` and `cpu.stat`; for version 1 `sched-bwc.rst`. In a
    /// container its own group is the root of the visible tree.
    pub fn read(root: &Path) -> Quota {
        let own = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
        let mut tightest = Quota::default();
        for folder in own.lines().flat_map(|line| folders(root, line)) {
            let text = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
            let processors = of_version_2(&text("cpu.max"))
                .or_else(|| of_version_1(&text("cpu.cfs_quota_us"), &text("cpu.cfs_period_us")));
            let Some(processors) = processors else { continue };
            if tightest.processors.is_none_or(|tightest| processors < tightest) {
                let throttled_us = throttled_us(&text("cpu.stat"));
                tightest = Quota { processors: Some(processors), throttled_us };
            }
        }
        tightest
    }
}

/// The folders of the group in a line of `/proc/self/cgroup`, and of all groups around it. Source: `cgroups(7)`.
fn folders(root: &Path, line: &str) -> Vec<PathBuf> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { return Vec::new() };
    let mount = match controllers {
        "" => root.join("sys/fs/cgroup"),
        names if names.split(',').any(|name| name == "cpu") => root.join("sys/fs/cgroup/cpu"),
        _ => return Vec::new(),
    };
    let group = mount.join(path.trim_start_matches('/'));
    group.ancestors().take_while(|folder| folder.starts_with(&mount)).map(PathBuf::from).collect()
}

/// `max 100000` or `200000 100000`.
fn of_version_2(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    over(quota, period)
}

/// A quota of -1 is none.
fn of_version_1(quota: &str, period: &str) -> Option<f64> {
    over(quota.trim(), period.trim())
}

fn over(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

fn throttled_us(stat: &str) -> Option<u64> {
    let of = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    of("throttled_usec ").or_else(|| of("throttled_time ").map(|ns| ns / 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> Quota {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        Quota::read(root.path())
    }

    #[test]
    fn the_tightest_of_all_groups_counts() {
        let check = |files: &[(&str, &str)], processors: Option<f64>, throttled_us: Option<u64>| {
            assert_eq!(read(files), Quota { processors, throttled_us }, "{files:?}");
        };
        check(&[], None, None);
        check(&[("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.stat", "usage_usec 5\n")], None, None);
        // A container, which sees its own group as the root.
        let stat = "usage_usec 5\nnr_throttled 2\nthrottled_usec 1500\n";
        check(
            &[
                ("proc/self/cgroup", "0::/\n"),
                ("sys/fs/cgroup/cpu.max", "150000 100000\n"),
                ("sys/fs/cgroup/cpu.stat", stat),
            ],
            Some(1.5),
            Some(1500),
        );
        check(
            &[
                ("proc/self/cgroup", "0::/a/b\n"),
                ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
                ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ],
            Some(0.5),
            None,
        );
        check(
            &[
                ("proc/self/cgroup", "4:cpu,cpuacct:/a\n3:memory:/b\n0::/\n"),
                ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "200000\n"),
                ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/cpu/a/cpu.stat", "nr_throttled 2\nthrottled_time 1500000\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ],
            Some(2.0),
            Some(1500),
        );
    }
}
