use serde::{Deserialize, Serialize};

use crate::tree::Tree;

/// Resource limits of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The soft limit of open files, and so of connections. `None` also if unlimited.
    pub open_files: Option<u64>,
    /// The hard limit, up to which the process may raise the soft one.
    pub open_files_most: Option<u64>,
}

impl Limits {
    pub(crate) fn read(tree: &Tree) -> Limits {
        let limits = tree.text("proc/self/limits").unwrap_or_default();
        let (open_files, open_files_most) = open_files(&limits).unwrap_or_default();
        Limits { open_files, open_files_most }
    }
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
}
