use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use host::read_lossy;
use host::threads::{numbers, stat_field};
use serde::{Deserialize, Serialize};
use units::CpuList;

/// The object of knobs: processes, a network device, processors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Subject {
    /// The root of the file tree: `/`, or a test's.
    pub root: PathBuf,
    /// The name of its control groups; simultaneous subjects need different names.
    pub name: String,
    /// The processes that are confined.
    pub pids: Vec<u32>,
    /// The network device whose egress, interrupts and queues are set.
    pub net_device: Option<String>,
    /// The network namespace of the device, as a file: `/run/netns/NAME`, `/proc/PID/ns/net`.
    ///
    /// `None`: the namespace of this process.
    pub net_namespace: Option<PathBuf>,
    /// A folder on the disk that it reads from: a server's files.
    pub folder: Option<PathBuf>,
    /// Its processors: `subject` in a knob means these, `others` the rest.
    pub cpus: CpuList,
}

impl Default for Subject {
    fn default() -> Subject {
        Subject {
            root: "/".into(),
            name: "taillight".into(),
            pids: Vec::new(),
            net_device: None,
            net_namespace: None,
            folder: None,
            cpus: CpuList::default(),
        }
    }
}

impl Subject {
    /// Whether it has processes and all of them have ended.
    pub fn has_ended(&self) -> bool {
        let stat = |pid: &u32| read_lossy(&self.root.join(format!("proc/{pid}/stat")));
        !self.pids.is_empty() && !self.pids.iter().any(|pid| stat(pid).is_ok_and(|stat| is_running(&stat)))
    }

    /// Adds all descendants of the processes: a container's are its init's.
    ///
    /// Bounds: a process that is started during the scan may be missed.
    pub fn with_descendants(mut self) -> Subject {
        let parents: Vec<(u32, u32)> = processes(&self.root);
        let mut all: BTreeSet<u32> = self.pids.iter().copied().collect();
        loop {
            let before = all.len();
            let children = parents.iter().filter(|(_, parent)| all.contains(parent)).map(|(pid, _)| *pid);
            let children: Vec<u32> = children.collect();
            all.extend(children);
            if all.len() == before {
                self.pids = all.into_iter().collect();
                return self;
            }
        }
    }
}

/// Whether a process with this `/proc/PID/stat` runs, rather than being a zombie.
pub(crate) fn is_running(stat: &str) -> bool {
    stat_field(stat, 3).is_some_and(|state| !["Z", "X", "x"].contains(&state))
}

/// Every process with its parent.
fn processes(root: &Path) -> Vec<(u32, u32)> {
    let parent = |pid: u32| {
        let stat = read_lossy(&root.join(format!("proc/{pid}/stat"))).ok()?;
        Some((pid, stat_field(&stat, 4)?.parse().ok()?))
    };
    numbers(&root.join("proc")).into_iter().filter_map(parent).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn has_ended_with_its_last_process() {
        let root = tempfile::tempdir().unwrap();
        for (pid, state) in [(10, "S"), (11, "T"), (12, "Z"), (13, "X")] {
            let folder = root.path().join(format!("proc/{pid}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("stat"), format!("{pid} (x) {state} 1 1 1")).unwrap();
        }
        let check = |pids: &[u32], expect: bool| {
            let subject = Subject { root: root.path().into(), pids: pids.into(), ..Subject::default() };
            assert_eq!(subject.has_ended(), expect, "{pids:?}");
        };
        check(&[10], false);
        check(&[11, 12], false);
        check(&[12, 13, 99], true);
        check(&[], false);
    }

    #[test]
    fn processes_have_any_names() {
        let root = tempfile::tempdir().unwrap();
        for (pid, stat) in [(10, b"10 (a\xff) S 1 1 1"), (11, b"11 (\xc3a) S 10 1 ")] {
            let folder = root.path().join(format!("proc/{pid}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("stat"), stat).unwrap();
        }
        let subject = Subject { root: root.path().into(), pids: vec![10], ..Subject::default() };
        assert!(!subject.has_ended());
        assert_eq!(subject.with_descendants().pids, [10, 11]);
    }

    #[test]
    fn takes_children_and_their_children() {
        let root = tempfile::tempdir().unwrap();
        for (pid, parent) in [(10, 1), (11, 10), (12, 11), (13, 1)] {
            let folder = root.path().join(format!("proc/{pid}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("stat"), format!("{pid} (x) S {parent} 1 1")).unwrap();
        }
        let subject = Subject { root: root.path().into(), pids: vec![10], ..Subject::default() };
        assert_eq!(subject.with_descendants().pids, [10, 11, 12]);
    }
}
