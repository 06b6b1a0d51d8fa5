use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::tree::Tree;
use crate::{Quota, groups};

/// Resource limits of this process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The soft limit of open files, and so of connections. `None` also if unlimited.
    pub open_files: Option<u64>,
    /// The hard limit, up to which the process may raise the soft one.
    pub open_files_most: Option<u64>,
    /// The quota of processor time of its control groups. Units: processors.
    pub processors: Option<Limit<f64>>,
    /// The memory beyond which the kernel ends a process of the group. Units: bytes.
    pub memory: Option<Limit<u64>>,
    /// The memory beyond which the kernel slows the group's processes down (`memory.high`). Units: bytes.
    pub memory_high: Option<Limit<u64>>,
}

/// The tightest limit of a process's control groups: its own, and the groups around it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limit<T> {
    /// The limit.
    pub most: T,
    /// The file that sets it.
    pub file: String,
}

/// From here on a limit of version 1 is none: the kernel rounds its highest number down to pages of up to 64 KiB.
const UNLIMITED: u64 = 1 << 62;

impl Limits {
    /// The limits of this process. Cost: about ten files.
    pub fn here() -> Limits {
        Limits::read(&Tree::new(Path::new("/")))
    }

    pub(crate) fn read(tree: &Tree) -> Limits {
        let limits = tree.text("proc/self/limits").unwrap_or_default();
        let (open_files, open_files_most) = open_files(&limits).unwrap_or_default();
        let root = tree.at("");
        let folders = groups::of(&root, "self", "memory");
        let quota = Quota::tightest(Quota::own(&root));
        Limits {
            open_files,
            open_files_most,
            processors: quota.map(|Quota { processors: most, file, .. }| Limit { most, file }),
            memory: memory(&root, &folders, &["memory.max", "memory.limit_in_bytes"]),
            memory_high: memory(&root, &folders, &["memory.high"]),
        }
    }
}

/// The lowest of the limits that the first of these `files` sets in each group's folder. Source:
/// `Documentation/admin-guide/cgroup-v2.rst`, for version 1 `cgroup-v1/memory.rst`.
fn memory(root: &Path, folders: &[PathBuf], files: &[&'static str]) -> Option<Limit<u64>> {
    let limit = |folder: &PathBuf| {
        let (file, text) = groups::first(folder, files)?;
        let most = text.trim().parse().ok().filter(|bytes| *bytes < UNLIMITED)?;
        Some(Limit { most, file: groups::shown(root, folder, file) })
    };
    folders.iter().filter_map(limit).min_by_key(|limit| limit.most)
}

/// The soft and the hard limit. Source: `proc_pid_limits(5)`.
fn open_files(limits: &str) -> Option<(Option<u64>, Option<u64>)> {
    let rest = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let mut words = rest.split_whitespace();
    Some((words.next()?.parse().ok(), words.next()?.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::tests::{HYBRID, UNIFIED, planted};

    #[test]
    fn reads_soft_and_hard() {
        let check = |line: &str, expect: Option<(Option<u64>, Option<u64>)>| {
            assert_eq!(open_files(&format!("Limit  Soft Limit\n{line}\n")), expect, "{line}");
        };
        check(
            "Max open files            1024                 20000                files ",
            Some((Some(1024), Some(20_000))),
        );
        check(
            "Max open files            1024                 unlimited            files ",
            Some((Some(1024), None)),
        );
        check("Max processes             1                    2                    processes", None);
    }

    #[test]
    fn the_lowest_memory_limit_of_all_groups_counts() {
        let check = |own: &str, mounts: &str, files: &[(&str, &str)], expect: [Option<(u64, &str)>; 2]| {
            let head = [("proc/self/cgroup", own), ("proc/self/mountinfo", mounts)];
            let root = planted(&[&head, files].concat());
            let found = Limits::read(&Tree::new(root.path()));
            let shown = |limit: &Option<Limit<u64>>| limit.as_ref().map(|one| (one.most, one.file.clone()));
            let expect = expect.map(|one| one.map(|(most, file)| (most, file.to_owned())));
            assert_eq!([shown(&found.memory), shown(&found.memory_high)], expect, "{own} {files:?}");
        };
        check("0::/\n", UNIFIED, &[], [None, None]);
        let (inner, outer) = ("sys/fs/cgroup/a/b/memory.max", "sys/fs/cgroup/a/memory.max");
        for (inner_is, outer_is, expect) in [
            ("max\n", "max\n", None),
            ("67108864\n", "max\n", Some((64 << 20, "/sys/fs/cgroup/a/b/memory.max"))),
            ("max\n", "67108864\n", Some((64 << 20, "/sys/fs/cgroup/a/memory.max"))),
            ("67108864\n", "4096\n", Some((4096, "/sys/fs/cgroup/a/memory.max"))),
            ("0\n", "4096\n", Some((0, "/sys/fs/cgroup/a/b/memory.max"))),
            ("damaged\n", "", None),
        ] {
            check("0::/a/b\n", UNIFIED, &[(inner, inner_is), (outer, outer_is)], [expect, None]);
        }
        let high = ("sys/fs/cgroup/a/memory.high", "4096\n");
        check("0::/a/b\n", UNIFIED, &[high], [None, Some((4096, "/sys/fs/cgroup/a/memory.high"))]);
        let own = "4:cpu,cpuacct:/a\n3:memory:/b\n0::/\n";
        let file = "sys/fs/cgroup/memory/b/memory.limit_in_bytes";
        for (text, expect) in [
            ("9223372036854771712\n", None),
            ("9223372036854710272\n", None),
            ("268435456\n", Some((256 << 20, "/sys/fs/cgroup/memory/b/memory.limit_in_bytes"))),
        ] {
            check(own, HYBRID, &[(file, text)], [expect, None]);
        }
    }
}
