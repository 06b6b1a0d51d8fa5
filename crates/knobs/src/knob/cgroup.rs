//! Processors, their time and memory, by control groups of version 1 or 2.

use std::path::PathBuf;

use super::quantity::{self, BYTES, PERCENT};
use super::{About, Cpus, Definition};
use crate::action::Step;
use crate::plan::Planner;
use crate::{Error, Kernel, Syntax};

/// The period of a quota: the kernel's default. A shorter one costs more timer interrupts; with a longer one a process
/// that has used its quota stops for longer. Units: µs.
const PERIOD_US: u64 = 100_000;
/// The least that the kernel takes. Units: µs.
const LEAST_QUOTA_US: u64 = 1_000;

/// A control group that the plan makes.
pub(super) struct Group {
    pub(super) folder: PathBuf,
    pub(super) version: u32,
    mount: PathBuf,
}

/// `cpu.set=0-3`: the processors that the subject's processes may use.
pub(super) const CPU_SET: Definition<Cpus> = Definition {
    about: About {
        name: "cpu.set",
        does: "the processors that the subject's processes may use",
        syntax: "processors, such as cpu.set=0-3 or cpu.set=cores:4",
        source: "IISWC'17 §V-A: cpuset cgroups",
    },
    read: Cpus::read,
    write: Cpus::to_string,
    plan: |cpus, planner| {
        let cpus = planner.processors(cpus)?;
        let group = planner.group("cpuset")?;
        if group.version == 1 {
            // A group of version 1 begins without any memory node, and takes no process before it has one.
            let all = group.mount.join("cpuset.mems");
            let nodes = planner
                .here
                .read(&all, None)
                .map_err(|e| Error::of_io(&planner.knob, "the memory nodes cannot be read", &e))?;
            planner.write_inside(&group.folder, "cpuset.mems", nodes.trim(), Syntax::Text);
        }
        planner.write_inside(&group.folder, "cpuset.cpus", &cpus.to_string(), Syntax::Text);
        Ok(())
    },
};

/// `cpu.quota=50%`: their processor time; 100 % is one processor. Units: 1/100 %.
pub(super) const CPU_QUOTA: Definition<u64> = Definition {
    about: About {
        name: "cpu.quota",
        does: "their processor time; 100 % is one processor, counted over 100 ms",
        syntax: "a share of one processor, such as cpu.quota=50%",
        source: "Linux, sched-bwc.rst: the period of 100 ms is its default",
    },
    read: |value| quantity::read(value, PERCENT),
    write: |quota| quantity::write(*quota, PERCENT),
    plan: |quota, planner| {
        let quota_us = quota.saturating_mul(PERIOD_US) / 10_000;
        if quota_us < LEAST_QUOTA_US {
            return Err(planner.usage("the kernel gives no less than 1 ms in 100 ms", "write 1% or more"));
        }
        let group = planner.group("cpu")?;
        if group.version == 1 {
            planner.write_inside(&group.folder, "cpu.cfs_period_us", &PERIOD_US.to_string(), Syntax::Text);
            planner.write_inside(&group.folder, "cpu.cfs_quota_us", &quota_us.to_string(), Syntax::Text);
        } else {
            planner.write_inside(&group.folder, "cpu.max", &format!("{quota_us} {PERIOD_US}"), Syntax::Text);
        }
        Ok(())
    },
};

/// `memory.limit=512MiB`: their memory. Units: bytes.
pub(super) const MEMORY_LIMIT: Definition<u64> = Definition {
    about: About {
        name: "memory.limit",
        does: "the memory that they allocate from now on",
        syntax: "a size, such as memory.limit=512MiB",
        source: "IISWC'17 §V-A: memory cgroup",
    },
    read: |value| quantity::read(value, BYTES),
    write: |bytes| quantity::write(*bytes, BYTES),
    plan: |bytes, planner| {
        let group = planner.group("memory")?;
        let file = if group.version == 1 { "memory.limit_in_bytes" } else { "memory.max" };
        planner.write_inside(&group.folder, file, &bytes.to_string(), Syntax::Bytes);
        Ok(())
    },
};

impl Planner<'_> {
    /// The subject's group in the hierarchy that holds `controller`; it is made once, and the processes move into it
    /// last.
    ///
    /// Errors: no process is named; the host lacks the controller; the name is not valid for a group.
    pub(super) fn group(&mut self, controller: &str) -> Result<Group, Error> {
        self.need_processes("name them: --pid PID, or a command")?;
        let Some(tree) = self.host.cgroups.holding(controller) else {
            let limit = format!("no mounted control group has the controller {controller}");
            let hint = format!(
                "mount it, or use a kernel with it: {controller} is not among those of /proc/self/mounts"
            );
            return Err(self.unsupported(limit, hint));
        };
        let name = &self.subject.name;
        if name.is_empty() || name.contains(['/', '\n']) || name.starts_with('.') {
            return Err(self.usage(format!("'{name}' cannot be the name of a group"), "choose a plain word"));
        }
        let mount = PathBuf::from(&tree.mount);
        let folder = mount.join(name);
        let group = Group { folder: folder.clone(), version: tree.version, mount: mount.clone() };
        if tree.version == 2 {
            let enable = Step::Enable { file: mount.join("cgroup.subtree_control"), word: controller.into() };
            let enabled = self.actions.iter().any(|action| action.step == enable);
            if !enabled && !tree.delegated.iter().any(|name| name == controller) {
                // Before the group is made, so that its files are there.
                let at = self.actions.iter().position(|a| a.step == Step::Directory { path: folder.clone() });
                self.actions.insert(at.unwrap_or(self.actions.len()), self.action(enable, false));
            }
        }
        if self.made.insert(folder.clone()) {
            self.push(Step::Directory { path: folder });
            let key = if tree.version == 1 { controller } else { "" };
            let step = Step::Move {
                pids: self.subject.pids.clone(),
                mount,
                controller: key.into(),
                group: format!("/{name}"),
            };
            self.moves.push(self.action(step, false));
        }
        Ok(group)
    }
}
