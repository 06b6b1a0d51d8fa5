//! The knobs on machines that we do not have, whose kernels are played.
//!
//! Run them: `cargo test -p knobs --test machines`.

mod engine;
mod full;
mod kernel;
mod plans;
#[path = "../../../host/tests/machines/mod.rs"]
mod planted;
mod random;
mod tools;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use host::Host;
use knobs::{Knob, Subject};
use tempfile::TempDir;

use kernel::Played;

/// A machine in a folder, with a process to confine.
pub(crate) struct Machine {
    pub(crate) root: TempDir,
    pub(crate) state: TempDir,
}

/// The process that the tests confine.
pub(crate) const PID: u32 = 4242;

impl Machine {
    pub(crate) fn xeon() -> Machine {
        Machine::of(planted::xeon, "3:cpu,cpuacct:/\n2:cpuset:/\n4:memory:/\n")
    }

    pub(crate) fn thunderx() -> Machine {
        Machine::of(planted::thunderx, "0::/\n")
    }

    fn of(plant: fn(&Path) -> std::io::Result<()>, groups: &str) -> Machine {
        let machine = Machine { root: folder(), state: folder() };
        plant(machine.root.path()).unwrap();
        machine.plant(&format!("proc/{PID}/stat"), &format!("{PID} (server) S 1{} 777", " 0".repeat(17)));
        machine.plant(&format!("proc/{PID}/cgroup"), groups.trim());
        machine.plant(&format!("proc/{PID}/task/{PID}"), "");
        for folder in ["cpuset", "cpu,cpuacct", "memory", ""] {
            let file = format!("sys/fs/cgroup/{folder}/cgroup.procs").replace("//", "/");
            if machine.root.path().join(&file).exists() {
                machine.plant(&file, &format!("1\n{PID}"));
            }
        }
        if machine.root.path().join("proc/1180/comm").exists() {
            // No line break, unlike the kernel's other files.
            let line = "/usr/sbin/irqbalance\0--foreground\0";
            fs::write(machine.root.path().join("proc/1180/cmdline"), line).unwrap();
        }
        tools::plant(machine.root.path());
        machine
    }

    pub(crate) fn plant(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.path().join(path)).unwrap().trim().to_owned()
    }

    pub(crate) fn host(&self) -> Host {
        Host::read(self.root.path())
    }

    pub(crate) fn subject(&self) -> Subject {
        Subject {
            root: self.root.path().into(),
            pids: vec![PID],
            net_device: Some("eth0".into()),
            cpus: "0-7".parse().unwrap(),
            ..Subject::default()
        }
    }

    pub(crate) fn kernel(&self) -> Played {
        Played::new(self.root.path())
    }

    /// Every file with its bytes, and every folder.
    pub(crate) fn snapshot(&self) -> BTreeMap<String, Option<Vec<u8>>> {
        let mut all = BTreeMap::new();
        walk(self.root.path(), self.root.path(), &mut all);
        all
    }
}

fn walk(root: &Path, folder: &Path, all: &mut BTreeMap<String, Option<Vec<u8>>>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        if path.is_dir() {
            all.insert(name, None);
            walk(root, &path, all);
        } else {
            all.insert(name, Some(fs::read(&path).unwrap()));
        }
    }
}

/// A folder in memory where there is one: each machine is some thousand files, and each journal is waited for.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub(crate) fn knobs(words: &[&str]) -> Vec<Knob> {
    words.iter().map(|word| word.parse().unwrap()).collect()
}
