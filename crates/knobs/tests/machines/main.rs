//! The knobs on machines that we lack, with simulated kernels.
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
        let machine = Machine::of(planted::xeon, "3:cpu,cpuacct:/\n2:cpuset:/\n4:memory:/\n6:blkio:/\n");
        let also = |file: &str, line: &str| machine.plant(file, &format!("{}\n{line}", machine.text(file)));
        also("proc/cgroups", "blkio\t6\t1\t1");
        also("proc/self/mounts", "cgroup /sys/fs/cgroup/blkio cgroup rw,blkio 0 0");
        machine.plant("sys/fs/cgroup/blkio/cgroup.procs", &format!("1\n{PID}"));
        machine
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
        machine.plant_disks();
        machine
    }

    /// Two disks: one with a mounted partition, and one mounted as a whole.
    fn plant_disks(&self) {
        let mounts = "27 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n28 27 8:16 / /srv rw - xfs /dev/sdb rw\n\
            29 27 0:25 / /dev/shm rw - tmpfs tmpfs rw\n30 27 0:40 / /data rw - btrfs /dev/sdb rw";
        self.plant("proc/self/mountinfo", mounts);
        let folder = "sys/devices/pci0000:00/block";
        for (name, number) in [("sda", "8:0"), ("sda/sda2", "8:2"), ("sdb", "8:16")] {
            self.plant(&format!("{folder}/{name}/dev"), number);
            let link = self.root.path().join("sys/dev/block").join(number);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(format!("../../devices/pci0000:00/block/{name}"), link).unwrap();
        }
        self.plant(&format!("{folder}/sda/sda2/partition"), "2");
        self.plant(&format!("{folder}/sda/queue/read_ahead_kb"), "128");
        self.plant(&format!("{folder}/sdb/queue/read_ahead_kb"), "8192");
        self.plant("sys/class/block/sdb/dev", "8:16");
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

/// A folder in memory, if possible: each machine is some thousand files, and each journal is synced.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub(crate) fn knobs(words: &[&str]) -> Vec<Knob> {
    words.iter().map(|word| word.parse().unwrap()).collect()
}
